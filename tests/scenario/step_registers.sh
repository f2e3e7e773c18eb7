#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Debug registers that are left to others: hundreds of bursts on a thread that goes on, and how many
# watchpoints can be opened on every CPU meanwhile, when the stepper has gone, and when the thread has
# ended. By perf's breakpoints all four are free each time that no burst is under way; by the thread's
# debug registers one is left until the thread ends.
set -eu
. "$(dirname "$0")/step_common.bash"
watchpoints=$build/tests/tools/watchpoints
step_needs "$truth_dir/bursts" "$workload_dir/flow_loops" "$watchpoints"

bursts=300

# Others on this machine have some for a moment: whether so many are free within five minutes.
are_free() { # COUNT
	local end=$((SECONDS + 300))
	until [ "$("$watchpoints")" -ge "$1" ]; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

left_free() { # NAME HOLDER COUNT OPTION...
	local name=$1 holder=$2 cnt=$3 target parent
	shift 3
	"$workload_dir/flow_loops" 99999999 >/dev/null &
	target=$!
	"$truth_dir/bursts" -i 1024 -b 100000 -f 1000 -n $bursts "$@" -p "$target" "$work/bursts" \
		2>"$work/figures" &
	parent=$!
	started+=("$target" "$parent")
	while [ ! -s "$work/bursts" ] && kill -0 "$parent" 2>/dev/null; do sleep 0.05; done
	are_free "$cnt" || not_ok "step_registers_$name" "fewer than $cnt are left while it runs"
	wait "$parent" || not_ok "step_registers_$name" "$(tail -1 "$work/figures")"
	[ "$(figure "$work/figures" bursts)" -ge $bursts ] ||
		not_ok "step_registers_$name" "too few bursts: $(tail -1 "$work/figures")"
	are_free "$cnt" || not_ok "step_registers_$name" "fewer than $cnt are left after $bursts bursts"
	kill -KILL "$target"
	wait "$target" 2>/dev/null || true
	are_free 4 || not_ok "step_registers_$name" "some are taken when the thread has ended"
	[ "$failed" != 0 ] || ok "step_registers_$name ($cnt of 4 after $bursts bursts by $holder)"
}

status=0
"$watchpoints" >/dev/null 2>"$work/refused" || status=$?
if [ $status != 0 ]; then
	skip step_registers "$(cat "$work/refused")"
	exit 0
fi
if ! are_free 4; then
	skip step_registers "others have debug registers here"
	exit 0
fi
left_free perf "perf's breakpoints" 4
left_free opener "perf's breakpoints that another process opens" 4 -e
left_free debug_registers "debug registers" 1 -d
exit $failed
