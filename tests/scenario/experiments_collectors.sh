#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sampled collectors against the exact trace, on one real program: the curves must rise, the window
# weights must pay, a longer window must miss less; and the stepping collector, where this machine
# lets it step, must find most of what windows cut out of the trace find.
. "$(dirname "$0")/../own_processes.bash"
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
		echo "ok collectors $name"
	else
		echo "not ok collectors $name: $*"
		failed=1
	fi
}

# cell TABLE ROW COLUMN: by the row's label and the column's title.
cell() {
	awk -F, -v row="$2" -v column="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) { t = $i; gsub(/"/, "", t); at[t] = i } }
		NR > 1 && $1 == row { print $at[column]; found = 1 }
		END { exit !found }' "$tmp/out/$1.csv"
}

if ! command -v qemu-x86_64 >/dev/null || ! command -v gzip >/dev/null; then
	echo "skip collectors: qemu-x86_64 and gzip are needed"
	exit 0
fi

timeout 1500 "$lab" experiment windows --small --programs gzip --out "$tmp/out" >"$tmp/log" 2>&1 || {
	echo "not ok collectors windows: $(tail -n 3 "$tmp/log" | tr '\n' ' ')"
	exit 1
}
few=$(cell windows 10 "32 span")
many=$(cell windows 100000 "32 span")
verdict "more windows come closer: $few to $many %" "$many > $few + 10 && $many > 95 && $many <= 100"
verdict "the window weights pay" "$many > $(cell windows 100000 "32 plain")"
verdict "the refined weights are no worse" "$(cell windows 100000 "16 refined") > $(cell windows 100000 "16 span") - 0.2"
verdict "a longer window misses less" "$(cell windows-unseen gzip 128) < $(cell windows-unseen gzip 16)"
for form in txt csv md svg; do
	verdict "windows.$form is there" "$(stat -c %s "$tmp/out/windows.$form") > 100"
done
verdict "bars begin at 0" "$(grep -c '> *0<' "$tmp/out/windows-stitched-programs.svg") > 0"

status=0
timeout 1500 "$lab" experiment step --small --programs gzip --out "$tmp/out" >"$tmp/log" 2>&1 || status=$?
if [ "$status" -ne 0 ] && grep -q 'none of the programs was stepped' "$tmp/log"; then
	echo "skip collectors step: this machine does not let a program be stepped"
elif [ "$status" -ne 0 ]; then
	echo "not ok collectors step: $(tail -n 3 "$tmp/log" | tr '\n' ' ')"
	failed=1
else
	steps=$(cell step-programs gzip "step: counts")
	cut=$(cell step-programs gzip "windows: counts")
	verdict "stepping finds $steps %, windows cut out of the trace $cut %" "$steps > 40 && $cut > 80"
fi
exit "$failed"
