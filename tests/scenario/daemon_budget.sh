#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The overhead budget holds: by the daemon's own account, and by what a program finds that computes
# beside it.
. "$(dirname "$0")/daemon_common.bash"

seconds=${SECONDS_EACH:-15}
start_busy
start --db "$db" --overhead 2 --window 3 --duration "$seconds"
pid=$daemon
wait "$daemon" || not_ok duration "exit status $?"
daemon=
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
