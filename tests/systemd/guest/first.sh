# SPDX-License-Identifier: GPL-2.0-or-later
# The first run: a stock machine, `systemctl enable --now pathprofd`, nothing else; then each level of
# kernel.perf_event_paranoid. Paths of a program that runs are there within a minute, whatever the level.
. ./common.bash

level() { sysctl -q -w kernel.perf_event_paranoid="$1"; }
caps() { # SET: of each process of the service, NAME PID BITS in a line
	local pid
	for pid in $(cat "/sys/fs/cgroup/system.slice/$unit.service/cgroup.procs"); do
		echo "$(cat "/proc/$pid/comm") $pid $(sed -nE "s/^$1:\s*//p" "/proc/$pid/status")"
	done
}
# holds SET BIT: a process of the service has this capability there, other than the opener.
holds() {
	local name pid bits
	while read -r name pid bits; do
		[ "$name" = pathprof-break ] || [ $((0x$bits >> $2 & 1)) -eq 0 ] || return 0
	done < <(caps "$1")
	return 1
}
# The opener has what it takes to open breakpoints, for good and under its filter.
opener() { pgrep -P "$(property MainPID)" -x pathprof-break; }
is_confined() {
	local status=/proc/$(opener)/status set
	for set in CapPrm CapEff; do
		[ $((0x$(sed -nE "s/^$set:\s*//p" "$status"))) -eq $((1 << 21 | 1 << 19)) ] || return 1
	done
	grep -q '^Seccomp:.2$' "$status" && grep -q '^NoNewPrivs:.1$' "$status"
}
registers_left() { [ "$(./watchpoints)" = 4 ]; }
sys_admin=21
explain='pathprofctl status; log_since "$begin"; systemctl status --no-pager $unit | head -5'

work hot ./hot
begin=$(now)
check first_level_is_stock 'sysctl kernel.perf_event_paranoid' test "$(sysctl -n kernel.perf_event_paranoid)" -eq 3
check first_enable 'journalctl -u $unit -n 5 --no-pager' systemctl enable -q --now "$unit"
check first_paths_in_a_minute "$explain" wait_for 60 sees hot
echo "# paths after $(($(now) - begin)) s"
check first_by_events "$explain" test "$(status_of sampler)" = cpu-clock
check first_tracker_by_events "$explain" test "$(status_of tracker.perf)" = 1
check first_clock "$explain" test "$(status_of clock_hz)" -gt 0
check first_nothing_refused 'log_since "$begin"' eval '! said_since "$begin" "perf events"'
check first_kernel_named 'pathprofctl top --by functions -n 20; readlink /proc/$(property MainPID)/fd/*' wait_for 90 \
	eval 'pathprofctl top --since -10min --by functions -n 0 --json | grep -qE "\"function\": \"[a-z_0-9]+.*\"kind\": \"kernel\""'
check first_input_is_taken 'ls -l /proc/$(property MainPID)/fd' test "$(readlink "/proc/$(property MainPID)/fd/0")" = /dev/null
check first_function_named 'pathprofctl top --by functions -n 5' wait_for 30 eval 'pathprofctl top --by functions | grep -q hot_inner'
pid=$(property MainPID)
for set in CapPrm CapEff CapInh CapAmb; do
	check "first_admin_is_given_up_$set" "caps $set" eval "! holds $set $sys_admin"
done
check first_two_processes 'caps CapEff' test "$(caps CapEff | wc -l)" -ge 2
check first_ptrace_is_kept 'caps CapEff' holds CapEff 19
# Breakpoints are perf's all the same, so no debug register stays reserved.
check first_perf_breakpoints "$explain" test "$(status_of stepping)" = breakpoints
check first_opener_is_confined 'caps CapEff; grep -H . /proc/$(opener)/status' is_confined
check first_registers_while_running './watchpoints' wait_for 60 registers_left

# A stepper that is gone comes back with its events, although the right to open them is given up.
stepper=$(pgrep -P "$pid" -f pathprof-step)
kill -9 "$stepper"
check first_stepper_again "$explain" wait_for 60 eval 'p=$(pgrep -P '"$pid"' -f pathprof-step) && [ "$p" != '"$stepper"' ]'
check first_stepper_has_events "$explain" wait_for 60 eval '[ "$(status_of source_deaths)" -ge 1 ] && [ "$(status_of source_up)" = 1 ] && [ "$(status_of sampler)" = cpu-clock ]'
check first_same_process 'systemctl status $unit' test "$(property MainPID)" = "$pid"

# A CPU was off, as in a suspend: its events take the right again, which another start has.
echo 0 >/sys/devices/system/cpu/cpu1/online
echo 1 >/sys/devices/system/cpu/cpu1/online
check first_anew_for_cpus "$explain" wait_for 400 eval '[ "$(property MainPID)" -gt 0 ] && [ "$(property MainPID)" != '"$pid"' ]'
check first_anew_told 'log_since "$begin"' said_since "$begin" 'so that systemd starts the service again'
check first_anew_by_events "$explain" wait_for 60 eval '[ "$(status_of sampler)" = cpu-clock ] && [ "$(status_of source_up)" = 1 ]'

kill -9 "$(opener)"
check first_without_opener "$explain" wait_for 60 eval '[ "$(status_of stepping)" = "debug registers" ] && [ "$(status_of source_up)" = 1 ]'

for wanted in 1 2 4; do
	level $wanted
	fresh "$quick"
	begin=$(now)
	systemctl start "$unit"
	check "paranoid_${wanted}_paths" "$explain" wait_for 60 sees hot
	check "paranoid_${wanted}_by_events" "$explain" test "$(status_of sampler) $(status_of tracker.perf)" = 'cpu-clock 1'
	check "paranoid_${wanted}_given_up" 'caps CapPrm' eval "! holds CapPrm $sys_admin"
	check "paranoid_${wanted}_perf_breakpoints" "$explain" test "$(status_of stepping)" = breakpoints
	check "paranoid_${wanted}_opener" 'caps CapPrm' eval "[ $wanted -gt 2 ] || ! opener"
	[ $wanted = 2 ] || continue
	# Raised while it runs: nobody has the right any more, and threads are not stepped one by one for ever.
	level 3
	check paranoid_raised "$explain" wait_for 120 eval '[ "$(status_of stepping)" = "debug registers" ] && [ "$(status_of source_up)" = 1 ]'
	check paranoid_raised_told 'log_since "$begin"' wait_for 30 said_since "$begin" "opened late .*without perf's breakpoints"
done

# Without the capability, as where a drop-in takes it away: less exact, it works, and one line says so.
level 3
mkdir -p /etc/systemd/system/$unit.service.d
cat >/etc/systemd/system/$unit.service.d/test.conf <<-'D'
	[Service]
	CapabilityBoundingSet=
	CapabilityBoundingSet=CAP_SYS_PTRACE CAP_PERFMON CAP_BPF CAP_SYS_NICE CAP_DAC_READ_SEARCH CAP_CHECKPOINT_RESTORE
	AmbientCapabilities=
	AmbientCapabilities=CAP_SYS_PTRACE CAP_PERFMON CAP_BPF CAP_SYS_NICE CAP_DAC_READ_SEARCH CAP_CHECKPOINT_RESTORE
D
systemctl daemon-reload
fresh "$quick"
begin=$(now)
systemctl start "$unit"
check refused_paths "$explain" wait_for 90 sees hot
check refused_sampler "$explain" test "$(status_of sampler)" = proc
# There is no clock: what /proc/stat says takes the place of the one CPU that is assumed at first.
check refused_busy "$explain; status_of busy_cpus" wait_for 120 eval '[ "$(status_of busy_cpus)" != 1.0 ]'
check refused_named 'pathprofctl top --by functions -n 5' wait_for 60 eval 'pathprofctl top --by functions | grep -q hot_inner'
check refused_one_warning 'log_since "$begin"' test "$(journalctl -u "$unit" -p warning -o cat --no-pager -q --since "@$begin" | wc -l)" -eq 1
check refused_says_what_to_do 'log_since "$begin"' said_since "$begin" 'perf events are refused.*perf_event_paranoid is above 2.*CAP_SYS_ADMIN.*sysctl'
pathprofctl doctor --service >/run/doctor 2>&1
check refused_doctor 'cat /run/doctor' grep -qE 'perf_event_paranoid is above 2' /run/doctor
# At the default budget, where one look into /proc costs more than a second earns.
fresh '[Profile]\nWindowSec=10s\n'
systemctl start "$unit"
check refused_default_budget "$explain" wait_for_bursts at_least bursts 1
rm -r /etc/systemd/system/$unit.service.d
systemctl daemon-reload
rest hot
