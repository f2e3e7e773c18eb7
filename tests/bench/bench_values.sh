#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What an execution of a probed function costs more than one that is not: two functions of the same
# program, one whose probe kernels emulate and one whose probe they step, sampled and every one. The
# difference of a long and a short run, so that starting up is not in it; the best of three. CPU time.
#
#     BUILD=build tests/bench/bench_values.sh
#
# Needs the right to probe (docs/values.md).
set -u
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
values=$build/tests/workloads/values
few=${FEW:-100000} many=${MANY:-600000}

# cpu_us ITERATIONS ARGUMENTS...: CPU time of a recording, the daemon's share included, or of the
# program alone without arguments. Not wall clock, which others on the machine make longer.
cpu_us() {
	local n=$1 best=999999999 i us
	local TIMEFORMAT='%3U %3S'
	shift
	for i in 1 2 3; do
		rm -f "$work"/p.db*
		if [ $# -eq 0 ]; then
			{ time "$values" "$n" >/dev/null; } 2>"$work/time"
		else
			{ time "$build/bin/pathprofd" --record --quiet --overhead 0.1% --db "$work/p.db" "$@" \
				-- "$values" "$n" >/dev/null 2>"$work/err"; } 2>"$work/time"
			[ -s "$work/p.db" ] || { cat "$work/err" >&2; exit 1; }
		fi
		us=$(awk '{ printf "%d", ($1 + $2) * 1000000 }' "$work/time")
		[ "$us" -lt "$best" ] && best=$us
	done
	echo "$best"
}
# line NAME ARGUMENTS...: nanoseconds an execution, above those of the program alone.
line() {
	local name=$1 short long
	shift
	short=$(cpu_us "$few" "$@") || exit 1
	long=$(cpu_us "$many" "$@") || exit 1
	awk -v name="$name" -v d=$((long - short)) -v alone="$alone" -v n=$((many - few)) \
		'BEGIN { printf "%-36s %8.0f ns an execution\n", name, (d - alone) * 1000 / n }'
}
alone=$(($(cpu_us "$many") - $(cpu_us "$few")))
line 'emulated probe, H[PR16]1024' --value pushed:1
line 'emulated probe, P1' --value pushed:1 --value-sampler P1
line 'emulated probe, two parameters' --value pushed:1 --value pushed:2
few=20000 many=120000
alone=$(($(cpu_us "$many") - $(cpu_us "$few")))
line 'stepped probe, H[PR16]1024' --value stepped:1
