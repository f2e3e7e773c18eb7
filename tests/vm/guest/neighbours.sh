# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh: what neighbours can do, and what the machine's owner may have switched off.
run_check neighbour_uprobes ./vmneighbour uprobes "$vm_cycles"
run_check neighbour_realtime ./vmneighbour realtime

groups=/tmp/accounts
mkdir -p $groups
if mount -t cgroup2 groups $groups; then
	run_check neighbour_charged ./vmneighbour charged $groups
	rmdir $groups/charged
	umount $groups
else
	not_ok neighbour_charged "cgroup2 cannot be mounted"
fi

# The last: it unloads the module while those that it parked still sleep.
run_check neighbour_parked ./vmneighbour parked 32
load || not_ok neighbour_load "cannot be loaded again"

# The kernel's switches for probes on functions: the guards must not hang on them.
switches="/proc/sys/kernel/ftrace_enabled /sys/kernel/debug/kprobes/enabled"
for switch in $switches; do echo 0 >$switch; done
unload && load
timeout -s KILL 60 ./vmread -a -p 100000 -s 600 /dev/null ./tf_watch 4 3 >/tmp/out 2>/tmp/figures
status=$?
sed 's/^/#   /' /tmp/figures
if [ $status -eq 0 ] && [ "$(figure /tmp/figures windows)" -gt 10 ]; then
	ok "neighbour_switches ($(figure /tmp/figures windows) windows)"
else
	not_ok neighbour_switches "status $status: $(tail -3 /tmp/out | tr '\n' ';')"
fi
for switch in $switches; do echo 1 >$switch; done
