# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh: the service in the guest, from the module's rings to the database. vmflow is
# the program that is profiled; what it does is known by single-stepping it.
base=0x400000
db=/tmp/service.db

# show DB VERB...: pathprofctl on a database.
show() {
	local from=$1
	shift
	./pathprofctl --db "$from" "$@" 2>/tmp/ctl_error
}

# What a database has of one program, as vmprofile reads it.
extract() { # DB
	show "$1" edges --comm vmflow | sed -E 's/^[0-9a-f]+ +(0x[0-9a-f]+) +(0x[0-9a-f]+) +([0-9]+) .*/\1 \2 \3/' \
		>/tmp/edges
	show "$1" paths --comm vmflow -n 100000 --json |
		sed -nE 's/.*"weight": ([0-9.e+]+),.*"start": "(0x[0-9a-f]+)",.*"outcomes": "([TN]*)".*/\2 \3- \1/p' |
		sed 's/ \([TN]\{1,\}\)- / \1 /' >/tmp/paths
}

# status_figure DB NAME: a number of the status row, wherever it stands.
status_figure() {
	show "$1" status --json | sed -nE "s/.*\"$2\": ([0-9.]+).*/\1/p" | head -1
}

# Twice: the difference is what it does once it runs.
take_truth() {
	taskset 2 ./truth /tmp/short.truth ./vmflow 0000000001 >/tmp/short.out 2>&1 &
	taskset 1 ./truth /tmp/long.truth ./vmflow 0000000005 >/tmp/long.out 2>&1
	wait $!
}

# profile_until BURSTS DB ARGUMENTS...: the service runs until it has so many, however busy the host
# of this machine is; its status.
profile_until() {
	local wanted=$1 file=$2 pid tries
	shift 2
	./pathprofd "$@" --db "$file" 2>/tmp/daemon &
	pid=$!
	for tries in $(seq 60); do
		sleep 1
		[ "$(status_figure "$file" bursts | cut -d. -f1)" -ge "$wanted" ] 2>/dev/null && break
	done
	kill -TERM $pid
	wait $pid
}

# The whole way: a clock's bursts of everything that runs, into a database, and read back.
service_swlbr() {
	local pid unresolved
	take_truth
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
	if [ "$unresolved" = 0 ] && [ "$(status_figure $db malformed)" = 0 ]; then
		ok "service_resolved ($(status_figure $db bursts) bursts, $(status_figure $db windows) windows)"
	else
		not_ok service_resolved "$unresolved unresolved, $(status_figure $db malformed) malformed"
	fi
	sed 's/^/#   /' /tmp/daemon
	show $db status | sed 's/^/#   /'
}

# Hardware's branch stacks, of the very program that runs: cut out of its truth and handed to the
# test PMU, which strikes whatever runs. What it strikes besides gets a stranger's branches, which
# its code does not bear out.
lbr_settings() { # SOURCE COMPRESS
	printf '[Profile]\nSource=%s\nEvent=pathprof_test/config=0x820/\nCompress=%s\n' "$1" "$2"
	printf 'FrequencyHz=700\nOverhead=40%%\nWindowSec=2\n'
}

service_profile() { # SOURCE NAME COMPRESS EDGES-OVERLAP PATHS-OVERLAP CHECK-OPTIONS...
	local name=$2 pid file=/tmp/$2.db edges=$4 paths=$5
	lbr_settings "$1" "$3" >/tmp/lbr.conf
	shift 5
	./vmflow "$endless" >/tmp/out &
	pid=$!
	if ! profile_until 2500 "$file" -c /tmp/lbr.conf; then
		not_ok "$name" "pathprofd: $(tail -2 /tmp/daemon | tr '\n' ';')"
		kill -9 $pid
		return
	fi
	kill -9 $pid
	wait $pid 2>/dev/null
	extract "$file"
	run_check "$name" ./vmprofile -o $edges -p $paths "$@" /tmp/long.truth - $base /tmp/edges /tmp/paths
	run_check "${name}_falsified" ./vmprofile -c "$@" /tmp/long.truth - $base /tmp/edges /tmp/paths
	show "$file" status | sed 's/^/#   /'
}

service_hardware() {
	local stacks=/sys/kernel/debug/pathprof_testpmu
	if ! ./vmcut /tmp/long.truth 32 3000 >$stacks; then
		not_ok service_hardware "no stacks for the test PMU"
		return
	fi
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
	printf '[Profile]\nSource=kmod-swlbr\nOverhead=40%%\nTakenBranches=8\n' >/tmp/reload.conf
	./vmflow "$endless" >/tmp/out &
	pid=$!
	./pathprofd -c /tmp/reload.conf --db /tmp/reload.db --duration 4 2>/tmp/first &
	await_profiling
	sleep 1
	sed -i 's/=8/=16/' /tmp/reload.conf
	kill -HUP $!
	if ! wait $!; then
		not_ok service_reload "$(tr '\n' ';' </tmp/first)"
	fi
	kill -9 $pid
	wait $pid 2>/dev/null
	lengths=$(show /tmp/reload.db windows --json |
		sed -nE 's/.*"taken_wanted": ([0-9]+), "bursts": ([1-9][0-9]*),.*/\1/p' | sort -n | tr '\n' ' ')
	if [ "$lengths" = "8 16 " ] && grep -q 'settings read again' /tmp/first; then
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

service_swlbr
service_killed
service_hardware
. ./bpf_service.sh
# What follows is the same on every kernel: the first has it all.
if [ "$vm_windows" -ge 1000 ]; then
	service_reload
	service_auto
	service_record
	service_doctor
fi
