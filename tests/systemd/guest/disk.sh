# SPDX-License-Identifier: GPL-2.0-or-later
# The state directory's disk is full: windows are dropped and counted, one line says so, the service runs
# on, and writes again when there is room.
. ./common.bash

# What was lost by what is there: windows follow one upon another, so a window that was lost is a gap
# of its length. GAPS SECONDS.
gaps() {
	sqlite3 -cmd '.timeout 5000' -separator ' ' -readonly "$db" "SELECT count(*), coalesce(sum(gap), 0) / 1000000000
		FROM (SELECT begin_ns - lag(end_ns) OVER (ORDER BY id) AS gap FROM windows) WHERE gap > 1000000000"
}
# Each gap is at least one window, and each window that was counted lies in one.
gaps_are_counted() {
	local dropped gaps seconds
	dropped=$(status_of windows_dropped)
	read -r gaps seconds < <(gaps)
	[ "$dropped" -ge 1 ] && [ "$gaps" -le "$dropped" ] && [ "$seconds" -ge $((3 * dropped)) ]
}

fresh "$quick[Store]\nKeepFree=0\n"
# as the unit makes it, which has not run yet where this part runs alone
mkdir -p /var/lib/pathprof
truncate -s 8M /srv/disk.img
mkfs.ext4 -q -F -O ^has_journal /srv/disk.img
mount -o loop /srv/disk.img /var/lib/pathprof
chown pathprof:pathprof /var/lib/pathprof
chmod 750 /var/lib/pathprof
work hot ./hot
begin=$(now)
systemctl start "$unit"
check disk_begins 'pathprofctl status' wait_for 300 at_least windows 1
pid=$(property MainPID)
dd if=/dev/zero of=/var/lib/pathprof/fill bs=4k 2>/dev/null
sync
# the status is refused too, and perhaps before a window is
check disk_full_is_said 'log_since $begin' wait_for 300 said_since "$begin" 'window not written: .*(full|No space)'
check disk_full_goes_on 'systemctl status $unit' test "$(property MainPID)" = "$pid"
rm /var/lib/pathprof/fill
check disk_room_again 'log_since $begin' wait_for 300 said_since "$begin" 'written again; windows lost so far: [1-9]'
check disk_counted 'pathprofctl status; gaps' wait_for 120 gaps_are_counted
check disk_same_process 'systemctl status $unit' test "$(property MainPID) $(property NRestarts)" = "$pid 0"
check disk_database_is_sound 'pathprofctl db check' pathprofctl db check
systemctl stop "$unit"
umount /var/lib/pathprof
rm /srv/disk.img
rest hot
fresh
