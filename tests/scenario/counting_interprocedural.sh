#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Paths that go on into the functions they call are counted as often as an oracle says, to any depth,
# early, late, cut at calls, through exceptions; functions are called as often as in the build without;
# and what is shown of them has the lines of both functions. Files that do not fit are told.
name=counting_interprocedural
. "$(dirname "$0")/counting_common.bash"
ctl=$build/bin/pathprofctl
following=--pathprof-interprocedural=$tmp/ran
[ "${PATHPROF_ROUNDS:-short}" = full ] && programs=4 || programs=3
modes=("-O2" "-O2 --pathprof-cut=calls" "-O2 --pathprof-late" "-Os -fPIC" "-O1 -static")

# train SOURCE FLAG...: the build before, its counts in first/ and first.tsv, and in $tmp/ran what it ran.
train() {
	rm -rf first && mkdir first
	"$cc" -w -fwrapv "${@:2}" "$1" -o first-program || { not_ok "$1" "it is not compiled"; return; }
	PATHPROF_DIR=first timeout 100 ./first-program >first-out
	interesting ran 1000000 first/*.ppraw
	"$lab" counts --all first/*.ppraw >first.tsv
}
# same_calls WHAT: what exact() has left was called as often as in the build before.
same_calls() {
	if python3 -B "$here/counting_calls.py" first-program first.tsv counted counted.tsv >said 2>&1; then
		ok "$1: $(tail -n 1 said)"
	else
		not_ok "$1" "$(head -n 3 said | paste -sd ';')"
	fi
}

# with_tables WHAT SOURCE FLAG...: three paths of each function that exact() left have a table, and all
# are counted as they were.
in_slots=0 beside=0
with_tables() {
	local in beside_now
	sort counted.tsv >without.tsv
	interesting tables 3 --binary counted counts/*.ppraw
	exact "$1 with tables" "${@:2}" --pathprof-interesting=tables
	read -r in beside_now < <(sed -nE 's/.* ([0-9]+) counts there, ([0-9]+) beside them,.*/\1 \2/p' said)
	in_slots=$((in_slots + ${in:-0})) beside=$((beside + ${beside_now:-0}))
	sort counted.tsv | cmp -s - without.tsv || not_ok "$1 with tables" "other counts than without"
}

# If calls cut paths, no path is lost by exit() or longjmp(), so the counts of calls must be exact.
for seed in $(seq 1 $programs); do
	python3 "$here/counting_generate.py" "$seed" 10 >program.c
	for mode in "${modes[@]}"; do
		# A short run: the third program has a function that may not be cut at its computed jumps.
		[ $programs -gt 3 ] || [[ "$seed$mode" == "1-O2"* || "$seed$mode" == "3-O2 --pathprof-cut=calls" ]] || continue
		[ $programs -gt 3 ] || [[ $mode != *late ]] || continue
		# shellcheck disable=SC2086 # a list of words
		train program.c $mode
		[ $programs -gt 3 ] && depths=(1 5) || { [[ $mode == -O2 ]] && depths=(3) || depths=(1); }
		for depth in "${depths[@]}"; do
			# shellcheck disable=SC2086
			exact "program $seed $mode, $depth deep" program.c $mode "$following,depth=$depth"
			[[ $mode != *cut=calls ]] || same_calls "calls of program $seed, $depth deep"
			# shellcheck disable=SC2086
			[[ $mode == *cut=calls ]] || with_tables "program $seed $mode, $depth deep" program.c $mode "$following,depth=$depth"
		done
	done
done

if [ $in_slots -gt 100 ] && [ $beside -gt 100 ]; then
	ok "$in_slots counts in tables, $beside beside them"
else
	not_ok "tables are tried" "$in_slots counts in tables, $beside beside them"
fi

# Planted faults: a count moved to another path of its function, and one call too many.
awk -F '\t' -v OFS='\t' 'NR == 1 { $3 = $3 ? 0 : 1 } { print }' counted.tsv >moved.tsv
cp counted.tsv right.tsv
awk -F '\t' -v OFS='\t' '$2 == "main" { $4++ } { print }' right.tsv >counted.tsv
if python3 "$here/counting_oracle.py" oracle log moved.tsv >said 2>&1; then
	not_ok "planted fault" "the oracle does not find it"
elif (same_calls planted) | grep -q "^ok"; then
	not_ok "planted fault" "the calls do not tell"
else
	ok "planted faults are found"
fi

# ---------------------------------------------------------------- what is shown
cat >called.h <<'END'
static volatile int thirds;
static int weigh(int x)
{
	if (x % 3 == 0) {
		thirds++;
		return x * 5;
	}
	return x - 1;
}
END
cat >caller.c <<'END'
#include <stdio.h>
#include "called.h"
static int sum(int n)
{
	volatile int all = 0;

	for (int i = 0; i < n; i++)
		if (i & 1)
			all += weigh(i);
	return all;
}
int main(void)
{
	printf("%d\n", sum(90));
	return 0;
}
END
# A third of the 45 odd numbers below 90 are multiples of 3.
train caller.c -g -O2
exact "caller" caller.c -g -O2 "$following"
same_calls "calls of weigh()"
rm -f shown.db
"$ctl" import -F counts --no-report -o shown.db counts/*.ppraw 2>said || not_ok import "$(tail -n 1 said)"
"$ctl" paths --json --db shown.db --limit 0 >paths.json
for samples in 15 30; do
	label=$(jq -r ".[] | select(.samples == $samples and (.function | startswith(\"sum\"))) | .function + \":\" + (.number | tostring)" paths.json)
	"$ctl" show "$label" --db shown.db >shown 2>said
	"$ctl" show "$label" --db shown.db --json >shown.json 2>>said
	line=$([ $samples -eq 15 ] && echo 5 || echo 8)
	if grep -q "^  call of weigh$" shown && grep -q "^    called.h:4  if (x % 3 == 0)" shown && grep -q "called.h:$line " shown &&
		grep -q "^  back in sum$" shown && grep -q "^    caller.c:9 " shown &&
		[ "$(jq -r '[.lines[] | .call_of // .back_in // empty] | join(" ")' shown.json)" = "weigh sum" ]; then
		ok "path of $samples runs is shown with the lines of both files"
	else
		not_ok "path of $samples runs" "$(tail -n 1 said) $(paste -sd '|' shown)"
	fi
done

# ---------------------------------------------------------------- calls by pointers
cat >pointers.c <<'END'
#include <stdio.h>
static volatile int thirds;
static int often(int x)
{
	if (x % 3 == 0) {
		thirds++;
		return x * 5;
	}
	return x - 1;
}
static int rare(int x)
{
	if (x & 1)
		thirds--;
	return x + 2;
}
static void note(int x)
{
	if (x & 4)
		thirds += 2;
}
static int (*const both[])(int) = {often, rare};
static void (*hook)(int);
int main(int argc, char **argv)
{
	int all = 0;

	(void)argv;
	hook = argc > 5 ? NULL : note;
	for (int i = 0; i < 1000; i++) {
		all += both[i % 20 == 7](i);
		if (i % 5 == 0)
			all += both[i % 10 == 0](i);
		hook(i);
	}
	printf("%d %d\n", all, thirds);
	return 0;
}
END
# The first place calls often() 950 times of 1000, which is enough, and the second one half and half.
train pointers.c -O2 --pathprof-targets
"$cc" -O2 pointers.c -o plain && ./plain | cmp -s - first-out || not_ok "calls by pointers" "the program does something else"
exact "calls by pointers" pointers.c -O2 --pathprof-targets "$following"
same_calls "calls by pointers"
[[ $(cat said) == *" 2201 times, 1950 of these were followed" ]] || not_ok "calls by pointers" "$(tail -n 1 said)"
with_tables "calls by pointers" pointers.c -O2 --pathprof-targets "$following"
if "$cc" -O2 "$following" -c pointers.c -o pointers.o 2>said && grep -q "pointers.c: 1 functions are not those" said; then
	ok "pointers that are not compared are told"
else
	not_ok "pointers that are not compared are told" "$(head -n 1 said)"
fi

# ---------------------------------------------------------------- files and words
with() { "$cc" -O2 "$1" -c caller.c -o caller.o; }
refused "a file that is not there" "gone: cannot be opened" with --pathprof-interprocedural=gone
refused "something else" "not a file of interesting paths" with --pathprof-interprocedural=caller.c
refused "no file" "a file of paths that ran is missing" with --pathprof-interprocedural=
refused "no depth" "from 1 to 16: 0$" with --pathprof-interprocedural=ran,depth=0
refused "a depth of something else" "from 1 to 16: 2x$" with --pathprof-interprocedural=ran,depth=2x
sed -i 's/return all;/if (n > 99) puts("many"); return all;/' caller.c
if with "$following" 2>said && grep -q "caller.c: 1 functions are not those that $tmp/ran was written for" said; then
	ok "a function that has changed is told"
else
	not_ok "a function that has changed is told" "$(head -n 1 said)"
fi
# Paths that go on into callees go on where an exception lands, too.
rm -rf counts
mkdir counts
"$build/bin/pathprof-c++" -O2 "$here/../workloads/counting_throws.cpp" -o throwing && PATHPROF_DIR=counts ./throwing >out &&
	"$build/bin/pathprofctl" import -F counts -o throwing.db counts/*.ppraw --no-report &&
	"$build/bin/pathprofctl" interesting --hot 1000000 --db throwing.db -o throwing.ran 2>said || not_ok "exceptions" "$(tail -n 1 said)"
for depth in 1 3; do
	cc=$build/bin/pathprof-c++ exact "exceptions across calls, $depth deep" "$here/../workloads/counting_throws.cpp" -O2 \
		--pathprof-interprocedural="throwing.ran,depth=$depth"
done

exit $failed
