#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The experiments' framework from outside: what list names, the results of an experiment that needs
# no trace and of one that does, headlines that replace their older selves, what is refused, and
# the assembled report.
set -eu
build=${BUILD:-build}
lab=$(realpath "$build/bin/pathprof-lab")
root=$(realpath "$(dirname "$0")/../..")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

ok() { echo "ok experiments $1"; }
not_ok() { echo "not ok experiments $1: $2"; failed=1; }
skip() { echo "skip experiments $1: $2"; }

# check NAME COMMAND...: the command succeeds.
check() {
	local name=$1
	shift
	if "$@" >"$tmp/check" 2>&1; then ok "$name"; else not_ok "$name" "$(tail -n 1 "$tmp/check")"; fi
}

# refuses STATUS WORDS NAME ARGUMENTS...
refuses() {
	local status=$1 words=$2 name=$3 got=0
	shift 3
	"$lab" experiment "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
	if [ "$got" -eq "$status" ] && grep -q -- "$words" "$tmp/err"; then
		ok "refuses $name"
	else
		not_ok "refuses $name" "status $got, $(tail -n 1 "$tmp/err")"
	fi
}

"$lab" experiment list >"$tmp/list"
for name in eopp-3.1 eopp-3.16 rps-4 rps-7 rps-8 rps-9 rps-10 rps-11 ccp drift; do
	check "list names $name" grep -q "^$name " "$tmp/list"
done
check "list names twelve programs" \
	test "$(sed -n '/^programs:/,$p' "$tmp/list" | grep -c '^[a-z]')" -ge 13

refuses 2 "no experiment 'rps-99'" "an unknown experiment" rps-99 --out "$tmp/no"
refuses 2 "no program 'nosuch'" "an unknown program" rps-11 --programs nosuch --out "$tmp/no"
refuses 2 "one NAME" "no name"
refuses 1 "No such file" "an output folder in none" rps-4 --out "$tmp/no/such/folder"
check "what is refused leaves nothing behind" test ! -e "$tmp/no"

without_compiler() { "$lab" experiment rps-7 --programs gzip --out "$tmp/without" >"$tmp/said" 2>&1; }
check "rps-7 without a compiler ends well" without_compiler
check "and says what it lacks" grep -q 'rps-7: nothing is measured: .*cc1 is not among the programs' "$tmp/said"
check "and measures no other program" test ! -e "$tmp/without/rps-7.csv"

out=$tmp/results
if ! command -v gnuplot >/dev/null; then
	skip "results" "gnuplot is not installed (apt install gnuplot-nox)"
else
	check "rps-4 runs" "$lab" experiment rps-4 --out "$out"
	for suffix in txt csv md svg gp; do
		check "rps-4 leaves $suffix" test -s "$out/rps-4.$suffix"
	done
	check "its CSV has a row a point" test "$(wc -l <"$out/rps-4.csv")" -eq 21
	check "stratified beats random at 20000" awk -F, \
		'$1 == 20000 { seen = 1; exit !($6 < $2) } END { if (!seen) exit 1 }' "$out/rps-4.csv"
	cp "$out/headlines.csv" "$tmp/first.csv"
	check "rps-4 runs again" "$lab" experiment rps-4 --out "$out"
	check "and says the same once" cmp "$out/headlines.csv" "$tmp/first.csv"
	check "svg is one figure" test "$(grep -c '<svg' "$out/rps-4.svg")" -eq 1

	compiled=$tmp/compiled
	check "nothing is measured, nothing is told" "$lab" experiment eopp-3.16 --out "$compiled"
	check "there are no tables of it" test ! -e "$compiled/eopp-3.16.csv"
	for line in "instructions gzip plain 200" "instructions gzip gen 250" "instructions gzip early 300" "instructions gzip early-tables 230" \
		"instructions lua plain 100" "instructions lua early 110" "file gzip plain 1000" "file gzip early 2500" \
		"span gzip:f early-tables 1" "span gzip:g early-tables 3.5" "accuracy gzip early-practical 97.5"; do
		tr ' ' '\t' <<<"$line"
	done >"$compiled/counting.tsv"
	check "eopp-3.16 runs" "$lab" experiment eopp-3.16 --out "$compiled"
	check "half again as many instructions" grep -q '^gzip,,25,50,' "$compiled/eopp-3.16.csv"
	check "the thesis' row is beside them" grep -q '^"*thesis: mean"*,,,50,15,' "$compiled/eopp-3.16.csv"
	check "its mean is a headline" grep -q '3.16: instructions for Ball-Larus, mean.*30' "$compiled/headlines.csv"
	check "what was not measured of all programs is none" \
		awk '/3\.16: instructions with tables/ { exit 1 }' "$compiled/headlines.csv"
	check "a file's growth" grep -q '^gzip,,,2.5,' "$compiled/eopp-3.4.csv"
	check "two tables by their span" awk -F, '{ n[$1] = $2 + $3 } END { exit n["1"] != 1 || n["to 4"] != 1 || n["to 2"] || n["more"] }' \
		"$compiled/eopp-3.17.csv"
	check "accuracy" grep -q '^gzip,97.5,' "$compiled/ppp-accuracy.csv"

	check "drift runs" "$lab" experiment drift --out "$out"
	check "no change: each size alarms in at most 1 % of windows" awk -F, \
		'NR > 1 { for (i = NF - 3; i <= NF; i++) if ($i > 1) bad = 1; seen = 1 }
		END { exit bad || !seen }' "$out/drift-calm.csv"
	check "bursts that are known do not alarm, untold ones do" awk -F, \
		'$1 == 14 { seen = 1; exit !($2 > 5 && $4 <= 1) } END { if (!seen) exit 1 }' \
		"$out/drift-dispersion.csv"

	sed 's#^set output .*#set output "/dev/null"\nnonsense#' "$out/rps-4.gp" >"$tmp/broken.gp"
	if gnuplot "$tmp/broken.gp" >/dev/null 2>&1; then
		not_ok "a broken script is seen" "gnuplot said nothing"
	else
		ok "a broken script is seen"
	fi
fi

if ! command -v qemu-x86_64 >/dev/null; then
	skip "traces" "qemu-user is not installed (apt install qemu-user)"
elif command -v gnuplot >/dev/null; then
	check "rps-11 records and measures gzip" \
		"$lab" experiment rps-11 --programs gzip --out "$out"
	check "gzip's error is below the paper's 3 %" awk -F, \
		'$1 == "gzip" { seen = 1; exit !($2 < 3) } END { if (!seen) exit 1 }' "$out/rps-11.csv"
	# A tracer beside the lab that leaves half a trace, as one does that finds no room.
	mkdir "$tmp/cut"
	cp "$lab" "$tmp/cut"
	trace=$out/traces/gzip-branches-small.trace
	cat >"$tmp/cut/pathprof-trace" <<-END
		#!/bin/sh
		while [ "\$1" != -o ]; do shift; done
		head -c $(($(stat -c %s "$trace") / 2)) "$trace" >"\$2"
		exit 125
	END
	chmod 755 "$tmp/cut/pathprof-trace"
	whole=$lab lab=$tmp/cut/pathprof-lab
	refuses 1 "gzip: no whole trace" "half a trace" rps-11 --programs gzip --out "$tmp/half"
	refuses 1 "gzip: no whole trace" "half a trace of a whole program" step --programs gzip --out "$tmp/half"
	lab=$whole
	check "ccp records and compares gzip's inputs" \
		"$lab" experiment ccp --programs gzip --out "$out"
	check "entropy tells what prediction loses" awk -F, \
		'$1 == "KL bits" { seen = 1; exit !($2 > 0.8) } END { if (!seen) exit 1 }' \
		"$out/ccp-metrics.csv"
	check "eopp-3.1 counts gzip's inputs" \
		"$lab" experiment eopp-3.1 --programs gzip --out "$out"
	# Another program's word for the same pairs.
	for table in 3.1:path 3.2:segment; do
		"${lab%-lab}ctl" --db "$out/paths/gzip.log.paths" untested "$out/paths/gzip.text.paths" \
			--unit "${table#*:}" --json >"$tmp/untested.json"
		check "eopp-${table%:*} is what pathprofctl untested finds" python3 -c 'import csv, json, sys
found = json.load(open(sys.argv[1]))
row = next(r for r in csv.reader(open(sys.argv[2])) if r[0] == "gzip")
assert found["untested"] > 0 and float(row[1]) == found["untested"], (row, found["untested"])
assert abs(float(row[2]) - 100 * found["untested"] / found["seen"]) < 1e-6, (row, found["seen"])
assert abs(float(row[3]) - 100 * found["untested_share"]["share"]) < 1e-6, row' \
			"$tmp/untested.json" "$out/eopp-${table%:*}.csv"
	done
	before=$(stat -c %Y.%i "$out"/traces/gzip-*.trace)
	check "rps-11 runs again" "$lab" experiment rps-11 --programs gzip --out "$out"
	check "from the trace it kept" test "$before" = "$(stat -c %Y.%i "$out"/traces/gzip-*.trace)"
	mkdir -p "$tmp/build/bin"
	mv "$out" "$tmp/build/experiments"
	check "the report is assembled" \
		env BUILD="$tmp/build" ASSEMBLE_ONLY=1 "$root/tools/experiments"
	report=$tmp/build/experiments
	check "it holds the table" grep -q '^| gzip |' "$report/sampling.md"
	check "and the picture, which docs do not have" grep -qF '![rps-11](rps-11.svg)' "$report/sampling.md"

	mkdir -p "$tmp/tree/tools" "$tmp/tree/docs"
	cp "$root/tools/experiments" "$tmp/tree/tools"
	cp -r "$root/docs/experiments" "$tmp/tree/docs"
	publish() { env BUILD="$tmp/build" ASSEMBLE_ONLY=1 PUBLISH=1 "$tmp/tree/tools/experiments"; }
	changed() { diff -rq -x "*.svg" "$root/docs/experiments" "$tmp/tree/docs/experiments" | awk '{ print $2 }' | xargs -n 1 basename | sort | xargs; }
	check "it is published" publish
	check "the table in docs is that of this run" \
		awk '/^<!-- table rps-11/ { on = 1 } on && /^[|] [a-z]/ { n++ } /^<!-- end/ { on = 0 } END { exit n != 3 }' \
		"$tmp/tree/docs/experiments/sampling.md"
	check "what was not run stays as it is" \
		test "$(changed)" = "README.md combining.md residual.md sampling.md"
	cp -r "$tmp/tree/docs" "$tmp/once"
	check "it is published again" publish
	check "and is the same then" diff -r "$tmp/once" "$tmp/tree/docs"
fi
exit $failed
