# SPDX-License-Identifier: GPL-2.0-or-later
# A daemon in a control group of its own, and its CPU time by the kernel's account and by its own.
# Sourced after daemon_common.bash.

group=
leave_group() {
	local try
	cleanup
	# The kernel keeps a group until the last process of it is gone.
	for try in {1..50}; do
		[ -d "$group" ] && ! rmdir "$group" 2>/dev/null || return 0
		sleep 0.1
	done
}
trap leave_group EXIT

# A control group of version 2 needs no controller to account CPU time.
make_group() {
	local where
	where=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
	[ -n "$where" ] && group=$(mktemp -d "$where/pathprof-account-XXXXXX" 2>/dev/null) || return 1
	[ -r "$group/cpu.stat" ] && [ -w "$group/cgroup.procs" ]
}
# enter_group: start() begins the daemon in a group from now on, or as it is where none can be made.
enter_group() {
	if ! make_group; then
		echo "# no control group can be made here: the account is held against the processes"
		group=
		return 0
	fi
	# shellcheck disable=SC2016 # for the inner shell
	printf '#!/bin/sh\necho $$ >%s/cgroup.procs\nexec %s "$@"\n' "$group" "$pathprofd" >"$tmp/inside"
	chmod 755 "$tmp/inside"
	pathprofd=$tmp/inside
}
# The stepper and the reader are children of the daemon; what it has waited for is in its last two figures.
processes_ns() {
	# shellcheck disable=SC2046 # a word a child
	cat "/proc/$daemon/stat" $(pgrep -P "$daemon" | sed 's,.*,/proc/&/stat,') 2>/dev/null | sed 's/.*) //' |
		awk -v hz="$(getconf CLK_TCK)" '{ t += $12 + $13; if (NR == 1) t += $14 + $15 }
			END { printf "%.0f", t / hz * 1e9 }'
}
kernel_ns() {
	if [ -n "$group" ]; then
		awk '/^usage_usec/ { printf "%.0f", 1000 * $2 }' "$group/cpu.stat"
	else
		processes_ns
	fi
}
# report: a fresh account, in $tmp/status; $before and $after are the kernel's on both sides of it.
report() {
	local last
	last=$(status_of updated_ns)
	before=$(kernel_ns)
	kill -USR1 "$daemon"
	wait_for 60 eval "[ \"\$(status_of updated_ns)\" -gt $last ]" || true
	after=$(kernel_ns)
	sql 'SELECT json FROM daemon_status' >"$tmp/status"
}
cost() { sqlite3 :memory: "SELECT json_extract(readfile('$tmp/status'), '\$.costs.$1')"; }
