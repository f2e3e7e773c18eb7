#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every burst of the step source must stand verbatim in the true branch sequence of its program,
# over the deterministic workloads and 10,000 bursts (in short 2500; STEP_TRUTH_MIN), by either
# holder of breakpoints and by single steps, for windows of either kind. Controls: falsified bursts
# must be found, and without look-ahead the trap flag must show.
set -eu
. "$(dirname "$0")/step_common.bash"
. "$(dirname "$0")/../rounds.bash"
workloads=(flow_loops flow_libc flow_signal flow_corners flow_faults flow_rseq flow_calls)
step_needs "$truth_dir"/{truth,bursts,check} "${workloads[@]/#/$workload_dir/}" "$workload_dir/tf_watch"

min=${STEP_TRUTH_MIN:-$(rounds 2500 10000)}
# How often a workload runs its loop: a few times for the truth, without end for the bursts. Both
# begin with a zero, have as many digits and none above 5: strtol compares a digit with the last
# one of ULONG_MAX, and takes another branch for a larger one.
few=0000000003
endless=0355555555
seconds=$((600 + min / 500)) # for one file of bursts, of which most take a few
total=0

# The bursts of one kind that a workload gives: so many in a thousand of its share.
kinds=(
	"32 -t 32:60"
	"4 -t 4:500"
	"i512 -i 512:60"
	"i1024 -i 1024:30"
	"regs_4 -d -t 4:280"
	"regs_i512 -d -i 512:40"
	"steps_8 -o -t 8:30"
)

# Without them a call ends the window; the figure "single" comes too late to tell of a quick run.
no_breakpoints=$("$build/tests/tools/machine_lacks" | grep -x breakpoints || true)
[ -z "$no_breakpoints" ] || echo "# no breakpoint strikes here: the way through calls is not judged"

# Adds a file of bursts, each held until it is as long as it should be: where every instruction is a
# stop of its own, 10 ms are few of them, and many such bursts hold no branch. The command's own
# output must stay out of ours.
take() { # WORKLOAD KIND OPTIONS BURSTS
	# shellcheck disable=SC2086 # options are words
	timeout $((seconds + 300)) "$truth_dir/bursts" -x -k $3 -n "$4" -s $seconds -b 1000000 \
		-f 4000 -w 100000 "$work/$1.$2" "$workload_dir/$1" $endless >"$work/out" 2>"$work/figures" || {
		not_ok "step_truth_$1_$2" "bursts or workload failed: $(tail -1 "$work/figures")"
		return
	}
	grep '^bursts:' "$work/figures"
	if line=$("$truth_dir/check" "$work/$1.truth" "$work/$1.$2"); then
		ok "step_truth_$1_$2 ($line)"
	else
		not_ok "step_truth_$1_$2" "$line"
	fi
	goes_through "$1" "$2"
	# Those with a branch in them: the rest proves nothing.
	total=$((total + $(figure "$work/figures" bursts) - $(figure "$work/figures" empty)))
}

# Nearly all windows of flow_calls meet system calls. By breakpoints they go through them, but for calls
# that take a millisecond, as some do on a busy machine.
goes_through() { # WORKLOAD KIND
	local all cut
	[ "$1" = flow_calls ] && [ "$2" != steps_8 ] || return 0
	[ -z "$no_breakpoints" ] || return 0
	all=$(figure "$work/figures" bursts)
	cut=$(ends_at_calls "$work/figures")
	if [ $((cut * 2)) -le "$all" ]; then
		ok "step_truth_goes_through_$2 ($cut of $all cut)"
	else
		not_ok "step_truth_goes_through_$2" "$cut of $all windows end at a system call"
	fi
}

falsified() { # WORKLOAD KIND
	if "$truth_dir/check" -c "$work/$1.truth" "$work/$1.$2" >"$work/out"; then
		ok "step_truth_falsified_$1_$2"
	else
		not_ok "step_truth_falsified_$1_$2" "$(tail -1 "$work/out")"
	fi
}

# Gets the workload preempted, which aborts its restartable sequences as a step does.
crowd() {
	local i
	for i in 1 2; do
		timeout 7200 sh -c 'while :; do :; done' &
		started+=($!)
	done
}
disperse() {
	local pid
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	started=()
}

for workload in "${workloads[@]}"; do
	if ! timeout 1800 "$truth_dir/truth" "$work/$workload.truth" "$workload_dir/$workload" $few \
		>/dev/null 2>"$work/figures"; then
		not_ok "step_truth_$workload" "the truth failed: $(tail -1 "$work/figures")"
		continue
	fi
	cat "$work/figures"
	[ "$workload" != flow_rseq ] || crowd
	for kind in "${kinds[@]}"; do
		options=${kind#* }
		# More than the share: some hold no branch.
		take "$workload" "${kind%% *}" "${options%:*}" \
			$((min * ${kind##*:} * 15 / 10 / 1000 / ${#workloads[@]} + 1))
	done
	disperse
	falsified "$workload" 32
	falsified "$workload" i512
done
if [ $total -ge "$min" ]; then
	ok "step_truth_count ($total bursts with branches)"
else
	not_ok step_truth_count "$total bursts of $min: is the machine busy?"
fi

# A stepper that is not careful must be noticed, or the watchers are blind; also if the watcher is
# harmed so that it does not end. On a busy machine it takes few bursts, so the watcher is given
# more time before that is said of it.
noticed() {
	local seconds
	for seconds in 6 20 60 180; do
		timeout $((seconds + 60)) "$truth_dir/bursts" -l -t 16 -b 600000 -f 2000 "$work/leak" \
			"$workload_dir/tf_watch" $seconds >"$work/out" 2>&1 || return 0
	done
	return 1
}
if noticed; then
	ok "step_truth_no_lookahead ($(grep -c '^tf_watch:' "$work/out" || true) complaints)"
else
	not_ok step_truth_no_lookahead "tf_watch saw nothing"
fi
exit $failed
