#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The overhead budget holds: by the daemon's own account, and by the kernel's of a program that
# computes all the while: what it neither ran nor waited for a CPU, it was held. That does not depend
# on what the daemon says of itself, nor on who else wants the CPUs.
. "$(dirname "$0")/daemon_common.bash"
. "$(dirname "$0")/../rounds.bash"

seconds=${SECONDS_EACH:-$(rounds 9 15)}
start_busy

# Nanoseconds that the busy program has run or waited for a CPU so far.
busy_ns() { awk '{ printf "%.0f", $1 + $2 }' "/proc/$busy/schedstat"; }

run_ns() { awk '{ printf "%.0f", $1 }' "/proc/$busy/schedstat"; }

# follow: microseconds of the clock and nanoseconds that the busy program has run, all the while.
# Nothing is started for it: where that takes long it would keep a CPU busy, too.
mkfifo "$tmp/never"
exec 7<>"$tmp/never"
follow() {
	local ran
	while read -r ran _ <"/proc/$busy/schedstat"; do
		echo "${EPOCHREALTIME/./} $ran"
		read -r -t 0.25 -u 7 || true
	done >"$tmp/ran"
}

# measure SECONDS: the daemon for so long. Sets $measured_s, $share, $cpus, $ratio and $spent, and
# $least_cpus and $most_cpus of the two seconds in which the program ran least and most: others come
# and go.
measure() {
	local ran run begin follower wall
	rm -f "$db"*
	measured_s=$1
	follow &
	follower=$!
	ran=$(busy_ns) run=$(run_ns) begin=$(date +%s%N)
	start --db "$db" --overhead 2 --window 3 --duration "$1"
	pid=$daemon
	wait "$daemon" || not_ok duration "exit status $?"
	daemon=
	ran=$(($(busy_ns) - ran)) wall=$(($(date +%s%N) - begin)) run=$(($(run_ns) - run))
	share=$(awk "BEGIN { print $ran / $wall }") cpus=$(awk "BEGIN { print $run / $wall }")
	kill "$follower"
	wait "$follower" 2>/dev/null || true
	read -r least_cpus most_cpus < <(awk '{ at[NR] = $1; ran[NR] = $2 } END {
		least = 1e9
		for (i = j = 1; i <= NR; i++) {
			while (j <= NR && at[j] - at[i] < 2e6) j++
			if (j > NR) break
			cpus = (ran[j] - ran[i]) / (at[j] - at[i]) / 1000
			if (cpus < least) least = cpus
			if (cpus > most) most = cpus
		}
		print least, most + 0 }' "$tmp/ran")
	ratio=$(status_of overhead_total_ratio)
	spent=$(sql 'SELECT 1.0 * sum(stopped_ns + source_cpu_ns) / (max(end_ns) - min(begin_ns))
		FROM windows')
	own=$(awk "BEGIN { print ($(status_of costs.daemon_cpu_ns) - $(status_of costs.start_cpu_ns)) / $wall / $(nproc) }")
	echo "# $1 s: left alone for $share, all $ratio, the daemon $own of it, the source $spent beside $cpus busy CPUs"
}
# However many CPUs there are: the program pays a share of its own time. The first seconds take one
# CPU to be busy, and half of that error is mended every two seconds: four seconds altogether.
keeps_share() { true_that "$spent <= 0.021 * ($cpus + 4 / $measured_s)"; }
# A daemon that takes most of the budget by itself, as on a slow machine, leaves the source a
# quarter.
keeps_budget() { true_that "$ratio <= 0.021 || $own >= 0.75 * 0.02 && $ratio <= $own + 0.006"; }
keeps_all() {
	true_that "$share >= 0.9 && $spent / $(nproc) <= 0.021" && keeps_budget && keeps_share
}

# Bursts that take more than was expected show in a short time; a longer one has to keep to it.
for _ in 1 2 3 4 5 6; do
	measure "$seconds"
	! keeps_all || break
	seconds=$((2 * seconds))
done
check leaves-the-rest "the busy program was left alone for $share of the time" true_that "$share >= 0.9"
check status-pid "$(status_of pid)" test "$(status_of pid)" = "$pid"
check spends "$ratio" true_that "$ratio > 0.0005"
# what is under way when a reading is taken counts at the next
check keeps-to-budget "$ratio of 0.02, $own of it by the daemon" keeps_budget
check windows-agree "$spent by the windows" \
	true_that "$spent / $(nproc) <= 0.021 && $spent / $(nproc) > 0.0005"
check share-of-the-busy "$spent of $cpus CPUs" keeps_share
check busy-counted "$(status_of busy_cpus) of $least_cpus to $most_cpus" \
	true_that "$(status_of busy_cpus) < 1.5 * $most_cpus + 0.2 &&
		$(status_of busy_cpus) > $least_cpus / 2"

# A budget that earns a burst in many seconds saves for it. The daemon alone takes more than it, and
# leaves the source a quarter; what the stepper takes to wake up twice a second would be more than that
# earns.
db=$tmp/small.db
start --db "$db" --overhead 0.15 --window 2
sees_a_burst() { true_that "$(sql 'SELECT ifnull(sum(bursts), 0) FROM windows') > 0"; }
check small-budget "$(status_of burst_every_s) s a burst, none seen" wait_for 600 sees_a_burst
check small-budget-quarter "$(status_of source_budget_ratio)" \
	true_that "$(status_of source_budget_ratio) >= 0.00037"
stop

# The smallest budget that there is says how long a burst takes to earn, on the fastest machine too.
db=$tmp/smallest.db
start --db "$db" --overhead 0.001 --window 2
tells_the_price() {
	"$BUILD/bin/pathprofctl" --db "$db" status >"$tmp/status"
	grep -Eq '^ *price +a burst every [0-9]+ s' "$tmp/status"
}
told=no
wait_for 60 tells_the_price && told=yes
check smallest-budget-told "$(cat "$tmp/status")" test $told = yes
stop
kill -9 "$busy"
wait "$busy" 2>/dev/null || true
busy=
finish
