# SPDX-License-Identifier: GPL-2.0-or-later
# The unit is above its limit of memory, whoever of it is killed: the kernel kills the daemon, never the
# stepper, which lets its target go; the service comes back, and no program that is profiled is harmed.
. ./common.bash

start_targets
how='systemctl status --no-pager target1 target2 | cat'
score() { cat "/proc/$1/oom_score_adj"; } # PID
stepper() { pgrep -P "$(property MainPID)" -f pathprof-step; }
killed() { journalctl -k -o cat --no-pager --since "@$begin" | grep -E "Killed process [0-9]+ \($1\)"; } # NAME
killed_times() { [ "$(killed pathprofd | wc -l)" -ge "$1" ]; }

fresh '[Profile]\nWindowSec=4s\nOverhead=90%\n'
begin=$(now)
systemctl start "$unit"
check memory_begins 'pathprofctl status' wait_for 60 at_least bursts 3
check memory_scores 'score $(stepper); score $(property MainPID)' \
	test "$(score "$(stepper)") $(score "$(property MainPID)")" = '-1000 0'
pathprofctl doctor --service >/run/doctor 2>&1
check memory_doctor 'cat /run/doctor' grep -qE '^ok +service memory: the stepper is never killed' /run/doctor

# The kernel kills until the unit is below its limit or nobody is left who may be killed.
group=/sys/fs/cgroup/system.slice/pathprofd.service
for round in 1 2 3; do
	systemctl reset-failed "$unit"
	main=$(property MainPID)
	echo 1M >"$group/memory.max"
	echo 512M >"$group/memory.max"
	check "memory_daemon_is_killed_$round" 'journalctl -k -n 20 --no-pager' wait_for 60 killed_times "$round"
	check "memory_comes_back_$round" 'systemctl status --no-pager $unit' \
		wait_for 120 eval '[ "$(property MainPID)" != '"$main"' ] && is_active && [ "$(status_of pid)" = "$(property MainPID)" ] && at_least bursts 3'
done
check memory_stepper_is_not 'killed pathprof-step' test -z "$(killed pathprof-step)"
check memory_harms_nobody "$how" targets_run
check memory_scores_again 'score $(stepper); score $(property MainPID)' \
	test "$(score "$(stepper)") $(score "$(property MainPID)")" = '-1000 0'

# A stepper that is forked by a daemon which has risen.
kill -9 "$(stepper)"
check memory_new_stepper 'score $(stepper)' wait_for 60 eval '[ "$(score "$(stepper)")" = -1000 ]'

# Where an operator's drop-in takes the protection away, the doctor says so.
mkdir -p "/run/systemd/system/$unit.service.d"
printf '[Service]\nOOMScoreAdjust=-100\n' >"/run/systemd/system/$unit.service.d/90-score.conf"
systemctl daemon-reload
systemctl restart "$unit"
wait_for 60 stepper
pathprofctl doctor --service >/run/doctor 2>&1
check memory_doctor_warns 'cat /run/doctor' grep -qE "^warn +service memory: the stepper's oom_score_adj is -100" /run/doctor
rm "/run/systemd/system/$unit.service.d/90-score.conf"
systemctl daemon-reload
rest "${targets[@]}"
fresh
