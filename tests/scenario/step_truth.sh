#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every burst of the step source must stand verbatim in the true branch sequence of its program,
# over the deterministic workloads and 10,000 bursts (STEP_TRUTH_MIN: another number, for a quick
# look). Controls: falsified bursts must be found, and without look-ahead the trap flag must show.
set -eu
. "$(dirname "$0")/step_common.bash"
step_needs "$truth_dir"/{truth,bursts,check} "$workload_dir"/{flow_loops,flow_libc,flow_signal,tf_watch}

min=${STEP_TRUTH_MIN:-10000}
# How often a workload runs its loop: a few times for the truth, without end for the bursts. Both
# begin with a zero and have as many digits, so that strtol reads both along the same path.
few=0000000003
endless=0999999999
total=0

# Adds a file of bursts. The command's own output must stay out of ours.
take() { # WORKLOAD TAKEN BURSTS SECONDS
	"$truth_dir/bursts" -x -k -t "$2" -n "$3" -s "$4" -b 1000000 -f 4000 \
		"$work/$1.$2" "$workload_dir/$1" $endless >"$work/out" 2>"$work/figures" || {
		not_ok "step_truth_$1_$2" "bursts or workload failed: $(tail -1 "$work/figures")"
		return
	}
	grep '^bursts:' "$work/figures"
	if line=$("$truth_dir/check" "$work/$1.truth" "$work/$1.$2"); then
		ok "step_truth_$1_$2 ($line)"
	else
		not_ok "step_truth_$1_$2" "$line"
	fi
	# Those with a branch in them: the rest proves nothing.
	total=$((total + $(figure "$work/figures" bursts) - $(figure "$work/figures" empty)))
}

for workload in flow_loops flow_libc flow_signal; do
	if ! "$truth_dir/truth" "$work/$workload.truth" "$workload_dir/$workload" $few \
		>/dev/null 2>"$work/figures"; then
		not_ok "step_truth_$workload" "the truth failed: $(tail -1 "$work/figures")"
		continue
	fi
	cat "$work/figures"
	take $workload 32 $((min / 20 + 1)) 30
	take $workload 4 $((min * 45 / 100 + 1)) 90
	if "$truth_dir/check" -c "$work/$workload.truth" "$work/$workload.32" >"$work/out"; then
		ok "step_truth_falsified_$workload"
	else
		not_ok "step_truth_falsified_$workload" "$(tail -1 "$work/out")"
	fi
done
if [ $total -ge "$min" ]; then
	ok "step_truth_count ($total bursts with branches)"
else
	not_ok step_truth_count "$total bursts of $min: is the machine busy?"
fi

# A stepper that is not careful must be noticed, or the watchers are blind. On a busy machine it
# takes few bursts, so the watcher is given more time before that is said of it.
noticed() {
	local seconds
	for seconds in 6 20 60; do
		"$truth_dir/bursts" -l -t 16 -b 600000 -f 2000 "$work/leak" \
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
