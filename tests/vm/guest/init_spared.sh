# SPDX-License-Identifier: GPL-2.0-or-later
# Process 1 of this machine computes all the time on two threads (busy_init). Neither the step source
# nor swlbr stops it, though the clock has its time; and a stepper that is killed $vm_kills times
# leaves the machine alive. Nor does anybody record a thread of the kernel.
. ./common.sh
./vmflow 0555555555 >/tmp/out &
flow=$!

stored() { # DB
	./pathprofctl --db "$1" windows --json 2>/dev/null | sed -nE 's/.*"bursts": ([0-9]+).*/\1/p' |
		awk '{ sum += $1 } END { print sum + 0 }'
}

# Samples of process 1 that were passed over.
passed_over() { # DB
	./pathprofctl --db "$1" windows --json 2>/dev/null | sed -nE 's/.*"init": ([0-9]+).*/\1/p' |
		awk '{ sum += $1 } END { print sum + 0 }'
}

start_daemon() { # DB ARGUMENTS...
	local db=$1
	shift
	./pathprofd --db "$db" --window 1 "$@" 2>/tmp/daemon &
	daemon=$!
}

# Waits until windows with bursts are stored that were not there before.
await_bursts() { # DB
	local before tries
	before=$(stored "$1")
	for tries in $(seq 300); do
		[ "$(stored "$1")" -le "$before" ] || return 0
		usleep 200000
	done
	return 1
}

# check_spared NAME DB: no path of process 1, but its samples and its time.
check_spared() {
	local paths over clocked
	paths=$(./pathprofctl --db "$2" paths --comm busy_init -n 10 --json 2>/dev/null | grep -c '"outcomes"')
	over=$(passed_over "$2")
	clocked=$(./pathprofctl --db "$2" top --by processes 2>/tmp/ctl_error | grep busy_init)
	if [ "$paths" = 0 ] && [ "$over" -gt 0 ]; then
		ok "${1}_spared ($over samples passed over)"
	else
		not_ok "${1}_spared" "$paths paths of process 1, $over samples passed over"
	fi
	if [ -n "$clocked" ]; then
		ok "${1}_clocked ($clocked)"
	else
		not_ok "${1}_clocked" "no time of process 1: $(cat /tmp/ctl_error)"
	fi
}

stop_daemon() {
	kill -TERM $daemon
	wait $daemon
}

# One that was killed is opened again after a while; what is stored meanwhile is of before.
await_stepper() {
	local tries
	for tries in $(seq 300); do
		pidof pathprof-step && return
		usleep 200000
	done
	return 1
}

step_init() {
	local db=/tmp/step.db kills=0 bursts=some stepper
	start_daemon $db --source step --overhead 90
	while [ $kills -lt "$vm_kills" ]; do
		await_bursts $db || break
		stepper=$(await_stepper) || break
		kill -9 $stepper
		kills=$((kills + 1))
		echo "# kill $kills after $(cut -d' ' -f1 /proc/uptime) s"
	done
	[ $kills -eq "$vm_kills" ] && await_bursts $db || bursts=none
	if stop_daemon && [ "$bursts" != none ]; then
		ok "step_init_kills ($kills kills, $(stored $db) bursts)"
	else
		not_ok step_init_kills "after $kills kills: $(tail -2 /tmp/daemon | tr '\n' ';')"
	fi
	check_spared step_init $db
}

swlbr_init() {
	local db=/tmp/swlbr.db bursts=some
	if ! load; then
		not_ok swlbr_init_load "$(dmesg | tail -3)"
		return
	fi
	start_daemon $db --source kmod-swlbr --overhead 40%
	await_bursts $db || bursts=none
	if stop_daemon && [ "$bursts" != none ]; then
		ok "swlbr_init ($(stored $db) bursts)"
	else
		not_ok swlbr_init "no bursts: $(tail -2 /tmp/daemon | tr '\n' ';')"
	fi
	check_spared swlbr_init $db
	unload || not_ok swlbr_init_unload "rmmod"
}

# A thread of the kernel has no code that could be recorded.
kernel_thread() {
	./pathprofd --record --quiet --db /tmp/kernel.db -p 2 2>/tmp/said
	local status=$?
	if [ $status = 1 ] && grep -q -e '-p 2: .* the kernel (kthreadd)' /tmp/said; then
		ok kernel_thread_is_named
	else
		not_ok kernel_thread_is_named "status $status: $(cat /tmp/said)"
	fi
}

step_init
swlbr_init
kernel_thread
kill -9 $flow
exit $failed
