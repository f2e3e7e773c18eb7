# SPDX-License-Identifier: GPL-2.0-or-later
# Settings that are wrong: the service ends with 78 and stays down; `systemctl status` has the reason in
# one line, and so has the doctor. What is wrong at a reload leaves the service as it is.
. ./common.bash

told() { systemctl status --no-pager "$unit" | grep -E 'Status:'; }
# broken NAME WANTED SETTINGS
broken() {
	fresh "$3"
	systemctl start "$unit" 2>/dev/null
	check "broken_$1_fails" 'systemctl status $unit --no-pager' wait_for 30 test "$(property ActiveState)" = failed
	check "broken_$1_is_78" 'property ExecMainStatus' test "$(property ExecMainStatus)" = 78
	sleep 7 # RestartSec= and more
	check "broken_$1_stays_down" 'systemctl show $unit -p NRestarts,SubState' test "$(property NRestarts) $(property SubState)" = '0 failed'
	check "broken_$1_status_says" told eval "told | grep -qE -- '$2'"
	pathprofctl doctor --service >/run/doctor 2>&1
	check "broken_$1_doctor_says" 'cat /run/doctor' eval "grep -qE -- '^no .*$2' /run/doctor"
}
broken key '50-test.conf:2: .*Overhed' '[Profile]\nOverhed=1%\n'
broken value '50-test.conf:2: .*Overhead' '[Profile]\nOverhead=200%\n'

fresh
systemctl start "$unit"
printf '[Profile]\nOverhed=1%%\n' >"$settings/50-test.conf"
begin=$(now)
check broken_reload_fails 'systemctl status $unit' eval '! systemctl reload "$unit"'
check broken_reload_says 'log_since $begin' wait_for 20 said_since "$begin" 'settings unchanged: .*50-test.conf:2'
check broken_reload_doctor 'pathprofctl doctor --service' wait_for 30 eval \
	'pathprofctl doctor --service | grep -q "^no *service settings: older.*50-test.conf:2"'
check broken_reload_goes_on 'systemctl status $unit' is_active

# What is wrong for the relay alone leaves the service as it is; the status of both says what it is.
fresh "$quick[Tell]\nExec=/no/such/hook\n"
systemctl start "$unit"
relay_is() { pathprofctl status | grep -qE -- "relay +$1"; } # PATTERN
check broken_relay_status 'pathprofctl status' wait_for 120 relay_is \
	'missing: failed: Exec=/no/such/hook: No such file.*exit status 78\); 0 alerts wait: mend'
pathprofctl doctor --service >/run/doctor 2>&1
check broken_relay_doctor 'cat /run/doctor' grep -qE '^no +service relay: failed -- Exec=/no/such/hook' /run/doctor
check broken_relay_alone 'systemctl status $unit' is_active
printf "%b" "$quick[Tell]\nExec=/bin/true\n" >"$settings/50-test.conf"
systemctl restart "$unit"
check broken_relay_mended 'pathprofctl status' wait_for 120 relay_is 'connected; exec: 0 told, 0 wait.*pathprofd is there'

# A database that root made by hand.
fresh
: >"$db"
systemctl start "$unit" 2>/dev/null
check broken_owner_says 'systemctl status $unit --no-pager' eval "told | grep -qE 'belongs to another user: chown pathprof'"
pathprofctl doctor --service >/run/doctor 2>&1
check broken_owner_doctor 'cat /run/doctor' grep -qE '^no .*chown pathprof' /run/doctor
fresh
