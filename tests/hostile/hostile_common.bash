# SPDX-License-Identifier: GPL-2.0-or-later
# What the scripts of hostile neighbours share: a live daemon beside whom a neighbour does what it
# can, and what must hold meanwhile. Sourced, after it is whatever daemon_common.bash gives.
. "$(dirname "${BASH_SOURCE[0]}")/../scenario/daemon_common.bash"
hostile=$BUILD/tests/hostile
tools=$BUILD/tests/tools

# What docs/tracking.md promises.
memory_most_mb=128
window_s=5

# Processes that run beside the daemon, to be ended with it.
others=()
stop_others() {
	local pid
	for pid in "${others[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	for pid in "${others[@]}"; do wait "$pid" 2>/dev/null || true; done
	others=()
}
trap 'stop_others; cleanup' EXIT
not() { ! "$@"; }

# as_neighbour COMMAND...: as somebody who has no rights here. In the background "${neighbour[@]}"
# COMMAND... & makes $! the command itself, not a shell around it.
neighbour=()
[ "$(id -u)" -ne 0 ] ||
	neighbour=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)
as_neighbour() { "${neighbour[@]}" "$@"; }
# for_neighbour FILE: a copy of a program where the neighbour may read it, and a directory of his.
for_neighbour() {
	mkdir -p "$tmp/neighbour"
	cp "$1" "$tmp/neighbour-${1##*/}"
	chmod 755 "$tmp/neighbour-${1##*/}"
	[ "$(id -u)" -ne 0 ] || chown 65534:65534 "$tmp/neighbour"
	echo "$tmp/neighbour-${1##*/}"
}

# start_beside: the daemon, and a program of another user for it to look at.
start_beside() {
	start_busy
	start --db "$db" --overhead 5 --window "$window_s"
}
# The most that the daemon ever held, in MB.
peak_mb() { awk '/^VmHWM:/ { print int($2 / 1024) }' "/proc/$daemon/status"; }
memory_holds() { [ "$(peak_mb)" -le "$memory_most_mb" ]; }
# Windows that took more than a tenth longer than they should. The last one is cut short by the end.
late_windows() {
	sql "SELECT count(*) FROM windows WHERE end_ns - begin_ns > $window_s * 1100000000"
}
windows() { sql 'SELECT count(*) FROM windows'; }

# what_must_hold NAME WINDOWS_BEFORE: while the daemon is still there.
what_must_hold() {
	check "$1-alive" "$(tail -n 3 "$tmp/log")" kill -0 "$daemon"
	check "$1-memory" "$(peak_mb) MB at most, more than $memory_most_mb" memory_holds
	check "$1-windows" "none since" test "$(windows)" -gt "$2"
	check "$1-windows-in-time" "$(late_windows) late" test "$(late_windows)" -eq 0
	check "$1-log" "$(wc -l <"$tmp/log") lines" test "$(wc -l <"$tmp/log")" -le 12
}
# The checks above have teeth: a window that is made late is found, and so is a bound that is too low.
show_teeth() {
	sqlite3 -cmd '.timeout 5000' "$db" ".backup '$tmp/late.db'"
	sqlite3 "$tmp/late.db" "UPDATE windows SET end_ns = begin_ns + $window_s * 1200000000
		WHERE id = (SELECT max(id) FROM windows)"
	check late-window-noticed "not found" eval '[ "$(db=$tmp/late.db late_windows)" -eq 1 ]'
	check memory-noticed "$(peak_mb) MB is within 1 MB" eval '! memory_most_mb=1 memory_holds'
}
