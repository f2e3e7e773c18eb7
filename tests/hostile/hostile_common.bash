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
	watch_machine
}
# Windows are held to 10 % of their length. The machine's own part in that is allowed for: the time
# by which `flood late`, a process that only sleeps, woke up late while a window was due, or for
# which the daemon was ready to run and the kernel gave the CPU to others, or the disk of $tmp, where
# the database is, stalled for everybody. What the daemon does itself, and what else it waits for, is
# none of these.
watch_machine() {
	"$hostile/flood" late "$daemon" ${busy:+"$busy"} >"$tmp/late" &
	others+=("$!")
}
# net_of_machine WANT_NS: of each span of the input, "BEGIN END" (Unix time, ns), by how much it was longer
# than wanted, without the union of the times in which the machine was late after it was due.
net_of_machine() {
	awk -F'[| ]' -v want="$1" '
		FILENAME != "-" { at[++cnt] = $1; late[cnt] = $2; next }
		{
			over = $2 - $1 - want
			counted = $1 + want
			for (i = 1; i <= cnt && counted < $2; i++) {
				from = at[i] - late[i] > counted ? at[i] - late[i] : counted
				to = at[i] < $2 ? at[i] : $2
				if (to <= from) continue
				over -= to - from
				counted = to
			}
			printf "%.0f\n", over
		}' "$tmp/late" -
}
# Nanoseconds by which each window was later than the machine.
own_lateness() { sql 'SELECT begin_ns, end_ns FROM windows ORDER BY id' | net_of_machine "${window_s}e9"; }
# stop_watched: as stop, beside watch_machine. Sets $stop_own_ms, too: without what the machine was late.
stop_watched() {
	local begin_ns
	begin_ns=$(date +%s%N)
	stop
	stop_own_ms=$(($(echo "$begin_ns $(date +%s%N)" | net_of_machine 0) / 1000000))
}
# The most that the daemon ever held, in MB.
peak_mb() { awk '/^VmHWM:/ { print int($2 / 1024) }' "/proc/$daemon/status"; }
memory_holds() { [ "$(peak_mb)" -le "$memory_most_mb" ]; }
late_windows() { own_lateness | awk -v most="${window_s}e8" '$1 > most { cnt++ } END { print cnt + 0 }'; }
windows() { sql 'SELECT count(*) FROM windows'; }

# what_must_hold NAME WINDOWS_BEFORE: while the daemon is still there.
what_must_hold() {
	check "$1-alive" "$(tail -n 3 "$tmp/log")" kill -0 "$daemon"
	check "$1-memory" "$(peak_mb) MB at most, more than $memory_most_mb" memory_holds
	check "$1-windows" "none since" test "$(windows)" -gt "$2"
	check "$1-windows-in-time" "$(late_windows) late" test "$(late_windows)" -eq 0
	check "$1-log" "$(wc -l <"$tmp/log") lines" test "$(wc -l <"$tmp/log")" -le 12
}
# A disk that stalls for a second is the machine's part.
show_stall_allowed() {
	command -v gcc >/dev/null || { echo "skip stalled-disk-allowed: no gcc"; return 0; }
	cat >"$tmp/stall.c" <<'END'
#include <unistd.h>

int fdatasync(int fd)
{
	(void)fd;
	sleep(1);
	return 0;
}
END
	gcc -shared -fPIC -o "$tmp/stall.so" "$tmp/stall.c"
	LD_PRELOAD=$tmp/stall.so "$hostile/flood" late $$ >"$tmp/stalled" &
	local prober=$!
	check stalled-disk-allowed "no line of a second in $(wc -l <"$tmp/stalled")" wait_for 60 \
		awk '$2 > 900000000 { found = 1 } END { exit !found }' "$tmp/stalled"
	kill -9 "$prober" 2>/dev/null || true
	wait "$prober" 2>/dev/null || true
}
# The checks above have teeth: a window that is made late is found, and so is a bound that is too low.
show_teeth() {
	sqlite3 -cmd '.timeout 5000' "$db" ".backup '$tmp/late.db'"
	sqlite3 "$tmp/late.db" "UPDATE windows SET end_ns = begin_ns + $window_s * 10000000000
		WHERE id = (SELECT max(id) FROM windows)"
	check late-window-noticed "not found" eval '[ "$(db=$tmp/late.db late_windows)" -eq 1 ]'
	check memory-noticed "$(peak_mb) MB is within 1 MB" eval '! memory_most_mb=1 memory_holds'
}
