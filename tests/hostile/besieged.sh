#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# All neighbours at once, each kind a user of its own without rights, beside a live daemon with the step
# source: an hour at full size. They map, fork, exec, make threads, signal, rename themselves, generate
# code, run files of ever new names, crowd the daemon's socket, and put whoever looks at them to sleep.
# Windows close in time, memory is flat, daemon and stepper keep to their budget by the kernel's account,
# the log stays short, somebody else's profile is the one of a run without neighbours, and SIGTERM ends
# the daemon while all of them go on.
. "$(dirname "$0")/judged_common.bash"
. "$(dirname "$0")/../scenario/account_common.bash"
. "$(dirname "$0")/../rounds.bash"
[ "$(id -u)" -eq 0 ] || { echo "skip besieged: needs root, to be other users"; exit 0; }

seconds=${SIEGE_SECONDS:-$(rounds 90 3600)}
window_s=$(rounds 5 10)
memory_most_kb=$((memory_most_mb << 10))
budget=5 # per cent of all CPUs, of which tracking may take a twentieth of one
looks=12

# ---------------------------------------------------------------- the neighbours
# One group for all users, as systemd has user.slice beside system.slice; without the right to one they
# take as much of the CPUs as they have threads.
slice=
make_slice() {
	local where
	where=$(findmnt -nt cgroup -O cpu -o TARGET | head -n 1)
	[ -n "$where" ] || where=$(findmnt -nt cgroup2 -o TARGET | head -n 1)
	slice=$(mktemp -d "$where/pathprof-users-XXXXXX" 2>/dev/null) && [ -w "$slice/cgroup.procs" ] && return
	echo "# no control group for the users can be made here"
	slice=
}
sieges=() sieges_of=() # process groups, and names of all that there were
lift() {
	local group mount
	for group in "${sieges[@]}"; do kill -KILL -- "-$group" 2>/dev/null || true; done
	sieges=()
	for mount in "$tmp"/mount.*; do umount -l "$mount" 2>/dev/null || true; done
	[ -z "$slice" ] || wait_for 60 rmdir "$slice" 2>/dev/null || true
	slice=
}
trap 'lift; stop_others; leave_group' EXIT
programs=(flood name_flood jit_flood outlet_crowd)
for program in "${programs[@]}"; do
	cp "$hostile/$program" "$tmp/"
	chmod 755 "$tmp/$program"
done

# besiege NAME COMMAND...: again whenever it ends, in a process group of its own.
besiege() {
	local name=$1
	sieges_of+=("$name")
	shift
	# shellcheck disable=SC2016 # for the inner shell
	setsid bash -c '[ -z "$0" ] || echo $$ >"$0/cgroup.procs"; while :; do "$@"; sleep 1; done' "$slice" "$@" \
		>"$tmp/out.$name" 2>&1 &
	sieges+=("$!")
	disown
}
# as_user NUMBER COMMAND...: in front of a command of besiege.
as_user=(setpriv --clear-groups --inh-caps=-all --bounding-set=-all)
besiege_by_flood() { # KIND UID
	: >"$tmp/count.$1"
	chmod 666 "$tmp/count.$1"
	besiege "$1" "${as_user[@]}" --reuid "$2" --regid "$2" "$tmp/flood" "$1" "$tmp/count.$1"
}
own_directory() { # NAME UID
	mkdir "$tmp/of.$1"
	chown "$2" "$tmp/of.$1"
}
besiege_all() {
	local kind uid=64500
	make_slice
	for kind in mmap swarm pieces fork exec threads signals comm; do
		besiege_by_flood "$kind" $((++uid))
	done
	own_directory names $((++uid))
	besiege names "${as_user[@]}" --reuid $uid --regid $uid "$tmp/name_flood" files "$tmp/of.names"
	besiege generated "${as_user[@]}" --reuid $((++uid)) --regid $uid "$tmp/jit_flood" 3 20 30
	besiege crowd "${as_user[@]}" --reuid $((++uid)) --regid $uid "$tmp/outlet_crowd" "$db.socket" 8
	for kind in exec fault fault fault fault fault fault; do
		mkdir "$tmp/mount.$((++uid))"
		# shellcheck disable=SC2016 # for the inner shell
		besiege "asleep_$uid" sh -c 'umount -l "$2" 2>/dev/null; exec timeout -s KILL 40 "$0" "$1" "$2" "$3"' \
			"$hostile/asleep" "$kind" "$tmp/mount.$uid" $uid
	done
}

# ---------------------------------------------------------------- what is judged besides
# A row: memory of the daemon and its children in KiB, and bursts so far. (pgrep would look at the
# neighbours, and sleep over them.)
look() {
	# shellcheck disable=SC2046 # a word a child
	cat "/proc/$daemon/smaps_rollup" \
		$(tr ' ' '\n' <"/proc/$daemon/task/$daemon/children" | sed -n 's,.,/proc/&,; s,$,/smaps_rollup,p') 2>/dev/null |
		awk -v bursts="$(sql 'SELECT ifnull(sum(bursts), 0) FROM windows')" \
			'/^Pss:/ { sum += $2 } END { print sum + 0, bursts }'
}
# The most in the first half, and in the second.
memory_halves() { awk -v half=$((looks / 2)) '{ i = NR > half; if ($1 > most[i]) most[i] = $1 }
	END { print most[0] + 0, most[1] + 0 }' "$tmp/looks"; }
memory_flat() {
	local first second
	[ "$seconds" -ge 600 ] || return 0 # tables have their size after minutes
	read -r first second <<<"$(memory_halves)"
	[ "$first" -gt 0 ] && [ "$second" -le $((first + first / 4 + 8 * 1024)) ]
}
# Paths of the busy program that bursts have seen.
honest_paths() {
	sql "SELECT ifnull(sum(c.samples), 0) FROM path_counts c JOIN paths p ON p.id = c.path
		JOIN binaries b ON b.id = p.binary WHERE b.name LIKE '%/$victim'"
}
done_by() { od -An -td8 "$tmp/count.$1" | tr -d ' '; }
tight() { [ "$(late_windows)" -le $(($(windows) / 100)) ]; }

# ---------------------------------------------------------------- nobody, then everybody
start_busy
begin quiet --overhead $budget
sleep $((seconds / 6))
wait_for 60 has_windows 3
wait_for 240 seen_enough || true
end
quiet_db=$db
judge quiet

enter_group
begin besieged --overhead $budget
wait_for 60 test -S "$db.socket"
chmod 666 "$db.socket"
besiege_all
began=$SECONDS
for ((i = 1; i <= looks; i++)); do
	sleep $((began + seconds * i / looks > SECONDS ? began + seconds * i / looks - SECONDS : 0))
	look >>"$tmp/looks"
	echo "# $((SECONDS - began)) s: $(tail -n 1 "$tmp/looks" | awk '{ print $1 " KiB, " $2 " bursts" }'), $(windows) windows"
done
wait_for 240 seen_enough || true
report
told=$(cost cpu_ns) kernel=$after held=$(cost held_ns)
is_alive=no
! kill -0 "$daemon" 2>/dev/null || is_alive=yes
memory_kb=$(awk '/^VmHWM/ { print $2 }' "/proc/$daemon/status" 2>/dev/null || echo 0)
run_ns=$(($(date +%s%N) - start_ns))
stop_watched
lift
stop_others
# Eight an hour of each user, and one in ten seconds of forged build-ids.
log_lines_most=$((8 * ${#sieges_of[@]} * (run_ns / 3600000000000 + 1) + run_ns / 10000000000 + 5))

share=$(awk -v c="$kernel" -v h="$held" -v w="$run_ns" -v n="$(nproc)" 'BEGIN { printf "%.3f", 100 * (c + h) / w / n }')
check besieged-alive "exit status $stop_status" alive
check besieged-memory "$memory_kb kB" memory_bounded
check besieged-memory-flat "$(memory_halves) KiB" memory_flat
check besieged-windows "late by $(worst_window) ns at most, $(late_windows) of $(windows) by more than a tenth" tight
check besieged-log "$(tail -n 30 "$tmp/log")" log_quiet
check besieged-neighbour "no clock samples of $victim in $(without_profile | paste -sd ' ')" profile_there
check besieged-profile "$(most_different)" profile_same
check besieged-budget "$share % of all CPUs' time" true_that "$share <= 1.05 * $budget"
check besieged-account "$told told, $kernel by the kernel" true_that "$told >= 0.9 * $kernel && $told <= 1.1 * $kernel"
check besieged-ends "$stop_ms ms, of which $stop_own_ms are not the machine's" test "$stop_own_ms" -le 2000
for kind in mmap swarm pieces fork exec threads comm; do
	check "besieged-by-$kind" "$(done_by $kind) times" test "$(done_by $kind)" -ge 1000
done
check besieged-by-asleep "$(tail -n 2 "$tmp"/out.asleep_*)" test "$(grep -l '^asleep' "$tmp"/out.asleep_* | wc -l)" -ge 5
check besieged-paths "$(honest_paths) of the busy program" test "$(honest_paths)" -ge $((seconds / 10))
check besieged-told "$(status_of drops), $(status_of tracker)" \
	test "$(dropped map-rate)" -gt 0 -a $(($(status_of drops.silent) + $(dropped silent))) -gt 0
echo "# daemon and stepper: $share % of all CPUs' time; tracking $(($(status_of costs.tracker_cpu_ns) / 1000000)) ms" \
	"in $((run_ns / 1000000)); drops $(status_of drops); tracker $(status_of tracker.drops)"
echo "# bursts $(sql 'SELECT ifnull(sum(bursts), 0) FROM windows'), paths of the busy program $(honest_paths);" \
	"costs $(status_of costs)"
echo "# windows late by $(worst_window) ns at most; most different function: $(most_different)"
finish
