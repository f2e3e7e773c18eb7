# SPDX-License-Identifier: GPL-2.0-or-later
# Reload, stop, and every process killed or stopped: the service comes back, no more than the open window
# is lost, and no program that is profiled is harmed, unless the stepper itself is killed: the thread that
# it holds just then may die.
. ./common.bash

start_targets
unharmed() {
	local name
	targets_run || return 1
	for name in $(pgrep -x hot); do
		grep -qE '^State:\s+[tT]|^TracerPid:\s+[1-9]' "/proc/$name/status" || continue
		sleep 2
		! grep -qE '^State:\s+[tT]' "/proc/$name/status" || return 1
	done
}
how='systemctl status --no-pager target1 target2 | cat; grep -H -E "State|Tracer" $(pgrep -x hot | sed "s,.*,/proc/&/status,")'
stored() { sqlite3 -readonly "$db" 'SELECT count(*) FROM windows'; }

fresh '[Profile]\nOverhead=20%\nWindowSec=1h\n'
begin=$(now)
systemctl start "$unit"
wait_for 60 at_least bursts 3
printf '[Profile]\nOverhead=30%%\nWindowSec=1h\n' >"$settings/50-test.conf"
check life_reload 'systemctl status $unit' systemctl reload "$unit"
check life_reload_takes 'pathprofctl status' wait_for 30 eval '[ "$(status_of budget_ratio)" = 0.3 ]'
check life_no_window_yet stored test "$(stored)" -eq 0
systemctl stop "$unit"
check life_stop_writes_the_window stored test "$(stored)" -eq 1
check life_stop_is_clean 'systemctl show $unit -p Result,ExecMainStatus' test "$(property Result) $(property ExecMainStatus)" = 'success 0'
check life_stop_harms_nobody "$how" unharmed

# kill_it NAME SIGNAL PID...: what it was is replaced, and profiles.
main=
kill_it() {
	local name=$1 signal=$2
	shift 2
	begin=$(now)
	kill "-$signal" "$@"
	check "life_${name}_comes_back" 'systemctl status --no-pager $unit' wait_for 120 back_again
	if [ "$name" = main ] || [ "$name" = watchdog ]; then
		check "life_${name}_harms_nobody" "$how" unharmed
	else
		unharmed || echo "# $name: killed with its target"
		for target in "${targets[@]}"; do
			systemctl is-active -q "$target" || { systemctl reset-failed "$target"; work "$target" ./hot; } 2>/dev/null
		done
	fi
}
steppers() { pgrep -P "$(property MainPID)" -f pathprof-step; }
# Another main process or another stepper, and bursts.
back_again() {
	is_active && [ "$(property MainPID) $(steppers)" != "$was" ] && [ -n "$(steppers)" ] &&
		[ "$(status_of pid)" = "$(property MainPID)" ] && at_least bursts 1 && [ "$(status_of source_up)" = 1 ]
}
fresh "$quick"
systemctl start "$unit"
wait_for 60 at_least bursts 1
for round in main stepper both; do
	systemctl reset-failed "$unit"
	was="$(property MainPID) $(steppers)"
	case $round in
	main) kill_it "$round" KILL "$(property MainPID)" ;;
	stepper) kill_it "$round" KILL "$(steppers)" ;;
	both) kill_it "$round" KILL $was ;;
	esac
done
# The reader of mappings, and that of names when there is one.
reader=$(pgrep -P "$(property MainPID)" | grep -vxF "$(steppers)")
if [ -n "$reader" ]; then
	kill -9 $reader
	check life_reader_harms_nobody "$how" unharmed
	check life_reader_service_stays 'systemctl status --no-pager $unit' is_active
fi

systemctl reset-failed "$unit"
was="$(property MainPID) $(steppers)"
kill_it watchdog STOP "$(property MainPID)"
check life_watchdog_it_was 'log_since $begin' eval 'journalctl -u $unit --no-pager -q --since "@$begin" | grep -qi watchdog'
check life_paths 'pathprofctl status' sees hot
rest "${targets[@]}"
fresh
