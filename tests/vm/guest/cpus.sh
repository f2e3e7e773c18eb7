# SPDX-License-Identifier: GPL-2.0-or-later
# A CPU goes and is back before anybody looks, as each but the first does in a suspend. The kernel
# stops its events for good; the clock, the step source and the tracker open others.
. ./common.sh
. ./service_common.sh
. ./await.bash
db=/tmp/cpus.db

stored() { # VERB FIGURE OPTION...: the figure's sum over what the verb lists
	local verb=$1 figure=$2
	shift 2
	show $db "$verb" -n 0 --json "$@" | sed -nE "s/.*\"$figure\": ([0-9]+).*/\1/p" |
		awk '{ sum += $1 } END { print sum + 0 }'
}
samples() { stored windows clock_samples; }
paths() { stored processes samples --comm vmflow; }
ticks() { # PID: its CPU time so far, in hundredths of a second
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}
has_more_paths() { [ "$(paths)" -gt "$1" ]; }       # THAN
await_paths() { await 120 1 has_more_paths "$1"; } # MORE-THAN

flow_on_cpu1() {
	taskset -p 2 $flow >/dev/null
}

# Half of what chance would give is what no clock of the other CPU alone comes near to.
clock_goes_on() {
	local samples time
	samples=$(samples) time=$(ticks $flow)
	sleep 10
	time=$(($(ticks $flow) - time))
	samples=$(($(samples) - samples))
	if [ $((samples * 100)) -ge $((time * 97 / 2)) ]; then
		ok "cpus_clock ($samples samples in $time hundredths of a second)"
	else
		not_ok cpus_clock "$samples samples in $time hundredths of a second"
	fi
}

# The tracker looks once a minute.
tracker_goes_on() {
	local before after i
	sleep 65
	taskset -p 2 $$ >/dev/null
	before=$(status_figure $db events)
	for i in $(seq 50); do busybox true; done
	sleep 5
	after=$(status_figure $db events)
	if [ $((after - before)) -ge 100 ]; then
		ok "cpus_tracker ($((after - before)) events of 50 programs)"
	else
		not_ok cpus_tracker "$((after - before)) events of 50 programs"
	fi
}

# Above it the right to open events is given up after the start (service_rights.c).
echo 2 >/proc/sys/kernel/perf_event_paranoid
./vmflow 0555555555 >/tmp/out &
flow=$!
flow_on_cpu1
./pathprofd --db $db --source step --overhead 50 --window 1 2>/tmp/daemon &
daemon=$!
await_paths 0 || not_ok cpus_begin "$(tail -2 /tmp/daemon | tr '\n' ';')"
echo 0 >/sys/devices/system/cpu/cpu1/online
echo 1 >/sys/devices/system/cpu/cpu1/online
flow_on_cpu1
sleep 12
before=$(paths)
clock_goes_on
if await_paths $((before + 20)); then ok cpus_paths; else
	not_ok cpus_paths "$(($(paths) - before)) paths in two minutes"
fi
tracker_goes_on
kill -TERM $daemon
wait $daemon || not_ok cpus_end "$(tail -2 /tmp/daemon | tr '\n' ';')"
kill -9 $flow
exit $failed
