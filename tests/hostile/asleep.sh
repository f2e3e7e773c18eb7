#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A neighbour puts whoever looks at it to sleep in the kernel, where only SIGKILL ends the sleep or
# nothing does; many do so at once; somebody stops the stepper. An honest program is profiled on, the
# neighbour is named in the log once and counted, windows close in time, SIGTERM ends the daemon in time, and a
# restart works.
. "$(dirname "$0")/hostile_common.bash"
mount=$tmp/mount
mkdir "$mount"
neighbour_id=65534
server= asleep=

# The server first: whoever sleeps for its file cannot even die.
end_neighbour() {
	[ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
	[ -z "$asleep" ] || { kill -KILL "$asleep" && wait "$asleep"; } 2>/dev/null || true
	umount -l "$mount" 2>/dev/null || true
	server= asleep=
}
trap 'end_neighbour; end_crowd; cleanup' EXIT

stepper_of() {
	local child
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		grep -qx pathprof-step "/proc/$child/comm" 2>/dev/null && echo "$child"
	done | tail -n 1
}
bursts() { sql "SELECT coalesce(sum(bursts), 0) FROM windows" 2>/dev/null || echo 0; }
# Bursts of the honest program, as far as windows were written.
honest() {
	sql "SELECT coalesce(sum(c.samples), 0) FROM path_counts c JOIN paths p ON p.id = c.path
		JOIN binaries b ON b.id = p.binary WHERE b.name LIKE '%flow_loops'" 2>/dev/null || echo 0
}
honest_more_than() { [ "$(honest)" -gt "$1" ]; }
silent() { status_of drops.silent 2>/dev/null || echo 0; }
unread() { status_of tracker.drops.silent 2>/dev/null || echo 0; }
at_least() { [ "$("$1")" -ge "$2" ]; }
named() { grep -c "process $1 of user $neighbour_id" "$tmp/log" || true; }

begin() {
	rm -f "$db"*
	start_busy
	start --db "$db" --source step --overhead 20 --window 1
}
# The time that the daemon takes from SIGTERM on.
ends() { # NAME
	stop
	check "$1-ends" "status $stop_status after $stop_ms ms" \
		test "$stop_status" -eq 0 -a "$stop_ms" -le "${stop_limit_ms:-2000}"
}
restarts() { # NAME
	local before
	start --db "$db" --source step --overhead 20 --window 1 || {
		not_ok "$1-restart" "$(tail -n 3 "$tmp/log")"
		return
	}
	before=$(honest)
	check "$1-restart" "no window of the honest program" wait_for 60 honest_more_than "$before"
	[ "$1" != fault ] || [ "$(status_of tracker.perf)" -ne 1 ] ||
		check "$1-unread" "tracker.drops.silent is $(unread)" wait_for 60 at_least unread 1
	ends "$1-restarted"
}
end_honest() { kill -9 "$busy" 2>/dev/null; wait "$busy" 2>/dev/null || true; busy=; }

beside() { # NAME
	local name=$1 before
	begin || { not_ok "$name" "no daemon"; return; }
	wait_for 60 honest_more_than 0 || not_ok "$name" "nothing is profiled: $(tail -n 3 "$tmp/log")"
	: >"$tmp/asleep"
	"$hostile/asleep" "$name" "$mount" "$neighbour_id" >"$tmp/asleep" 2>&1 &
	asleep=$!
	wait_for 60 grep -q '^asleep\|^refused' "$tmp/asleep" || not_ok "$name" "$(cat "$tmp/asleep")"
	server=$(sed -n 's/^server //p' "$tmp/asleep")
	if [ -z "$server" ]; then
		echo "skip asleep-$name: $(head -n 1 "$tmp/asleep")"
	else
		check "$name-counted" "drops.silent is $(silent)" wait_for 60 at_least silent 3
		before=$(honest)
		check "$name-goes-on" "the honest program is not seen any more" \
			wait_for 60 honest_more_than $((before + 10))
		# Who cannot be seized is named when it is so again after a rest of ten seconds.
		wait_for 120 eval '[ "$(named "$asleep")" -ge 1 ]'
		check "$name-named" "$(named "$asleep") times: $(tail -n 3 "$tmp/log")" test "$(named "$asleep")" -eq 1
		ends "$name"
		restarts "$name"
	fi
	end_neighbour
	end_honest
}
beside exec
beside fault

# ---------------------------------------------------------------- many at once
# Three users, twelve programs each, all of which hold their locks when the daemon looks first.
crowd_cnt=36
crowd_servers() { sed -n 's/^server //p' "$tmp"/crowd.* 2>/dev/null; }
end_crowd() {
	local server mount
	for server in $(crowd_servers); do kill -KILL "$server" 2>/dev/null || true; done
	stop_others
	for mount in "$tmp"/mount.*; do umount -l "$mount" 2>/dev/null || true; done
	rm -f "$tmp"/crowd.*
}
crowd_asleep() { [ "$(cat "$tmp"/crowd.* | grep -c '^asleep')" -eq $crowd_cnt ]; }
crowd() {
	local i before
	window_s=5
	rm -f "$db"*
	start_busy
	for ((i = 0; i < crowd_cnt; i++)); do
		mkdir "$tmp/mount.$i"
		nice -n 19 "$hostile/asleep" fault "$tmp/mount.$i" $((64500 + i % 3)) >"$tmp/crowd.$i" 2>&1 &
		others+=("$!")
	done
	if [ -z "$(wait_for 5 crowd_servers)" ]; then
		echo "skip asleep-crowd: $(cat "$tmp/crowd.0")"
	else
		check crowd-asleep "$(cat "$tmp"/crowd.* | grep -c '^asleep')" wait_for 60 crowd_asleep
		start --db "$db" --source step --overhead 20 --window $window_s
		watch_machine
		wait_for 60 eval '[ "$(windows)" -ge 3 ]' || true
		before=$(honest)
		check crowd-windows-in-time "late by $(own_lateness | paste -sd ' ') ns" test "$(late_windows)" -eq 0
		check crowd-counted "tracker.drops.silent is $(unread)" at_least unread 3
		check crowd-goes-on "the honest program is not seen any more" wait_for 60 honest_more_than "$before"
		stop_watched
		check crowd-ends "status $stop_status after $stop_ms ms, $stop_own_ms of them not the machine's" \
			test "$stop_status" -eq 0 -a "$stop_own_ms" -le 2000
	fi
	end_crowd
	end_honest
}
crowd

# ---------------------------------------------------------------- a stepper that is stopped
stopped() {
	local before first
	begin || { not_ok stopped "no daemon"; return; }
	wait_for 60 honest_more_than 0
	first=$(stepper_of "$daemon")
	kill -STOP "$first"
	check stopped-replaced "$(tail -n 3 "$tmp/log")" wait_for 60 at_least replaced 1
	before=$(honest)
	check stopped-goes-on "the honest program is not seen any more" \
		wait_for 60 honest_more_than "$before"
	check stopped-told "$(tail -n 3 "$tmp/log")" grep -q "the stepper, process [0-9]*, has not answered for" "$tmp/log"
	kill -STOP "$(stepper_of "$daemon")"
	ends stopped
	check stopped-unharmed "the honest program ended" kill -0 "$busy"
	end_honest
}
replaced() { status_of source_replaced 2>/dev/null || echo 0; }
stopped
finish
