#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon as it is shipped, an hour long, beside programs that compute, read files and come and
# go: its CPU time by its own account and by the kernel's, the budget, its memory, its windows, and
# how many watchpoints others can open on every CPU while it runs and when it has gone.
. "$(dirname "$0")/daemon_common.bash"
. "$(dirname "$0")/account_common.bash"
. "$(dirname "$0")/../rounds.bash"

seconds=${SOAK_SECONDS:-$(rounds 180 3600)}
window_s=10
budget=0.005
cpus=$(nproc)
watchpoints=$BUILD/tests/tools/watchpoints

coming= reading=
end_programs() {
	[ -z "$coming$reading" ] || kill -9 $coming $reading 2>/dev/null || true
	leave_group
}
trap end_programs EXIT

start_programs() {
	start_busy
	while :; do gzip -c "$flow" | gunzip | sha1sum; done >/dev/null &
	coming=$!
	while :; do cat /proc/self/maps; find /usr/include -name '*.h'; sleep 0.1; done >/dev/null &
	reading=$!
	renice -n 10 -p $busy $coming $reading >/dev/null
}
# Proportional shares of the daemon and its children, in KiB.
memory() {
	# shellcheck disable=SC2046 # a word a child
	cat "/proc/$daemon/smaps_rollup" $(pgrep -P "$daemon" | sed 's,.*,/proc/&/smaps_rollup,') 2>/dev/null |
		awk '/^Pss:/ { sum += $2 } END { print sum + 0 }'
}
# Registers are taken only while a burst is under way: the most of some looks.
free_registers() {
	local most=0 now
	for _ in {1..40}; do
		now=$("$watchpoints" 2>/dev/null || echo 0)
		[ "$now" -le "$most" ] || most=$now
		[ "$most" -lt 4 ] || break
		sleep 0.05
	done
	echo "$most"
}
observe() {
	report # closes a window
	windows=$(sql 'SELECT count(*) FROM windows')
	kib=$(memory)
	printf '%s %s %s %s %s %s %s %s\n' "$((SECONDS - begin))" "$(cost cpu_ns)" "$before" "$after" \
		"$(cost held_ns)" "$kib" "$windows" "$(free_registers)" >>"$tmp/rows"
}
# of_column OPERATION NUMBER: of the rows after the first quarter, when all tables have their size.
of_column() {
	awk -v op="$1" -v n="$2" -v from=$((seconds / 4)) '$1 >= from {
		if (!seen++ || (op == "max" ? $n > r : $n < r)) r = $n } END { print r + 0 }' "$tmp/rows"
}

start_programs
enter_group
start --db "$db" --window $window_s
begin=$SECONDS
: >"$tmp/rows"
for i in {1..12}; do
	while [ $((SECONDS - begin)) -lt $((seconds * i / 12)) ]; do sleep 1; done
	observe
done
echo "#    s  CPU ms told  by the kernel  held ms   KiB  windows  free registers"
awk '{ printf "# %4d %12.0f %14.0f %8.0f %5d %8d %15d\n", $1, $2 / 1e6, $4 / 1e6, $5 / 1e6, $6, $7, $8 }' "$tmp/rows"

read -r passed told least most held _ windows _ <<<"$(tail -n 1 "$tmp/rows")"
told_part=$(awk -v a="$told" -v b="$most" 'BEGIN { printf "%.3f", a / b }')
share=$(awk -v c="$most" -v h="$held" -v w=$((passed * cpus)) 'BEGIN { printf "%.5f", (c + h) / 1e9 / w }')
echo "# of it ms: source $(($(cost source_cpu_ns) / 1000000)), tracker $(($(cost tracker_cpu_ns) / 1000000))," \
	"the rest of the daemon $((($(cost daemon_cpu_ns) - $(cost tracker_cpu_ns)) / 1000000))"
echo "# the account tells $told_part of the kernel's; CPU time and holds are $share of all CPUs' time"
check soak-account-is-the-kernels "$told told, $least to $most" \
	true_that "$told >= 0.9 * $least && $told <= 1.1 * $most"
check soak-keeps-to-budget "$share of $budget" true_that "$share <= 1.02 * $budget"
# Memory that fills up to a bound: 8 MiB of the store's pages, row ids of what is seen, and the
# processes that ended in the last seconds, of which a machine with less to do starts more.
check soak-memory-is-flat "$(of_column min 6) to $(of_column max 6) KiB" \
	true_that "$(of_column max 6) <= $(of_column min 6) + 24 * 1024"
check soak-windows-in-time "$windows in $passed s" \
	true_that "$windows >= 0.9 * ($passed - $window_s) / $window_s && $windows <= 1.1 * $passed / $window_s + 15"
check soak-has-bursts "$(sql 'SELECT sum(bursts) FROM windows') in the windows" \
	true_that "$(sql 'SELECT coalesce(sum(bursts), 0) FROM windows') > 0"
if "$watchpoints" >/dev/null 2>"$tmp/refused"; then
	check soak-leaves-registers "$(of_column min 8) of 4" true_that "$(of_column min 8) == 4"
	stop
	check soak-leaves-registers-behind "$(free_registers) of 4" true_that "$(free_registers) == 4"
else
	echo "skip soak-leaves-registers: $(cat "$tmp/refused")"
	stop
fi
check soak-ends-in-time "$stop_status after $stop_ms ms" true_that "$stop_status == 0 && $stop_ms < 20000"
finish
