# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh: a CPU that goes and comes back, control groups, a program of 32 bits.
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
