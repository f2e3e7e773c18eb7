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
end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ]; do
	for program in "pathprofctl status" "gzip -9c /bin/bash" "perl -e 1" "sort /etc/services"; do
		$program >/dev/null 2>&1
		status=$?
		ended=$((ended + 1))
		[ $status -lt 128 ] || killed+="$program: $status; "
	done
done
how=$(pathprofctl status | sed -n 's/^ *source *//p')
bursts=$(sqlite3 -readonly "$db" 'SELECT sum(bursts) FROM windows')
check "bystanders_end_as_ever ($ended programs, $bursts bursts, $how)" 'echo "$killed"' [ -z "$killed" ]
check bystanders_had_bursts 'pathprofctl status' [ "${bursts:-0}" -ge 100 ]
rest hot
