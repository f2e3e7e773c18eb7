#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# TIME of the functions of programs that nobody chose (shares_made.py makes them up) against perf's
# samples of the same process in the same seconds. None may be far off, and of all of them together
# hardly one outside its interval.
#
# SEEDS: which programs; others each time if it is not given, so that many runs see many of them.
. "$(dirname "$0")/../own_processes.bash"
set -u
build=$(realpath "${BUILD:-build}")
ctl=$build/bin/pathprofctl
made=$(realpath "$(dirname "$0")")/shares_made.py
[ "${PATHPROF_ROUNDS:-}" = full ] && cnt=12 || cnt=2
tmp=$(mktemp -d)
trap 'kill -9 $target 2>/dev/null; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
failed=0 target='' functions=0 outside=0

ok() { echo "ok shares_made: $1"; }
not_ok() { echo "not ok shares_made: $1: $2"; failed=1; }

# measure SEED SECONDS: both, of a program that runs longer than that; sets $said, exits as judge does.
measure() {
	local samples
	./program $(($2 + 60)) &
	target=$!
	sleep 0.3
	perf record -q -e cpu-clock:u -F 499 -o perf.data -p $target -- sleep "$2" 2>perf.log &
	"$ctl" record --no-report --duration "$2" -o db -p $target >log 2>&1
	wait $! # perf
	kill $target
	wait $target 2>/dev/null
	"$ctl" top --by functions -n 1000 --json --db db >top.json 2>>log
	samples=$(sqlite3 db 'SELECT sum(clock_samples) FROM windows')
	perf script -i perf.data -F ip,sym,dso >script 2>>perf.log
	said=$(python3 "$made" judge top.json "${samples:-0}" script 2>&1)
}

# try SEED: longer each time while a busy machine gives it too little of its CPUs.
try() {
	local seconds status=2
	python3 "$made" make "$1" >program.c
	# No two functions share an address: perf and pathprofctl would name it by different ones.
	gcc -w -g -O$(($1 % 3 + 1)) -fno-ipa-icf program.c -o program -lm || { not_ok "program $1" "gcc refuses it"; return; }
	for seconds in 6 12 24 48; do
		rm -f db*
		measure "$1" $seconds
		status=$?
		[ $status = 2 ] || break
	done
	said=$(paste -sd , <<<"$said")
	[ $status = 0 ] && ok "program $1: $said" || not_ok "program $1" "status $status, $said; $(tail -n 1 log)"
	functions=$((functions + $(sed -nE 's/.*,([0-9]+) functions.*/\1/p' <<<"$said")))
	outside=$((outside + $(sed -nE 's/.*functions, ([0-9]+) outside.*/\1/p' <<<"$said")))
}

for seed in ${SEEDS:-$(shuf -i 1-1000000 -n $cnt)}; do try "$seed"; done
[ $((10 * outside)) -le $((functions + 20)) ] && ok "$outside of $functions functions outside their intervals" ||
	not_ok intervals "$outside of $functions functions outside"
exit $failed
