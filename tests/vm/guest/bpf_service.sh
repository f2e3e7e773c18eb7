# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh: the service by the BPF program, on the test PMU's stacks.
. ./service_common.sh

# One number out of the status row's counters.
counter() { status_figure "$1" "$2"; }

bpf_settings() { # SAMPLES-A-SECOND
	printf '[Profile]\nSource=bpf\nEvent=pathprof_test/config=0x820/\n'
	printf 'FrequencyHz=%s\nOverhead=40%%\nWindowSec=2\n' "$1"
}

# The programs' run time as the kernel counts it, out of a daemon's descriptors.
kernel_run_ns() { # PID
	cat /proc/"$1"/fdinfo/* 2>/dev/null | sed -n 's/^run_time_ns:[^0-9]*//p' |
		awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# CPU time of a process, threads, and its children (one reads files for names), in nanoseconds. Ticks
# are of 10 ms.
process_ns() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v pid="$1" '
		$1 == pid { ticks += $14 + $15 + $16 + $17 }
		$4 == pid { ticks += $14 + $15 }
		END { printf "%.0f", ticks * 10000000 }'
}

# It has done what there was to do: a tenth of a second in one at the most.
await_rest() { # PID
	local tries before
	for tries in $(seq 20); do
		before=$(process_ns "$1")
		sleep 1
		[ $(($(process_ns "$1") - before)) -gt 100000000 ] || return
	done
}

# within NAME A B: A is B, give or take a fifth.
within() {
	if awk -v a="$2" -v b="$3" 'BEGIN { exit !(b > 0 && a >= 0.8 * b && a <= 1.2 * b) }'; then
		ok "$1 ($2 told, $3 by the kernel)"
	else
		not_ok "$1" "$2 told, $3 by the kernel"
	fi
}

# How many of the two hundred a store has. How fast a daemon gets to know them hangs on the CPU time
# that it has, and in a guest on a busy host that is little.
seen_processes() { show "$1" processes --json | grep -c '"comm": "vmflow"'; }

# A thousand samples a second over two hundred processes: how much memory and time the daemon takes,
# by its own account and by the kernel's. They leave it and its queries some time.
bpf_budget() {
	local pid i children= run_ns self_ns rss samples begin rights seen
	for i in $(seq 200); do
		./vmidle ./vmflow "$endless" >/tmp/out 2>&1 &
		children="$children $!"
	done
	echo 1 >/proc/sys/kernel/bpf_stats_enabled
	bpf_settings 500 >/tmp/bpf.conf
	./pathprofd -c /tmp/bpf.conf --db /tmp/budget.db 2>/tmp/daemon &
	pid=$!
	begin=$(date +%s)
	for i in $(seq 60); do
		sleep 3
		[ "$(status_figure /tmp/budget.db samples)" -ge 10000 ] 2>/dev/null &&
			[ "$(seen_processes /tmp/budget.db)" -ge 150 ] && break
	done
	begin=$(($(date +%s) - begin))
	kill -9 $children
	# What is read next belongs together once the daemon rests and its row was written again.
	await_rest $pid
	sleep 2
	run_ns=$(kernel_run_ns $pid)
	self_ns=$(process_ns $pid)
	show /tmp/budget.db status --json >/tmp/status.json
	rights=0x$(awk '/^CapEff/ { print $2 }' /proc/$pid/status)
	rss=$(awk '/^VmHWM/ { print $2 }' /proc/$pid/status)
	kill -TERM $pid
	wait $pid
	wait $children 2>/dev/null
	echo 0 >/proc/sys/kernel/bpf_stats_enabled
	samples=$(sed -nE 's/.*"samples": ([0-9]+).*/\1/p' /tmp/status.json | head -1)
	# CAP_BPF, 39, was for loading; CAP_PERFMON, 38, is for CPUs that come.
	if [ $((rights >> 39 & 1)) = 0 ] && [ $((rights >> 38 & 1)) = 1 ]; then ok "bpf_gives_up"; else
		not_ok bpf_gives_up "capabilities $rights"
	fi
	if [ "${samples:-0}" -ge 5000 ]; then ok "bpf_rate ($samples samples in $begin s)"; else
		not_ok bpf_rate "$samples samples in $begin s"
	fi
	if [ "${rss:-99999}" -le 32768 ]; then ok "bpf_resident ($rss KiB)"; else
		not_ok bpf_resident "$rss KiB"
	fi
	within bpf_spent "$(sed -nE 's/.*"spent_ns": ([0-9]+).*/\1/p' /tmp/status.json | head -1)" "$run_ns"
	within bpf_daemon_cpu "$(sed -nE 's/.*"daemon_cpu_ns": ([0-9]+).*/\1/p' /tmp/status.json | head -1)" "$self_ns"
	seen=$(seen_processes /tmp/budget.db)
	if [ "$seen" -ge 150 ]; then ok "bpf_processes ($seen in $begin s)"; else
		not_ok bpf_processes "$seen of 200 seen in $begin s"
	fi
	show /tmp/budget.db status | sed 's/^/#   /'
}

# A CPU that goes and comes back is sampled again, and what its tables held is not lost.
bpf_hotplug() {
	local pid before after
	bpf_settings 700 >/tmp/bpf.conf
	taskset 2 ./vmflow "$endless" >/tmp/out 2>&1 &
	child=$!
	./pathprofd -c /tmp/bpf.conf --db /tmp/hotplug.db 2>/tmp/daemon &
	pid=$!
	sleep 2
	echo 0 >/sys/devices/system/cpu/cpu1/online
	sleep 6
	before=$(status_figure /tmp/hotplug.db samples)
	echo 1 >/sys/devices/system/cpu/cpu1/online
	taskset -p 2 $child >/dev/null 2>&1
	sleep 8
	after=$(status_figure /tmp/hotplug.db samples)
	kill -TERM $pid
	if wait $pid && [ "$(status_figure /tmp/hotplug.db source_deaths)" = 0 ] &&
		[ "${after:-0}" -gt "${before:-0}" ]; then
		ok "bpf_hotplug ($before samples, then $after)"
	else
		not_ok bpf_hotplug "$(tail -2 /tmp/daemon | tr '\n' ';')"
	fi
	kill -9 $child
	wait $child 2>/dev/null
}

# What the kernel refuses is one line, and the next source takes over.
bpf_refused() {
	printf '[Profile]\nSource=bpf\nSampler=H[P1]7\n' >/tmp/bpf.conf
	printf 'Event=pathprof_test/config=0x820/\n' >>/tmp/bpf.conf
	if ./pathprofd -c /tmp/bpf.conf --db /tmp/refused.db --duration 1 2>/tmp/daemon; then
		not_ok bpf_sampler "taken: $(cat /tmp/daemon)"
	elif [ "$(grep -c . /tmp/daemon)" = 1 ]; then
		ok "bpf_sampler ($(cat /tmp/daemon))"
	else
		not_ok bpf_sampler "said: $(cat /tmp/daemon)"
	fi
	if ./pathprofd --source bpf --db /tmp/refused.db --duration 1 2>/tmp/daemon; then
		not_ok bpf_no_hardware "taken: $(cat /tmp/daemon)"
	elif grep -q 'hardware counters' /tmp/daemon; then
		ok "bpf_no_hardware ($(head -1 /tmp/daemon))"
	else
		not_ok bpf_no_hardware "said: $(cat /tmp/daemon)"
	fi
}

# Another notation, chosen when the program is loaded.
bpf_notation() {
	bpf_settings 700 >/tmp/bpf.conf
	echo 'Sampler=T[16]512' >>/tmp/bpf.conf
	./vmflow "$endless" >/tmp/out 2>&1 &
	child=$!
	if profile_until 1500 /tmp/notation.db -c /tmp/bpf.conf; then
		extract /tmp/notation.db
		run_check bpf_notation ./vmprofile -o 0.6 -p 0.85 -w /tmp/long.truth - $base /tmp/edges /tmp/paths
	else
		not_ok bpf_notation "$(tail -2 /tmp/daemon | tr '\n' ';')"
	fi
	kill -9 $child
	wait $child 2>/dev/null
}

take_truth
give_stacks
service_profile bpf service_bpf yes 0.6 0.85 -w
if [ "$vm_windows" -ge 1000 ]; then
	bpf_budget
	bpf_notation
	bpf_refused
	bpf_hotplug
fi
