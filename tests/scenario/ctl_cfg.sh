#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pathprofctl cfg, paths --function and show FUNCTION:NUMBER over a real recording: a small program
# is recorded, and what is shown of its function is held against `edges` (counts of taken branches)
# and against `show PATH-ID`, which walks the code instead of the graph (weights of blocks). The
# picture is well-formed whatever functions are called, names come from a debug file, and without
# graphviz one line says so. That the checks find a wrong count is shown on a wrong count.
set -eu
name=ctl_cfg
. "$(dirname "$0")/ctl_common.bash"

[ -x "$BUILD/bin/pathprofd" ] || fail "pathprofd is not built"
"$ctl" doctor >"$dir/doctor" || {
	echo "skip $name: no source can run here: $(grep '^no .*single steps' "$dir/doctor")"
	exit 0
}
command -v dot >/dev/null || {
	echo "skip $name: graphviz is not installed"
	exit 0
}

cd "$dir"
cat >work.c <<'END_OF_SOURCE'
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) unsigned int odd(unsigned int x);

__attribute__((noinline)) unsigned int before(unsigned int x)
{
	if (x & 1)
		x += 5;
	return odd(x ^ 3);
}

__attribute__((noinline)) unsigned int odd(unsigned int x)
{
	return x & 4 ? x * 2654435761u >> 7 : x + 1;
}

__attribute__((noinline)) unsigned int work(unsigned int n)
{
	unsigned int sum = n;

	for (unsigned int i = 0; i < n; i++) {
		if (i % 3 == 0)
			sum += odd(i);
		else if (sum & 1)
			sum ^= i;
		switch (sum % 7) {
		case 0: sum += 3; break;
		case 1: sum ^= sum << 3; break;
		case 2: sum -= i; break;
		case 3: sum *= 5; break;
		case 4: sum ^= 0x55; break;
		case 5: sum = sum / 3 + i; break;
		}
		if (n == 0xffffffff)
			puts("never");
	}
	return sum;
}

__attribute__((noinline)) unsigned int large(unsigned int n)
{
#include "large.h"
	return n;
}

__attribute__((noinline)) unsigned int idle(unsigned int n)
{
#include "large.h"
	return n + 1;
}

int main(int argc, char **argv)
{
	unsigned int rounds = atoi(argv[1]), sum = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		sum += work(100 + (sum & 1));
		sum += large(sum);
		for (unsigned int j = 0; j < 30; j++)
			sum += before(sum);
	}
	return sum == 1 && idle(sum);
}
END_OF_SOURCE
for ((i = 0; i < 300; i++)); do echo "if (n == $i * 77u) n += odd(n);"; done >large.h
gcc -O1 -foptimize-sibling-calls -fno-toplevel-reorder -g -Wl,--build-id -o work work.c || fail "the program does not compile"
# A name that no language has, and no quoting stands without care.
hostile=$'odd"<b>\\n&\n\303'
objcopy --redefine-sym "odd=$hostile" work

# Bursts may hold the program for long: where each instruction is a stop of its own, 2 ms are over before 32 branches.
record() { run "${1:-0}" record --no-report --overhead 60 --hold 100ms -o work.db -- ./work 600000; }
export PATHPROF_DB=$dir/work.db
# A busy machine leaves few bursts: it is recorded until there is one of each kind that is looked for below.
has() { "$ctl" paths --function "$1" -n 0 2>/dev/null | grep -c "$2"; } # FUNCTION PATTERN
recorded_enough() {
	[ "$(has work ' work:[0-9]* ')" -ge 8 ] && [ "$(has before ' before:[0-9]*+ ')" -gt 0 ] &&
		[ "$(has large ' -  *[0-9]*$')" -gt 0 ] &&
		"$ctl" cfg work --json --all --all-blocks >cfg.json 2>/dev/null &&
		"$ctl" cfg "$hostile" --json >odd.json 2>/dev/null &&
		"$ctl" cfg work --sort time --json >time.json 2>/dev/null && python3 -c 'import json
work, odd, time = (json.load(open(f"{n}.json")) for n in ("cfg", "odd", "time"))
found = [any(b[what] for b in work["blocks"]) for what in ("called", "returned")]
found.append(any(e["kind"] == "switch" and e["weight"] > 0 for b in work["blocks"] for e in b["edges"]))
raise SystemExit(not (all(found) and work["taken"] > 100 and work["hottest_path"] and odd["hottest_path"] and
                      time["clock_samples"]))'
}
for _ in $(seq 20); do
	record
	! recorded_enough || break
done

# ---------------------------------------------------------------- counts
run 0 cfg work --json --all --all-blocks
mv got cfg.json
run 0 edges --json -n 0
mv got edges.json
run 0 paths --json -n 0 --binary "$dir/work"
mv got paths.json
for id in $(python3 -c 'import json; print(*[p["id"] for p in json.load(open("paths.json"))])'); do
	run 0 show "$id" --json
	mv got "show.$id.json"
done
cat >check.py <<'END'
import json, sys

cfg, edges, paths = (json.load(open(f"{n}.json")) for n in ("cfg", "edges", "paths"))
plant = sys.argv[1] if len(sys.argv) > 1 else ""
if plant == "edge":
    next(e for b in cfg["blocks"] for e in b["edges"] if e["taken"])["taken"] += 1
if plant == "block":
    next(b for b in cfg["blocks"] if b["weight"])["weight"] *= 1.01

def here(binary):
    return binary["build_id"] == cfg["binary"]["build_id"]

# Taken branches: each that `edges` has from a block's last instruction is on an edge of it, is a
# call, or is a return; none is counted twice or lost.
blocks = {b["last"]: b for b in cfg["blocks"]}
seen = 0
for edge in edges:
    if not here(edge["from_binary"]) or edge["from"] not in blocks:
        continue
    block = blocks[edge["from"]]
    found = [e for e in block["edges"] if e["to"] == edge["to"] and here(edge["to_binary"])
             and e["kind"] in ("taken", "jump", "switch", "indirect", "tail call")]
    if block["called"] or block["returned"]:
        continue
    assert len(found) == 1 and found[0]["taken"] == edge["count"], (edge, block)
    seen += edge["count"]
assert seen == cfg["taken"] == sum(e["taken"] for b in cfg["blocks"] for e in b["edges"]), seen
assert cfg["unlisted"] == 0 and seen > 100, cfg["unlisted"]
for what in ("called", "returned"):
    for block in cfg["blocks"]:
        from_edges = sum(e["count"] for e in edges if here(e["from_binary"])
                         and e["from"] == block["last"])
        assert block[what] in (0, from_edges), (what, block)
assert sum(b["called"] for b in cfg["blocks"]) > 0 < sum(b["returned"] for b in cfg["blocks"])

# Weights: a block's is that of the paths whose straight runs hold it.
runs = [(p["weight"], [(int(b["start"], 16), int(b["end"], 16))
                       for b in json.load(open(f"show.{p['id']}.json"))["blocks"]])
        for p in paths]
for block in cfg["blocks"]:
    start = int(block["start"], 16)
    weight = sum(w for w, spans in runs if any(a <= start < b for a, b in spans))
    assert abs(weight - block["weight"]) < 1e-6 * max(1, weight), (weight, block)
    out = sum(e["weight"] for e in block["edges"])
    assert out <= block["weight"] * (1 + 1e-6), block
    if out:
        assert abs(sum(e["share"] for e in block["edges"]) - 1) < 1e-6, block
assert any(e["kind"] == "switch" and e["weight"] > 0 for b in cfg["blocks"] for e in b["edges"])

# The hottest path is the heaviest that begins here, and is marked all along.
own = [p for p in paths if p["function"] == "work"]
best = max(own, key=lambda p: p["weight"])
assert cfg["hottest_path"]["weight"] == best["weight"], (cfg["hottest_path"], best)
spans = dict((p["id"], r[1]) for p, r in zip(paths, runs))[cfg["hottest_path"]["id"]]
for block in cfg["blocks"]:
    start = int(block["start"], 16)
    assert block["hottest"] == any(a <= start < b for a, b in spans), block
END
python3 check.py || fail "counts are not those of edges and paths"
for fault in edge block; do
	! python3 check.py "$fault" 2>/dev/null || fail "a wrong count of a(n) $fault is not found"
done

# ---------------------------------------------------------------- TIME of blocks
run 0 cfg work --sort time --json --all --all-blocks
mv got time.json
python3 - <<'END' || fail "cfg --sort time"
import json
runs, time = (json.load(open(f"{n}.json")) for n in ("cfg", "time"))
assert runs["figure"] == "runs" and runs["kind"] == "weighed" and runs["horizon"] == 1024, runs["figure"]
assert time["figure"] == "time" and time["clock_samples"] > 0, time["figure"]
assert time["clock_samples"] == sum(b["clock_samples"] for b in time["blocks"])
for before, block in zip(runs["blocks"], time["blocks"]):
    assert abs(block["share"] - block["clock_samples"] / time["clock_samples"]) < 1e-6, block
    assert block["edges"] == before["edges"] and block["weight"] == before["weight"], block
END
# Clock samples of the function are those that the store has between its ends.
sqlite3 work.db "SELECT coalesce(sum(samples), 0) FROM clock_counts JOIN binaries b ON b.id = binary
	WHERE b.name LIKE '%/work' AND place BETWEEN $((16#$(nm work | awk '$3 == "work" { print $1 }'))) AND
	$((16#$(nm -S work | awk '$4 == "work" { print $2 }') + 16#$(nm work | awk '$3 == "work" { print $1 }') - 1))" >want
python3 -c 'import json; print(json.load(open("time.json"))["clock_samples"])' >got
expect 'clock samples of a function'

# ---------------------------------------------------------------- forms
run 0 cfg work
grep -q '^work$' got || fail "text: no title"
grep -q 'work.c:[0-9]' got || fail "text: no source"
grep -q 'calls odd"<b>' got || fail "text: no call"
grep -q '^  \* +0x' got || fail "text: no hottest path"
grep -q '^  figure    RUNS: [0-9]* bursts of up to 1024 instructions, weighed by the clock$' got || fail "text: no figure"
run 0 cfg work --sort time
grep -q '^  figure    TIME: [0-9]* clock samples; of ways out RUNS$' got || fail "text: no figure of time"
for word in work "$hostile" work@work "work@$dir/work" work+0x5; do
	run 0 cfg "$word" --format dot
	mv got work.dot
	dot -Tcanon work.dot >/dev/null 2>dot.said || fail "dot refuses $word"
	[ ! -s dot.said ] || fail "dot complains about $word: $(head -1 dot.said)"
	run 0 cfg "$word" -o work.svg
	[ ! -s got ] || fail "-o wrote on standard output"
	python3 - <<'END' || fail "svg of $word"
import re, xml.etree.ElementTree
svg = xml.etree.ElementTree.parse("work.svg").getroot()
nodes = [g for g in svg.iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "node"]
dot = open("work.dot", encoding="utf-8").read()
assert len(nodes) == len(re.findall(r"^\tb\d+ \[", dot, re.M)) > 1, len(nodes)
assert "#0b4f9e" in open("work.svg").read(), "no hottest path"

# The heavier a block the darker, and black text stays legible on all (contrast of WCAG 2, 4.5).
def luminance(color):
    parts = [int(color[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

shades = re.findall(r'fillcolor="#(\w{6})".*tooltip="0x\w+: \w+ ([0-9.]+),', dot)
shades = sorted((float(weight), luminance(color)) for color, weight in shades)
assert shades and all(a[1] >= b[1] for a, b in zip(shades, shades[1:])), shades
assert (shades[-1][1] + 0.05) / 0.05 >= 4.5, shades[-1]
END
done

# Joined blocks are fewer, and nothing else is: each edge but those joined over is still there.
run 0 cfg work --json
python3 - <<'END' || fail "joined blocks"
import json
joined, each = json.load(open("got")), json.load(open("cfg.json"))
assert len(joined["blocks"]) < len(each["blocks"]), len(joined["blocks"])
key = lambda cfg: sorted((b["last"], e["to"], e["weight"]) for b in cfg["blocks"]
                         for e in b["edges"] if e["kind"] not in ("goes on", "falls through"))
assert key(joined) == key(each)
END

# A large function is cut down to what ran, and that is said.
run 0 cfg idle
grep -q 'left out: --all' said || fail "a large function: nothing left out"
few=$(wc -l <got)
run 0 cfg idle --all
[ ! -s said ] || fail "--all leaves something out"
[ "$(wc -l <got)" -gt "$few" ] || fail "--all shows no more"

# ---------------------------------------------------------------- numbers
run 0 paths --function work -n 0 --json
cp got own.json
python3 - >numbers <<'END' || fail "paths --function"
import json
own, every = json.load(open("own.json")), json.load(open("paths.json"))
mine = {p["id"] for p in every if p["function"] == "work"}
assert {p["id"] for p in own} == mine and mine
paths = int(own[0]["function_paths"])
numbers = [p["number"] for p in own if p["number"] is not None and not p["runs_on"]]
assert len(numbers) == len(set(numbers)) and all(int(n) < paths for n in numbers) and numbers
for p in own:
    if p["number"] is not None and not p["runs_on"]:
        print(p["id"], p["number"], paths)
END
while read -r id number paths; do
	run 0 show "$id"
	mv got by-id
	run 0 show "work:$number"
	cmp -s got by-id || fail "show work:$number is not show $id"
	grep -q "number    work:$number  (of $paths paths)" got || fail "show $id: no number"
	run 0 show "work:$number" --json
	mv got by-number.json
	python3 - "$id" <<'END' || fail "show work:$number --json"
import json, sys
a, b = json.load(open(f"show.{sys.argv[1]}.json")), json.load(open("by-number.json"))
assert a == b and a["function_path"]["function"] == "work", b
END
done <numbers
[ "$(wc -l <numbers)" -ge 5 ] || fail "only $(wc -l <numbers) numbered paths"
paths=$(awk 'NR == 1 {print $3}' numbers)

# A path that jumps on into another function has a number for its part; one of 32 branches has none.
run 0 paths --function before -n 0
grep -q 'before:[0-9]*+ ' got || fail "no path runs on into another function"
grep -q '^+: it runs on' got || fail "no footnote about what runs on"
id=$(awk '/before:[0-9]*[+]/ {print $NF; exit}' got)
run 0 show "$id"
grep -q 'it runs on into another function' got || fail "show $id: not said to run on"
run 0 paths --function large -n 0
grep -q ' -  *[0-9]*$' got || fail "a path of 32 branches has a number"
grep -q '^-: no path of the function alone' got || fail "no footnote about what has none"
id=$(awk '$(NF - 1) == "-" {print $NF; exit}' got)
run 0 show "$id"
grep -q 'number    -  (no path of large alone' got || fail "show $id: no word about the number"

# Paths never seen are reported as such, and still have code: a block for each branch.
unseen=0
for ((number = 0; number < paths; number++)); do
	run 0 show "work:$number" --json
	python3 - <<'END' || fail "show work:$number: its blocks are not its outcomes"
import json
path = json.load(open("got"))
ways = "".join({"taken": "T", "not taken": "N", "jump": "T", "indirect jump": "T"}
               .get(b["way"], "") for b in path["blocks"])
assert ways == path["outcomes"] and len(ways) == path["length"], path
assert path["blocks"][0]["start"] == path["start"]
assert all("text" in i for b in path["blocks"] for i in b["instructions"])
assert path["function_path"], path
END
	grep -q '^ "id": null' got || continue
	unseen=$((unseen + 1))
	run 0 show "work:$number"
	grep -q 'never seen' got || fail "show work:$number: not said to be unseen"
	grep -q 'the path ends' got || fail "show work:$number: no end"
done
[ "$unseen" -ge 1 ] || fail "no path is unseen: the call of puts never runs"
run 1 show "work:$paths"
grep -q "work has $paths" said || fail "a number too large"
run 0 paths --function work -n 1
[ "$(grep -c ' work:[0-9]' got)" = 1 ] || fail "paths --function -n 1"
grep -q "^work has $paths paths" got || fail "paths --function: no footnote"

# ---------------------------------------------------------------- files
# A stripped file by its debug file's names; without that by offset, as top shows it.
start=$(python3 -c 'import json; print(json.load(open("cfg.json"))["start"])')
objcopy --only-keep-debug work work.debug
objcopy --strip-all --add-gnu-debuglink=work.debug work stripped
mv stripped work
run 0 cfg work --json --all --all-blocks
python3 - <<'END' || fail "a stripped file with a debug file shows another picture"
import json
a, b = json.load(open("cfg.json")), json.load(open("got"))
assert a["name"] == b["name"] == "work" and a["start"] == b["start"]
key = lambda cfg: [(x["start"], x["weight"], [(e["to"], e["taken"]) for e in x["edges"]])
                   for x in cfg["blocks"]]
assert key(a) == key(b)
END
rm work.debug
run 1 cfg compute@work
grep -q 'BINARY+0xOFFSET' said || fail "no word about offsets"
for word in "$start" "work+$start" "$start@work"; do
	run 0 cfg "$word"
	grep -q "^  start     $start" got || fail "cfg $word"
done
run 0 cfg "$start" --binary "$dir/work"

# A file that was never profiled, its functions by C++ names too.
cat >box.cc <<'END'
#include <stdexcept>
namespace ns { struct Box { int run(int n); }; }
int ns::Box::run(int n)
{
	if (n < 0)
		throw std::runtime_error("negative");
	return n + 1;
}
int main(int argc, char **argv)
{
	return ns::Box().run(argc);
}
END
g++ -O1 -g -Wl,--build-id -o box box.cc || fail "the C++ program does not compile"
for word in 'ns::Box::run(int)' ns::Box::run _ZN2ns3Box3runEi ns::Box::run+0x4; do
	run 0 cfg "$word@$dir/box"
	grep -q '^ns::Box::run$' got || fail "cfg $word: not found"
	grep -q 'calls std::runtime_error::runtime_error(char const\*)@plt' got ||
		fail "cfg $word: a stub without a readable name"
done
run 0 show "ns::Box::run@$dir/box:0"
grep -q 'number    ns::Box::run:0 ' got || fail "show of a C++ function's path"
run 1 cfg "ns::Box::walk@$dir/box"
libc=$(ldd work | awk '/libc\.so/ {print $3}')
run 0 cfg "qsort@$libc"
grep -q 'not seen to run' got || fail "cfg of an unprofiled file"
run 0 cfg "vfprintf@$libc" --graph-cache "$dir/a/b"
[ "$(find "$dir/a/b" -type f | wc -l)" -ge 1 ] || fail "--graph-cache keeps nothing"

# Calls beyond those that are named are counted, in each form.
echo 'int f(int x); int six(int x) { return f(f(f(f(f(f(x)))))) + 1; }' >six.c
echo '__attribute__((noinline)) int f(int x) { return x ^ 5; } int main(int c, char **v) { int six(int); return six(c); }' >f.c
gcc -O1 -Wl,--build-id -o six six.c f.c || fail "the program of calls does not compile"
run 0 cfg "six@$dir/six"
grep -qx '      and makes 2 calls more' got || { cat got; fail "text: calls are not counted"; }
run 0 cfg "six@$dir/six" --json
python3 -c 'import json
block = max(json.load(open("got"))["blocks"], key=lambda b: len(b["calls"]))
assert (len(block["calls"]), block["more_calls"]) == (4, 2), block' || fail "json: calls are not counted"

# Without graphviz one line says so and nothing is written.
mkdir bin
PATH=$dir/bin
status=0
"$ctl" cfg "$start" --format svg -o none.svg >got 2>said || status=$?
PATH=/usr/bin:/bin
[ "$status" = 1 ] || fail "without graphviz: exit status $status"
grep -q 'apt install graphviz' said || fail "no word about graphviz"
[ ! -e none.svg ] || fail "a picture that failed was written"
# A file is not called what it is not.
! "$ctl" cfg "$start" -o none.png >got 2>said && grep -q 'writes .svg, .dot, .json and .txt' said && [ ! -e none.png ] || fail "cfg -o none.png: $(cat said)"
"$ctl" cfg "$start" -o named.json >got 2>said && python3 -m json.tool named.json >/dev/null || fail "cfg -o named.json: $(cat said)"
finish
