#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The service is stopped as systemd stops it while its target sleeps in the kernel in the middle of
# an instruction, for a page that does not come: no target dies, its output is right, and the
# daemon writes its last window in time.
set -eu
. "$(dirname "$0")/stop_common.bash"
disturb=$build/tests/tools/step_disturb
ctl=$build/bin/pathprofctl
step_needs "$hostile_dir/parked" "$disturb" "$build/bin/pathprofd" "$ctl"
mkdir "$work/mount"
stop_limit_s=$(unit_setting TimeoutStopSec) # when systemd would kill it: it takes a second or two
stop_limit_ms=${stop_limit_s%s}000
# The target and who serves its pages have no rights.
nobody=
[ "$(id -u)" -ne 0 ] || nobody=65534
server=

# What a case has started. The server first: whoever sleeps for a page of its file cannot even die.
clear_away() {
	local pid
	for pid in $server "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
	started=() server=
	umount -l "$work/mount" 2>/dev/null || true
}
trap 'clear_away; step_cleanup' EXIT

begin() { # KIND
	local dir=
	[ "$1" != fuse ] || dir=$work/mount
	: >"$work/out"
	"$hostile_dir/parked" "$1" ${dir:+"$dir"} $nobody >"$work/out" 2>&1 &
	target=$!
	started=("$target")
	within 300 grep -q '^server\|^refused' "$work/out"
	server=$(sed -n 's/^server //p' "$work/out")
	[ -n "$server" ]
}

# Until the target sleeps in a fault and the server is dead. The fault began while the target had a
# tracer, but for one kind: a burst by breakpoints ends in front of a call through a pointer whose
# page is missing. There the stop is about the samples of a target that sleeps already.
park() { # SIGNAL
	kill -"$1" "$server"
	within 300 grep -q '^dead' "$work/out" && faults=$(sed -n 's/^dead after //p' "$work/out")
}

# The target, awake again, comes to its right end.
ends_right() {
	local status=0
	kill -TERM "$target" 2>/dev/null || true
	wait "$target" || status=$?
	[ $status = 0 ] && [ "$(tail -1 "$work/out")" = right ] && return 0
	not_ok "$name" "the target ended with $status: $(tail -1 "$work/out")"
	return 1
}

# What holds of every stop, whatever the target does.
stopped_well() {
	if [ "$stop_status" != 0 ] || [ "$stop_ms" -gt $stop_limit_ms ]; then
		not_ok "$name" "the daemon ended with $stop_status after $stop_ms ms"
	elif [ "$(bursts_in "$work/db")" = 0 ]; then
		not_ok "$name" "the last window was not written"
	else
		return 0
	fi
	return 1
}

is_free() { [ "$(tracer_of "$target")" = 0 ]; }

awake_again() {
	kill -USR2 "$server"
	within 300 not is_alive "$stepper" && within 300 is_free && return 0
	not_ok "$name" "the stepper does not leave, or the target is still traced"
	return 1
}

# The server is dead for good, as far as the stepper can know: it leaves all the same.
leaves_alone() {
	within 300 not is_alive "$stepper" && within 300 is_free && return 0
	not_ok "$name" "the target is still traced beside a dead server"
	return 1
}

# Another daemon comes while the first one's stepper waits, as at an upgrade.
restarts() {
	local first=$stepper
	start_recording "$work/db2" "$target" && sleep 1
	stop_as_unit
	stepper=$first
	[ "$stop_status" = 0 ] && [ "$stop_ms" -le $stop_limit_ms ] && return 0
	not_ok "$name" "the second daemon ended with $stop_status after $stop_ms ms"
	return 1
}

# The target's breakpoints are somebody else's, so it is stepped by the trap flag.
take_registers() {
	: >"$work/disturb"
	"$disturb" registers "$target" 4 3000 >"$work/disturb" 2>&1 &
	started+=($!)
	within 300 grep -q taken "$work/disturb"
}

# The target is stepped, and its server dies under it. Sets $why where something fails.
arrange() { # KIND HOW
	local signal=USR1
	why="its debug registers were not taken"
	[ "$2" != steps ] || take_registers || return 1
	why="the daemon did not start"
	start_recording "$work/db" "$target" || return 1
	# A burst is seen to begin and to end, or the last window might hold none on a busy machine.
	sleep 1
	within 60 not is_free && within 60 is_free || true
	why="it never slept with a tracer"
	[ "$1$2" != tablebreakpoints ] || signal=HUP why="it never slept"
	park "$signal" || return 1
	sleep 0.3
}

# What is known of the target, the daemon and who took the registers when `arrange` has failed.
all_said() {
	is_alive "$target" || echo "the target is gone;"
	tail -qn 1 "$work/out" "$work/daemon.log" "$work/disturb" 2>/dev/null | paste -sd ';'
}

stop_while_parked() { # NAME KIND HOW
	name=hostile_stop_$1
	rm -f "$work"/db* "$work/disturb"
	if ! begin "$2"; then
		skip "$name" "$(head -1 "$work/out")"
	elif ! arrange "$2" "$3"; then
		not_ok "$name" "$why: $(all_said)"
	else
		stop_as_unit
		took_ms=$stop_ms
		if stopped_well && { [ "$3" != breakpoints ] || leaves_alone; } &&
			{ [ "$2" != fuse ] || [ "$3" = breakpoints ] || restarts; } &&
			awake_again && ends_right; then
			ok "$name (daemon gone after $took_ms ms, $(bursts_in "$work/db") bursts; $faults)"
		fi
	fi
	clear_away
}

# Where no breakpoint strikes, a target whose registers are free sleeps in the middle of a step, too.
# No interrupt ends its sleep for a page of a FUSE file, and the trap flag would kill it: the
# stepper stays. An interrupt ends the one for `userfaultfd`, so there the stepper leaves anywhere.
if "$ctl" doctor --json | grep -q '"fact": "breakpoints", "value": "none"'; then
	stop_while_parked fuse_no_breakpoints fuse unstruck
else
	stop_while_parked fuse fuse breakpoints
fi
stop_while_parked fuse_steps fuse steps
stop_while_parked userfaultfd uffd breakpoints
stop_while_parked userfaultfd_steps uffd steps
stop_while_parked table table breakpoints
stop_while_parked table_steps table steps
exit $failed
