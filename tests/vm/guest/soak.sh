# SPDX-License-Identifier: GPL-2.0-or-later
# Everything that may happen to the module, again and again for $vm_soak_s seconds: sessions of both
# sources that begin and end, readers that are killed in mid-burst, the module unloaded and loaded,
# uprobes, and a CPU that goes and comes under all of it, while two programs run throughout that
# would notice. Each round ends with checks that everything still works.
. ./common.sh
cpu=/sys/devices/system/cpu/cpu1/online

if ! load; then
	not_ok load "$(dmesg | tail -3)"
	exit 1
fi
insmod /modules/testpmu.ko || not_ok load_testpmu "insmod"

# tf_watch looks at its affinity, of which the kernel shows only the CPUs that are there: it stays on
# the first.
start_watchers() {
	taskset 1 ./tf_watch 100000 2 io >/tmp/watched 2>&1 &
	watched=$!
	./vmpester "$vm_soak_s" >/tmp/pester 2>&1 &
	pester=$!
}

# Goes and comes without regard to what else is done.
toggle() {
	while :; do
		usleep 200000
		echo 0 >$cpu
		usleep 50000
		echo 1 >$cpu
	done
}
start_toggling() {
	toggle 2>/dev/null &
	toggler=$!
}
stop_toggling() {
	kill $toggler
	wait $toggler 2>/dev/null
	echo 1 >$cpu 2>/dev/null
}

# soak_step NAME COMMAND...: what must succeed each time.
soak_step() {
	local name=$1
	shift
	"$@" >/tmp/step 2>&1 && return
	not_ok soak "round $rounds, $name: status $?: $(tail -3 /tmp/step | tr '\n' ';')"
	return 1
}

# The reader is gone at once, whatever is under way.
killed_reader() {
	./vmread -a -p 1000000 -s 60 /dev/null ./flow_loops 0555555555 >/tmp/flow 2>&1 &
	local reader=$!
	await_program flow_loops || return 1
	usleep 100000
	kill -9 $reader
	wait $reader 2>/dev/null
	end_program flow_loops
}

# Of all processes: what the kernel lets a reader see while CPUs come and go.
session() { timeout -s KILL 120 ./vmread -a -p 1000000 -s 60 "$@" /bin/taskset 1 ./tf_watch 1 2 io; }

round() {
	start_toggling
	soak_step session session /dev/null &&
		soak_step compressed session -c /dev/null &&
		soak_step horizon session -h 512 /dev/null &&
		soak_step killed killed_reader &&
		soak_step unload unload &&
		soak_step load load
	local status=$?
	stop_toggling
	[ $status = 0 ] &&
		soak_step uprobes ./vmneighbour uprobes 20 &&
		soak_step nmi ./vmlbr 32 nmi &&
		soak_step hotplug_lbr ./vmcorner hotplug lbr 1 &&
		soak_step hotplug_swlbr ./vmcorner hotplug swlbr 1 &&
		soak_step hostile ./vmfuzz 200
}

finish_watchers() {
	if kill -0 $watched && [ ! -s /tmp/watched ]; then
		ok soak_tf_watch
	else
		not_ok soak_tf_watch "$(tail -3 /tmp/watched | tr '\n' ';')"
	fi
	kill -9 $watched
	if wait $pester; then
		ok "soak_pester ($(tail -1 /tmp/pester))"
	else
		not_ok soak_pester "$(tail -3 /tmp/pester | tr '\n' ';')"
	fi
}

rounds=0
start_watchers
end=$(($(date +%s) + vm_soak_s))
until [ "$(date +%s)" -ge $end ]; do
	rounds=$((rounds + 1))
	round || break
	echo "# soak round $rounds after $(cut -d' ' -f1 /proc/uptime) s"
done
[ $failed = 1 ] || ok "soak ($rounds rounds)"
finish_watchers
rmmod testpmu
if unload; then ok unload_last; else not_ok unload_last "rmmod"; fi
exit $failed
