#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pathprofctl tested and untested: a run held against its own paths has nothing untested; a path of
# each kind that a test set leaves out is found, named and placed on its line; samples are no tested
# set; --check goes by the interval's low end.
set -eu
name=ctl_untested
. "$(dirname "$0")/ctl_common.bash"
tracer=$BUILD/bin/pathprof-trace
if ! command -v qemu-x86_64 >/dev/null; then
	echo "skip $name: no qemu-x86_64 (apt install qemu-user)"
	exit 0
fi
command -v sqlite3 >/dev/null || { echo "skip $name: no sqlite3 (apt install sqlite3)" && exit 0; }
cd "$dir"

# Each letter of the arguments runs something; nothing is optimised, so a branch is where it stands.
cat >app.c <<'END'
#include <stdlib.h>
static volatile int sink;
static __attribute__((noinline)) void pick(int a, int b)
{
	if (a)
		sink += 1;
	if (b) /* combination */
		sink += 2;
}
static __attribute__((noinline)) void edge(int a)
{
	if (a) /* new edge */
		sink += 3;
	sink += 4;
}
static __attribute__((noinline)) void code(int a)
{
	if (a) /* new code */
		sink += 5;
	else
		sink += 6;
}
static __attribute__((noinline)) void loop(int cnt)
{
	do /* new entry */
		sink += 7;
	while (--cnt); /* back */
}
static __attribute__((noinline)) void again(const char *what, int times)
{
	for (int i = 0; i < times; i++)
		switch (*what) {
		case 'p': pick(1, 1); pick(0, 0); break;
		case 'P': pick(1, 0); break;
		case 'e': edge(1); break;
		case 'E': edge(0); break;
		case 'c': code(1); break;
		case 'C': code(0); break;
		case 'l': loop(1); break;
		case 'L': loop(3); break;
		}
}
int main(int argc, char **argv)
{
	int rounds = atoi(argv[1]);
	for (int round = 0; round < rounds; round++)
		for (int i = 2; i < argc; i++)
			again(argv[i], 50);
	return 0;
}
END
${CC:-gcc} -O0 -g -Wl,--build-id -o app app.c
line() { grep -n "/\* $1 \*/" app.c | cut -d: -f1; }
count() { # NAME LETTERS...
	local file=$1
	shift
	timeout 120 "$tracer" --paths "$file" -- ./app 3 "$@" </dev/null
}
count all.paths p P e E c C l L
count tests.paths p e c l

for unit in path piece segment; do
	run 0 --db all.paths untested all.paths --unit $unit --check 0% --json
	python3 - "$dir/got" <<'END' || fail "a run against itself by $unit: $(head -c 300 "$dir/got")"
import json, sys
o = json.load(open(sys.argv[1]))
assert o["untested"] == 0 and o["seen"] > 20 and o["untested_share"]["high"] == 0 and not o["departures"]
END
done

# kinds UNIT: "kind place direction" a line
kinds() {
	run 0 --db all.paths untested tests.paths --binary app --unit "$1" -n 0 --json
	python3 -c 'import json, sys
for d in json.load(open(sys.argv[1]))["departures"]:
    print(d["kind"], d["departs_at"], d["direction"], d["function"], d["samples"])' "$dir/got" >kinds
}
found() { # KIND LINE FUNCTION SAMPLES
	grep -qE "^$1 app.c:$2 (not taken|taken|entry) $3 $4\$" kinds ||
		fail "no '$1' at app.c:$2 in $3 ($4 samples): $(cat kinds)"
}
kinds path
found combination "$(line combination)" pick 150
found 'new edge' "$(line 'new edge')" edge 150
found 'new code' "$(line 'new code')" code 150
found 'new edge' "$(line back)" loop 150
found 'new entry' "$(($(line 'new entry') + 1))" loop 150
kinds piece
found combination "$(line combination)" pick 150
found 'new code' "$(line 'new code')" code 150

# A table is cut off at 20 lines, and says so; JSON and SARIF have all, unless a number is given.
{
	echo 'static volatile int sink;'
	for i in {1..25}; do echo "__attribute__((noinline)) void f$i(int a) { if (a) sink += $i; }"; done
	echo 'int main(int argc, char **argv) { for (int i = 0; i < 9; i++) {'
	for i in {1..25}; do echo "f$i(argc > 1);"; done
	echo '} return 0; }'
} >many.c
${CC:-gcc} -O0 -g -Wl,--build-id -o many many.c
timeout 120 "$tracer" --paths many_some.paths -- ./many </dev/null
timeout 120 "$tracer" --paths many_more.paths -- ./many more </dev/null
found_in() { # WHAT: functions of many.c
	run 0 --db many_more.paths untested many_some.paths --binary many "$@" --graph-cache "$dir/graphs"
	grep -oE '\bf[0-9]+\b' "$dir/got" | sort -u | wc -l
}
[ "$(found_in)" = 20 ] && grep -q ' more: -n 0 shows all$' "$dir/got" || fail "a table of many: $(cat "$dir/got")"
for form in --json --sarif; do
	[ "$(found_in $form)" = 25 ] || fail "$form has not all: $(cat "$dir/got")"
	[ "$(found_in $form -n 7)" = 7 ] || fail "$form -n 7: $(cat "$dir/got")"
done

# New code is one finding of its function where no test ran the function's beginning either; else it
# stands where it begins.
cat >begun.c <<'END'
static volatile int sink;
static __attribute__((noinline)) void leaf(void)
{
	sink += 1;
}
static __attribute__((noinline)) void begun(int a)
{
	if (a) { /* branch */
		leaf();
		leaf(); /* behind a call */
	}
}
static __attribute__((noinline)) void never(void) { /* never */
	leaf();
	leaf();
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 9; i++) {
		begun(argc > 1);
		if (argc > 1)
			never();
	}
	return 0;
}
END
${CC:-gcc} -O0 -g -Wl,--build-id -o begun begun.c
timeout 120 "$tracer" --paths begun_some.paths -- ./begun </dev/null
timeout 120 "$tracer" --paths begun_more.paths -- ./begun more </dev/null
run 0 --db begun_more.paths untested begun_some.paths --binary begun --unit piece -n 0 --json
python3 - "$dir/got" <<'END' || fail "what begins in untested code: $(cat "$dir/got")"
import json, sys
lines = open("begun.c").read().splitlines()
line = lambda mark: next(i for i, l in enumerate(lines, 1) if f"/* {mark} */" in l)
found = {(d["function"], d["departs_at"], d["direction"]): d["samples"]
         for d in json.load(open(sys.argv[1]))["departures"] if d["kind"] == "new code"}
want = {("begun", "branch", "not taken"): 9, ("begun", "behind a call", "entry"): 9,
        ("never", "never", "entry"): 27}
want = {(f, f"begun.c:{line(mark)}", way): n for (f, mark, way), n in want.items()}
assert {k: n for k, n in found.items() if k[0] in ("begun", "never")} == want, found
END

# Exact counts that are added up stay exact, and weighed ones are none; nor is their sum a tested set.
run 0 combine file:all.paths file:tests.paths -o sum.profile
run 0 --db sum.profile top --by functions -n 1
grep -q '^RUNS: exact counts' "$dir/got" || fail "a sum of exact counts: $(cat "$dir/got")"
run 0 combine --method kl file:all.paths file:tests.paths -o weighed.profile
run 0 --db weighed.profile top --by functions -n 1
! grep -q 'exact counts' "$dir/got" || fail "weighed counts: $(cat "$dir/got")"
run 1 --db all.paths untested sum.profile

# A path that ran only where deep recursion had dropped its procedure is known to have run.
cat >deep.c <<'END'
#include <stdlib.h>
static volatile int sink;
static __attribute__((noinline)) void deep(int cnt)
{
	if (cnt)
		deep(cnt - 1);
	sink += cnt;
}
static __attribute__((noinline)) void never(void)
{
	sink += 1;
}
int main(int argc, char **argv)
{
	deep(100);
	if (argc > 1)
		never();
	return 0;
}
END
${CC:-gcc} -O0 -g -Wl,--build-id -o deep deep.c
timeout 120 "$tracer" --paths deep.paths -- ./deep </dev/null
run 0 --db deep.paths cfg "main@$PWD/deep"
grep -q '^  counted   nothing: it ran only where more than 32 calls were open' "$dir/got" &&
	! grep -q '^  hottest' "$dir/got" || fail "cfg below deep recursion: $(cat "$dir/got")"
run 0 --db deep.paths cfg "never@$PWD/deep"
grep -qx '  counted   nothing: it was not seen to run' "$dir/got" || fail "cfg of what did not run: $(cat "$dir/got")"

# Calls with a word of CET or MPX in front cut paths as all calls do: of these the pieces were tested.
cat >marked.c <<'END'
#include <stdlib.h>
static volatile int sink;
void leaf(void)
{
	sink += 1;
}
#define CALL(prefix) \
	__asm__ volatile(prefix " call *%0" ::"r"(leaf) \
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory")
static __attribute__((noinline)) void tracked(int a, int b)
{
	if (a)
		sink += 2;
	CALL("notrack");
	if (b)
		sink += 3;
}
static __attribute__((noinline)) void bounded(int a, int b)
{
	if (a)
		sink += 4;
	CALL("bnd");
	if (b)
		sink += 5;
}
int main(int argc, char **argv)
{
	for (int round = atoi(argv[1]); round; round--) {
		for (int i = 0; i < 2; i++) {
			tracked(i, i);
			bounded(i, i);
		}
		if (argc > 2) {
			tracked(1, 0);
			bounded(1, 0);
		}
	}
	return 0;
}
END
${CC:-gcc} -O0 -g -mno-red-zone -Wl,--build-id -o marked marked.c
objcopy --redefine-sym 'bounded=bounded{0}' marked # as a lambda's name has them
timeout 120 "$tracer" --paths marked_some.paths -- ./marked 50 </dev/null
timeout 120 "$tracer" --paths marked_more.paths -- ./marked 50 more </dev/null
run 0 --db marked_more.paths untested marked_some.paths --binary marked -n 0 --json
[ "$(grep -cE '"function": "(tracked|bounded\{0\})"' "$dir/got")" = 2 ] || fail "paths over marked calls: $(cat "$dir/got")"
run 0 --db marked_more.paths untested marked_some.paths --binary marked -n 0 --sarif --graph-cache "$dir/graphs"
grep -qE '"text": ".* untested paths by bounded\{\{0\}\} \(' "$dir/got" && grep -q '"fullyQualifiedName": "bounded{0}"' "$dir/got" ||
	fail "braces in a message: $(cat "$dir/got")"
# Without the pieces of the run they are cut out of its paths, as those of samples are.
sqlite3 marked_more.paths 'DELETE FROM piece_counts; DELETE FROM segment_counts'
run 0 --db marked_more.paths untested marked_some.paths --binary marked --unit piece -n 0 --json
grep -q '"function": "main"' "$dir/got" && ! grep -qE '"function": "(tracked|bounded)' "$dir/got" ||
	fail "pieces over marked calls: $(cat "$dir/got")"

# Segments: pieces that were tested one by one, and not one behind the other; a call that led elsewhere, and the way
# back from there; the beginning of a loop that tests never went around. Each is on the line of the branch or call.
cat >pairs.c <<'END'
#include <stdlib.h>
static volatile int sink;
static __attribute__((noinline)) void leaf(int b)
{
	if (b) /* leaf */
		sink += 1;
}
static __attribute__((noinline)) void other(int b)
{
	sink += b;
}
static __attribute__((noinline)) void pair(int a, int b)
{
	if (a)
		sink += 2;
	leaf(b);
	sink += 3;
}
static __attribute__((noinline)) void choose(void (*volatile callee)(int))
{
	callee(1); /* choose */
	sink += 4;
}
static __attribute__((noinline)) void loop(int cnt)
{
	do { /* loop */
		leaf(1);
	} while (--cnt);
}
static __attribute__((noinline)) void twice(void (*volatile a)(int), void (*volatile b)(int))
{
	a(1); /* two calls in a row */
	b(1);
}
static __attribute__((noinline)) void step(int is_more)
{
	pair(1, 1);
	pair(0, 0);
	if (is_more)
		pair(1, 0);
	twice(is_more ? other : leaf, is_more ? leaf : other);
	choose(leaf);
	other(1);
	if (is_more)
		choose(other);
	loop(is_more ? 3 : 1);
}
int main(int argc, char **argv)
{
	for (int round = atoi(argv[1]); round; round--)
		step(argc > 2);
	return 0;
}
END
${CC:-gcc} -O0 -g -Wl,--build-id -o pairs pairs.c
mark() { grep -n "/\* $1 \*/" pairs.c | cut -d: -f1; }
# sampled DB BURSTS PROGRAM ROUNDS WORD...: one recording of so many bursts at least, in which the
# command $enough finds what is looked for. How many a second has, and how long they are, depends on
# the machine and on what else runs: with fewer the program does twice as many rounds.
enough=true
sampled() {
	local db=$1 least=$2 program=$3 rounds=$4
	shift 4
	for _ in {1..8}; do
		rm -f "$db"*
		run 0 record --no-report --source step --overhead 50% --hold 20ms -o "$db" -- \
			"$program" "$rounds" "$@"
		run 0 --db "$db" windows --json
		python3 -c 'import json, sys
bursts = sum(w["bursts"] for w in json.load(open(sys.argv[1])))
sys.exit(bursts < int(sys.argv[2]))' "$dir/got" "$least" && $enough "$db" && return
		rounds=$((2 * rounds))
	done
}
timeout 120 "$tracer" --paths some.paths -- ./pairs 50 </dev/null
timeout 120 "$tracer" --paths more.paths -- ./pairs 50 more </dev/null
departures() { # DB: into the file kinds
	"$ctl" --db "$1" untested some.paths --binary pairs --unit segment -n 0 --json >"$dir/got" 2>"$dir/said" </dev/null &&
		python3 -c 'import json, sys
for d in json.load(open(sys.argv[1]))["departures"]:
    print(d["kind"], d["departs_at"], d["direction"], d["function"], d["samples"])' "$dir/got" >kinds
}
# KIND LINE DIRECTION FUNCTION of each that is to be found.
followed=("combination pairs.c:$(mark leaf) taken leaf" "new edge pairs.c:$(mark choose) call choose"
	"new edge pairs.c:$(mark choose) return choose" "new entry pairs.c:$(($(mark loop) + 1)) entry loop")
missing() {
	local one
	for one in "${followed[@]}"; do
		grep -qE "^$one [1-9][0-9]*\$" kinds || echo "'$one'"
	done
}
shows_departures() { departures "$1" && [ -z "$(missing)" ]; }
enough=shows_departures sampled pairs.db 10 ./pairs 4000000 more
for db in more.paths pairs.db; do
	run 0 --db $db untested more.paths --unit segment --binary pairs --check 0% --json
	python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
assert o["untested"] == 0 and o["seen"] > 10, o' "$dir/got" || fail "pairs against themselves: $(cat "$dir/got")"
	departures $db || fail "departures of $db: $(cat "$dir/said")"
	[ -z "$(missing)" ] || fail "no $(missing | paste -sd ' ') in $db: $(cat kinds)"
done
# The reverse is of the functions that segments begin in.
run 0 --db some.paths untested more.paths --binary pairs --unit segment --unused -n 0 --json
python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
unused = {f["function"]: (f["unused"], f["tested"]) for f in o["functions"]}
assert {"pair", "leaf", "loop", "step"} <= set(unused) and not [n for n in unused if n.startswith("_dl_")], unused
assert all(0 < n <= of for n, of in unused.values()), unused' "$dir/got" || fail "unused segments: $(cat "$dir/got")"

# Parcels carry no order: their windows are left out, and told, alone and beside others.
run 0 --db pairs.db parcel write -o parcels
run 0 parcel add -o both.db parcels/*.parcel
run 1 --db both.db untested some.paths --binary pairs --unit segment
grep -q 'says which piece followed which' "$dir/said" || fail "segments of a parcel: $(cat "$dir/said")"
sampled other.db 10 ./pairs 4000000
run 0 --db other.db parcel write -o parcels
cp pairs.db both.db
run 0 parcel add -o both.db "$(ls -t parcels/*.parcel | head -n 1)"
run 0 --db both.db untested more.paths --binary pairs --unit segment
grep -q '^not compared: 1 of 2 windows (2 to 2), which does not say which piece followed which' "$dir/got" ||
	fail "segments beside a parcel: $(cat "$dir/got")"

# The same findings in a build that moved every line, each with a fingerprint of its own.
{ printf '/* moved */\n\n\n'; cat pairs.c; printf 'void more(void) { sink = 1; }\n'; } >'100% shifted.c'
${CC:-gcc} -O0 -g -Wl,--build-id -o shifted '100% shifted.c'
timeout 120 "$tracer" --paths shifted_some.paths -- ./shifted 50 </dev/null
timeout 120 "$tracer" --paths shifted_more.paths -- ./shifted 50 more </dev/null
run 0 --db more.paths untested some.paths --binary pairs --unit segment --sarif -n 0 --graph-cache "$dir/graphs"
cp "$dir/got" pairs.sarif
run 0 --db shifted_more.paths untested shifted_some.paths --binary shifted --unit segment --sarif -n 0 --graph-cache "$dir/graphs"
python3 - pairs.sarif "$dir/got" <<'END' || fail "SARIF of segments: $(cat "$dir/got")"
import json, sys
def findings(name):
    results = json.load(open(name))["runs"][0]["results"]
    found = {r["partialFingerprints"]["departure/v1"]:
             (r["ruleId"], r["locations"][0]["physicalLocation"]["region"]["startLine"]) for r in results}
    assert len(found) == len(results) >= 10, results
    return found
a, b = map(findings, sys.argv[1:])
assert set(a) == set(b) and all(b[f] == (a[f][0], a[f][1] + 3) for f in a), (a, b)
place = json.load(open(sys.argv[2]))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
assert place["artifactLocation"]["uri"].endswith("/100%25%20shifted.c"), place
END
rm -f more.paths

# The graph, with what no test ran marked: the other arm of code(), and the way there.
run 0 --db all.paths cfg code@app --tested tests.paths --json
python3 - "$dir/got" "$(line 'new code')" <<'END' || fail "cfg --tested: $(cat "$dir/got")"
import json, sys
o, line = json.load(open(sys.argv[1])), int(sys.argv[2])
untested = [b for b in o["blocks"] if b["untested"]]
assert len(untested) == 1 and untested[0]["line"] <= line + 3 <= untested[0]["last_line"], untested
ways = [(b["line"], e["to"]) for b in o["blocks"] for e in b["edges"] if e["untested"] and not b["untested"]]
assert len(ways) == 1 and ways[0][1] == untested[0]["start"], ways
END
run 0 --db all.paths cfg code@app --tested tests.paths
grep -q 'tested  *1 path; 1 block ' "$dir/got" && grep -q '  untested' "$dir/got" || fail "cfg --tested, text: $(cat "$dir/got")"
run 0 --db all.paths cfg code@app --tested tests.paths --format dot
grep -q 'red: ran, and no test ran it' "$dir/got" && grep -q 'untested, ' "$dir/got" || fail "cfg --tested, dot: $(cat "$dir/got")"
run 0 --db all.paths cfg code@app --tested all.paths --json
! grep -q '"untested": true' "$dir/got" || fail "cfg of a run against itself: $(cat "$dir/got")"
run 0 --db all.paths cfg code@app --json
! grep -q '"untested"' "$dir/got" || fail "cfg without --tested: $(cat "$dir/got")"

# A build that moved every line has the same findings, on the lines where they are now.
{ printf '/* moved */\n\n\n\n\n\n\n'; sed 's/static volatile int sink;/static volatile int sink, sank;/' app.c
	printf 'void more(void) { sank = 1; }\n'; } >moved.c
${CC:-gcc} -O0 -g -Wl,--build-id -o moved moved.c
timeout 120 "$tracer" --paths moved.paths -- ./moved 3 p e c l </dev/null
timeout 120 "$tracer" --paths moved_all.paths -- ./moved 3 p P e E c C l L </dev/null
run 0 --db all.paths untested tests.paths --binary app --sarif -n 0 --graph-cache "$dir/graphs"
cp "$dir/got" app.sarif
run 0 --db moved_all.paths untested moved.paths --binary moved --sarif -n 0 --graph-cache "$dir/graphs"
python3 - app.sarif "$dir/got" <<'END' || fail "SARIF: $(cat "$dir/got")"
import json, sys
def findings(name):
    log = json.load(open(name))
    assert log["version"] == "2.1.0" and len(log["runs"]) == 1
    rules = [r["id"] for r in log["runs"][0]["tool"]["driver"]["rules"]]
    found = {}
    for r in log["runs"][0]["results"]:
        assert rules[r["ruleIndex"]] == r["ruleId"] and r["message"]["text"]
        place = r["locations"][0]["physicalLocation"]
        found[r["partialFingerprints"]["departure/v1"]] = (r["ruleId"], place["region"]["startLine"])
        assert place["artifactLocation"]["uri"].endswith(".c")
    assert len(found) == len(log["runs"][0]["results"]) >= 5
    return found
a, b = findings(sys.argv[1]), findings(sys.argv[2])
assert set(a) == set(b), (a, b)
assert all(b[f] == (a[f][0], a[f][1] + 7) for f in a), (a, b)
END

# As lines and branches: the executed code and its untested part; in reverse, code that only tests
# ran.
run 0 --db all.paths untested tests.paths --binary app --lcov
cp "$dir/got" app.info
python3 - app.info "$(line 'new code')" "$(line 'new edge')" "$(line combination)" <<'END' ||
import sys
lines, ways, file = {}, {}, None
for text in open(sys.argv[1]):
    word, _, rest = text.strip().partition(":")
    if word == "SF":
        file = rest
    elif word == "DA":
        number, hits = rest.split(",")
        lines[int(number)] = int(hits)
    elif word == "BRDA":
        number, block, way, hits = map(int, rest.split(","))
        ways.setdefault(number, {})[way] = hits
    elif word in ("LF", "BRF"):
        assert int(rest) == (len(lines) if word == "LF" else sum(map(len, ways.values()))), text
    elif word in ("LH", "BRH"):
        found = lines.values() if word == "LH" else [h for w in ways.values() for h in w.values()]
        assert int(rest) == sum(found), text
code, edge, combination = map(int, sys.argv[2:])
assert file.endswith("/app.c")
# the other arm of code(), and the cases of the switch that tests leave out, are four lines
source = open("app.c").read().split("\n")
untested = [source[n - 1].strip() for n, hits in sorted(lines.items()) if not hits]
assert untested == ["sink += 6;"] + ["case '%s': %s break;" % c for c in
    (("P", "pick(1, 0);"), ("E", "edge(0);"), ("C", "code(0);"), ("L", "loop(3);"))], untested
assert ways[code] == ways[edge] == {0: 1, 1: 0} and set(ways[combination].values()) == {1}, ways
END
	fail "lcov: $(cat "$dir/got")"
# A block that tests entered in its middle: they went around the addition of 3, and what is behind it ran.
count around.paths E
count through.paths e
run 0 --db through.paths untested around.paths --binary app --lcov
three=$(grep -n 'sink += 3;' app.c | cut -d: -f1)
for row in "$three,0" "$((three + 1)),1"; do
	grep -q "^DA:$row\$" "$dir/got" || fail "lcov of half a block: no DA:$row: $(cat "$dir/got")"
done
if command -v genhtml >/dev/null; then
	genhtml -q --branch-coverage -o html app.info >html.log 2>&1 || fail "genhtml: $(cat html.log)"
fi
count few.paths p e
run 0 --db few.paths untested tests.paths --binary app --unused -n 0 --json
python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
unused = {f["function"]: (f["unused"], f["tested"]) for f in o["functions"]}
assert set(unused) == {"again", "code", "loop"}, unused
assert unused["code"][0] == unused["code"][1] and unused["again"][0] < unused["again"][1], unused
assert o["unused"] == sum(n for n, _ in unused.values()) and o["functions_not_seen"] == 2, o' "$dir/got" ||
	fail "unused: $(cat "$dir/got")"
run 0 --db tests.paths untested tests.paths --binary app --unused
grep -q '^unused      0 of' "$dir/got" || fail "unused of itself: $(cat "$dir/got")"
run 2 --db few.paths untested tests.paths --unused --lcov
run 2 --db few.paths untested tests.paths --unit piece --lcov

# Tests added to the set close the gap, and a set without one of them shows it.
count more.paths P E L
run 0 tested merge -o app.tested tests.paths more.paths
run 0 --db all.paths untested app.tested --binary app -n 0 --json
python3 -c 'import json, sys
kinds = [d["kind"] + " " + str(d["function"]) for d in json.load(open(sys.argv[1]))["departures"]]
assert "new code code" in kinds and not [k for k in kinds if k.split()[-1] in ("pick", "edge", "loop")], kinds' "$dir/got" ||
	fail "merged: $(cat "$dir/got")"
run 0 tested list app.tested --json
python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert [x["command"] for x in r] == ["./app 3 p e c l", "./app 3 P E L"] and all(x["whole"] for x in r), r' "$dir/got" ||
	fail "list: $(cat "$dir/got")"
run 0 tested merge -o twice.tested tests.paths all.paths more.paths
run 0 tested redundant twice.tested --json
python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert r[0]["run"] == 2 and r[-1]["covered"] == 1 and [x["adds"] for x in r] == sorted([x["adds"] for x in r], reverse=True), r
assert [x["redundant"] for x in r] == [x["adds"] == 0 for x in r], r' "$dir/got" ||
	fail "redundant: $(cat "$dir/got")"

# Samples of production.
count same.paths p P e E c C l L
# Segments of most functions are in them, and departures of two kinds, of a share that is above 0
# for sure.
is_rich() {
	"$ctl" --db "$1" untested same.paths --binary app --unit segment --json >segments 2>"$dir/said" </dev/null &&
		"$ctl" --db "$1" untested tests.paths --binary app --json >paths 2>"$dir/said" </dev/null &&
		python3 -c 'import json
segments, paths = json.load(open("segments")), json.load(open("paths"))
share, kinds = paths["untested_share"], {d["kind"] for d in paths["departures"]}
raise SystemExit(not (segments["seen"] > 15 and 0 < share["low"] < share["share"] < share["high"] and len(kinds) >= 2))'
}
enough=is_rich sampled live.db 30 ./app 200000 p P e E c C l L
run 1 untested live.db --db live.db
grep -q 'no tested set' "$dir/said" || fail "samples as a tested set: $(cat "$dir/said")"
run 1 tested list not.there
grep -q "pathprof-trace --paths" "$dir/said" || fail "how a tested set is made: $(cat "$dir/said")"
run 1 tested merge -o bad.tested live.db
grep -q 'no tested set' "$dir/said" || fail "samples merged: $(cat "$dir/said")"
[ ! -e bad.tested ] || fail "a file was written of samples"
run 0 --db live.db untested same.paths --binary app --check 0% --json
python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
assert o["untested"] == 0 and o["bursts"] > 10 and 0 < o["unseen_share"]["high"] <= 1, o' "$dir/got" ||
	fail "false alarms: $(cat "$dir/got")"
run 0 --db live.db untested same.paths --binary app --unit piece --check 0% --json
python3 -c 'import json, sys
assert json.load(open(sys.argv[1]))["untested"] == 0' "$dir/got" || fail "false alarms of pieces: $(cat "$dir/got")"
run 0 --db live.db untested same.paths --binary app --unit segment --check 0% --json
python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
assert o["untested"] == 0 and o["seen"] > 15 and o["bursts"] > 10 and 0 < o["unseen_share"]["high"] <= 1, o
assert o["windows_without_segments"] == o["segments_lost"] == 0 and not o["departures"], o' "$dir/got" ||
	fail "false alarms of segments: $(cat "$dir/got")"

run 0 --db live.db untested tests.paths --binary app --json
python3 - "$dir/got" >limits <<'END' || fail "left out, in samples: $(cat "$dir/got")"
import json, sys
o = json.load(open(sys.argv[1]))
s = o["untested_share"]
assert 0 < s["low"] < s["share"] < s["high"] <= 1, s
assert len({d["kind"] for d in o["departures"]}) >= 2, o["departures"]
print("%.4f%% %.4f%%" % (50 * s["low"], 50 * (s["low"] + s["share"])))
END
read -r below between <limits
run 10 --db live.db untested tests.paths --binary app --check "$below"
run 0 --db live.db untested tests.paths --binary app --check "$between"
run 0 --db live.db untested tests.paths --binary app --min-bursts 100000000
grep -q 'not believed' "$dir/got" || fail "--min-bursts: $(cat "$dir/got")"

# The tested set of one build for what another build of the program ran: what moved is found where it is now, by
# the fingerprints that a set of that build would give.
mkdir next changed
cp moved next/app
timeout 120 "$tracer" --paths next.paths -- next/app 3 p P e E c C l L </dev/null
for unit in path piece segment; do
	run 0 --db next.paths untested all.paths --binary "$dir/next/app" --unit $unit --check 0% --json --graph-cache "$dir/graphs"
	python3 - "$dir/got" <<'END' || fail "another build against its own tests by $unit: $(head -c 600 "$dir/got")"
import json, sys
o = json.load(open(sys.argv[1]))
assert o["untested"] == 0 and o["seen"] > 20 and not o["departures"], o
assert len(o["other_builds"]) == 1 and o["other_builds"][0]["matched"] > 0.99, o
assert o["not_matched"] < 0.01, o
END
done
run 0 --db moved_all.paths untested moved.paths --binary moved --sarif -n 0 --graph-cache "$dir/graphs"
cp "$dir/got" own.sarif
run 0 --db next.paths untested tests.paths --binary "$dir/next/app" --sarif -n 0 --graph-cache "$dir/graphs"
python3 - own.sarif "$dir/got" <<'END' || fail "SARIF of another build: $(cat "$dir/got")"
import json, sys
def findings(name):
    return {r["partialFingerprints"]["departure/v1"]:
            (r["ruleId"], r["locations"][0]["physicalLocation"]["region"]["startLine"])
            for r in json.load(open(name))["runs"][0]["results"]}
a, b = map(findings, sys.argv[1:])
assert len(a) >= 5 and a == b, (a, b)
END
run 0 --db next.paths untested tests.paths --binary "$dir/next/app" --graph-cache "$dir/graphs"
grep -q '^other build: app .* 9[0-9.]*% of what it ran\|^other build: app .* 100.0% of what it ran' "$dir/got" ||
	fail "another build, text: $(cat "$dir/got")"

# For a changed function only its amount is reported; for the others everything is.
sed 's/if (a) \/\* new code/if (a > 0) if (a < 9) \/* new code/' moved.c >changed.c
${CC:-gcc} -O0 -g -Wl,--build-id -o changed/app changed.c
timeout 120 "$tracer" --paths changed.paths -- changed/app 3 p P e E c C l L </dev/null
run 0 --db changed.paths untested tests.paths --binary "$dir/changed/app" -n 0 --json --graph-cache "$dir/graphs"
python3 - "$dir/got" <<'END' || fail "a function changed: $(cat "$dir/got")"
import json, sys
o = json.load(open(sys.argv[1]))
functions = {str(d["function"]) for d in o["departures"]}
assert functions >= {"pick", "edge", "loop"} and "code" not in functions, functions
assert 0.03 < o["not_matched"] < 0.5 and o["not_compared"] >= o["not_matched"], o
assert abs(o["other_builds"][0]["matched"] - 1 + o["not_matched"]) < 0.2, o
END
run 0 --db changed.paths untested tests.paths --binary "$dir/changed/app" --graph-cache "$dir/graphs"
grep -q 'not compared: .* in functions that changed between the builds' "$dir/got" ||
	fail "a function changed, text: $(cat "$dir/got")"

# Without the code of the tested build nothing says what is the same, and why is told.
mv app hidden
run 1 --db next.paths untested tests.paths --binary "$dir/next/app" --graph-cache "$dir/graphs"
grep -q 'can be compared: .*app' "$dir/said" || fail "without the tested code: $(cat "$dir/said")"
run 0 --db next.paths untested tests.paths --binary "$dir/next/app" --file hidden --graph-cache "$dir/graphs" --json
mv hidden app

# Another program has nothing in common.
sed 's/sink += 4/sink += 44/' app.c >other.c
${CC:-gcc} -O0 -g -Wl,--build-id -o other other.c
timeout 120 "$tracer" --paths other.paths -- ./other 3 p </dev/null
run 1 --db all.paths untested other.paths --binary app
grep -q 'can be compared' "$dir/said" || fail "another program: $(cat "$dir/said")"
run 2 untested
run 2 tested
run 2 --db all.paths untested tests.paths --unit block
run 2 --db all.paths untested tests.paths --check much
finish
