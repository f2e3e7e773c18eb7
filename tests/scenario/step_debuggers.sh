#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Targets that others work on while they are stepped: their debug registers are in use, another
# traces them, gdb, strace and perf trace come and go, probes are put into their code and taken out.
# They must live, and their output be right. STEP_DEBUGGERS_CYCLES says how many probes come (by
# default tests/rounds.bash does), and in proportion the others, which are slower.
set -eu
. "$(dirname "$0")/step_common.bash"
. "$(dirname "$0")/../rounds.bash"
disturb=$build/tests/tools/step_disturb
target=$workload_dir/flow_loops
step_needs "$truth_dir/bursts" "$disturb" "$target"

probe_cycles=${STEP_DEBUGGERS_CYCLES:-$(rounds 60 300)}
gdb_cycles=$((probe_cycles / $(rounds 30 15)))
strace_cycles=$((probe_cycles / $(rounds 30 15)))
perf_cycles=$((probe_cycles / 60))
probed='next_random\|add\|either\|fibonacci\|flip\|nested\|triple\|by_switch'
limit_s=800 # for one disturbance
dropped_traced=4 # PATHPROF_DROP_TRACED

"$target" 0000000003 >"$work/right"
# The number of iterations that take some seconds of CPU time, for part of which a debugger holds
# it. How long they last by the clock depends on what else runs, and may do so the less the next
# minute.
lasts=$(rounds 2 5) holds=$(rounds 1 3)
cpu_s=$(TIMEFORMAT=%3U; { time "$target" 0000003000 >/dev/null; } 2>&1)
iterations=$(awk -v lasts="$lasts" -v cpu="$cpu_s" 'BEGIN { printf "%d", 3000 * lasts / (cpu > 0.001 ? cpu : 0.001) }')
iterations=$(printf %010d $((iterations > 3000 ? iterations : 3000)))
longest=$((16 * 10#$iterations))

comm_of() { cat "/proc/$1/comm" 2>/dev/null || true; }

# Leaves $runner and $pid; fails when the target came to its end before anybody could look at it.
start_target() {
	: >"$work/pid"
	timeout 1800 sh -c 'echo $$ >"$1"; exec "$2" "$3"' sh "$work/pid" "$target" "$iterations" \
		>"$work/out" 2>&1 &
	runner=$!
	until [ -s "$work/pid" ]; do sleep 0.01; done
	pid=$(cat "$work/pid")
	while [ "$(comm_of "$pid")" = sh ]; do sleep 0.01; done
	[ -n "$(comm_of "$pid")" ] || { wait "$runner" || return 0; return 1; } # finish() tells of a failure
}

begin() { # BURSTS_OPTIONS
	: >"$work/figures"
	until start_target; do :; done
	# shellcheck disable=SC2086 # options are words
	timeout 1900 "$truth_dir/bursts" -t 16 -b 300000 -f 2000 -s 1800 $1 -p "$pid" "$work/bursts" \
		2>"$work/figures" &
	watcher=$!
	started=("$runner" "$watcher")
}

# Whether the target has come to its right end; its bursts are added up.
finish() {
	local status=0
	wait "$runner" || status=$?
	wait "$watcher" || true
	started=()
	bursts=$((bursts + $(figure "$work/figures" bursts)))
	if [ $status != 0 ] || ! cmp -s "$work/out" "$work/right"; then
		not_ok "$name" "exit status $status: $(head -2 "$work/out" | tr '\n' ';')"
		return 1
	fi
}

# The disturbance, a function, over one target or more, until there were so many cycles, bursts and what
# $enough asks for. A target that came to its end before its debugger had started was too short
# here: the next one lasts twice as long.
enough=true
disturbed() { # NAME BURSTS_OPTIONS CYCLES FUNCTION ARGUMENTS...
	local options=$2 wanted=$3 status before end=$((SECONDS + limit_s))
	name=$1 cycles=0 bursts=0
	shift 3
	while [ $SECONDS -lt $end ]; do
		begin "$options"
		status=0 before=$cycles
		"$@" || status=$?
		finish || return 0
		if [ $status = 77 ]; then
			skip "$name" "refused here: $(tail -1 "$work/disturb")"
			return
		elif [ $status != 0 ] && [ $status != 75 ]; then # 75: the target came to its end
			not_ok "$name" "$(tail -1 "$work/disturb")"
			return
		fi
		[ $cycles -lt "$wanted" ] || [ $bursts = 0 ] || ! $enough || break
		[ $cycles -gt "$before" ] || [ $((10#$iterations)) -ge $longest ] ||
			iterations=$(printf %010d $((2 * 10#$iterations)))
	done
	if [ $cycles -lt "$wanted" ] || [ $bursts = 0 ]; then
		not_ok "$name" "$cycles cycles of $wanted, $bursts bursts in $limit_s s"
	else
		ok "$name ($cycles cycles, $bursts bursts)"
	fi
}

registers() { # CNT
	timeout 300 "$disturb" registers "$pid" "$1" $holds >"$work/disturb" 2>&1 || return $?
	cycles=$((cycles + 1))
}

traced() {
	timeout 300 "$disturb" trace "$pid" $holds >"$work/disturb" 2>&1 || return $?
	sleep 1
	cycles=$((cycles + 1))
}

# Most refusals are the stepper's: it has the target just then. So they come again, and leave it a
# little time in between.
gdb_often() {
	local i words=()
	for i in $(seq 30); do
		words+=(-ex "attach $pid" -ex "detach" -ex "shell sleep 0.02")
	done
	while kill -0 "$pid" 2>/dev/null && [ $cycles -lt $gdb_cycles ]; do
		timeout 300 gdb -nx -q -batch "${words[@]}" >"$work/disturb" 2>&1 </dev/null || true
		cycles=$((cycles + $(grep -c 'Inferior 1 .* detached' "$work/disturb" || true)))
	done
}

# It is ended a moment after it has attached, however long it takes to start.
strace_often() {
	local tracer
	while kill -0 "$pid" 2>/dev/null && [ $cycles -lt $strace_cycles ]; do
		: >"$work/disturb"
		strace -o "$work/calls" -p "$pid" >>"$work/disturb" 2>&1 &
		tracer=$!
		until grep -q ' attached' "$work/disturb" || ! kill -0 $tracer 2>/dev/null; do sleep 0.01; done
		sleep 0.05
		kill -TERM $tracer 2>/dev/null || true
		wait $tracer 2>/dev/null || true
		cycles=$((cycles + $(grep -c ' detached$' "$work/disturb" || true)))
	done
}

perf_trace_often() {
	while kill -0 "$pid" 2>/dev/null && [ $cycles -lt $perf_cycles ]; do
		if timeout 300 perf trace -o "$work/calls" -p "$pid" -- sleep 0.05 \
			>"$work/disturb" 2>&1; then
			cycles=$((cycles + 1))
		fi
	done
}

# On several functions at once, for to take a probe out is mostly waiting.
probes() {
	local offset job status=0 jobs=() left=$((probe_cycles - cycles))
	for offset in $(nm "$target" | sed -n "s/ t \($probed\)\$//p"); do
		timeout 800 "$disturb" uprobes "$pid" "$target" "$offset" $((left / 8 + 1)) \
			>"$work/disturb.$offset" 2>&1 &
		jobs+=($!)
	done
	for job in "${jobs[@]}"; do wait "$job" || status=$?; done
	cat "$work"/disturb.* >"$work/disturb"
	cycles=$((cycles + $(sed -n 's/ cycles.*//p' "$work/disturb" | paste -sd+ | grep . || echo 0)))
	return $status
}

disturbed step_debuggers_registers_2 "" 1 registers 2
disturbed step_debuggers_registers_4 "" 1 registers 4
disturbed step_debuggers_registers_ptrace "-d" 1 registers 1
# No burst may be due while another traces: then it traces again.
is_counted() { grep -q "drops.* $dropped_traced:[1-9]" "$work/figures"; }
enough=is_counted
disturbed step_debuggers_traced "" 1 traced
enough=true
if is_counted; then
	ok step_debuggers_traced_counted
else
	not_ok step_debuggers_traced_counted "$(tail -1 "$work/figures")"
fi
tool() { # NAME CYCLES FUNCTION
	if command -v "$1" >/dev/null; then
		disturbed "step_debuggers_$1" "-b 80000" "$2" "$3"
	else
		skip "step_debuggers_$1" "$1 is not installed"
	fi
}

tool gdb $gdb_cycles gdb_often
tool strace $strace_cycles strace_often
if perf trace -o "$work/calls" -p $$ -- true >"$work/disturb" 2>&1; then
	tool perf $perf_cycles perf_trace_often
else
	skip step_debuggers_perf "perf trace: $(tail -1 "$work/disturb")"
fi
disturbed step_debuggers_probes "" $probe_cycles probes
disturbed step_debuggers_probes_ptrace "-d" $probe_cycles probes
disturbed step_debuggers_probes_steps "-o" $probe_cycles probes
exit $failed
