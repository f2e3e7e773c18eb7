# SPDX-License-Identifier: GPL-2.0-or-later
# What runs in the guest on an emulated CPU whose time stamp counter counts instructions.
. ./common.sh
# What the kernel puts off until it has booted would be counted: on 6.12 as much as the work itself.
sleep 10
if load && insmod /modules/testpmu.ko; then
	run_check cost ./vmcost $(ls *.win 2>/dev/null)
else
	not_ok cost "modules cannot be loaded"
fi
exit $failed
