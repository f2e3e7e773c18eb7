#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The disk of the database fills up while the daemon writes to it, and has room again later. The
# daemon lives, says so once, counts the windows that were lost, and goes on when there is room.
. "$(dirname "$0")/hostile_common.bash"
disk=$tmp/disk
mkdir "$disk"
mount -t tmpfs -o size=8m none "$disk" 2>/dev/null ||
	{ echo "skip full-disk: no file system can be mounted here"; exit 0; }
trap 'stop_others; umount -l "$disk" || true; cleanup' EXIT

window_s=1
db=$disk/p.db
start_busy
start --db "$db" --overhead 5 --window "$window_s"
watch_machine
# What the daemon has said of the disk, and the windows that it says are lost.
said() { grep -c "$1" "$tmp/log" || true; }
wait_for 30 eval '[ "$(windows)" -ge 2 ]' || not_ok first-windows "none"
check quiet-while-there-is-room "$(cat "$tmp/log")" test "$(said 'not written')" -eq 0
check nothing-lost-while-there-is-room "$(status_of windows_dropped) windows" \
	test "$(status_of windows_dropped)" -eq 0

dd if=/dev/zero of="$disk/filler" bs=4k 2>/dev/null || true
check disk-is-full "$(df "$disk" | tail -n 1)" test "$(df --output=avail "$disk" | tail -n 1)" -eq 0
wait_for 30 grep -q 'window not written' "$tmp/log" || true
before=$(windows)
sleep $((4 * window_s))
check alive-while-full "$(tail -n 3 "$tmp/log")" kill -0 "$daemon"
check nothing-written-while-full "$(windows) windows, $before before" test "$(windows)" -eq "$before"
check said-once "$(cat "$tmp/log")" test "$(said 'window not written')" -eq 1
# So do the status row and the names of paths, each of which fails for itself.
check said-in-few-lines "$(cat "$tmp/log")" test "$(grep -vcE 'profiling to|step: |source step' "$tmp/log")" -le 3
memory=$(peak_mb)

rm "$disk/filler"
check goes-on "$(tail -n 3 "$tmp/log")" wait_for 10 eval '[ "$(windows)" -ge $((before + 2)) ]'
check says-what-was-lost "$(tail -n 3 "$tmp/log")" grep -q 'written again; windows lost so far: [1-9]' "$tmp/log"
# Counted by the daemon, and by the clock: as many as went into the time without windows. None is
# shorter than was asked for; on a busy machine each is somewhat longer, by what the machine stood
# still besides.
wait_for 5 eval '[ "$(status_of windows_dropped)" -gt 0 ]' || true
counted=$(status_of windows_dropped)
sql 'SELECT before_ns, begin_ns FROM (SELECT id, begin_ns, lag(end_ns) OVER (ORDER BY id) AS before_ns
	FROM windows) WHERE begin_ns > before_ns ORDER BY id' >"$tmp/gaps"
read -r most least < <({ sql 'SELECT max(end_ns - begin_ns) FROM windows'
	awk -F '|' '{ gap += $2 - $1 } END { print gap }' "$tmp/gaps"
	net_of_machine 0 <"$tmp/gaps" | awk '{ net += $1 } END { print net }'; } | paste -sd ' ' |
	awk -v window="${window_s}e9" '{ print int($2 / window) + 1, int($3 / $1 / 1.5) }')
check counted "$counted windows; from $least to $most are missing" \
	test "$counted" -ge 2 -a "$counted" -ge "$least" -a "$counted" -le "$most"
check memory-while-full "$memory MB" test "$memory" -le "$memory_most_mb"
check sound "$(sql 'PRAGMA integrity_check')" test "$(sql 'PRAGMA integrity_check')" = ok

# Full again at the very end: it ends before systemd would kill it, and what was written before
# stays.
limit_ms=$(sed -n 's/^TimeoutStopSec=//p' "$here/systemd/pathprofd.service")000
dd if=/dev/zero of="$disk/filler" bs=4k 2>/dev/null || true
before=$(windows)
stop
check ends-while-full "exit status $stop_status after $stop_ms ms" test "$stop_ms" -lt "$limit_ms"
check written-windows-stay "$(windows) of $before" test "$(windows)" -ge "$before"
finish
