#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that are compiled as one unit: from sources, objects and archives they do what they did, every
# path is counted as often as an oracle says, and calls between source files are followed. What cannot be
# compiled so is told, and nothing is left behind.
name=counting_whole
. "$(dirname "$0")/counting_common.bash"
command -v llvm-link-22 >/dev/null || { echo "skip $name: llvm-link-22 is not installed"; exit 0; }
whole=--pathprof-whole-program
export TMPDIR=$tmp/temporary
mkdir temporary

cat >main.c <<'END2'
#include <stdio.h>
int weigh(int x);
int other(int x);
static int twice(int x) { return x & 2 ? x : 2 * x; }
int main(void)
{
	volatile int all = 0;

	for (int i = 0; i < 90; i++)
		if (i & 1)
			all += weigh(i) + twice(i);
		else
			all += other(i);
	printf("%d\n", all);
	return 0;
}
END2
cat >weigh.c <<'END2'
static volatile int thirds;
/* A namesake of another file. */
static __attribute__((noinline)) int twice(int x)
{
	if (x % 5 == 0)
		thirds += 2;
	return x;
}
int weigh(int x)
{
	if (x % 3 == 0) {
		thirds++;
		return twice(x) * 5;
	}
	return twice(x) - 1;
}
END2
cat >other.cc <<'END2'
#include <stdexcept>
extern "C" int weigh(int x);
extern "C" int other(int x)
{
	try {
		if (x % 10 == 0)
			throw std::runtime_error("ten");
		return weigh(x);
	} catch (const std::exception &) {
		return x;
	}
}
END2
clang-22 -O2 -c main.c weigh.c && clang++-22 -O2 main.o weigh.o other.cc -o plain && ./plain >plain-out || { not_ok build plain; exit 1; }
rm -f -- *.o

# counts PROGRAM COUNTS: weigh() and its own twice() have the counts that follow from the program.
counts() {
	"$lab" counts --all "$2"/*.ppraw >counted.tsv 2>said
	awk -F '\t' '{ n[$2] += $4 } END { print n["weigh"] + 0, n["other"] + 0 }' counted.tsv
}
made() { # WHAT PROGRAM
	rm -rf counts && mkdir counts
	if PATHPROF_DIR=counts "./$2" | cmp -s - plain-out && [ "$(counts "$2" counts)" = "81 45" ] && [ -z "$(ls temporary)" ]; then
		ok "$1"
	else
		not_ok "$1" "$(counts "$2" counts) calls; $(ls temporary | wc -l) files are left; $(head -n 1 said)"
	fi
}
cxx=$build/bin/pathprof-c++
for mode in "-O2" "-Os" "-O2 --pathprof-late -fno-inline" "-O0"; do
	rm -f ./*.o ./*.a
	# shellcheck disable=SC2086 # a list of words
	"$cc" $whole $mode -c main.c weigh.c && "$cxx" $whole $mode -c other.cc && ar cr libparts.a weigh.o other.o &&
		"$cxx" $whole $mode main.o weigh.o other.o -o objects && made "objects $mode" objects &&
		"$cxx" $whole $mode main.o libparts.a -o archive && made "an archive $mode" archive &&
		"$cxx" $whole $mode main.o -L. -lparts -o library && made "a library $mode" library &&
		"$cxx" $whole $mode main.o -L . -l parts -o words && made "a library by two words $mode" words &&
		"$cxx" $whole $mode main.o -L. -Xlinker -lparts -o passed && made "a library for the linker $mode" passed
done
"$cc" $whole -O2 -c main.c weigh.c && "$cxx" $whole main.o weigh.o -O2 other.cc -o mixed && made "objects and a source" mixed
clang-22 -O2 -c weigh.c && "$cxx" $whole -O2 main.o weigh.o other.cc -o native 2>said && PATHPROF_DIR=counts ./native |
	cmp -s - plain-out && ok "an object that is compiled otherwise" || not_ok "an object that is compiled otherwise" "$(head -n 1 said)"
rm -f ./*.o ./*.a

# Every path, by an oracle; and the same calls, those between files followed.
for mode in "-O2" "-O2 --pathprof-late"; do
	# shellcheck disable=SC2086
	exact "all files $mode" main.c weigh.c other.cc -lstdc++ $whole $mode
done
# follow WHAT FOLLOWED FLAG...: so many calls of all are followed, and none is lost.
follow() {
	local what=$1 wanted=$2
	shift 2
	rm -rf first && mkdir first
	"$cc" -w -fwrapv -O2 "$@" main.c weigh.c other.cc -lstdc++ -o first-program && PATHPROF_DIR=first ./first-program >out &&
		"$lab" counts --all first/*.ppraw >first.tsv && interesting ran 1000000 first/*.ppraw
	exact "paths $what" main.c weigh.c other.cc -lstdc++ -O2 "$@" --pathprof-interprocedural="$tmp/ran"
	python3 -B "$here/counting_calls.py" first-program first.tsv counted counted.tsv >said 2>&1
	[[ $(tail -n 1 said) == *" 253 times, $wanted of these were followed" ]] && ok "calls $what: $(tail -n 1 said)" ||
		not_ok "calls $what" "$(tail -n 1 said)"
}
follow "across files" 135 $whole
follow "within files" 45

refused "a sanitizer" "goes without -fsanitize=address" "$cc" $whole -fsanitize=address -c main.c
echo "-c main.c" >list
refused "a file of arguments" "goes without @list" "$cc" $whole @list
echo "int weigh(int x) { return x; }" >again.c
refused "two definitions" "multiply defined" "$cc" $whole main.c weigh.c again.c -o twice
# A member of an archive gives way to what the program has itself, and its own state stays one.
cat >again.c <<'END2'
#include <stdio.h>
int weigh(int x) { return x; }
int number(void) { static int n; return ++n; }
void tell(void) { printf("%d %d\n", weigh(30), number()); }
END2
cat >own.c <<'END2'
int number(void);
void tell(void);
int weigh(int x);
int main(void) { tell(); return weigh(30) + number() != 152; }
END2
rm -f again.o libagain.a
"$cc" $whole -O2 -c again.c && ar cr libagain.a again.o && "$cc" $whole -O2 own.c weigh.c -L. -lagain -o own &&
	[ "$(PATHPROF_DIR=counts ./own)" = "150 1" ] && ok "a member gives way" || not_ok "a member gives way" "$(PATHPROF_DIR=counts ./own)"
# In a directory the shared library is taken before the archive, and later directories are ignored.
mkdir first second
for n in 1 2 3; do echo "int pick(void) { return $n; }" >pick$n.c; done
echo "int pick(void); int main(void) { return pick(); }" >picks.c
clang-22 -shared -fPIC pick1.c -o first/libpick.so && "$cc" $whole -O2 -c pick2.c pick3.c &&
	ar cr first/libpick.a pick2.o && ar cr second/libpick.a pick3.o
picked() { # WHAT NUMBER BEFORE BEHIND
	local picked=0
	rm -f picks
	# shellcheck disable=SC2086 # lists of words
	"$cc" $whole -O2 picks.c $3 -Lfirst -Lsecond -lpick $4 -Wl,-rpath,"$PWD/first" -o picks 2>said
	PATHPROF_DIR=counts ./picks || picked=$?
	[ $picked -eq "$2" ] && ok "$1" || not_ok "$1" "number $picked, not $2: $(head -n 1 said)"
}
picked "a shared library before an archive" 1 "" ""
picked "an archive where the program is static" 2 -static ""
picked "an archive where the linker is told so" 2 -Wl,-Bstatic -Wl,-Bdynamic
echo "int main(void) { return }" >wrong.c
refused "a source with an error" "wrong.c:1" "$cc" $whole wrong.c weigh.c -o wrong
[ -z "$(ls temporary)" ] && ok "nothing is left behind" || not_ok "nothing is left behind" "$(ls temporary)"
exit $failed
