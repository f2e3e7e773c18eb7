#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The counts of programs that count themselves, imported into a database: every count is the file's,
# each verb names paths by function and number, and files that do not belong together are refused.
# The truth is kept by the programs themselves, which print how often they did what.
name=counting_import
. "$(dirname "$0")/counting_common.bash"
ctl=$build/bin/pathprofctl

cat >even.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
int odd(unsigned n);
/* A namesake of another file. */
static __attribute__((noinline)) int step(unsigned x)
{
	static volatile unsigned seen;

	if (x % 3 == 0) {
		seen++;
		return 1;
	}
	return 0;
}
int main(int argc, char **argv)
{
	unsigned n = atoi(argv[1]), thirds = 0;

	for (unsigned i = 0; i < n; i++)
		thirds += step(i);
	printf("%u %u %d\n", thirds, n - thirds, odd(n));
	fflush(stdout);
	if (argc > 2)
		__builtin_trap();
	return 0;
}
EOF
cat >odd.c <<'EOF'
static __attribute__((noinline)) int step(unsigned x)
{
	static volatile unsigned seen;

	if (x % 5 == 0) {
		seen++;
		return 1;
	}
	return 0;
}
int odd(unsigned n)
{
	int fifths = 0;

	for (unsigned i = 0; i < n; i++)
		fifths += step(i);
	return fifths;
}
EOF
"$cc" -g -O1 even.c odd.c -o numbers || { not_ok build "it is not compiled"; exit 1; }
mkdir counts
export PATHPROF_DIR=counts
: >truth
for n in 1000 5000 70000; do ./numbers $n >>truth; done
whole=(counts/*.ppraw)
(./numbers 333 trap >>truth; true) 2>/dev/null
"$ctl" import -F counts -o numbers.db counts/*.ppraw >said 2>&1 || not_ok import "$(tail -n 1 said)"
ask() { sqlite3 -separator ' ' numbers.db "$1"; }

# Four runs, one of which was killed: a window each.
[ "$(ask 'SELECT count(*) FROM windows')" = 4 ] && ok "a window a run" || not_ok "a window a run" "$(ask 'SELECT count(*) FROM windows')"

# Run with rights, it has the program and its counts read by a process behind a filter.
# read_apart COMMAND...: whoever reads the program or a file of counts is behind one.
read_apart() {
	strace -f -qq -y -e trace=prctl,pread64 -o calls "$@" >said 2>&1 || return 1
	sed -n 's/^\([0-9]*\) .*PR_SET_SECCOMP.*/\1/p' calls | sort -u >confined
	sed -nE 's,^([0-9]+) .*pread64\([0-9]+<[^>]*/(numbers|[^/>]*\.ppraw)>.*,\1,p' calls | sort -u >readers
	[ -s readers ] && [ -z "$(comm -23 readers confined)" ]
}
if [ "$(id -u)" = 0 ] && command -v strace >/dev/null; then
	read_apart "$ctl" import -F counts -o apart.db counts/*.ppraw &&
		[ "$(sqlite3 apart.db 'SELECT sum(samples) FROM path_counts')" = "$(ask 'SELECT sum(samples) FROM path_counts')" ] &&
		ok "counts are read apart" || not_ok "counts are read apart" "$(tail -n 1 said)"
else
	echo "skip $name/apart: it takes root and strace"
fi

# Each path's count is the sum over the files: as the lab has it, which reads them by itself.
"$lab" counts --all counts/*.ppraw | awk -F '\t' '{ sub(/.*\//, "", $1); print $2, $3, $4 }' | sort >wanted
ask 'SELECT j.name, p.start & ((1 << 40) - 1), sum(c.samples) FROM path_counts c JOIN paths p ON p.id = c.path
	JOIN jit_symbols j ON j.binary = p.binary AND j.start = p.start >> 40 << 40 GROUP BY p.id' |
	sed -E 's/ \([^)]*\)//' | sort >stored
if [ -s wanted ] && cmp -s wanted stored; then
	ok "$(wc -l <stored) paths are stored with the files' counts"
else
	not_ok counts "$(diff wanted stored | head -n 3 | paste -sd ';')"
fi

# The program says itself how often each of step's ways ran.
read -r thirds others fifths < <(awk '{ a += $1; b += $2; c += $3; d += $1 + $2 } END { print a, b, c }' truth)
"$ctl" paths --json --db numbers.db --limit 0 | jq '[.[] | .label = .function + ":" + (.number | tostring)]' >paths.json
ways() { # ways FILE: counts of the paths of its step, least first
	jq -r --arg f "$1" '.[] | select(.label | startswith("step (")) | select(.label | contains($f)) | .samples' paths.json | sort -n | paste -sd ' '
}
both=$((thirds + others))
[ "$(ways even.c)" = "$thirds $others" ] && ok "ways of a static function" || not_ok "ways of a static function" "$(ways even.c), not $thirds $others"
[ "$(ways odd.c)" = "$fifths $((both - fifths))" ] && ok "its namesake's are apart" || not_ok "its namesake's are apart" "$(ways odd.c), not $fifths $((both - fifths))"
jq -e '[.[].runs] | add > 0.999999 and add < 1.000001' paths.json >/dev/null && ok "shares add up" || not_ok "shares add up" "$(jq '[.[].runs] | add' paths.json)"
jq -e 'all(.[]; .runs_low == .runs and .runs == .runs_high)' paths.json >/dev/null && ok "no chance in exact counts" || not_ok "no chance in exact counts" "$(jq -c '.[0]' paths.json)"
"$ctl" processes --json --db numbers.db >processes.json
jq -e 'length == 4 and all(.[]; .runs_low == .runs and .runs == .runs_high)' processes.json >/dev/null && ok "none in those of processes" || not_ok "none in those of processes" "$(jq -c '.[0]' processes.json)"

# A run counts once: files that are imported again are left out, the new one beside them is not.
cp numbers.db again.db
mkdir more
PATHPROF_DIR=more ./numbers 20 >/dev/null
"$ctl" import -F counts -o again.db counts/*.ppraw more/*.ppraw --json >again.json 2>said
[ "$(jq -c '[.runs, .files_again]' again.json)" = '[1,4]' ] && [ "$(sqlite3 again.db 'SELECT count(*) FROM windows')" = 5 ] && grep -q '4 of 5 files.*left out' said &&
	ok "runs that are there are left out" || not_ok "runs that are there" "$(jq -c . again.json) $(tail -n 1 said)"
"$ctl" import -F counts -o again.db counts/*.ppraw more/*.ppraw --no-report 2>said && grep -q '5 of 5 files' said && ok "all of them" || not_ok "all of them" "$(tail -n 1 said)"

# A path by its number, with the lines that the lab prints, and the text of the source.
hot=$(jq -r '.[0].label' paths.json)
"$ctl" show "$hot" --db numbers.db --json >shown.json
"$ctl" show "$hot" --db numbers.db >shown
grep -q '^  runs  *[0-9.]*%$' shown && ok "an exact share has no interval" || not_ok "an exact share has no interval" "$(grep '^  runs' shown)"
number=${hot##*:} function=${hot%:*}
want=$("$lab" counts --top 100 counts/*.ppraw |
	awk -v p=":$number" -v n="$(jq .samples shown.json)" '$2 == n && index($3, p) { getline; gsub(/.*\.c:/, ""); print; exit }')
[ -n "$want" ] && [ "$(jq -r '[.lines[].line] | join(":")' shown.json)" = "$want" ] &&
	ok "show $hot: lines $want" || not_ok "show" "lines $(jq -c '[.lines[].line]' shown.json), not $want"
refused "a number that did not run" "no path of that number ran.*paths --function $function" "$ctl" show "$function:99999999" --db numbers.db
line=${want%%:*}
text=$(sed -n "${line}p" "$(jq -r '.lines[0].file' shown.json)" | sed 's/^[[:space:]]*//')
grep -qF "$text" shown && ok "its source is shown" || not_ok "its source is shown" "no line '$text'"
if [ "$(id -u)" = 0 ] && command -v strace >/dev/null; then
	read_apart "$ctl" show "$hot" --db numbers.db && ok "show has the program read apart" || not_ok "show has the program read apart" "$(tail -n 1 said)"
fi
# A program that was moved is named, and found by its build-id.
mv numbers elsewhere
"$ctl" show "$hot" --db numbers.db --json --file elsewhere >moved.json 2>said
jq -e '.lines | length > 0' moved.json >/dev/null && [ "$(jq -c .lines moved.json)" = "$(jq -c .lines shown.json)" ] &&
	"$ctl" cfg main --db numbers.db --file elsewhere >/dev/null 2>said &&
	ok "a program elsewhere, by --file" || not_ok "a program elsewhere, by --file" "$(tail -n 1 said) $(jq -c .code_missing moved.json)"
mv elsewhere numbers
"$ctl" paths --function "$function" --db numbers.db --json >own.json
[ "$(jq length own.json)" = "$(jq --arg f "$function" '[.[] | select(.function == $f)] | length' paths.json)" ] && ok "paths --function" || not_ok "paths --function" "$(jq -c '[.[].label]' own.json)"
"$ctl" compare window:1 window:3 --db numbers.db >compared 2>said && "$ctl" compare window:1 window:3 --db numbers.db --json >compared.json 2>>said &&
	grep -q '^  exact ' compared && ! grep -q 'interval\|by chance' compared &&
	jq -e '.figures | .exact and .kl_corrected_bits == .kl_bits and .kl_chance_bits == 0 and .kl_low_bits == null and .kl_high_bits == null' compared.json >/dev/null &&
	ok "runs are compared exactly" || not_ok "runs are compared exactly" "$(tail -n 1 said) $(jq -c .figures compared.json)"

# Threads that pthread_create() did not make share counters, and whoever reads the counts is told.
cat >shared.c <<'EOF'
#include <threads.h>
static volatile unsigned seen;
static int count(void *argument)
{
	for (unsigned i = 0; i < 100; i++)
		seen += i % 3 == 0;
	return argument != 0;
}
int main(void)
{
	thrd_t thread;

	return thrd_create(&thread, count, 0) != thrd_success || thrd_join(thread, 0) != thrd_success;
}
EOF
mkdir sharing
"$cc" -g -O1 -pthread shared.c -o shared && PATHPROF_DIR=sharing ./shared && PATHPROF_DIR=sharing ./shared || not_ok "shared counters" "it is not built, or fails"
"$ctl" import -F counts -o shared.db sharing/*.ppraw --no-report 2>/dev/null
most=$("$ctl" paths --json --db shared.db | jq -r '.[0] | .function + ":" + (.number | tostring)')
"$ctl" combine window:1 window:2 --db shared.db -o sum.db >said 2>&1 || not_ok "shared counters: combine" "$(tail -n 1 said)"
while read -r db verb; do
	# shellcheck disable=SC2086 # a list of words
	"$ctl" $verb --db "$db" >told 2>&1
	grep -q 'nearly exact.*threads shared counters' told && ok "shared counters: $verb" || not_ok "shared counters: $verb" "$(head -n 3 told | paste -sd ';')"
done <<END
shared.db paths
shared.db show $most
shared.db compare window:1 window:2
shared.db export -F folded -o folded
sum.db paths
END
[ "$("$ctl" compare window:1 window:2 --db shared.db --json | jq .figures.exact)" = false ] && ok "shared counters: compare --json" || not_ok "shared counters: compare --json" "exact"

# The picture of a function: lines run as often as gcc's own counters have it, and what goes into a
# block goes out of it. The run that was killed is left out, as gcc has no counts of it.
"$ctl" import -F counts -o tested.db "${whole[@]}" >/dev/null 2>&1
mkdir covered
(cd covered && gcc --coverage -O0 -w ../even.c ../odd.c -o numbers && for n in 1000 5000 70000; do ./numbers $n; done && gcov --json-format --stdout ./*.gcda >lines.json) >/dev/null 2>&1
functions=(main odd "step (even.c)" "step (odd.c)")
for i in 0 1 2 3; do "$ctl" cfg "${functions[$i]}" --all-blocks --db tested.db --json >cfg$i.json 2>said || not_ok "cfg" "$(tail -n 1 said)"; done
python3 - >said 2>&1 <<'END' && ok "cfg: $(tail -n 1 said)" || not_ok "cfg" "$(tail -n 1 said)"
import collections, json
lines = {}
for text in open("covered/lines.json"):
    for file in json.loads(text)["files"]:
        for line in file["lines"]:
            lines[file["file"].split("/")[-1], line["line_number"]] = line["count"]
same = 0
for i in range(4):
    cfg = json.load(open("cfg%d.json" % i))
    into = collections.Counter()
    at = collections.defaultdict(list)
    for block in cfg["blocks"]:
        at[block["file"].split("/")[-1], block["line"]].append(block["weight"])
        for edge in block["edges"]:
            into[edge["to"]] += edge["weight"]
    for block in cfg["blocks"]:
        if block["edges"]:
            assert sum(e["weight"] for e in block["edges"]) == block["weight"], block
        if block["block"]:
            assert into[block["block"]] == block["weight"], block
    for line, weights in at.items():
        if len(weights) == 1 and line in lines:
            assert weights[0] == lines[line], (cfg["name"], line, weights, lines[line])
            same += 1
assert same >= 8, same
print(same, "lines run as often as gcov says")
END
"$ctl" cfg main --db numbers.db --format dot >dot 2>said && grep -q 'block 1.*even.c:19' dot && "$ctl" cfg main --db numbers.db -o main.svg 2>said &&
	grep -q '</svg>' main.svg && ok "cfg as a picture" || not_ok "cfg as a picture" "$(tail -n 1 said)"

# A tested set shows what it did not run: here the trap.
"$ctl" cfg main --db numbers.db --tested tested.db --json >untested.json 2>said
[ "$(jq -c '[.blocks[] | select(.untested) | .line]' untested.json)" = "[$(grep -n trap even.c | cut -d: -f1)]" ] &&
	[ "$(jq '[.blocks[].edges[] | select(.untested)] | length' untested.json)" = 1 ] && [ ! -s said ] &&
	ok "cfg --tested" || not_ok "cfg --tested" "$(jq -c '[.blocks[] | select(.untested) | .line]' untested.json): $(tail -n 1 said)"
refused "untested of counted paths" "cfg FUNCTION --tested" "$ctl" untested tested.db --db numbers.db
"$ctl" tested merge -o merged.db tested.db 2>said
refused "untested of merged ones" "cfg FUNCTION --tested" "$ctl" untested merged.db --db numbers.db
# A description that was changed, byte by byte, is refused or shown, and harms nobody.
cp numbers kept
read -r offset size < <(readelf -SW numbers | sed -nE 's/.* \.pathprof +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) .*/0x\1 0x\2/p')
harmed=0 refusals=0
for ((at = 0; at < size; at += size / 60 + 1)); do
	cp kept numbers
	printf '\377' | dd of=numbers bs=1 seek=$((offset + at)) conv=notrunc status=none
	ASAN_OPTIONS=detect_leaks=0 "$build/tests/pathprofctl-san" cfg main --db numbers.db >/dev/null 2>said || refusals=$((refusals + 1))
	! grep -q 'Sanitizer\|runtime error' said || harmed=$((harmed + 1))
done
mv kept numbers
[ $harmed = 0 ] && [ $refusals -gt 5 ] && ok "cfg by changed descriptions" || not_ok "cfg by changed descriptions" "$harmed faults, $refusals refused"
# A practical build counts cold paths together, so its run is no whole one.
"$ctl" interesting --db tested.db -o warm.paths 2>said
mkdir cold
"$cc" -g -O1 --pathprof-practical --pathprof-interesting=warm.paths even.c odd.c -o practical 2>said &&
	(PATHPROF_DIR=cold ./practical 333 trap; true) >/dev/null 2>&1
"$ctl" import -F counts -o cold.db cold/*.ppraw >/dev/null 2>&1
[ "$("$ctl" tested list cold.db --json | jq '.[0].whole')" = false ] && [ "$("$ctl" tested list tested.db --json | jq -c '[.[].whole]')" = '[true,true,true]' ] &&
	ok "a run with cold paths is not whole" || not_ok "a run with cold paths" "$("$ctl" tested list cold.db --json | jq -c .)"
refused "export of counted paths" "no file\|no places\|places in a file" "$ctl" export -F bolt-fdata --db numbers.db
"$ctl" edges --db numbers.db >got 2>said && [ ! -s got ] && grep -q 'nothing matches: .*exact counts of [0-9]* paths, and no branches.*cfg FUNCTION' said &&
	ok "edges of counted paths say what to ask" || not_ok "edges of counted paths" "$(cat got said)"
"$ctl" export -F folded --db numbers.db -o folded 2>said && grep -q ";$function [0-9]*$" folded && grep -q 'counts are RUNS: exact' said &&
	ok "stacks of counted functions" || not_ok "stacks of counted functions" "$(tail -n 1 said)"

# An inline function is compiled in two units, one of which inlines it: it is one, with the counts of both.
cat >twice.h <<'EOF'
inline int twice(unsigned x)
{
	if (x % 3 == 0)
		return 1;
	return x % 5 ? 7 : 2;
}
EOF
cat >used.c <<'EOF'
#include "twice.h"
unsigned used(unsigned n);
unsigned used(unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += twice(i);
	return sum;
}
EOF
cat >uses.c <<'EOF'
#include "twice.h"
unsigned used(unsigned n);
extern inline int twice(unsigned x);
int (*volatile taken)(unsigned) = twice;
int main(void)
{
	return (used(1000) + taken(3) + taken(4)) % 2;
}
EOF
for language in c c++; do
	rm -rf inlined twice.db && mkdir inlined
	"$build/bin/pathprof-c++" -g -O2 -x $language uses.c used.c -o twice 2>said && { PATHPROF_DIR=inlined ./twice; true; }
	"$ctl" import -F counts -o twice.db inlined/*.ppraw --json >imported.json 2>said
	"$ctl" paths --db twice.db --json --limit 0 >paths.json
	[ "$(jq -c '[.[] | select(.function | test("twice")) | .samples] | sort' paths.json)" = '[335,667]' ] && [ "$(jq .functions imported.json)" = 3 ] &&
		ok "an inline function of two units, $language" || not_ok "an inline function, $language" "$(jq -c '[.[] | [.function, .samples]]' paths.json)"
	"$ctl" cfg twice --db twice.db --json >cfg.json 2>said
	[ "$(jq '.blocks[0].weight' cfg.json)" = 1002 ] && ok "its graph" || not_ok "its graph" "$(jq -c '[.blocks[].weight]' cfg.json) $(tail -n 1 said)"
	# JSON has the name that the linker knows.
	linkage=$(jq -r '[.[].function | select(test("twice"))][0]' paths.json)
	number=$(jq -r '[.[] | select(.function | test("twice"))][0].number' paths.json)
	"$ctl" cfg "$linkage" --db twice.db --json 2>said | jq -e '.blocks[0].weight == 1002' >/dev/null && "$ctl" show "$linkage:$number" --db twice.db >shown 2>said &&
		[ "$("$ctl" paths --function "$linkage" --db twice.db --json 2>said | jq length)" = 2 ] &&
		ok "by the linker's name, $linkage" || not_ok "by the linker's name, $linkage" "$(tail -n 1 said)"
done

# Files of one name in two folders, with a function of one name each: two functions, each by its own name.
mkdir one two apart
cp odd.c one/part.c && sed 's/% 5/% 7/; s/odd/even/' odd.c >two/part.c
echo 'int odd(unsigned n); int even(unsigned n); int main(void) { return odd(700) + even(700) != 240; }' >both.c
(cd one && "$cc" -g -O1 -c part.c) && (cd two && "$cc" -g -O1 -c part.c) && "$cc" -g -O1 both.c one/part.o two/part.o -o both 2>said &&
	PATHPROF_DIR=apart ./both
"$ctl" import -F counts -o both.db apart/*.ppraw --no-report 2>said
for name in "step (part.c)" "step (part.c, 2)"; do "$ctl" paths --function "$name" --db both.db --json; done |
	jq -c '[.[] | .samples] | sort' | paste -sd ' ' >ways
[ "$(cat ways)" = '[140,560] [100,600]' ] && ok "namesakes in files of one name" || not_ok "namesakes in files of one name" "$(cat ways)"

first=$(find counts -name '*.ppraw' | sort | head -n 1)
"$cc" -g -O2 even.c odd.c -o other
refused "another build's description" "counted by .*/numbers, another program, library or build" "$ctl" import -F counts --binary other -o other.db "$first"
head -c 2000 "$first" >cut.ppraw
refused "a file that was cut" "cut.ppraw: " "$ctl" import -F counts --binary numbers -o cut.db cut.ppraw
# One that was killed while it began, or is damaged, is named, counted and left out, wherever it stands.
: >begun.ppraw
head -c 5000 "$first" >short.ppraw
if "$ctl" import -F counts -o left.db begun.ppraw cut.ppraw "$first" short.ppraw --json >left.json 2>said &&
	[ "$(jq -c '[.runs, .files_damaged]' left.json)" = '[1,3]' ] && [ "$(grep -c '\(begun\|cut\|short\)\.ppraw: .*left out' said)" = 3 ]; then
	ok "damaged files are left out"
else
	not_ok "damaged files are left out" "$(tail -n 1 said) $(jq -c . left.json)"
fi
# A count that no number holds with those of the files before is refused, and its file left out.
for copy in large larger; do
	cp "$first" $copy.ppraw
	printf '\200' | dd of=$copy.ppraw bs=1 seek=$((4096 + 64 + 7)) conv=notrunc status=none
done
"$lab" counts --binary numbers --all large.ppraw >alone.tsv 2>said
status=0
"$lab" counts --binary numbers --all large.ppraw larger.ppraw >together.tsv 2>said || status=$?
if [ $status = 1 ] && grep -q 'larger\.ppraw: .*beyond 64 bits' said && [ -s alone.tsv ] && cmp -s alone.tsv together.tsv; then
	ok "counts beyond 64 bits are left out"
else
	not_ok "counts beyond 64 bits are left out" "status $status: $(head -n 1 said)"
fi
# A table of paths is one thread's: its counts are not those of two.
python3 - "$first" shared.ppraw <<'EOF'
import struct
import sys

data = open(sys.argv[1], "rb").read()
size = struct.unpack_from("<Q", data, 4096 + 8)[0]
head, thread, table = bytearray(data[:4096]), bytearray(data[4096:4096 + size]), (1 << 20) + 2 * size
struct.pack_into("<Q", head, 16, 4096 + 2 * size + table)
struct.pack_into("<Q", thread, 16, 4096 + 2 * size)
open(sys.argv[2], "wb").write(head + thread + thread + struct.pack("<IiQ", 2, 0, table).ljust(table, b"\0"))
EOF
refused "a table of two threads" "shared.ppraw: damaged: threads share" "$lab" counts --binary numbers --all shared.ppraw
refused "something else" "not a file of counts" "$ctl" import -F counts -o else.db even.c
refused "no file" "files of counts are needed" "$ctl" import -F counts -o none.db
cp numbers.db mixed.db
sqlite3 mixed.db 'UPDATE windows SET bursts = 5 WHERE id = 1'
refused "a database of samples" "holds samples" "$ctl" import -F counts -o mixed.db "$first"

# Without the program the counts are still there, and what is missing is said.
mv numbers gone
"$ctl" show "$hot" --db numbers.db >shown 2>&1 && grep -q "not available: .*numbers" shown && grep -q "runs " shown &&
	ok "without its file a path keeps its counts" || not_ok "without its file" "$(tail -n 1 shown)"
exit $failed
