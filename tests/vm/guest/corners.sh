# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh: a CPU that goes and comes back, control groups, a program of 32 bits, a
# budget that changes.
groups=/tmp/groups
for source in swlbr lbr; do
	run_check "hotplug_$source" ./vmcorner hotplug $source 5
done
mkdir -p $groups
if mount -t cgroup2 groups $groups; then
	for source in swlbr lbr; do
		run_check "cgroup_$source" ./vmcorner cgroup $source $groups
	done
	umount $groups
else
	not_ok cgroup "cgroup2 cannot be mounted"
fi
run_check compat ./vmcorner compat ./compat32
for source in swlbr lbr; do
	run_check "budget_$source" ./vmcorner budget $source
done
# Counts of a CPU that went are part of the sum, and stand behind it.
echo 0 >/sys/devices/system/cpu/cpu1/online
if [ ! -r /sys/kernel/debug/pathprof/stats ]; then
	echo "skip stats: this kernel has no debugfs"
elif awk '{ for (i = 3; i <= NF; i++) { split($i, part, ":"); $2 -= part[2] } if ($2) exit 1 }' \
	/sys/kernel/debug/pathprof/stats; then
	ok stats
else
	not_ok stats "$(grep ^samples /sys/kernel/debug/pathprof/stats)"
fi
echo 1 >/sys/devices/system/cpu/cpu1/online
