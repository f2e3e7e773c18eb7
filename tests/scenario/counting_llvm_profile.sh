#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The counts of programs that count themselves, exported as a profile like that of clang's own
# instrumentation: every counter is the one that -fprofile-generate counts on the same input, and
# clang applies the profile without a warning. Programs are generated, and out of Debian's sources.
name=counting_llvm_profile
. "$(dirname "$0")/counting_common.bash"
for tool in llvm-profdata-22 setarch; do
	command -v $tool >/dev/null || { echo "skip $name: $tool is not installed"; exit 0; }
done
ctl=$build/bin/pathprofctl
option=--pathprof-llvm-profile
unset PATHPROF_INSTRUMENT
# Files of other compilations, which may run beside, are not taken for files that are left.
export TMPDIR=$tmp/temporary
mkdir temporary
# Clang adds up some counters behind a loop only, and loses them where the loop is left by exit().
plain="-mllvm -do-counter-promotion=false"

# Counts of a build with the option, as LLVM shows them, in $1.text; the profile is $1.profdata.
exported() { # NAME [--binary PROGRAM] COUNTS...
	local to=$1
	shift
	rm -f exported.db
	"$ctl" import -F counts --no-report -o exported.db "$@" 2>said &&
		"$ctl" export -F llvm-profile-text --db exported.db -o "$to.proftext" 2>said &&
		llvm-profdata-22 merge "$to.proftext" -o "$to.profdata" 2>said &&
		llvm-profdata-22 show --text --all-functions --counts "$to.profdata" >"$to.text" 2>said
}
clangs() { # NAME RAW...
	llvm-profdata-22 merge "${@:2}" -o "$1.profdata" 2>said &&
		llvm-profdata-22 show --text --all-functions --counts "$1.profdata" >"$1.text" 2>said
}
agree() { # WHAT [SHARE]: of ours.text and clangs.text
	if python3 -B "$here/counting_llvm_profile.py" ours.text clangs.text ${2:+"$2"} >same 2>&1; then
		ok "$1: $(tail -n 1 same)"
	else
		not_ok "$1" "$(head -n 3 same | paste -sd ';')"
	fi
}

# same WHAT FLAGS SOURCE...: built and run both ways, and compiled again with our profile.
same() {
	local what=$1 flags=$2 theirs status
	theirs=$(sed 's/--pathprof-[^ ]*//g' <<<"$flags")
	shift 2
	rm -rf counts raw
	mkdir counts
	# shellcheck disable=SC2086 # lists of words
	"$compiler" -w $option $flags "$@" -o program 2>said || { not_ok "$what" "it is not compiled: $(head -n 1 said)"; return; }
	PATHPROF_DIR=counts ./program >out
	status=$?
	exported ours counts/*.ppraw || { not_ok "$what" "$(tail -n 1 said)"; return; }
	# shellcheck disable=SC2086
	"$clang" -w $theirs -fprofile-generate $plain "$@" -o generated && LLVM_PROFILE_FILE=raw ./generated >clangs-out
	[ $status -eq $? ] && cmp -s out clangs-out || not_ok "$what" "both builds do not do the same"
	clangs clangs raw || not_ok "$what" "$(tail -n 1 said)"
	agree "$what"
	# shellcheck disable=SC2086
	"$clang" $theirs -fprofile-use=ours.profdata -Wno-logical-op-parentheses -Wno-parentheses \
		-Wprofile-instr-missing "$@" -o used 2>said || not_ok "$what" "it is not compiled with it"
	[ ! -s said ] && ok "$what: clang takes it" || not_ok "$what: clang takes it" "$(head -n 1 said)"
}

# Exits out of a callee (exit(), longjmp()) are counted if paths end at calls.
[ "${PATHPROF_ROUNDS:-short}" = full ] && programs=20 || programs=2
levels=(-O2 -O1 -O3 -Os -O0)
compiler=$cc clang=clang-22
for seed in $(seq 1 $programs); do
	level=${levels[$((seed % 5 * 3 % 5))]}
	python3 "$here/counting_generate.py" "$seed" 10 >program.c
	same "program $seed $level" "$level -fwrapv --pathprof-cut=calls" program.c
done

# Tables of interesting paths, of the last program, whose graphs are those of that build.
interesting few 4 counts/*.ppraw
same "with tables" "$level -fwrapv --pathprof-cut=calls --pathprof-interesting=few" program.c

# Selects, values, namesakes, inline functions of two units, exceptions.
cat >part.h <<'END'
#include <stdlib.h>
#include <string.h>
inline __attribute__((noinline)) int twice(int x) { return x % 3 ? x : 2 * x; }
struct base { virtual int of(int x) const { return x; } virtual ~base() {} };
struct other : base { int of(int x) const override { if (x % 7 == 0) throw x; return x + 1; } };
int far(const base &b, int x);
END
cat >far.cc <<'END'
#include "part.h"
static __attribute__((noinline)) int step(int x) { return x > 40 ? x - twice(x) : 3; }
int far(const base &b, int x) { char a[64]; memset(a, x, x % 64); return b.of(x) + step(x) + (a[x % 5] > 3 ? 2 : x); }
END
cat >near.cc <<'END'
#include "part.h"
#include <stdio.h>
static __attribute__((noinline)) int step(int x) { int n = 0; while (x > 1) x = x & 1 ? 3 * x + 1 : x / 2, n++; return n > 9 ? n : -n; }
int main()
{
	int sum = 0;
	for (int i = 1; i < 200; i++) {
		other o;
		base b;
		try { sum += far(i % 2 ? b : o, i); } catch (int x) { sum ^= twice(x); }
		sum += step(i);
		if (sum > 100000) abort();
	}
	printf("%d\n", sum);
	return 0;
}
END
compiler=$build/bin/pathprof-c++ clang=clang++-22
same "C++" "-O2 --pathprof-cut=calls" near.cc far.cc
compiler=$cc clang=clang-22

# Options that do not go together are refused, and missing input is reported.
refused "with sanitizers" "goes without -fsanitize=address" "$cc" $option -O1 -fsanitize=address -c program.c
refused "late" "goes without --pathprof-late" "$cc" $option -O1 --pathprof-late -c program.c
refused "with cold paths" "goes without --pathprof-practical" "$cc" $option -O1 --pathprof-obvious --pathprof-interesting=f -c program.c
echo 'int main(int c, char **v) { (void)v; return c > 3; }' >small.c
"$cc" -O1 small.c -o small && rm -rf counts && mkdir counts && PATHPROF_DIR=counts ./small &&
	"$ctl" import -F counts --no-report -o small.db counts/*.ppraw
refused "of another build" "build it with pathprof-cc --pathprof-llvm-profile" "$ctl" export -F llvm-profile-text --db small.db -o small.proftext
[ ! -e small.proftext ] || not_ok "of another build" "a file is written"
[ -n "$(ls temporary)" ] && not_ok "temporary files" "$(ls temporary | paste -sd ' ') are left" || ok "no temporary files are left"

# A description that was changed, byte by byte, is refused or taken, and harms nobody.
"$cc" -O1 $option small.c -o small && rm -rf counts && mkdir counts && PATHPROF_DIR=counts ./small &&
	"$ctl" import -F counts --no-report -o whole.db counts/*.ppraw
cp small kept
read -r offset size < <(readelf -SW small | sed -nE 's/.* \.pathprof +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) .*/0x\1 0x\2/p')
harmed=0 refusals=0
for ((at = 0; at < size; at += size / 60 + 1)); do
	cp kept small
	printf '\377' | dd of=small bs=1 seek=$((offset + at)) conv=notrunc status=none
	ASAN_OPTIONS=detect_leaks=0 "$build/tests/pathprofctl-san" export -F llvm-profile-text --db whole.db -o changed >/dev/null 2>said || refusals=$((refusals + 1))
	! grep -q 'Sanitizer\|runtime error' said || harmed=$((harmed + 1))
done
[ $harmed = 0 ] && [ $refusals -gt 5 ] && ok "changed descriptions: $refusals refused" || not_ok "changed descriptions" "$harmed faults, $refusals refused"
[ $failed = 0 ] && [ "${PATHPROF_ROUNDS:-short}" = full ] || exit $failed

# Programs out of Debian's sources.
. "$here/counting_against.bash"
get_sources gzip bzip2 lua5.4 mawk lzip >said || { echo "skip $name: $(cat said)"; exit 0; }
# Lua hashes addresses, so its builds do not take the same paths everywhere. Clang has no counts of
# mawk's child until it calls exec(), nor of what lzip's destructors of globals do at the very end.
for one in gzip-c bzip2-c bzip2-d mawk lzip lua5.4; do
	case $one in
	gzip-c | bzip2-?) share=100 ;;
	*) share=98 ;;
	esac
	build_kind $one counted "$cc $option --pathprof-cut=calls" ""
	build_kind $one generate "clang-22 -fprofile-generate $plain" "-fprofile-generate"
	run $one counted
	run $one generate
	cmp -s output.counted output.generate || not_ok $one "both builds do not do the same"
	exported ours --binary "$(elf_of $one counted)" counts/counted/*.ppraw || not_ok $one "$(tail -n 1 said)"
	clangs clangs profraw/* || not_ok $one "$(tail -n 1 said)"
	agree $one $share
	build_kind $one used "clang-22 -fprofile-use=$tmp/ours.profdata -Wprofile-instr-missing" ""
	# Mawk compiles another program with the same flags.
	if grep 'warning:.*\(profile\|hash\)' $one-used.log | grep -v makescan.c >said; then
		not_ok "$one: clang takes it" "$(head -n 1 said)"
	else
		ok "$one: clang takes it"
	fi
done
exit $failed
