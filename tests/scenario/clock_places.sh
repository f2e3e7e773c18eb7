#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# TIME of functions that are shorter than sixteen bytes, held against perf's samples of the same
# process in the same seconds; and that of a process with more threads than descriptors.
. "$(dirname "$0")/../own_processes.bash"
set -eu
build=$(realpath "${BUILD:-build}")
ctl=$build/bin/pathprofctl
program=$build/tests/workloads/short_functions
tmp=$(mktemp -d)
trap 'kill -9 $target 2>/dev/null || true; rm -rf "$tmp"' EXIT
failed=0 target=

ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1: $2"
	failed=1
}

start() { # THREADS
	"$program" 600 "$1" >"$tmp/said" &
	target=$!
	for _ in $(seq 1200); do
		! grep -q started "$tmp/said" || return 0
		sleep 0.05
	done
	not_ok clock-places "the program did not start"
	exit 1
}

stop() {
	kill "$target"
	wait "$target" 2>/dev/null || true
}

sql() { sqlite3 "$tmp/db" "$1"; }
all_ours() { sql 'SELECT sum(samples) FROM clock_counts'; }
# The same as perf is asked for: on a busy machine some samples in a hundred are in the kernel.
user_ours() {
	sql "SELECT sum(samples) FROM clock_counts WHERE NOT (binary = 0 AND place = 16 OR
		binary IN (SELECT id FROM binaries WHERE name = '[kernel]'))"
}
# Samples of a function.
ours() { # FUNCTION
	"$ctl" --db "$tmp/db" top --by functions -n 100 --json 2>"$tmp/top.log" | python3 -c 'import json, sys
print(round(sum(float(sys.argv[2]) * (row["time"] or 0) for row in json.load(sys.stdin)
                if row.get("function") == sys.argv[1])))' "$1" "$(all_ours)" 2>>"$tmp/top.log"
}
perfs() { perf script -i "$tmp/perf.data" -F ip,sym 2>/dev/null | grep -c "$1" || true; }

# Two counts of samples of the same seconds: within four and a half standard deviations, and a
# twentieth. Samples that fall into bursts, more of all on a busy machine, lie among instructions
# alike, however short these are. One sample more of either kind: where all are of one, chance is
# not nought.
agree() { # COUNT OF COUNT OF
	awk -v a="$1" -v n="$2" -v b="$3" -v m="$4" 'BEGIN {
		if (n < 1 || m < 1) exit 1
		p = (a + b + 1) / (n + m + 2)
		off = a / n - b / m
		if (off < 0) off = -off
		exit off > 0.05 + 4.5 * sqrt(p * (1 - p) * (1 / n + 1 / m))
	}'
}

check_places() {
	local never=0 seconds counts
	command -v perf >/dev/null || {
		echo "skip clock-places-as-perf: no perf (apt install linux-perf)"
		return
	}
	start 0
	# Longer each time, until enough was seen: a busy machine lets the program run little.
	for seconds in 6 12 24 48 96; do
		rm -f "$tmp"/db* "$tmp/perf.data"
		perf record -q -e cpu-clock:u -F 499 -o "$tmp/perf.data" -p "$target" -- sleep "$seconds" \
			>"$tmp/perf.log" 2>&1 &
		"$ctl" record --no-report --duration "$seconds" -o "$tmp/db" -p "$target" \
			>"$tmp/log" 2>&1 || true
		wait $! || true
		counts=$(user_ours || true)
		[ "${counts:-0}" -lt 100 ] || [ "$(perfs .)" -lt 100 ] || break
	done
	stop
	for function in before after frame_dummy; do never=$((never + $(ours $function))); done
	if [ "$never" = 0 ]; then
		ok clock-no-time-where-nothing-ran
	else
		not_ok clock-no-time-where-nothing-ran "$never samples of $(all_ours)"
	fi
	counts="$(ours hot) $(user_ours) $(perfs ' hot$') $(perfs .)"
	if agree $counts; then
		ok "clock-places-as-perf ($counts)"
	else
		not_ok clock-places-as-perf "hot, all; perf's hot, all: $counts; $(tail -n 2 "$tmp/log" "$tmp/top.log" "$tmp/perf.log" | tr '\n' ';')"
	fi
}

check_threads() {
	local samples seconds
	start 600
	for seconds in 3 12 48; do
		rm -f "$tmp"/db*
		(ulimit -Sn 1024 && exec "$ctl" record --no-report --duration "$seconds" -o "$tmp/db" \
			-p "$target") >"$tmp/log" 2>&1 || true
		samples=$(sql 'SELECT sum(clock_samples) FROM windows WHERE clock_hz > 0' || true)
		[ "${samples:-0}" -eq 0 ] || break
	done
	stop
	if [ "${samples:-0}" -gt 0 ] && ! grep EMFILE "$tmp/log"; then
		ok "clock-of-many-threads ($samples samples)"
	else
		not_ok clock-of-many-threads "$(tail -n 3 "$tmp/log" | tr '\n' ';')"
	fi
}

check_places
check_threads
exit $failed
