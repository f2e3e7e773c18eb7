#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The rows of a table: programs whose RUNS or TIME are hard to tell and that know the truth, each recorded
# at the default budget and at 10 %. Says for each whether the truth is inside the interval of 95 %; one
# that is outside of an interval twice as wide is a fault. RUNS take all code to run at one rate of
# instructions: where it does not (mix) the truth is held against the range of rates that JSON has, and
# where a system call takes the time of hundreds of instructions (calls) the figure is told and not judged.
# Functions of a few bytes have a test of their own, clock_places.
#
#     ROWS_SECONDS    how long each runs (30)
#     ROWS_BESIDE     so many busy loops beside it (0)
. "$(dirname "$0")/../own_processes.bash"
set -eu
build=$(realpath "${BUILD:-build}")
ctl=$build/bin/pathprofctl
tmp=$(mktemp -d)
loops=()
trap 'kill -9 "${loops[@]}" 2>/dev/null || true; rm -rf "$tmp"' EXIT
failed=0
seconds=${ROWS_SECONDS:-30}
for _ in $(seq "${ROWS_BESIDE:-0}"); do
	while :; do :; done &
	loops+=($!)
done

# figure DB FIGURE FUNCTION: value, low, high, and the ends of the range of rates.
figure() {
	"$ctl" --db "$1" top --by functions -n 100 --json | python3 -c '
import json, sys
figure, function = sys.argv[1:]
for row in json.load(sys.stdin):
    if row.get("function") == function and row.get(figure) is not None:
        range_ = [row["runs_half_rate"], row["runs_twice_rate"]] if figure == "runs" else [row[figure]] * 2
        print(row[figure], row[figure + "_low"], row[figure + "_high"], *range_)' "$2" "$3"
}

# verdict TRUTH RATES VALUE LOW HIGH HALF TWICE: inside, outside or "far outside", and the interval.
verdict() {
	awk -v t="$1" -v rates="$2" -v v="$3" -v l="$4" -v h="$5" -v half="$6" -v twice="$7" 'BEGIN {
		if (rates == "rates") {
			l -= v - half
			h += twice - v
		}
		is = "far outside"
		if (t >= v - 2 * (v - l) && t <= v + 2 * (h - v)) is = "outside"
		if (t >= l && t <= h) is = "inside"
		printf "%s (truth %.4f, told %.4f [%.4f, %.4f])\n", is, t, v, l, h
	}'
}

# row NAME PROGRAM FIGURE FUNCTION BUDGET [rates|told]
row() {
	local name=$1-${5:-default} db=$tmp/$1-${5:-default}.db truth told said
	"$ctl" record --no-report ${5:+--overhead "$5"} -o "$db" -- "$build/tests/workloads/$2" "$1" "$seconds" \
		>"$tmp/said" 2>&1 || true
	truth=$(awk '$1 == "first" { print $3 == "second" ? $2 / ($2 + $4) : $2 }' "$tmp/said")
	told=$(figure "$db" "$3" "$4")
	if [ -z "$truth" ] || [ -z "$told" ]; then
		said="truth ${truth:-none}, told ${told:-nothing}: $(tail -n 2 "$tmp/said" | tr '\n' ';')"
	else
		# shellcheck disable=SC2086 # five numbers
		said=$(verdict "$truth" "${6:-}" $told)
	fi
	case ${6:-}/$said in
	told/*"(truth"*) echo "# rows-$name: $said" ;;
	*/inside* | */outside*) echo "ok rows-$name: $said" ;;
	*)
		echo "not ok rows-$name: $said"
		failed=1
		;;
	esac
}

for budget in '' 10; do
	row duty runs_phases runs first "$budget"
	row cut runs_phases runs first "$budget"
	row calls runs_rows runs first "$budget" told
	row mix runs_rows runs slow "$budget" rates
	row pace runs_rows time first "$budget"
done
exit $failed
