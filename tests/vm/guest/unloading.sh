# SPDX-License-Identifier: GPL-2.0-or-later
# The module comes and goes while programs run that would notice.
. ./common.sh

if ! load; then
	not_ok load "$(dmesg | tail -3)"
	exit 1
fi

# A burst whose thread waits for its turn holds the module a little longer.
unload_soon() {
	local tries
	for tries in $(seq 50); do
		unload 2>/tmp/rmmod && return
		waited=$((waited + 1))
		usleep 50000
	done
	return 1
}

# The reader is killed in mid-burst, and the module unloaded at once, while programs run on.
unload_loops() {
	local i loops=$1 watched pid waited=0
	./tf_watch 1000 2 io >/tmp/watched 2>&1 &
	watched=$!
	for i in $(seq "$loops"); do
		./vmread -a -p 100000 -s 60 /dev/null ./flow_loops 0555555555 >/tmp/flow.$i 2>/tmp/figures &
		pid=$!
		until pidof flow_loops >/dev/null; do usleep 2000; done
		usleep $((20000 + i * 7919 % 50000))
		kill -9 $pid
		wait $pid 2>/dev/null
		if ! unload_soon; then
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
		killall -9 flow_loops
	done
	kill -9 $watched
	wait $watched 2>/dev/null
	if [ -s /tmp/watched ]; then
		not_ok unload "$(head -3 /tmp/watched | tr '\n' ';')"
	else
		ok "unload_in_mid_burst ($loops times, $waited waits of 50 ms)"
	fi
}

unload_loops 8
if unload; then ok unload_last; else not_ok unload_last "rmmod"; fi
exit $failed
