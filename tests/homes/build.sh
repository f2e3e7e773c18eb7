#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
#
# Builds the core for each of its homes, warnings being errors, and holds its headers to the house
# rules: includes, floating point, function pointers, static data, conditional compilation. Then
# plants a fault of each sort in a copy of the headers, which the same checks must find.
#
# Prints "ok NAME", "not ok NAME: why" or "skip NAME: why"; exit status 1 when something failed.
# BUILD: directory for objects (default build). CC, CLANG, OBJDUMP, NM: the tools.

# shellcheck disable=SC2317 # the checks are called by name
set -u
cd "$(dirname "$0")/../.." || exit 1

BUILD=${BUILD:-build}
CC=${CC:-gcc}
CLANG=${CLANG:-clang-14}
NM=${NM:-nm}
OBJDUMP=${OBJDUMP:-objdump}
CORE=libprofile/core
ALL=tests/homes/all.c
OUT=$BUILD/homes
FAILED=0

WARN='-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
	-Wwrite-strings -Wvla -Wunused-const-variable=2'
# As a kernel module is built; gnu89 because modules up to 5.17 are.
KERNEL='-std=gnu89 -nostdinc -mgeneral-regs-only -mno-red-zone -mcmodel=kernel -fno-pie
	-fno-stack-protector -Wdeclaration-after-statement -Wframe-larger-than=512'

mkdir -p "$OUT/fake/linux" || exit 1

report() # NAME WHY; an empty WHY is success
{
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1: $2"
		FAILED=1
	fi
}

first_lines()
{
	head -n 3 "$1" | tr '\n' ' '
}

# ------------------------------------------------------------------ builds
# Each takes the directory of the core and prints why it fails, or nothing.

compile() # OBJECT COMMAND...
{
	object=$1
	shift
	rm -f "$OUT/$object"
	if ! "$@" -c -o "$OUT/$object" "$ALL" 2>"$OUT/$object.log"; then
		grep -m 1 -E 'error|cannot' "$OUT/$object.log" || first_lines "$OUT/$object.log"
	elif [ -s "$OUT/$object.log" ]; then
		first_lines "$OUT/$object.log"
	fi
}

# No libc, no libgcc, no data of its own, no call through a pointer. Constant tables that the
# compiler makes of a switch have no name in the source, so they do not appear as objects.
check_object() # OBJECT
{
	wrong=$($NM -u "$OUT/$1" | grep -v _GLOBAL_OFFSET_TABLE_ | tr -d '\n')
	[ -z "$wrong" ] || echo "undefined:$wrong"
	wrong=$($NM "$OUT/$1" | grep -E ' [bBdDcCgGrRsS] ' | grep -vE ' r (CSWTCH|\.LC)' | tr '\n' ' ')
	[ -z "$wrong" ] || echo "static data: $wrong"
	wrong=$($OBJDUMP -d --no-show-raw-insn "$OUT/$1" 2>/dev/null |
		grep -m 1 -E 'call +\*|callx')
	[ -z "$wrong" ] || echo "call through a pointer: $wrong"
}

build_user() # CORE
{
	# shellcheck disable=SC2086 # lists of options
	compile user.o $CC -std=gnu11 -O2 -fno-pie -fno-stack-protector $WARN -I"$1"
	[ ! -f "$OUT/user.o" ] || check_object user.o
}

build_user_names() # CORE: C++ programs may include what users of the core include
{
	# shellcheck disable=SC2086
	compile names.o $CC -std=gnu11 -O2 $WARN -Wc++-compat -I"$1"
}

build_freestanding() # CORE
{
	# shellcheck disable=SC2086
	compile freestanding.o $CC $KERNEL -ffreestanding -O2 $WARN -I"$1"
	[ ! -f "$OUT/freestanding.o" ] || check_object freestanding.o
}

# The kernel branch of the port, against a <linux/types.h> that holds what the kernel's holds.
build_kernel() # CORE
{
	cat >"$OUT/fake/linux/types.h" <<-'END'
		typedef unsigned char __u8;
		typedef unsigned short __u16;
		typedef unsigned int __u32;
		typedef unsigned long long __u64;
		typedef signed char __s8;
		typedef int __s32;
		typedef long long __s64;
	END
	# shellcheck disable=SC2086
	compile kernel.o $CC $KERNEL -D__KERNEL__ -ffreestanding -O2 $WARN -I"$OUT/fake" -I"$1"
	[ ! -f "$OUT/kernel.o" ] || check_object kernel.o
}

build_bpf() # CORE
{
	compile bpf.o "$CLANG" -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wshadow \
		-Wstrict-prototypes -Wmissing-prototypes -I"$1"
	[ ! -f "$OUT/bpf.o" ] || check_object bpf.o
}

# ------------------------------------------------------------------ rules over the text

# The code of a header without comments, directives left as they stand.
code_of()
{
	$CC -fpreprocessed -dD -E -P -w "$1" 2>/dev/null
}

check_includes() # CORE
{
	for header in "$1"/pp_*.h; do
		name=$(basename "$header")
		grep -HnE '^[ 	]*#[ 	]*include' "$header" |
			grep -vE '#include "pp_[a-z_]+\.h"$' |
			if [ "$name" = pp_port.h ]; then
				grep -vE '#include <linux/types\.h>$'
			else
				cat
			fi
	done | head -n 1
}

check_conditions() # CORE: only the port asks where it is; the others have their guard
{
	for header in "$1"/pp_*.h; do
		[ "$(basename "$header")" != pp_port.h ] || continue
		grep -HnE '^[ 	]*#[ 	]*(if|elif)' "$header" | grep -vE '#ifndef PP_[A-Z_]+_H$'
	done | head -n 1
}

check_words() # CORE
{
	for header in "$1"/pp_*.h; do
		name=$(basename "$header")
		code=$(code_of "$header")
		echo "$code" | grep -wE 'float|double|_Float[0-9x]+|__int128|_Complex' |
			sed "s/^/$name: floating or wide: /"
		echo "$code" | grep -E '[^A-Za-z0-9_.][0-9]+\.[0-9]|[0-9]e[+-]?[0-9]+[^A-Fa-f0-9xULu]' |
			grep -v 0x | sed "s/^/$name: floating constant: /"
		echo "$code" | grep -E '\([ ]*\*[ ]*[A-Za-z_][A-Za-z_0-9]*[ ]*\)[ ]*\(' |
			sed "s/^/$name: function pointer: /"
		[ "$name" = pp_port.h ] || echo "$code" | grep -wE 'static|goto|extern|asm|__asm__' |
			sed "s/^/$name: /"
	done | head -n 1
}

check_all_c() # CORE: every header and every step has its wrapper
{
	for header in "$1"/pp_*.h; do
		grep -q "#include \"$(basename "$header")\"" "$ALL" ||
			echo "$ALL does not include $(basename "$header")"
	done | head -n 1
	sed -nE 's/^PP_INLINE .*\b(pp_[a-z_]+_step|pp_decode)\(.*/\1/p' "$1"/pp_*.h | sort -u |
		while read -r step; do
			grep -q "$step(" "$ALL" || echo "$ALL does not call $step()"
		done | head -n 1
}

CHECKS='build_user build_user_names build_freestanding build_kernel build_bpf
	check_includes check_conditions check_words check_all_c'

# ------------------------------------------------------------------ planted faults

plant() # NAME CHECK HEADER TEXT WHY: text at the header's end makes the check say why
{
	rm -rf "$OUT/planted"
	cp -r "$CORE" "$OUT/planted" || exit 1
	sed -i '$d' "$OUT/planted/$3"
	printf '%s\n\n#endif\n' "$4" >>"$OUT/planted/$3"
	why=$($2 "$OUT/planted")
	case $why in
	'') report "planted-$1" "not found by $2" ;;
	*"$5"*) report "planted-$1" "" ;;
	*) report "planted-$1" "$2 found something else: $why" ;;
	esac
}

plant_all()
{
	plant float check_words pp_split.h \
		'PP_INLINE float pp_planted(__u32 x) { return (float)x / 3; }' 'floating'
	plant float-constant check_words pp_split.h \
		'PP_INLINE __u32 pp_planted(__u32 x) { return (__u32)(x * 1.5); }' 'constant'
	plant soft-float build_freestanding pp_split.h \
		'__u64 pp_planted(__u64 x); __u64 pp_planted(__u64 x) { return x * 1.5; }' 'SSE'
	plant include check_includes pp_hpt.h '#include <string.h>' 'string.h'
	plant include-linux check_includes pp_hpt.h '#include <linux/types.h>' 'linux/types.h'
	plant condition check_conditions pp_hpt.h '#ifdef __bpf__
#endif' '__bpf__'
	plant declaration build_freestanding pp_tagged.h \
		'PP_INLINE __u32 pp_planted(__u32 x) { x++; __u32 y = x; return y; }' 'mixed'
	plant for-declaration build_freestanding pp_tagged.h \
		'PP_INLINE void pp_planted(__u32 *x) { for (int i = 0; i < 4; i++) x[i]++; }' 'for'
	plant frame build_kernel pp_assoc.h \
		'__u32 pp_planted(__u32 x);
__u32 pp_planted(__u32 x) { volatile __u32 y[200]; y[x & 127] = x; return y[x & 63]; }' \
		'frame size'
	plant libc build_user pp_assoc.h \
		'void *memcpy(void *, const void *, __SIZE_TYPE__);
void pp_planted(void *, void *, __u32);
void pp_planted(void *a, void *b, __u32 n) { memcpy(a, b, n); }' 'memcpy'
	plant static check_words pp_tnv.h 'static const __u32 pp_planted[2] = { 1, 2 };' 'static'
	plant data build_user pp_tnv.h '__u32 pp_planted = 1;' 'static data'
	plant function-pointer check_words pp_hash.h \
		'typedef __u32 (*pp_planted)(__u32 x);' 'function pointer'
	plant indirect-call build_user pp_hash.h \
		'typedef void pp_planted_fn(void); void pp_planted(pp_planted_fn *f);
void pp_planted(pp_planted_fn *f) { f(); f(); }' 'call through a pointer'
	plant unwrapped-step check_all_c pp_random.h \
		'PP_INLINE void pp_planted_step(__u32 x) { (void)x; }' 'pp_planted_step'
}

for check in $CHECKS; do
	name=core-$(echo "$check" | tr _ -)
	case $check in
	build_bpf)
		if ! command -v "$CLANG" >/dev/null; then
			echo "skip $name: no $CLANG"
			continue
		fi
		;;
	build_kernel | build_freestanding)
		if [ "$($CC -dumpmachine | cut -d- -f1)" != x86_64 ]; then
			echo "skip $name: kernel options are those of x86-64"
			continue
		fi
		;;
	esac
	report "$name" "$($check "$CORE" | head -n 1)"
done
plant_all
exit $FAILED
