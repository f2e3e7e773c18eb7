# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that live for a moment beside a service that steps whom it can: each ends as it does
# without one. A breakpoint that outlives its burst would end one by SIGTRAP.
. ./common.bash

seconds=120
fresh "$quick"
work hot ./hot
systemctl start "$unit"
wait_for 60 sees hot

ended=0 killed=
begin=$SECONDS
bursts() { sqlite3 -cmd '.timeout 5000' -readonly "$db" 'SELECT ifnull(sum(bursts), 0) FROM windows'; }
# On a busy host longer, until there were bursts to be hurt by.
while passed=$((SECONDS - begin)) && { [ $passed -lt $seconds ] || [ "$(bursts)" -lt 100 ]; } && [ $passed -lt 900 ]; do
	for program in "pathprofctl status" "gzip -9c /bin/bash" "perl -e 1" "sort /etc/services"; do
		$program >/dev/null 2>&1
		status=$?
		ended=$((ended + 1))
		[ $status -lt 128 ] || killed+="$program: $status; "
	done
done
how=$(pathprofctl status | sed -n 's/^ *source *//p')
check "bystanders_end_as_ever ($ended programs, $(bursts) bursts, $how)" 'echo "$killed"' [ -z "$killed" ]
check bystanders_had_bursts 'pathprofctl status' [ "$(bursts)" -ge 100 ]
rest hot
