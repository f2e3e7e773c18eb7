# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's own probe on get_signal() comes and goes while programs get signals; no module of ours
# is loaded. Where this crashes, the kernel or what emulates it is at fault (docs/kmod-testing.md).
. ./common.sh
trace=/sys/kernel/debug/tracing
mount -t tracefs tracefs $trace 2>/dev/null
enable=$trace/events/kprobes/guard/enable
echo 'p:guard get_signal' >$trace/kprobe_events

./tf_watch 1000 2 >/tmp/watched 2>&1 &
watched=$!
round=0
while [ $round -lt "$vm_pokes" ]; do
	echo 1 >$enable
	echo 0 >$enable
	round=$((round + 1))
done
kill -9 $watched
hits=$(awk '$1 == "guard" { print $2 }' $trace/kprobe_profile)
if [ "${hits:-0}" -gt 0 ] && ! [ -s /tmp/watched ]; then
	ok "poke ($round times, ${hits:-0} hits)"
else
	not_ok poke "${hits:-0} hits; $(head -3 /tmp/watched | tr '\n' ';')"
fi
exit $failed
