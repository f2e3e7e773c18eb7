#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Shares against the exact trace, on one real program alone and beside straight code: a horizon in
# instructions must come close to the truth, windows of 32 taken branches must not, clock samples must take the
# bias of functions away, and intervals must hold the truth. Everything is drawn from fixed seeds.
set -eu
build=${BUILD:-build}
lab=$(realpath "$build/bin/pathprof-lab")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

verdict() { # NAME, then a condition over numbers for awk
	local name=$1
	shift
	if awk "BEGIN { exit !($*) }"; then
		echo "ok estimate $name"
	else
		echo "not ok estimate $name: $*"
		failed=1
	fi
}

# cell TABLE ROW COLUMN: by the row's label and the column's title.
cell() {
	awk -F, -v row="$2" -v column="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && $1 == row { print $at[column]; found = 1 }
		END { exit !found }' "$tmp/out/$1.csv"
}

for tool in qemu-x86_64 gzip gnuplot; do
	if ! command -v "$tool" >/dev/null; then
		echo "skip estimate: $tool is needed"
		exit 0
	fi
done

timeout 1500 "$lab" experiment estimate --small --programs gzip --out "$tmp/out" >"$tmp/log" 2>&1 || {
	echo "not ok estimate runs: $(tail -n 3 "$tmp/log" | tr '\n' ' ')"
	exit 1
}
pair="gzip + straight code"
verdict "a horizon shows how often paths run" "$(cell estimate-runs "$pair" "1024 + clock") > 97"
verdict "windows of 32 taken branches do not" "$(cell estimate-runs "$pair" "32 taken") < 70"
verdict "a horizon shorter than a path misses it" "$(cell estimate-time "$pair" "256 + clock") < 70"
verdict "clock samples tell the time of functions" \
	"$(cell estimate-functions-dear gzip "1024 + clock") > 99.5"
verdict "better than windows alone" \
	"$(cell estimate-functions-dear gzip "1024 + clock") > $(cell estimate-functions-dear gzip 1024) + 0.5"
verdict "their mean is the truth" "$(cell estimate-bias-dear gzip "z 1024 + clock") < 4"
verdict "the mean of theirs is not" "$(cell estimate-bias gzip "z 32 taken") > 50"
verdict "intervals of functions hold the truth" \
	"$(cell estimate-coverage gzip "functions: TIME") > 90"
verdict "intervals of paths hold what windows show, and are no wider than they must be" \
	"$(cell estimate-coverage gzip "paths seen: RUNS") > 94 && $(cell estimate-spread gzip "TIME: interval") < 1.65"
verdict "paths too long for a window are allowed for" "$(cell estimate-coverage gzip "paths: TIME") > 86.5"
verdict "a window costs more the longer it is" \
	"$(cell estimate-cost "2048 instructions" "cost; ms") > $(cell estimate-cost "512 instructions" "cost; ms")"
for form in txt csv md svg; do
	verdict "estimate-runs.$form is there" "$(stat -c %s "$tmp/out/estimate-runs.$form") > 100"
done
exit "$failed"
