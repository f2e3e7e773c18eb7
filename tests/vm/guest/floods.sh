# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh: the service with the BPF program, and with the module, beside floods of forks,
# executions, mappings and threads. Windows close in time, memory stays bounded, the kernel says
# nothing (init looks). Shorter than tests/hostile/floods.sh, and as root: nobody else is here.
. ./service_common.sh
flood_memory_kb=131072
flood_late_ms=1000 # of a window of two seconds, in an emulated machine

flood_settings() { # SOURCE
	printf '[Profile]\nSource=%s\nFrequencyHz=500\nOverhead=20%%\nWindowSec=2\n' "$1"
	[ "$1" != bpf ] || echo 'Event=pathprof_test/config=0x820/'
}

# By how many milliseconds the longest window but the last was too long.
flood_late() { # DB
	show "$1" windows --json |
		sed -nE 's/.*"begin_ns": ([0-9]+).*"end_ns": ([0-9]+).*/\1 \2/p' |
		awk 'NR > 1 { ms = ($2 - $1) / 1e6 - 2000; if (ms > worst) worst = ms } END { printf "%d", worst }'
}

flood_beside() { # SOURCE
	local name=floods_$1 file=/tmp/floods-$1.db pid kind flood late memory
	flood_settings "$1" >/tmp/floods.conf
	./vmflow "$endless" >/tmp/out 2>&1 &
	child=$!
	./pathprofd -c /tmp/floods.conf --db "$file" 2>/tmp/daemon &
	pid=$!
	sleep 2
	for kind in fork exec mmap threads; do
		./flood $kind 1 >/tmp/flood.out 2>&1 &
		flood=$!
		sleep 3
		kill -9 $flood
		wait $flood 2>/dev/null
	done
	memory=$(awk '/^VmHWM/ { print $2 }' /proc/$pid/status 2>/dev/null)
	kill -TERM $pid
	if wait $pid; then ok "${name}_alive"; else
		not_ok "${name}_alive" "$(tail -2 /tmp/daemon | tr '\n' ';')"
	fi
	kill -9 $child
	wait $child 2>/dev/null
	late=$(flood_late "$file")
	if [ "$(status_figure "$file" windows)" -ge 5 ] && [ "${late:-9999}" -le $flood_late_ms ]; then
		ok "${name}_windows ($(status_figure "$file" windows) windows, late by $late ms at most)"
	else
		not_ok "${name}_windows" "$(status_figure "$file" windows) windows, late by $late ms"
	fi
	if [ "${memory:-999999}" -le $flood_memory_kb ]; then ok "${name}_memory ($memory kB)"; else
		not_ok "${name}_memory" "$memory kB"
	fi
	if [ "$(status_figure "$file" events)" -ge 300 ]; then
		ok "${name}_reached ($(status_figure "$file" events) events)"
	else
		not_ok "${name}_reached" "$(status_figure "$file" events) events"
	fi
	if show "$file" processes --json | grep -q '"comm": "vmflow"'; then ok "${name}_others"; else
		not_ok "${name}_others" "vmflow is not in the profile"
	fi
}

take_truth
give_stacks
flood_beside kmod-swlbr
flood_beside bpf
