# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the parts that run the service: vmflow is the program that is profiled; what it does is
# known by single-stepping it.
base=0x400000

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
	[ ! -s /tmp/long.truth ] || return
	taskset 2 ./truth /tmp/short.truth ./vmflow 0000000001 >/tmp/short.out 2>&1 &
	taskset 1 ./truth /tmp/long.truth ./vmflow 0000000005 >/tmp/long.out 2>&1
	wait $!
}

# knows_most DB: where an emulator is slow, the tracker's part of a CPU lasts for few programs a
# second, and what runs before it knows them is unresolved, and counted.
knows_most() {
	[ $(($(status_figure "$1" unresolved) * 20)) -le "$(status_figure "$1" branches)" ] 2>/dev/null
}

# profile_until BURSTS DB ARGUMENTS...: the service runs until it has so many, however busy the host
# of this machine is; its status.
profile_until() {
	local wanted=$1 file=$2 pid tries
	shift 2
	./pathprofd "$@" --db "$file" 2>/tmp/daemon &
	pid=$!
	for tries in $(seq 120); do
		sleep 1
		[ "$(status_figure "$file" bursts | cut -d. -f1)" -ge "$wanted" ] 2>/dev/null &&
			knows_most "$file" && break
	done
	kill -TERM $pid
	wait $pid
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

give_stacks() {
	./vmcut /tmp/long.truth 32 3000 >/sys/kernel/debug/pathprof_testpmu ||
		not_ok give_stacks "no stacks for the test PMU"
}
