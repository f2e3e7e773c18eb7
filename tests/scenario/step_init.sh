#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Process 1 of the namespace that the daemon runs in computes all the time on two threads, and is
# never stopped: it is counted (init), the clock has its time, and its namespace outlives a stepper
# that is killed again and again.
set -eu
[ "${1:-}" != inside ] || own_processes=no # it is in one, under a process 1 that computes
. "$(dirname "$0")/step_common.bash"
. "$(dirname "$0")/../await.bash"
init=$workload_dir/busy_init
target=$workload_dir/half_busy
step_needs "$build/bin/pathprofd" "$build/bin/pathprofctl" "$init" "$target"
kills=${KILLS:-3}

# The stepper of the daemon DAEMON; waits for one that is started anew.
stepper_of() { # DAEMON
	await 3000 0.1 pgrep -P "$1" -x pathprof-step
}

query() { sqlite3 -readonly "$work/db" "$1"; }

bursts_stored() { query 'SELECT coalesce(sum(bursts), 0) FROM windows' 2>/dev/null || echo 0; }

has_more_bursts() { [ "$(bursts_stored)" -gt "$1" ]; } # BEFORE

# Waits until more bursts than before are stored.
await_bursts() { await 6000 0.1 has_more_bursts "$1"; } # BEFORE

# Outside: everything below runs again as the child of a busy process 1.
if [ "${1:-}" != inside ]; then
	status=0
	# The shell has a real-time policy, so that it is not stepped itself as it kills the stepper.
	spared=(chrt -R -f 1)
	"${spared[@]}" true 2>/dev/null || spared=()
	timeout 3000 unshare -pf --mount-proc --kill-child "$init" "${spared[@]}" \
		bash "$0" inside || status=$?
	[ "$status" -le 1 ] || not_ok step_init_survives "the namespace ended with status $status"
	exit $((status | failed))
fi

# A target dies if it stands at a trap as the stepper is killed (step_kill.sh): another one follows.
while :; do "$target" || true; done &
started+=($!)
"$build/bin/pathprofd" --source step --overhead 50 --window 1 --db "$work/db" 2>"$work/log" &
daemon=$!
started+=("$daemon")
for kill in $(seq "$kills"); do
	if ! await_bursts "$(bursts_stored)" || ! stepper=$(stepper_of "$daemon"); then
		not_ok step_init_kills "nothing is stepped before kill $kill: $(tail -1 "$work/log")"
		exit 1
	fi
	kill -KILL "$stepper"
done
if await_bursts "$(bursts_stored)"; then
	ok "step_init_survives ($kills kills)"
else
	not_ok step_init_survives "no bursts after kill $kills: $(tail -1 "$work/log")"
fi
status=0
kill -TERM "$daemon"
wait "$daemon" || status=$?
[ $status -eq 0 ] || not_ok step_init_status "the daemon ended with $status: $(tail -1 "$work/log")"

of_init() { query "SELECT count(*) FROM $1 JOIN processes ON processes.id = process WHERE pid = 1"; }
windows=$(of_init path_counts) clock=$(of_init clock_counts)
counted=$("$build/bin/pathprofctl" windows --json --db "$work/db" |
	sed -n 's/.*"init": \([0-9]*\).*/\1/p' | awk '{ sum += $1 } END { print sum + 0 }')
if [ "$windows" -eq 0 ] && [ "$counted" -gt 0 ]; then
	ok "step_init_spared ($counted samples passed over)"
else
	not_ok step_init_spared "$windows paths of process 1, $counted samples passed over"
fi
if [ "$clock" -gt 0 ]; then
	ok "step_init_clocked"
else
	not_ok step_init_clocked "the clock has no time of process 1"
fi
exit $failed
