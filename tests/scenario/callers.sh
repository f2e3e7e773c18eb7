#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Callers: a program counts itself how often two functions call a third, and the recording must say
# the same; figures split by callers add up to the whole; and without stacks no callers are known.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "${BUILD:-build}")
ctl=$build/bin/pathprofctl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset DEBUGINFOD_URLS

# Longer each time, until enough was seen: a busy machine gives few bursts, and where each
# instruction is a stop of its own, 2 ms hold a fraction of a call.
least=3000 known=0
for seconds in 3 6 12 24 48 96 192 384; do
	rm -f db db-*
	"$build/bin/pathprofd" --record --db db --source step --overhead 60 --hold 20ms --quiet -- \
		"$build/tests/workloads/callers" "$seconds" >counted 2>log || {
		cat log
		grep -q "ptrace is refused" log || exit 1
		echo "skip callers: the step source does not run here"
		exit 0
	}
	"$ctl" top --db db --by callers --limit 0 --json >by_callers || continue
	known=$(python3 -c 'import json
print(sum(r["samples"] or 0 for r in json.load(open("by_callers"))
          if r["function"] == "leaf" and r["caller"] in ("left", "right")))')
	echo "$seconds s: leaf seen $known times under left and right"
	[ "$known" -lt $least ] || break
done
if [ "$known" -lt $least ]; then
	echo "callers: too few bursts in $seconds s" >&2
	cat log >&2
	exit 1
fi
"$ctl" top --db db --by functions --limit 0 --json >by_functions
# The expected export: functions with few clock samples share what was found there, and the whole
# recording includes functions of another binary.
"$ctl" top --db db --by functions --binary callers --limit 0 --json >of_binary
# The heaviest path of leaf.
"$ctl" paths --db db --json >paths
id=$(python3 -c 'import json
print(next((p["id"] for p in json.load(open("paths")) if p["function"] == "leaf"), 0))')
"$ctl" show --db db "$id" >shown
"$ctl" show --db db --json "$id" >shown.json
for format in folded pprof; do
	"$ctl" export --db db -F $format --binary callers -o $format 2>exported || cat exported
done
python3 "$here/scenario/export_pprof.py" sums pprof >pprof.sums
for format in folded pprof; do
	"$ctl" export --db db -F $format -o all.$format 2>exported || cat exported
done
python3 "$here/scenario/export_pprof.py" sums all.pprof >all.sums
python3 - counted by_callers by_functions of_binary <<'P'
import json, math, sys

left, right, _ = open(sys.argv[1]).read().split()
callers, functions, of_binary = (json.load(open(f)) for f in sys.argv[2:5])
truth = int(left) / (int(left) + int(right))

def total(rows, figure, function=None):
    return sum(r[figure] or 0 for r in rows if function is None or r["function"] == function)

of = {r["caller"]: r["samples"] for r in callers if r["function"] == "leaf"}
known = of.get("left", 0) + of.get("right", 0)
print(f"{of.get(None, 0)} times under nobody")
problems = []

def chance(variance):
    # A call is drawn once and seen thirteen times, in the rounds of its loop. Some three calls in
    # a hundred have no caller who is known, more often of one side.
    return 0.03 + 4.5 * math.sqrt(variance * truth * (1 - truth) / (known / 13))

if set(of) - {"left", "right", None}:
    problems.append(f"leaf was called by {sorted(map(str, of))}")
share = of.get("left", 0) / known
if abs(share - truth) > chance(1):
    problems.append(f"left called {truth:.3f} of the times, and is said to have {share:.3f}")
for name in ("left", "right"):
    above = {r["caller"] for r in callers if r["function"] == name} - {None}
    if above and above != {"main"}:
        problems.append(f"{name} was called by {above}")
for figure in ("time", "runs", "samples"):
    for name in [None, "leaf", "left", "right", "main"]:
        parts, whole = total(callers, figure, name), total(functions, figure, name)
        if abs(parts - whole) > 1e-6 * max(1, whole):
            problems.append(f"{figure} of {name or 'all'}: {parts} by callers, {whole} without")
chains = [[f["function"] for f in c["frames"]] for c in json.load(open("shown.json"))["callers"]]
if not chains or len(chains) > 3 or any(c[:1] not in (["left"], ["right"]) or c[1:2] != ["main"] for c in chains):
    problems.append(f"show names these chains: {chains}")
if not any(line.startswith("  callers ") and "left < main < " in line for line in open("shown")):
    problems.append("show prints no chain left < main")
# Stacks: binary, callers, function. What ran is the same with and without callers, in both formats.
stacks = [line.rsplit(" ", 1) for line in open("folded")]
stacks = [(frames.split(";")[1:], int(value)) for frames, value in stacks]
sums = {name: int(value) for name, value in (line.rsplit(" ", 1) for line in open("pprof.sums"))}
for name in ("leaf", "main"):
    if sum(v for f, v in stacks if f[-1] == name) != sums.get(name, 0):
        problems.append(f"{name}: folded and pprof differ")
exported = {side: sum(v for f, v in stacks if f[-3:] == ["main", side, "leaf"]) for side in ("left", "right")}
# Bursts of different weight: chance weighs twice as much.
if not exported["left"] or abs(exported["left"] / sum(exported.values()) - truth) > chance(2):
    problems.append(f"stacks of leaf: {exported}")
shown = total(of_binary, "time", "leaf") / total(of_binary, "time")
written = sum(v for f, v in stacks if f[-1] == "leaf") / sum(v for f, v in stacks)
if abs(shown - written) > 0.001:
    problems.append(f"leaf: {shown} of the binary's TIME shown, {written} exported")
# In the export of all binaries each function has its TIME, and a chain begins with the program.
everything = [line.rsplit(" ", 1) for line in open("all.folded")]
everything = [(frames.split(";"), int(value)) for frames, value in everything]
clock = sum(value for _, value in everything)
sums = {name: int(value) for name, value in (line.rsplit(" ", 1) for line in open("all.sums"))}
times = {}
for row in functions:
    name = row["function"] or row["binary"]["name"]
    times[name] = times.get(name, 0) + (row["time"] or 0)
for name, time in times.items():
    written = sum(value for frames, value in everything if frames[-1] == name)
    if written != sums.get(name, 0):
        problems.append(f"{name}: folded and pprof of all binaries differ")
    written /= clock
    if name in ("leaf", "left", "right", "main") and abs(written - time) > 1e-4:
        problems.append(f"{name}: TIME {time}, {written} of all stacks")
if abs(sum(times.values()) - 1) > 1e-4 or not any(f[0] == "callers" and f[-3:] == ["main", "left", "leaf"] for f, _ in everything):
    problems.append(f"stacks of all binaries: {everything}")
for p in problems:
    print("callers:", p, file=sys.stderr)
if problems:
    sys.exit("callers: wrong")
print(f"left called {truth:.3f} of the times, seen {share:.3f}")
print("ok callers")
P
