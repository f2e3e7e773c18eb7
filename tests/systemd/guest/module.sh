# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel module as DKMS would have installed it: udev gives its device to the service's group, and the
# service, started again, takes its windows from there; without the module it steps as before.
. ./common.bash

if [ ! -e pathprof.ko ]; then
	echo "skip module: no headers of the guest's kernel: tests/vm/kernels"
	exit
fi
directory=/lib/modules/$(uname -r)/updates/dkms
install -D -m 644 pathprof.ko "$directory/pathprof.ko"
depmod
check module_loads 'modprobe pathprof; dmesg | tail -5' modprobe pathprof
device() { stat -c '%U %G %a' /dev/pathprof; }
check module_device_is_the_groups device wait_for 30 eval '[ "$(device)" = "root pathprof 660" ]'
fresh "$quick"
work hot ./hot
begin=$(now)
systemctl start "$unit"
check module_is_the_source 'pathprofctl status; log_since $begin' wait_for 60 eval '[ "$(status_of source)" = kmod-swlbr ]'
check module_paths 'pathprofctl status; log_since $begin' wait_for_bursts sees hot
check module_admin_is_given_up 'grep Cap /proc/$(property MainPID)/status' \
	test $((0x$(sed -nE 's/^CapEff:\s*//p' "/proc/$(property MainPID)/status") >> 21 & 1)) -eq 0
rest hot
fresh
# Not unloaded: an emulator that runs old text of it afterwards hangs (tests/vm/run).
