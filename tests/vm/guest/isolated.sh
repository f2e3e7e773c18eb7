# SPDX-License-Identifier: GPL-2.0-or-later
# What runs in a guest that was booted with isolcpus=1.
. ./common.sh
if load; then
	run_check isolated ./vmneighbour isolated 1
else
	not_ok load "$(dmesg | tail -3)"
fi
exit $failed
