#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A service that is kept to some CPUs (CPUAffinity=, taskset) keeps its stepper there too, and has
# bursts of what runs on others.
set -eu
. "$(dirname "$0")/step_common.bash"
target=$workload_dir/half_busy
step_needs "$build/bin/pathprofd" "$target"

# The CPUs that the stepper might use whenever it was looked at.
seen_masks() {
	local status
	for _ in {1..200}; do
		for status in /proc/[0-9]*/status; do
			grep -qs '^Name:.*pathprof-step' "$status" || continue
			sed -n 's/^Cpus_allowed_list:\t//p' "$status" 2>/dev/null || true
		done
		sleep 0.01
	done | sort -u | paste -sd' '
}

read -r first rest <<<"$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')"
second=${rest%% *}
if [ -z "$second" ]; then
	skip step_affinity "one CPU"
	exit 0
fi
taskset -c "$second" "$target" &
started=($!)
taskset -c "$first" timeout 300 "$build/bin/pathprofd" --record --db "$work/db" --quiet --duration 4s \
	--overhead 50 -p "${started[0]}" 2>"$work/log" &
recorder=$!
masks=$(seen_masks)
wait "$recorder" || true
bursts=$(sqlite3 -readonly "$work/db" 'SELECT coalesce(sum(bursts), 0) FROM windows' || echo 0)
if [ "$masks" = "$first" ]; then
	ok "step_affinity_kept (CPU $masks)"
else
	not_ok step_affinity_kept "kept to CPU $first, the stepper might use: $masks"
fi
if [ "$bursts" -gt 0 ]; then
	ok "step_affinity_bursts ($bursts)"
else
	not_ok step_affinity_bursts "none: $(tail -1 "$work/log")"
fi
exit $failed
