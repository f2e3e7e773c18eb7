# SPDX-License-Identifier: GPL-2.0-or-later
# The module comes and goes while programs run that would notice.
. ./common.sh

if ! load; then
	not_ok load "$(dmesg | tail -3)"
	exit 1
fi

# The reader is killed in mid-burst, and the module unloaded at once, while programs run on.
unload_loops() {
	local i loops=$1 watched pid
	./tf_watch 1000 2 io >/tmp/watched 2>&1 &
	watched=$!
	for i in $(seq "$loops"); do
		./vmread -a -p 100000 -s 60 /dev/null ./flow_loops 0555555555 >/tmp/flow.$i 2>/tmp/figures &
		pid=$!
		if ! await_program flow_loops; then
			not_ok unload "round $i: $(cat /tmp/flow.$i /tmp/figures)"
			return
		fi
		usleep $((20000 + i * 7919 % 50000))
		kill -9 $pid
		wait $pid 2>/dev/null
		if ! unload 2>/tmp/rmmod; then
			not_ok unload "round $i: $(cat /tmp/rmmod)"
			return
		fi
		if ! load; then
			not_ok unload "round $i: cannot be loaded again"
			return
		fi
		if ! killall -0 flow_loops || ! kill -0 $watched; then
			not_ok unload "round $i: a program is gone: $(cat /tmp/watched /tmp/flow.$i)"
			return
		fi
		end_program flow_loops
		echo "# unloading round $i after $(cut -d' ' -f1 /proc/uptime) s"
	done
	kill -9 $watched
	wait $watched 2>/dev/null
	if [ -s /tmp/watched ]; then
		not_ok unload "$(head -3 /tmp/watched | tr '\n' ';')"
	else
		ok "unload_in_mid_burst ($loops times)"
	fi
}

unload_loops 8
if unload; then ok unload_last; else not_ok unload_last "rmmod"; fi
exit $failed
