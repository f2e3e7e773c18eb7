# SPDX-License-Identifier: GPL-2.0-or-later
# What runs in a guest that was booted with fewer processors than may be plugged in.
. ./common.sh
if load; then
	run_check plugged ./vmcorner plugged
else
	not_ok load "$(dmesg | tail -3)"
fi
if unload; then ok unload_last; else not_ok unload_last "rmmod"; fi
exit $failed
