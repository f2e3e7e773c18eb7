#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon at work: paths of a known program, notifications, watchdog, end, window on demand,
# a source that dies; the unit file.
. "$(dirname "$0")/daemon_common.bash"

# listen FILE: what systemd would be told, a message a line.
listen() {
	python3 - "$1" "$tmp/notify" <<'PY' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[2])
with open(sys.argv[1], "w", buffering=1) as out:
    while True:
        out.write(s.recv(65536).decode().replace("\n", " ") + "\n")
PY
	listener=$!
	wait_for 5 test -S "$tmp/notify"
}

listen "$tmp/told"
start_busy
export NOTIFY_SOCKET=$tmp/notify WATCHDOG_USEC=1000000
# If each instruction is a stop of its own, bursts of 2 ms hold few branches.
start --db "$db" --overhead 10 --window 1 --hold 20ms
unset NOTIFY_SOCKET WATCHDOG_USEC
check ready "not told" wait_for 5 grep -q READY=1 "$tmp/told"
check windows "$(sql 'SELECT count(*) FROM windows')" wait_for 60 has_windows 3
kill -HUP "$daemon"
check reloading "not told" wait_for 5 grep -q 'RELOADING=1 MONOTONIC_USEC=' "$tmp/told"
check pings "$(grep -c WATCHDOG=1 "$tmp/told") of them" \
	wait_for 60 eval '[ "$(grep -c WATCHDOG=1 "$tmp/told")" -ge 4 ]'
check status-text "not told" wait_for 60 grep -q 'STATUS=step: ' "$tmp/told"
check status-row "pid $(status_of pid)" test "$(status_of pid)" = "$daemon"
has_rates() { true_that "$(status_of bursts_per_s) > 0 && $(status_of branches_per_s) > $(status_of bursts_per_s)"; }
check status-rates "$(status_of bursts_per_s) bursts/s" wait_for 60 has_rates

stepper=$(pgrep -P "$daemon" -f pathprof-step | head -1)
if [ -n "$stepper" ]; then
	kill_idle "$stepper"
	check source-death "not noticed" wait_for 5 grep -q 'source step: died' "$tmp/log"
	check source-reopened "not reopened" wait_for 5 grep -q 'source step: open again' "$tmp/log"
else
	not_ok source-death "no stepper under the daemon"
fi
paths_of_busy() {
	sql "SELECT count(DISTINCT path) FROM path_counts c JOIN paths p ON p.id = c.path
		JOIN binaries b ON b.id = p.binary WHERE b.name LIKE '%/flow_loops'"
}
wait_for 60 eval '[ "$(paths_of_busy)" -ge 10 ]' || true
before=$(sql 'SELECT max(id) FROM windows')
stop
check end-status "$stop_status" test "$stop_status" -eq 0
check end-quick "$stop_ms ms" test "$stop_ms" -lt 60000
check end-writes-window "none after $before" \
	test "$(sql 'SELECT max(id) FROM windows')" -gt "$before"
check stopping "not told" wait_for 60 grep -q STOPPING=1 "$tmp/told"
check program-runs-on "it is gone" kill -0 "$busy"
check database-sound "$(sql 'PRAGMA integrity_check')" test "$(sql 'PRAGMA integrity_check')" = ok

paths=$(paths_of_busy)
check paths-found "$paths paths of flow_loops" test "$paths" -ge 10
process=$(sql "SELECT count(*) FROM processes WHERE pid = $busy AND comm = 'flow_loops'")
check process-named "not stored" test "$process" -ge 1
kill "$listener"

# Windows of ten minutes: one comes only when it is asked for.
start --db "$db" --overhead 10 --window 600
windows=$(sql 'SELECT count(*) FROM windows')
kill -USR1 "$daemon"
check window-on-demand "no window" wait_for 60 has_windows $((windows + 1))
stop
# The rest of the window is not waited for.
check end-quick-in-long-window "$stop_ms ms" test "$stop_ms" -lt 60000

if command -v systemd-analyze >/dev/null; then
	unit=$tmp/pathprofd.service
	sed "s|^ExecStart=.*|ExecStart=$pathprofd|" "$here/systemd/pathprofd.service" >"$unit"
	systemd-analyze verify --man=no "$unit" >"$tmp/out" 2>&1 || true
	check unit-verifies "$(grep pathprofd "$tmp/out")" \
		eval '! grep -q pathprofd "$tmp/out"'
	score=$(systemd-analyze security --offline=true --no-pager "$unit" |
		sed -nE 's/.*exposure level for [^:]*: ([0-9.]+).*/\1/p')
	check unit-exposure "$score of 10" true_that "${score:-10} <= 2.5"
else
	echo "skip unit-verifies: no systemd-analyze here"
fi
finish
