# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh: the service in the guest, from the module's rings to the database.
. ./service_common.sh
. ./select_service.sh
db=/tmp/service.db

# The whole way: a clock's bursts of everything that runs, into a database, and read back.
service_swlbr() {
	local pid unresolved
	./vmflow "$endless" >/tmp/out &
	pid=$!
	if ! profile_until 300 $db --source kmod-swlbr --overhead 40% --window 2; then
		not_ok service_swlbr "pathprofd: $(tail -2 /tmp/daemon | tr '\n' ';')"
		kill -9 $pid
		return
	fi
	kill -9 $pid
	wait $pid 2>/dev/null
	extract $db
	run_check service_swlbr ./vmprofile /tmp/long.truth /tmp/short.truth $base /tmp/edges /tmp/paths
	run_check service_falsified ./vmprofile -c /tmp/long.truth /tmp/short.truth $base /tmp/edges /tmp/paths
	unresolved=$(status_figure $db unresolved)
	# Only what the tracker had no time for may be unresolved.
	if { [ "$unresolved" = 0 ] || [ "$(status_figure $db tracker-lost)" != 0 ]; } &&
		[ "$(status_figure $db malformed)" = 0 ]; then
		ok "service_resolved ($(status_figure $db bursts) bursts, $(status_figure $db windows) windows, $unresolved branches unresolved)"
	else
		not_ok service_resolved "$unresolved unresolved, $(status_figure $db malformed) malformed"
	fi
	sed 's/^/#   /' /tmp/daemon
	show $db status | sed 's/^/#   /'
}

service_hardware() {
	give_stacks || return
	# One edge in 256 is told, so a few seconds know them less well.
	service_profile kmod-lbr service_lbr_counts yes 0.6 0.85 -w
	service_profile kmod-lbr service_lbr_windows no 0.9 0.9
}

# Whether the device can be had: by a daemon that takes it and ends.
module_is_free() {
	./pathprofd --source kmod-swlbr --duration 1 --db /tmp/free.db 2>/tmp/daemon
}

await_profiling() { # DB
	local tries
	for tries in $(seq 100); do
		grep -q profiling /tmp/first && return
		usleep 50000
	done
	return 1
}

# One reader; and killed at any moment it leaves nothing behind.
service_killed() {
	local pid
	./pathprofd --source kmod-swlbr --overhead 40% --db /tmp/killed.db 2>/tmp/first &
	pid=$!
	if ! await_profiling; then
		not_ok service_killed "it does not start: $(cat /tmp/first)"
		return
	fi
	if module_is_free; then
		not_ok service_busy "a second reader was let in"
	elif grep -q 'is in use' /tmp/daemon; then
		ok service_busy
	else
		not_ok service_busy "said: $(cat /tmp/daemon)"
	fi
	kill -9 $pid
	wait $pid 2>/dev/null
	if module_is_free; then ok service_killed; else not_ok service_killed "$(cat /tmp/daemon)"; fi
}

# Other settings while it runs: the module's session ends and another begins.
service_reload() {
	local pid lengths
	printf '[Profile]\nSource=kmod-swlbr\nOverhead=40%%\nInstructions=128\n' >/tmp/reload.conf
	./vmflow "$endless" >/tmp/out &
	pid=$!
	./pathprofd -c /tmp/reload.conf --db /tmp/reload.db --duration 10 2>/tmp/first &
	await_profiling
	sleep 1
	sed -i 's/=128/=256/' /tmp/reload.conf
	kill -HUP $!
	if ! wait $!; then
		not_ok service_reload "$(tr '\n' ';' </tmp/first)"
	fi
	kill -9 $pid
	wait $pid 2>/dev/null
	lengths=$(show /tmp/reload.db windows --json |
		sed -nE 's/.*"horizon": ([0-9]+),.* "bursts": [1-9].*/\1/p' | sort -nu | tr '\n' ' ')
	if [ "$lengths" = "128 256 " ] && grep -q 'settings read again' /tmp/first; then
		ok service_reload
	else
		not_ok service_reload "windows of $lengths: $(tr '\n' ';' </tmp/first)"
	fi
}

# No hardware has a branch stack here: the next best source is taken, and said.
service_auto() {
	./pathprofd --duration 1 --db /tmp/auto.db 2>/tmp/daemon
	if show /tmp/auto.db status --json | grep -q '"source": "kmod-swlbr"' &&
		grep -q 'going on with source kmod-swlbr' /tmp/daemon; then
		ok "service_auto ($(head -1 /tmp/daemon))"
	else
		not_ok service_auto "$(tr '\n' ';' </tmp/daemon)"
	fi
}

# One program and what it starts; another one runs beside it.
service_record() {
	local pid status comms
	./flow_signal "$endless" >/tmp/out 2>&1 &
	pid=$!
	./pathprofctl record --source kmod-swlbr --overhead 40% -o /tmp/record.db -- \
		sh -c "./vmflow $endless & sleep 2; kill -9 \$!" >/tmp/out 2>/tmp/record
	status=$?
	kill -9 $pid
	wait $pid 2>/dev/null
	comms=$(show /tmp/record.db processes --json | sed -nE 's/.*"comm": "([^"]*)".*/\1/p' | sort -u |
		tr '\n' ' ')
	if [ $status -eq 0 ] && echo " $comms" | grep -q ' vmflow ' &&
		! echo " $comms" | grep -q flow_signal; then
		ok "service_record (of $comms)"
	else
		not_ok service_record "status $status, of $comms: $(tail -3 /tmp/record | tr '\n' ';')"
	fi
}

service_doctor() {
	./pathprofctl doctor >/tmp/doctor 2>&1
	if grep -q 'module pathprof: loaded' /tmp/doctor && grep -q 'source auto: kmod-swlbr' /tmp/doctor; then
		ok service_doctor
	else
		not_ok service_doctor "$(grep -E 'module pathprof|source auto' /tmp/doctor | tr '\n' ';')"
	fi
	sed 's/^/#   /' /tmp/doctor
}

take_truth
service_swlbr
service_killed
service_hardware
# What follows is the same on every kernel: the first has it all.
if [ "$vm_windows" -ge 1000 ]; then
	service_reload
	service_auto
	service_record
	service_doctor
	service_group
fi
