# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the step scenarios: where things are, and the ok / not ok / skip lines.
. "$(dirname "${BASH_SOURCE[0]}")/../own_processes.bash"

build=$(realpath "${BUILD:-build}")
truth_dir=$build/tests/truth
workload_dir=$build/tests/workloads
work=$(mktemp -d)
failed=0
started=()

# Ends what was started here and is still there, one process at a time.
step_cleanup() {
	local pid
	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap step_cleanup EXIT

ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1: $2"
	failed=1
}
skip() { echo "skip $1: $2"; }

# The number in front of WORD in the figures that bursts printed to FILE; 0 when there is none.
figure() { # FILE WORD
	sed -n "s/^bursts:.* \([0-9]*\) $2.*/\1/p" "$1" | tail -1 | grep . || echo 0
}

# Whether the bursts whose figures FILE has were single steps to the last: some hypervisors give debug
# registers that never strike, and then no breakpoint helps through a system call.
all_single() { # FILE
	[ "$(figure "$1" steps)" -gt 0 ] && [ "$(figure "$1" single)" -eq "$(figure "$1" steps)" ]
}

# How many windows ended in front of a system call.
ends_at_calls() { # FILE
	sed -n 's/.*; ends.* 1:\([0-9]*\).*; drops.*/\1/p' "$1" | grep . || echo 0
}

step_needs() { # PROGRAM...
	local program
	for program; do
		[ -x "$program" ] && continue
		echo "not ok ${0##*/}: $program is not built"
		exit 1
	done
}
