#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A thread of a real-time policy is left alone and counted, unless RealTime=yes; one that never sleeps
# does not keep the stepper from the others.
set -eu
. "$(dirname "$0")/step_common.bash"
target=$workload_dir/half_busy
step_needs "$build/bin/pathprofd" "$target"

# How many samples were passed over for this reason.
counted() { # REASON
	"$build/bin/pathprofctl" windows --json --db "$work/db" |
		sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" | awk '{ sum += $1 } END { print sum + 0 }'
}

record() { # POLICY SETTING
	local status=0
	printf '[Profile]\nSource=step\n%s\n' "$2" >"$work/conf"
	rm -f "$work"/db*
	chrt $1 "$target" >/dev/null 2>"$work/refused" &
	started=($!)
	# The policy is there before the program is.
	until [ "/proc/$!/exe" -ef "$target" ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
	timeout 300 "$build/bin/pathprofd" -c "$work/conf" --record --db "$work/db" --quiet \
		--duration 2s --overhead 50 -p "$!" 2>"$work/log" || status=$?
	kill -KILL "${started[@]}" 2>/dev/null || true
	wait "${started[@]}" 2>/dev/null || true
	started=()
	bursts=$(sqlite3 -readonly "$work/db" 'SELECT coalesce(sum(bursts), 0) FROM windows' || echo 0)
	return $status
}

# On a busy machine two seconds may be few: then again.
spared() { # NAME POLICY
	local end=$((SECONDS + 600))
	record "$2" "" || true
	while [ "$bursts" = 0 ] && [ "$(counted realtime)" = 0 ] && [ $SECONDS -lt $end ]; do
		record "$2" "" || true
	done
	if [ "$bursts" = 0 ] && [ "$(counted realtime)" -gt 0 ]; then
		ok "step_spared_$1 ($(counted realtime) passed over)"
	else
		not_ok "step_spared_$1" "$bursts bursts, $(counted realtime) counted: $(tail -1 "$work/log")"
	fi
}

profiled() { # NAME POLICY SETTING
	local end=$((SECONDS + 600))
	record "$2" "$3" || true
	while [ "$bursts" = 0 ] && [ "$(counted realtime)" = 0 ] && [ $SECONDS -lt $end ]; do
		record "$2" "$3" || true
	done
	if [ "$bursts" -gt 0 ] && [ "$(counted realtime)" = 0 ]; then
		ok "step_spared_$1 ($bursts bursts)"
	else
		not_ok "step_spared_$1" "$bursts bursts, $(counted realtime) counted: $(tail -1 "$work/log")"
	fi
}

# Bursts of two programs that compute for three seconds, one of them under this policy.
bursts_beside() { # POLICY
	local loop="exec timeout 3 sh -c 'while :; do :; done'"
	rm -f "$work"/db*
	timeout 300 "$build/bin/pathprofd" --record --db "$work/db" --quiet --overhead 50 \
		-- sh -c "chrt $1 sh -c \"$loop\" & $loop" 2>"$work/log" || true
	sqlite3 -readonly "$work/db" 'SELECT coalesce(sum(bursts), 0) FROM windows' || echo 0
}

# Where the stepper waits for the CPU that a thread of higher priority never leaves, the first few
# bursts are the last.
beside() {
	local end=$((SECONDS + 60)) alone
	while :; do
		alone=$(bursts_beside "-o 0")
		bursts=$(bursts_beside "-r 5")
		[ $((bursts * 6)) -lt "$alone" ] && [ $SECONDS -lt $end ] || break
	done
	if [ $((bursts * 6)) -ge "$alone" ] && [ "$bursts" -gt 0 ] && [ "$(counted realtime)" -gt 0 ]; then
		ok "step_spared_beside ($bursts bursts of $alone, $(counted realtime) passed over)"
	else
		not_ok step_spared_beside "$bursts bursts of $alone, $(counted realtime) counted: $(tail -1 "$work/log")"
	fi
}

if ! chrt -r 1 true 2>/dev/null; then
	skip step_spared "no right to a real-time policy here"
	exit 0
fi
spared fifo "-f 1"
spared rr "-r 1"
spared deadline "-d --sched-runtime 4000000 --sched-deadline 20000000 --sched-period 20000000 0"
profiled wanted "-r 1" RealTime=yes
profiled other "-o 0" ""
# A program of which little was seen, before it took its policy: the report says why.
begins='i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done'
timeout 300 "$build/bin/pathprofctl" record --overhead 50 -o "$work/report.db" \
	-- sh -c "$begins; exec chrt -r 1 timeout 2 '$target'" >"$work/report" 2>&1 || true
if grep -q "left out as realtime: they have a real-time policy" "$work/report"; then
	ok step_spared_report
else
	not_ok step_spared_report "$(tail -5 "$work/report")"
fi
if [ "$(nproc)" -gt 1 ]; then
	beside
else
	skip step_spared_beside "one CPU, and it is the real-time thread's"
fi
exit $failed
