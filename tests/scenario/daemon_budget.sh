#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The overhead budget holds: by the daemon's own account, and by the kernel's of a program that
# computes all the while. The latter is coarse, for others want the CPU as well, but it does not
# depend on what the daemon says of itself.
. "$(dirname "$0")/daemon_common.bash"

seconds=${SECONDS_EACH:-15}
start_busy

# CPU time of the busy program so far, clock ticks.
busy_ticks() { awk '{print $14 + $15}' "/proc/$busy/stat"; }

ticks=$(busy_ticks) begin=$(date +%s.%N)
start --db "$db" --overhead 2 --window 3 --duration "$seconds"
pid=$daemon
wait "$daemon" || not_ok duration "exit status $?"
daemon=
share=$(awk -v t="$(($(busy_ticks) - ticks))" -v hz="$(getconf CLK_TCK)" -v a="$begin" \
	-v b="$(date +%s.%N)" 'BEGIN { print t / hz / (b - a) }')
check leaves-the-rest "the busy program got $share of a CPU" true_that "$share >= 0.8"
ratio=$(status_of overhead_total_ratio)
check status-pid "$(status_of pid)" test "$(status_of pid)" = "$pid"
check spends "$ratio" true_that "$ratio > 0.0005"
# what is under way when a reading is taken counts at the next
check keeps-to-budget "$ratio of 0.02" true_that "$ratio <= 0.021"
spent=$(sql 'SELECT 1.0 * sum(stopped_ns + source_cpu_ns) / (max(end_ns) - min(begin_ns)) FROM windows')
check windows-agree "$spent by the windows" \
	true_that "$spent / $(nproc) <= 0.021 && $spent / $(nproc) > 0.0005"
kill -9 "$busy"
wait "$busy" 2>/dev/null || true
busy=
finish
