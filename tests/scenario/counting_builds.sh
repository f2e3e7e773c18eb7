#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pathprof-cc as the compiler of projects that know nothing of it: cmake, meson, configure and
# libtool, each with a program, a shared and a static library; and with the sanitizers, which must
# find nothing in what was put in. Each program knows how often it went each way.
name=counting_builds
. "$(dirname "$0")/counting_common.bash"
cxx=$build/bin/pathprof-c++

mkdir project
cat >project/shared.c <<'EOF'
int shared_way(unsigned x);
int shared_way(unsigned x)
{
	static volatile unsigned seen;

	if (x % 7 == 0) {
		seen++;
		return 1;
	}
	return 0;
}
EOF
cat >project/fixed.c <<'EOF'
int fixed_way(unsigned x);
int fixed_way(unsigned x)
{
	static volatile unsigned seen;

	if (x % 11 == 0) {
		seen++;
		return 1;
	}
	return 0;
}
EOF
cat >project/main.c <<'EOF'
int shared_way(unsigned x);
int fixed_way(unsigned x);
int main(void)
{
	int sum = 0;

	for (unsigned i = 0; i < 7700; i++)
		sum += shared_way(i) + fixed_way(i);
	return sum != 1100 + 700;
}
EOF

# counted WHAT PROGRAM: it runs, and its library's and its own paths have the counts that follow.
counted() {
	local what=$1 program=$2
	rm -rf counts
	mkdir counts
	if ! PATHPROF_DIR=$PWD/counts "$program" >said 2>&1; then
		not_ok "$what" "it does not run: $(tail -n 1 said)"
		return
	fi
	for f in counts/*.ppraw; do "$lab" counts --all "$f"; done >counted.tsv 2>said
	ways() { awk -F '\t' -v f="$1" '$2 == f { print $4 }' counted.tsv | sort -n | paste -sd ' '; }
	if [ "$(ways shared_way)" = "1100 6600" ] && [ "$(ways fixed_way)" = "700 7000" ]; then
		ok "$what"
	else
		not_ok "$what" "shared_way $(ways shared_way), fixed_way $(ways fixed_way): $(head -n 1 said)"
	fi
}
# built WHAT DIRECTORY COMMAND...: in it, saying nothing unless it fails.
built() {
	local what=$1 directory=$2
	shift 2
	(cd "$directory" && "$@") >build.log 2>&1 || { not_ok "$what" "$(tail -n 1 build.log)"; return 1; }
}
needs() { # WHAT PROGRAM...
	local what=$1 program
	shift
	for program; do
		command -v "$program" >/dev/null && continue
		echo "skip $name: $what: $program is not installed"
		return 1
	done
}

if needs cmake cmake make; then
	cat >project/CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.13)
project(counted C)
add_library(shared SHARED shared.c)
add_library(fixed STATIC fixed.c)
add_executable(counted main.c)
target_link_libraries(counted shared fixed)
EOF
	for type in Release Debug; do
		rm -rf cmake-$type
		built "cmake $type" . env CC="$cc" cmake -S project -B cmake-$type -DCMAKE_BUILD_TYPE=$type &&
			built "cmake $type" . cmake --build cmake-$type && counted "cmake $type" cmake-$type/counted
	done
fi
if needs meson meson ninja; then
	cat >project/meson.build <<'EOF'
project('counted', 'c')
executable('counted', 'main.c', link_with: [shared_library('shared', 'shared.c'), static_library('fixed', 'fixed.c')])
EOF
	for type in release debug; do
		built "meson $type" . env CC="$cc" meson setup --buildtype=$type meson-$type project &&
			built "meson $type" . ninja -C meson-$type && counted "meson $type" meson-$type/counted
	done
fi
if needs configure autoreconf libtoolize make; then
	cat >project/configure.ac <<'EOF'
AC_INIT([counted], [1])
AM_INIT_AUTOMAKE([foreign])
AM_PROG_AR
LT_INIT
AC_PROG_CC
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
EOF
	cat >project/Makefile.am <<'EOF'
lib_LTLIBRARIES = libshared.la
libshared_la_SOURCES = shared.c
noinst_LTLIBRARIES = libfixed.la
libfixed_la_SOURCES = fixed.c
bin_PROGRAMS = counted
counted_SOURCES = main.c
counted_LDADD = libshared.la libfixed.la
EOF
	mkdir tool
	built configure project autoreconf -i && built configure tool ../project/configure CC="$cc" &&
		built configure tool make && counted "configure, libtool" tool/counted
	built "make install" tool make install prefix="$PWD/installed" &&
		LD_LIBRARY_PATH=installed/lib counted "configure, libtool, installed" installed/bin/counted
fi

# Sanitizers: no report, and the same counts.
for sanitizer in address undefined thread address,undefined; do
	what="-fsanitize=$sanitizer"
	if "$cc" -O1 -g "$what" -fno-sanitize-recover=all project/*.c -o "with-$sanitizer" >build.log 2>&1; then
		counted "$what" "./with-$sanitizer"
	else
		not_ok "$what" "$(tail -n 1 build.log)"
	fi
done
# Threads in a function of 8192 paths, which are counted by hash, under the one that looks for races.
cat >threads.c <<'EOF'
#include <pthread.h>
static __thread volatile unsigned sink;
#define BIT(n) if (x >> (n) & 1) sink += (n)
__attribute__((noinline)) void many(unsigned x)
{
	BIT(0); BIT(1); BIT(2); BIT(3); BIT(4); BIT(5); BIT(6);
	BIT(7); BIT(8); BIT(9); BIT(10); BIT(11); BIT(12);
}
static void *run(void *argument)
{
	for (unsigned i = 0; i < 500; i++)
		many(i * 2654435761u >> 7);
	return argument;
}
int main(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		if (pthread_create(&threads[i], 0, run, &threads[i]))
			return 1;
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], 0);
	return 0;
}
EOF
for sanitizer in thread address; do
	what="threads under -fsanitize=$sanitizer"
	rm -rf counts && mkdir counts
	if ! "$cc" -O1 -g -pthread -fsanitize=$sanitizer threads.c -o threads >build.log 2>&1; then
		not_ok "$what" "$(tail -n 1 build.log)"
	elif ! PATHPROF_DIR=counts ./threads >said 2>&1; then
		not_ok "$what" "$(grep -m 1 -E 'WARNING|rror' said)"
	else
		sum=$("$lab" counts --all counts/*.ppraw | awk -F '\t' '$2 == "many" { n += $4 } END { print n + 0 }')
		[ "$sum" = 4000 ] && ok "$what" || not_ok "$what" "many ran $sum times, not 4000"
	fi
done

# Other ways to call a compiler.
cat >project/one.cc <<'EOF'
#include <stdexcept>
extern "C" int shared_way(unsigned x);
extern "C" int fixed_way(unsigned x);
int main()
{
	int sum = 0;
	for (unsigned i = 0; i < 7700; i++)
		try {
			sum += shared_way(i);
			if (fixed_way(i))
				throw std::runtime_error("eleven");
		} catch (const std::exception &) {
			sum++;
		}
	return sum != 1100 + 700;
}
EOF
cd project || exit 1
"$cc" -O2 -c -MD -MF dep.d shared.c -o ../shared.o && grep -q shared.c dep.d && "$cc" -O2 -c fixed.c -o ../fixed.o &&
	"$cxx" -O2 one.cc ../shared.o ../fixed.o -o ../plus >../build.log 2>&1
cd ..
counted "C++ with exceptions, units one by one" ./plus
"$cc" -O2 -S project/shared.c -o shared.s && "$cc" -O2 shared.s project/fixed.c project/main.c -o assembled && counted "by way of assembler text" ./assembled
echo "-O2 project/shared.c project/fixed.c project/main.c -o listed" >list
"$cc" @list && counted "arguments in a file" ./listed
echo "-O2 -c project/fixed.c -o listed.o" >list
"$cc" -Wall -Werror @list >build.log 2>&1 && ok "-c in a file" || not_ok "-c in a file" "$(tail -n 1 build.log)"
"$cc" -O2 --target=amd64-linux-gnu project/*.c -o named 2>build.log && counted "x86-64 by its other name" ./named || not_ok "x86-64 by its other name" "$(tail -n 1 build.log)"
for target in -m32 -mx32 --target=aarch64-linux-gnu; do
	refused "$target" "target .*: paths are counted in programs of x86-64 alone" "$cc" -O2 $target -c project/fixed.c -o other.o
done
"$cc" -O2 -x c - -o piped <<<"$(cat project/shared.c project/fixed.c project/main.c)" && counted "from standard input" ./piped
"$cc" -O2 -E project/main.c -o main.i && "$cc" -O2 main.i project/shared.c project/fixed.c -o preprocessed && counted "preprocessed before" ./preprocessed
"$cc" -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections project/*.c -o collected && counted "unused sections thrown away" ./collected
"$cc" -O2 --coverage project/*.c -o covered && counted "gcov's counters besides" ./covered
[ "$(find . -maxdepth 1 -name 'covered-*.gcda' | wc -l)" = 3 ] && ok "which are written" || not_ok "gcov's counters" "there are no files"
refused "-femulated-tls" "leave out -femulated-tls" "$cc" -O2 -femulated-tls -c project/fixed.c -o other.o
# Objects that are linked into one are linked again, with the runtime then.
for relocatable in -r -Wl,-r -Wl,--relocatable; do
	if "$cc" -O2 -fno-pic -no-pie -nostdlib $relocatable project/*.c -o one.o 2>build.log &&
		"$cc" -no-pie one.o -o linked_twice 2>build.log; then
		counted "objects linked into one by $relocatable" ./linked_twice
	else
		not_ok "objects linked into one by $relocatable" "$(head -n 1 build.log)"
	fi
done
# A library that makes no threads leaves pthread_create() to the program, however it is asked for.
for shared in -shared --shared; do
	if "$cc" -O2 -fPIC $shared project/shared.c -o libasked.so 2>build.log && nm -D libasked.so >names; then
		grep -q pthread_create names && not_ok "a library by $shared" "it takes pthread_create() over" || ok "a library by $shared"
	else
		not_ok "a library by $shared" "$(head -n 1 build.log)"
	fi
done
# -ObjC is no level of optimisation, and what follows -B is no input.
if "$cc" '-###' -ObjC -c project/main.c 2>&1 | grep -q disable-llvm-passes; then
	not_ok "-ObjC" "it is taken for a level of optimisation"
else
	ok "-ObjC leaves the level as it is"
fi
if "$cc" '-###' -B project 2>&1 | grep -q libpathprof-counting; then
	not_ok "-B with a blank" "its value is taken for an input"
else
	ok "the value of -B is no input"
fi
"$cc" -O2 -o dashed -- project/*.c 2>build.log && counted "files behind --" ./dashed || not_ok "files behind --" "$(head -n 1 build.log)"
# A header is compiled, and nothing is linked.
printf '#pragma once\nint shared_way(unsigned x);\nint fixed_way(unsigned x);\n' >project/ways.h
for header in "project/ways.h" "-x c-header project/ways.h" "-xc-header project/ways.h"; do
	rm -f ways.pch
	# shellcheck disable=SC2086 # a list of words
	if "$cc" -O2 $header -o ways.pch 2>build.log &&
		"$cc" -O2 -include-pch ways.pch project/*.c -o precompiled 2>build.log; then
		counted "a precompiled header ($header)" ./precompiled
	else
		not_ok "a precompiled header ($header)" "$(head -n 1 build.log)"
	fi
done
# The loader runs resolvers of ifuncs, and what they call, while nothing can be counted yet.
cat >resolved.c <<'EOF'
static volatile int asked;
static int is_quick(void) { return asked++ == 7; }
static int knows(void) { return asked == 0 ? is_quick() : 2; }
static int quick(int x) { return x; }
static int slow(int x) { return x == 41 ? x + 1 : 0; }
static int (*choose(void))(int) { return knows() == 1 ? quick : slow; }
int chosen(int) __attribute__((ifunc("choose")));
int main(void) { return chosen(41) != 42 || knows() != 2; }
EOF
for how in -O0 -O2 "-O2 -static" "-O2 --pathprof-late"; do
	rm -rf counts && mkdir counts
	# shellcheck disable=SC2086 # a list of words
	if ! "$cc" -w $how resolved.c -o resolved 2>build.log; then
		not_ok "resolvers of ifuncs, $how" "$(head -n 1 build.log)"
	elif ! PATHPROF_DIR=counts ./resolved >said 2>&1; then
		not_ok "resolvers of ifuncs, $how" "the program ends with another status"
	else
		ran=$("$lab" counts --all counts/*.ppraw | awk -F '\t' '$2 == "main" { n += $4 } END { print n }')
		[ "$ran" = 1 ] && ok "resolvers of ifuncs, $how" || not_ok "resolvers of ifuncs, $how" "main ran $ran times"
	fi
done
if needs ccache ccache; then
	export CCACHE_DIR=$PWD/ccache
	for round in first second; do
		ccache "$cc" -O2 -c project/shared.c -o shared.o && ccache "$cc" -O2 -c project/fixed.c -o fixed.o &&
			"$cc" -O2 project/main.c shared.o fixed.o -o cached && counted "ccache, $round time" ./cached
	done
fi
exit $failed
