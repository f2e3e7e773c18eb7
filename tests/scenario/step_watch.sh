#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that would notice a stepper must not, under heavy sampling by either sampler.
set -eu
. "$(dirname "$0")/step_common.bash"
. "$(dirname "$0")/../rounds.bash"
step_needs "$truth_dir/bursts" "$workload_dir"/{tf_watch,eintr_watch,calls_watch,group_stop,exec_storm,filtered}

# A window reached a call: by breakpoints it went through; by single steps, where none strikes, it ended
# in front.
meets_calls() {
	if all_single "$work/figures"; then
		[ "$(ends_at_calls "$work/figures")" -gt 0 ]
	else
		[ "$(figure "$work/figures" restarts)" -gt 0 ]
	fi
}

# On a busy machine a program may end before it was stepped, or before one of its sleeps was broken off, or
# have too little of a CPU for a clock that strikes a hundred times a second: then it runs again, twice as long.
watch() { # NAME OPTIONS WORKLOAD ARGUMENTS... AMOUNT
	local name=$1 options=$2 bursts=0 end=$((SECONDS + 600)) amount=${*: -1}
	shift 2
	set -- "${@:1:$#-1}"
	while [ "$bursts" -eq 0 ] && [ $SECONDS -lt $end ]; do
		# shellcheck disable=SC2086 # options are words
		if ! timeout 1200 "$truth_dir/bursts" -t 16 -b 600000 -f 2000 $options "$work/bursts" \
			"$workload_dir/$1" "${@:2}" $amount >"$work/out" 2>"$work/figures"; then
			not_ok "$name" "$(head -3 "$work/out" | tr '\n' ';') $(tail -1 "$work/figures")"
			return
		fi
		bursts=$(figure "$work/figures" bursts)
		case $* in *calls_watch*) meets_calls || bursts=0 ;; esac
		amount=$((amount < 64 ? 2 * amount : amount))
	done
	if [ "$bursts" -gt 0 ]; then
		ok "$name ($bursts bursts)"
	else
		not_ok "$name" "no bursts: $(tail -1 "$work/figures")"
	fi
}

# Seconds that a watcher watches for.
long=$(rounds 2 8) short=$(rounds 1 5)
watch step_watch_flags "" tf_watch $long
watch step_watch_flags_unpinned "-u" tf_watch $short
watch step_watch_flags_proc "-m" tf_watch $short
watch step_watch_flags_registers "-d" tf_watch $short
watch step_watch_flags_steps "-o" tf_watch $short
watch step_watch_eintr "" eintr_watch $long
watch step_watch_eintr_registers "-d" eintr_watch $short
# Windows long enough to reach a call that sleeps.
watch step_watch_calls "-i 2048" calls_watch $long
watch step_watch_calls_registers "-d -i 2048" calls_watch $short
watch step_watch_calls_filtered "-i 2048" filtered docker "$workload_dir/calls_watch" $short
watch step_watch_group_stop "" group_stop $(rounds 30 200)
watch step_watch_group_stop_registers "-d" group_stop $(rounds 20 100)
watch step_watch_exec_storm "" exec_storm $(rounds 40 300)
watch step_watch_exec_storm_registers "-d" exec_storm $(rounds 30 150)
# The sleeps that are broken off here go on without a call that the filter kills for.
watch step_watch_eintr_filtered "" filtered docker "$workload_dir/eintr_watch" $short
watch step_watch_flags_filtered "" filtered docker "$workload_dir/tf_watch" $short
watch step_watch_eintr_listed "" filtered listed "$workload_dir/eintr_watch" $short
exit $failed
