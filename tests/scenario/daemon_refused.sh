#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# If perf events are refused, the daemon works by /proc and says so once; if it may open them, it
# gives up the right that Debian's kernels ask for, and a stepper that is started anew has its
# events. Above level 2 one process keeps that right, to open breakpoints and for nothing else.
. "$(dirname "$0")/daemon_common.bash"

at_least() { [ "$(status_of "$1")" -ge "$2" ]; }
steppers() { pgrep -P "$daemon" -f pathprof-step; }
warned() { grep -c 'perf events' "$tmp/log"; }

start_busy
"$BUILD/tests/tools/refuse_perf" "$pathprofd" --db "$db" --source step --window 2s --overhead 20% 2>"$tmp/log" &
daemon=$!
check refused-starts "$(cat "$tmp/log")" wait_for 60 grep -q 'profiling to' "$tmp/log"
check refused-bursts "$(status_of drops)" wait_for 60 at_least bursts 5
check refused-paths "no path of the workload" wait_for 60 eval \
	'[ "$(sql "SELECT count(*) FROM path_counts")" -gt 0 ]'
check refused-by-proc "$(status_of sampler)" test "$(status_of sampler)" = proc
check refused-one-warning "$(cat "$tmp/log")" test "$(warned)" -eq 1
check refused-says-what "$(cat "$tmp/log")" grep -qE \
	'refused \(EACCES: .*\): mappings .* /proc .*; running threads .*; the time .*; what would help: ' "$tmp/log"
check refused-in-status "$(status_of refused)" eval '[[ $(status_of refused) == "perf events are refused"* ]]'
stop
check refused-stops "status $stop_status" test "$stop_status" -eq 0

# The planted fault: without the filter nothing of that is said. A stepper that comes late names its
# sampler late.
db=$tmp/all.db
start --db "$db" --source step --overhead 20%
names_sampler() { [ -n "$(status_of sampler)" ]; }
wait_for 60 names_sampler || true
if [ "$(status_of sampler)" = cpu-clock ]; then
	check allowed-no-warning "$(cat "$tmp/log")" test "$(warned)" -eq 0
else
	echo "skip allowed-no-warning: this machine refuses perf events: $(grep 'perf events' "$tmp/log")"
fi
stop

if [ "$(id -u)" -ne 0 ]; then
	echo "skip rights-given-up: only root may grant CAP_SYS_ADMIN"
	finish
fi
# The capabilities of the unit.
caps=+sys_admin,+sys_ptrace,+perfmon,+sys_nice,+dac_read_search,+checkpoint_restore
cp "$pathprofd" "$tmp/pathprofd"
chmod 755 "$tmp/pathprofd"
mkdir "$tmp/state"
chown nobody "$tmp/state"
db=$tmp/state/p.db
setpriv --reuid nobody --regid nogroup --clear-groups --no-new-privs --inh-caps="-all,$caps" \
	--ambient-caps="-all,$caps" --bounding-set="-all,$caps" \
	"$tmp/pathprofd" --db "$db" --source step --overhead 20% 2>"$tmp/log" &
daemon=$!
check rights-starts "$(cat "$tmp/log")" wait_for 60 grep -q 'profiling to' "$tmp/log"
# without PID: neither set of the process has CAP_SYS_ADMIN, and CAP_SYS_PTRACE is there.
without() {
	local set bits
	for set in CapPrm CapEff CapInh CapAmb; do
		bits=$((0x$(sed -nE "s/^$set:\s*//p" "/proc/$1/status")))
		[ $((bits >> 21 & 1)) -eq 0 ] || return 1
	done
	[ $((bits >> 19 & 1)) -eq 1 ]
}
check rights-daemon "$(grep Cap "/proc/$daemon/status" | paste -sd' ')" without "$daemon"
check rights-bursts "$(cat "$tmp/log")" wait_for 60 at_least bursts 1
stepper=$(steppers)
check rights-stepper "$(grep Cap "/proc/$stepper/status" | paste -sd' ')" without "$stepper"
sampler=$(status_of sampler)
kill_idle "$stepper"
check rights-stepper-again "$(cat "$tmp/log")" wait_for 60 grep -q 'source step: open again' "$tmp/log"
check rights-same-sampler "$sampler, then $(status_of sampler)" wait_for 30 \
	eval '[ "$(status_of source_up)" = 1 ] && [ "$(status_of sampler)" = "$sampler" ]'
check rights-stepper-without "$(cat "$tmp/log")" without "$(steppers)"
check rights-no-opener "$(pgrep -l -P "$daemon")" eval '! pgrep -P "$daemon" -x pathprof-break'
stop

# A level above 2, as the daemon sees it: a file in place of the kernel's own, for its eyes alone.
echo 3 >"$tmp/level"
# shellcheck disable=SC2016 # the inner shell's words
above=(unshare --mount sh -c 'mount --bind "$0" /proc/sys/kernel/perf_event_paranoid && exec "$@"' "$tmp/level")
if ! "${above[@]}" true 2>/dev/null; then
	echo "skip opener: no mount over kernel.perf_event_paranoid here"
	finish
fi
start_above() {
	"${above[@]}" setpriv --reuid nobody --regid nogroup --clear-groups --no-new-privs \
		--inh-caps="-all,$caps" --ambient-caps="-all,$caps" --bounding-set="-all,$caps" \
		"$tmp/pathprofd" --db "$db" --source step --overhead 20% 2>"$tmp/log" &
	daemon=$!
	check "$1-starts" "$(cat "$tmp/log")" wait_for 60 grep -q 'profiling to' "$tmp/log"
	check "$1-bursts" "$(cat "$tmp/log")" wait_for 60 at_least bursts 1
	opener=$(pgrep -P "$daemon" -x pathprof-break)
}
has_gone() { ! kill -0 "$1" 2>/dev/null; }
stops_by() { [ "$(status_of stepping)" = "$1" ] && [ "$(status_of source_up)" = 1 ]; }
bits_of() { echo $((0x$(sed -nE "s/^$2:\s*//p" "/proc/$1/status"))); }
# PID: CAP_SYS_ADMIN and CAP_SYS_PTRACE, a filter, no descriptor but its socket and the event that stays open
is_confined() {
	[ "$(bits_of "$1" CapEff)" -eq $((1 << 21 | 1 << 19)) ] && [ "$(bits_of "$1" CapAmb)" -eq 0 ] &&
		grep -q '^Seccomp:.2$' "/proc/$1/status" && [ "$(ls "/proc/$1/fd" | paste -sd' ')" = "0 3" ] &&
		[ "$(readlink "/proc/$1/fd/0")" = "anon_inode:[perf_event]" ]
}
start_above opener
# Breakpoints that it opens for the stepper are its own for a moment.
check opener-confined "$(grep -E 'Cap|Seccomp' "/proc/$opener/status" | paste -sd' ') $(ls "/proc/$opener/fd" | paste -sd' ')" \
	wait_for 60 is_confined "$opener"
check opener-daemon-without "$(grep Cap "/proc/$daemon/status" | paste -sd' ')" without "$daemon"
check opener-stepper-without "$(grep Cap "/proc/$(steppers)/status" | paste -sd' ')" without "$(steppers)"
stop
check opener-ends "$opener is still there" wait_for 10 has_gone "$opener"

start_above opener-again
# Single steps, where no breakpoint strikes, do not need it.
stepping=$(status_of stepping)
check opener-helps "$stepping" eval '[ "$stepping" = breakpoints ] || [ "$stepping" = "single steps" ]'
next_stepper() {
	deaths=$(status_of source_deaths)
	kill_idle "$(steppers)"
	check "$1" "$(cat "$tmp/log")" wait_for 60 eval \
		'[ "$(status_of source_deaths)" -gt "$deaths" ] && stops_by "$stepping"'
}
next_stepper opener-next-stepper
kill -9 "$opener"
if [ "$stepping" = breakpoints ]; then
	check opener-killed "$(cat "$tmp/log")" wait_for 60 stops_by "debug registers"
	check opener-killed-told "$(cat "$tmp/log")" wait_for 30 grep -q 'opened late .*without perf.s breakpoints.*restart' "$tmp/log"
else
	bursts=$(status_of bursts)
	check opener-killed-unneeded "$(cat "$tmp/log")" wait_for 60 at_least bursts $((bursts + 1))
	next_stepper opener-killed-next-stepper
fi
stop
finish
