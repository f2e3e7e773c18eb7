#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 of the daemon, KILLS times at random moments, while it profiles a busy program with short
# windows: no window that was closed is lost, the database stays sound, the program lives.
. "$(dirname "$0")/daemon_common.bash"

. "$(dirname "$0")/../rounds.bash"
kills=${KILLS:-$(rounds 50 200)}
RANDOM=20 # the same moments each time
lost=0 early=0 last=0 said=

start_busy
for ((i = 0; i < kills; i++)); do
	"$pathprofd" --db "$db" --overhead 10 --window 0.2 2>"$tmp/log" &
	daemon=$!
	# On a busy machine the random moments alone may all come before the first window.
	[ $((i % 10)) -ne 9 ] || wait_for 60 has_windows $((last + 1)) || true
	sleep "0.$(printf %03d $((RANDOM % 700)))"
	kill -9 "$daemon" 2>/dev/null || true
	status=0
	wait "$daemon" 2>/dev/null || status=$?
	[ "$status" -eq 137 ] || { early=$((early + 1)) said="status $status: $(cat "$tmp/log")"; }
	daemon=
	if [ -e "$db" ] && [ $((i % 10)) -eq 9 ]; then
		now=$(sql 'SELECT count(*) FROM windows' 2>/dev/null) || now=0
		[ "${now:-0}" -ge "$last" ] || lost=$((lost + 1))
		last=${now:-0}
	fi
done
check never-ended-by-itself "$early times, at last with $said" test "$early" -eq 0
check windows-stay "$lost times fewer windows than before" test "$lost" -eq 0
check windows-there "only $last windows" test "$last" -ge "$((kills / 10))"
check program-lives "it is gone" kill -0 "$busy"
# A stepper whose daemon was killed just now lets go when it gets a CPU.
check program-not-held "$(grep '^State' "/proc/$busy/status")" \
	wait_for 60 grep -q '^State:.[RS]' "/proc/$busy/status"
check program-not-traced "$(grep '^TracerPid' "/proc/$busy/status")" \
	wait_for 3 grep -qE '^TracerPid:\s0$' "/proc/$busy/status"
before=$last
start --db "$db" --overhead 10 --window 0.2
wait_for 60 has_windows $((before + 1)) || true
stop
check starts-again "exit status $stop_status" test "$stop_status" -eq 0
check goes-on "no new windows" test "$(sql 'SELECT count(*) FROM windows')" -gt "$before"
check database-sound "$(sql 'PRAGMA integrity_check' | head -1)" \
	test "$(sql 'PRAGMA integrity_check')" = ok
check references-sound "$(sql 'PRAGMA foreign_key_check' | head -1)" \
	test -z "$(sql 'PRAGMA foreign_key_check')"
if [ -x "$BUILD/bin/pathprofctl" ]; then
	check db-check "pathprofctl db check" "$BUILD/bin/pathprofctl" --db "$db" db check
fi
finish
