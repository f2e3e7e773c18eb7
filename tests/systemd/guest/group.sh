# SPDX-License-Identifier: GPL-2.0-or-later
# Who is in the group `pathprof` reads profiles; who is not is told which group to join.
. ./common.bash

useradd -m inside && useradd -m outside && usermod -aG pathprof inside
fresh "$quick"
work hot ./hot
systemctl start "$unit"
wait_for 60 sees hot
as() { local user=$1; shift; runuser -u "$user" -- "$@"; }
for verb in status top windows; do
	check "group_inside_$verb" "as inside pathprofctl $verb" as inside pathprofctl "$verb"
	as outside pathprofctl "$verb" >/run/out 2>/run/err
	status=$?
	check "group_outside_$verb" 'cat /run/err' eval '[ $status -ne 0 ] && grep -q "usermod -aG pathprof" /run/err && [ ! -s /run/out ]'
done
check group_inside_sees 'as inside pathprofctl top' eval 'as inside pathprofctl top --by processes | grep -qw hot'
check group_inside_reads_only 'ls -l $db' eval '! as inside sqlite3 $db "DELETE FROM windows"'
as outside pathprofctl doctor --service >/run/out 2>&1
check group_outside_doctor 'cat /run/out' eval 'grep -qE "^(warn|no) .*(group|usermod)" /run/out'
rest hot
