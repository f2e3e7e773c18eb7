# SPDX-License-Identifier: GPL-2.0-or-later
# The state directory's disk is full: windows are dropped and counted, one line says so, the service runs
# on, and writes again when there is room.
. ./common.bash

fresh "$quick[Store]\nKeepFree=0\n"
truncate -s 8M /srv/disk.img
mkfs.ext4 -q -F -O ^has_journal /srv/disk.img
mount -o loop /srv/disk.img /var/lib/pathprof
chown pathprof:pathprof /var/lib/pathprof
chmod 750 /var/lib/pathprof
work hot ./hot
begin=$(now)
systemctl start "$unit"
check disk_begins 'pathprofctl status' wait_for 60 at_least windows 1
pid=$(property MainPID)
dd if=/dev/zero of=/var/lib/pathprof/fill bs=4k 2>/dev/null
sync
check disk_full_is_said 'log_since $begin' wait_for 60 said_since "$begin" 'full|No space'
before=$(pathprofctl windows 2>/dev/null | wc -l)
check disk_full_goes_on 'systemctl status $unit' test "$(property MainPID)" = "$pid"
rm /var/lib/pathprof/fill
check disk_room_again 'pathprofctl windows; log_since $begin' wait_for 60 eval '[ "$(pathprofctl windows | wc -l)" -gt '"$before"' ]'
check disk_counted 'pathprofctl status' wait_for 30 at_least windows_dropped 1
check disk_same_process 'systemctl status $unit' test "$(property MainPID) $(property NRestarts)" = "$pid 0"
check disk_database_is_sound 'pathprofctl db check' pathprofctl db check
systemctl stop "$unit"
umount /var/lib/pathprof
rm /srv/disk.img
rest hot
fresh
