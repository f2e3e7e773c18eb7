#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The stepper's parent is killed at random moments while it has targets stepped, STEP_KILL_ROUNDS
# times (a multiple of 18 has each target, holder and moment equally often): no target may die or misbehave, stay traced, stay tied to a CPU, or keep a nice value; and
# no stepper may be left over. Then the stepper itself is killed.
set -eu
. "$(dirname "$0")/step_common.bash"
. "$(dirname "$0")/../rounds.bash"
step_needs "$truth_dir/bursts" "$workload_dir"/{flow_loops,flow_signal,tf_watch}

kills=${STEP_KILL_ROUNDS:-$(rounds 18 54)}
RANDOM=7
bytes=0

"$workload_dir/flow_loops" 99999999 >"$work/out.0" &
targets=($!)
"$workload_dir/flow_signal" 99999999 >"$work/out.1" &
targets+=($!)
"$workload_dir/tf_watch" 100000 2 >"$work/out.2" &
targets+=($!)
started=("${targets[@]}")
sleep 0.2

affinity() { sed -n 's/^Cpus_allowed:\t//p' "/proc/$1/task/$2/status"; }
nice_of() { sed 's/.*) //' "/proc/$1/task/$2/stat" | cut -d' ' -f17; }
all_cpus=$(affinity $$ $$)
own_nice=$(nice_of $$ $$)

# A thread that waits for a page or has just been let go is seen in another state for a moment, and
# a stepper that was not there yet as its parent was looked at may have it for longer.
runs_soon() { # TASK'S DIRECTORY
	for _ in $(seq 15000); do
		grep -q '^State:.[RS]' "$1/status" && grep -q '^TracerPid:.0$' "$1/status" && return
		sleep 0.02
	done
	return 1
}

steppers_of() { # children of PID
	tr ' ' '\n' <"/proc/$1/task/$1/children" 2>/dev/null | grep . || true
}

kill_one() { # ROUND
	local target=${targets[$(($1 % 3))]} parent stepper holder= tries=0 end=$((SECONDS + 300))
	# Each target is held in one round of three by debug registers.
	[ $(($1 / 3 % 3)) != 0 ] || holder=-d
	: >"$work/bursts"
	"$truth_dir/bursts" -t 32 -b 1000000 -f 4000 ${holder:+"$holder"} -p "$target" \
		"$work/bursts" 2>/dev/null &
	parent=$!
	started+=($parent)
	# Half of them at any time, the others once they have stepped something: on a busy machine it
	# takes a while to come to that.
	while [ $(($1 % 2)) = 0 ] && [ ! -s "$work/bursts" ] && [ $SECONDS -lt $end ]; do
		sleep 0.02
	done
	sleep 0.$(printf %03d $((RANDOM % 250 + 30)))
	stepper=$(steppers_of $parent)
	kill -KILL $parent
	wait $parent 2>/dev/null || true
	started=("${targets[@]}")
	bytes=$((bytes + $(stat -c %s "$work/bursts")))
	while [ -n "$stepper" ] && [ -e "/proc/$stepper" ]; do
		tries=$((tries + 1))
		if [ $tries -gt 15000 ]; then
			not_ok step_kill_left "stepper $stepper of round $1 is still there"
			return
		fi
		sleep 0.02
	done
}

for round in $(seq "$kills"); do
	kill_one "$round"
	for i in 0 1 2; do
		if ! kill -0 "${targets[$i]}" 2>/dev/null; then
			not_ok step_kill_survive "target $i ended in round $round: $(head -2 "$work/out.$i")"
			exit 1
		fi
	done
done

for target in "${targets[@]}"; do
	for task in "/proc/$target/task"/*; do
		tid=${task##*/}
		runs_soon "$task" || not_ok step_kill_state "$target/$tid: $(grep -E '^(State|TracerPid)' "$task/status" | paste -sd ' ')"
		[ "$(affinity "$target" "$tid")" = "$all_cpus" ] ||
			not_ok step_kill_affinity "$target/$tid: $(affinity "$target" "$tid")"
		[ "$(nice_of "$target" "$tid")" = "$own_nice" ] ||
			not_ok step_kill_nice "$target/$tid: $(nice_of "$target" "$tid")"
	done
done
if [ -s "$work/out.2" ]; then
	not_ok step_kill_watch "$(head -3 "$work/out.2" | tr '\n' ';')"
fi
if [ "$bytes" -eq 0 ]; then
	not_ok step_kill_bursts "nothing was ever stepped"
fi
# ---------------------------------------------------------------- the stepper itself
# Its target dies if it stands at a trap just then (docs/stepping.md, What remains). How often, at a
# budget that holds it all the time, is told for each way of stopping it; by anything but that SIGTRAP
# no target may die.
wait_stepped() {
	local end=$((SECONDS + 300))
	until [ -s "$work/bursts" ] || [ $SECONDS -ge $end ]; do sleep 0.02; done
	sleep 0.$(printf %03d $((RANDOM % 200)))
}

# kill_stepper OPTION...: the status with which the target ends when it is killed a moment later.
kill_stepper() {
	local target parent status=0
	"$workload_dir/flow_loops" 99999999 >/dev/null &
	target=$!
	: >"$work/bursts"
	"$truth_dir/bursts" -t 32 -b 1000000 -f 4000 "$@" -p "$target" "$work/bursts" 2>/dev/null &
	parent=$!
	started+=("$target" "$parent")
	wait_stepped
	# shellcheck disable=SC2046 # one number, or none
	kill -KILL $(steppers_of "$parent")
	sleep 0.2
	kill -KILL "$target" 2>/dev/null || true
	wait "$target" 2>/dev/null || status=$?
	kill -KILL "$parent" 2>/dev/null || true
	wait "$parent" 2>/dev/null || true
	return $status
}

share_of_deaths() { # NAME OPTION...
	local name=$1 cnt died=0 status
	shift
	cnt=$(rounds 6 40)
	for _ in $(seq "$cnt"); do
		status=0
		kill_stepper "$@" || status=$?
		case $status in
		133) died=$((died + 1)) ;;
		137) ;;
		*) not_ok "step_kill_stepper_$name" "the target ended with status $status" ;;
		esac
	done
	echo "# stepper killed, $name: $died of $cnt targets died"
}

share_of_deaths breakpoints
share_of_deaths debug_registers -d
share_of_deaths single_steps -o

if [ "$failed" = 0 ]; then
	ok "step_kill ($kills parents killed, $((bytes / 1024)) KiB of bursts read before)"
fi
exit $failed
