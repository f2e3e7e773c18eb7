# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the scripts that stop a service beside hostile neighbours: a daemon that records one
# process, and its end as the unit file would have systemd bring it about.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../scenario/step_common.bash"
hostile_dir=$build/tests/hostile
unit=$here/../../systemd/pathprofd.service

unit_setting() { sed -n "s/^$1=//p" "$unit" | tail -1; }

is_alive() { [ -n "$1" ] && [ -e "/proc/$1/stat" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
tracer_of() { sed -n 's/^TracerPid:\t//p' "/proc/$1/status" 2>/dev/null || true; }
children_of() { tr ' ' '\n' <"/proc/$1/task/$1/children" 2>/dev/null | grep . || true; }

# within SECONDS COMMAND...: until it succeeds. Only what never comes takes as long.
within() {
	local end=$((SECONDS + $1)) pause=100
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep "0.$pause"
		[ $pause -gt 200 ] || pause=$((pause + 10))
	done
}
not() { ! "$@"; }

stepper_of() { # DAEMON
	local child
	for child in $(children_of "$1"); do
		grep -qx pathprof-step "/proc/$child/comm" 2>/dev/null && echo "$child" && return
	done
	return 1
}

# Sets $daemon and $stepper. Bursts are long, so that what happens within one need not be waited for.
start_recording() { # DB PID
	printf '[Profile]\nHoldMaxSec=100ms\n' >"$1.conf"
	"$build/bin/pathprofd" -c "$1.conf" --record --db "$1" -p "$2" --source step --overhead 90 --quiet \
		2>"$work/daemon.log" &
	daemon=$!
	started+=("$daemon")
	within 300 stepper_of "$daemon" >/dev/null || return 1
	stepper=$(stepper_of "$daemon")
	within 300 grep -q pathprof-step "/proc/$stepper/comm"
}

# As systemd does it: SIGTERM, to the main process or to all, and what is left of them after
# TimeoutStopSec gets SIGKILL. Sets $stop_status and $stop_ms of the daemon.
stop_as_unit() {
	local begin=${EPOCHREALTIME/./} whom=("$daemon") one timeout
	timeout=$(unit_setting TimeoutStopSec)
	[ "$(unit_setting KillMode)" = process ] || whom+=("$stepper")
	for one in "${whom[@]}"; do kill -TERM "$one" 2>/dev/null || true; done
	within "${timeout%s}" not is_alive "$daemon" || true
	stop_ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
	if [ ${#whom[@]} -gt 1 ]; then
		within $((timeout - stop_ms / 1000)) not is_alive "$stepper" || true
	fi
	for one in "${whom[@]}"; do kill -KILL "$one" 2>/dev/null || true; done
	stop_status=0
	wait "$daemon" 2>/dev/null || stop_status=$?
}

bursts_in() { sqlite3 -readonly "$1" 'SELECT coalesce(sum(bursts), 0) FROM windows' 2>/dev/null || echo 0; }
