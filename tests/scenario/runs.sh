#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# RUNS against programs that count their own: the load changes while the budget gives as many windows
# a second (duty), and windows of one half end early (cut). One half may run in threads or processes that live for a
# millisecond. Both halves are the same code, so neither the machine nor its load changes the truth. compare has the same RUNS as top, and finds nothing
# changed in a program that was recorded by two budgets, which give unlike windows of it.
. "$(dirname "$0")/../own_processes.bash"
. "$(dirname "$0")/../rounds.bash"
set -eu
build=$(realpath "${BUILD:-build}")
ctl=$build/bin/pathprofctl
program=$build/tests/workloads/runs_phases
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
seconds=$(rounds 8 30)

# RUNS of a function of the program: value, low and high; nothing where none of its paths was seen.
runs_of() { # DB FUNCTION
	"$ctl" --db "$1" top --by functions -n 100 --json |
		python3 -c 'import json, sys
for row in json.load(sys.stdin):
    if row.get("function") == sys.argv[1] and row["runs"] is not None:
        print(row["runs"], row["runs_low"], row["runs_high"])' "$2"
}

# The interval holds 95 of 100 truths, with few bursts some less: one two and a half times as wide
# holds all but one in ten thousand.
holds() { # TRUTH VALUE LOW HIGH
	awk -v t="$1" -v v="$2" -v l="$3" -v h="$4" \
		'BEGIN { exit !(t >= v - 2.5 * (v - l) && t <= v + 2.5 * (h - v)) }'
}
is_narrow() { awk -v l="$2" -v h="$3" 'BEGIN { exit !(h - l < 0.4) }'; }

# If no breakpoint works, a window is a stop for each instruction, and a thread that waits each
# millisecond is let go after hardly any: its half has hardly a path. The figures cannot be narrow
# then. They still hold the truth, and top says how much its halves may lack.
breakpoints=$("$ctl" doctor --json | python3 -c 'import json, sys
print([row["value"] for row in json.load(sys.stdin) if row["fact"] == "breakpoints"][0])')
is_told() { # DB TRUTH
	[ "$breakpoints" = none ] && "$ctl" --db "$1" top --by functions >"$tmp/top" &&
		"$ctl" --db "$1" top --by functions -n 100 --json | python3 -c '
import json, re, sys
top, truth = open(sys.argv[1]).read(), float(sys.argv[2])
truths = {"first": truth, "second": 1 - truth}
rows = {row["function"]: row for row in json.load(sys.stdin) if row.get("function") in truths}
seen = {name: row for name, row in rows.items() if row["runs"] is not None}
assert seen, "neither half was seen"
missing = re.search(r"^Up to ([0-9]+)% of all runs may be missing", top, re.M)
missing = int(missing.group(1)) / 100 if missing else 0
for name, row in seen.items():
    value, low, high = row["runs"], row["runs_low"], row["runs_high"]
    bounds = value - 2.5 * (value - low), value + 2.5 * (high - value)
    assert bounds[0] <= truths[name] <= bounds[1], (name, value, low, high)
    assert missing >= (high - low) / 4, (missing, name, low, high)
# The clock finds both halves as often as they ran, whatever windows show of them.
for name in truths.keys() - seen.keys():
    time, sides = rows[name], rows.values()
    assert time["time_low"] <= truths[name] * sum(side["time_high"] for side in sides), (name, rows)
    assert time["time_high"] >= truths[name] * sum(side["time_low"] for side in sides), (name, rows)
    code = float(re.search("^Without a path: .*, (.*)% in code", top, re.M).group(1)) / 100
    assert code >= time["time"] - 1e-4 and missing > truths[name] / 2, (name, code, time, missing)
    print("%s has %.0f%% of the time, no path" % (name, 100 * time["time"]), end=", ")
print("up to %.0f%% of the runs are missing" % (100 * missing))
' "$tmp/top" "$2"
}

# A busy machine gives few bursts: then the program runs twice as long, up to sixteen times.
check_runs() { # NAME OVERHEAD
	local db=$tmp/$1-$2.db truth figure lasts told=
	for lasts in $seconds $((2 * seconds)) $((4 * seconds)) $((8 * seconds)) $((16 * seconds)); do
		rm -f "$db"
		"$ctl" record --no-report --overhead "$2" -o "$db" -- "$program" "$1" "$lasts" >"$tmp/said" 2>&1 ||
			true
		truth=$(awk '/^first/ { print $2 / ($2 + $4) }' "$tmp/said")
		figure=$(runs_of "$db" first)
		# shellcheck disable=SC2086 # three figures
		[ -z "$figure" ] || ! is_narrow $figure || break
		# With sampling by duty, compare needs RUNS of `first`, however wide their interval.
		told=$(is_told "$db" "${truth:-0.5}" 2>"$tmp/untold") && { [ "$1" != duty ] || [ -n "$figure" ]; } && break
		told=
	done
	echo "${truth:-0.5}" >"$db.truth"
	if [ -n "$truth" ] && [ -n "$figure" ] && holds "$truth" $figure && is_narrow $figure; then
		echo "ok runs-$1-$2 (truth $truth, RUNS $figure)"
	elif [ -n "$truth" ] && [ -n "$told" ]; then
		echo "ok runs-$1-$2 (truth $truth, RUNS $figure, no breakpoint strikes: $told)"
	else
		echo "not ok runs-$1-$2: truth ${truth:-none}, RUNS ${figure:-none}:" \
			"$(tail -qn 2 "$tmp/said" "$tmp/untold" | tr '\n' ';')"
		failed=1
	fi
}

# Held against top's RUNS of both recordings, and said to be no further apart than they are. The low
# end leaves out one truth in 200, one that is twice as far off hardly any.
check_compare() { # DB DB
	local a b
	a=$(runs_of "$1" first) b=$(runs_of "$2" first)
	if "$ctl" compare "file:$1" "file:$2" --json -n 0 | python3 -c '
import json, math, sys
j = json.load(sys.stdin)
first = [f for f in j["functions"] if f["function"] == "first"][0]
figures, sides = j["figures"], [j["a"], j["b"]]
print("of first %.6f and %.6f; %.3f bits, %.3f of them by chance, %.3f at least; samples %s worth %s" % (
    first["a_share"], first["b_share"], figures["kl_bits"], figures["kl_chance_bits"],
    figures["kl_low_bits"], [s["samples"] for s in sides], [round(s["equal_samples"]) for s in sides]))
for share, runs in zip((first["a_share"], first["b_share"]), sys.argv[1:3]):
    assert abs(share - float(runs)) < 1e-6, (share, runs)
bits = lambda p, q: p * math.log2(p / q) + (1 - p) * math.log2((1 - p) / (1 - q))
a, b = map(float, sys.argv[3:])
corrected, low = figures["kl_corrected_bits"], figures["kl_low_bits"]
assert low == 0 or 2 * low - corrected <= max(bits(a, b), bits(b, a)), (corrected, low, a, b)
# Several samples of a burst are worth fewer; where a step is dear, each burst has one or two. Of
# each path they are a whole number, one at least.
most = [(0.9 if s["per_burst"] > 4 else 1.001) * s["samples"] + len(j["events"]) for s in sides]
assert all(s["equal_samples"] < m for s, m in zip(sides, most)), most
' "${a%% *}" "${b%% *}" "$(cat "$1.truth")" "$(cat "$2.truth")" >"$tmp/said" 2>&1; then
		echo "ok runs-compare ($(cat "$tmp/said"))"
	else
		echo "not ok runs-compare: top says $a and $b: $(tail -n 3 "$tmp/said" | tr '\n' ';')"
		failed=1
	fi
}

check_runs duty 3
check_runs duty 40
check_compare "$tmp/duty-3.db" "$tmp/duty-40.db"
check_runs cut 10
check_runs threads 10
check_runs forks 10
exit $failed
