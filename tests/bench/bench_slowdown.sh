#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What programs lose while they are recorded, by their own CPU time: the account of the stepper holds
# only what it does itself, not what an interrupt leaves behind in a processor's caches. Each program
# runs in turns alone, under `record` at SLOWDOWN_OVERHEAD (default 0.5) and under perf at the rate of
# our clock; SLOWDOWN_TURNS of each (default 9). Medians; the machine should be quiet.
set -eu
build=$(realpath "${BUILD:-build}")
turns=${SLOWDOWN_TURNS:-9}
overhead=${SLOWDOWN_OVERHEAD:-0.5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$build/bin/pathprof-lab" input
for _ in 1 2 3 4; do cat input; done >big

programs=(gzip xz perl lua)
gzip=(gzip -c big)
xz=(xz -1 -T1 -c big)
perl=(perl -e 'for ($i = 0; $i < 3e7; $i++) { $x += $i * 3 & 7 }')
lua=(lua5.4 -e 'local t = {} for i = 1, 3e7 do t[i & 1023] = i * 7 end')

# User and system time of the command alone, in seconds, onto the end of a file.
cpu_time() { # FILE COMMAND...
	local to=$1
	shift
	TIMEFORMAT='%U %S'
	{ time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }' >>"$to"
}
export -f cpu_time

turn() { # alone|record|perf PROGRAM
	local -n command=$2
	local measured=(bash -c 'cpu_time "$@"' bash "$work/$2.$1" "${command[@]}")
	case $1 in
	alone) "${measured[@]}" ;;
	record) "$build/bin/pathprofctl" record --overhead "$overhead" --no-report -o r.db -- "${measured[@]}" ;;
	perf) perf record -q -e cpu-clock -F 97 -o p.data -- "${measured[@]}" ;;
	esac >>log 2>&1 || { cat log; exit 1; }
	rm -f r.db* p.data*
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

kinds=(alone record)
! perf record -q -e cpu-clock -F 97 -o p.data -- true >/dev/null 2>&1 || kinds+=(perf)
for program in "${programs[@]}"; do
	declare -n command=$program
	command -v "${command[0]}" >/dev/null || { echo "$program: not installed, left out"; continue; }
	for _ in $(seq "$turns"); do
		for kind in "${kinds[@]}"; do turn "$kind" "$program"; done
	done
	alone=$(median "$program.alone")
	printf '%-6s %.3f s' "$program" "$alone"
	for kind in "${kinds[@]:1}"; do
		awk -v a="$alone" -v b="$(median "$program.$kind")" -v kind="$kind" \
			'BEGIN { printf "   %s %+.1f %%", kind, 100 * (b / a - 1) }'
	done
	echo
done
