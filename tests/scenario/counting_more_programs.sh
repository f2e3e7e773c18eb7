#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Six more real programs out of Debian's sources, built with pathprof-cc without any change: a database, a
# compressor with assembly, a parser of XML, an interpreter with setjmp(), one of awk with a switch, and a
# program in C++. Early and late every path is counted as often as an oracle build says, with tables
# and without cold paths too, and functions are entered as often as clang's own counters say.
# ONLY_PROGRAMS="NAME ...": these.
name=counting_more_programs
. "$(dirname "$0")/counting_common.bash"
. "$here/counting_against.bash"
read -ra programs <<<"${ONLY_PROGRAMS:-sqlite3 libzstd expat mujs mawk lzip}"
get_sources "${programs[@]}" >said || { echo "skip $name: $(cat said)"; exit 0; }

# Functions that longjmp() or exit() leaves from below have a path less.
declare -A lost=([mujs]=20 [mawk]=1)
for program in "${programs[@]}"; do
	for mode in "" --pathprof-late; do
		against_oracle "$program" "$mode"
		[ -n "$mode" ] || against_clang "$program" "${lost[$program]:-0}"
		with_tables "$program" "$mode"
		with_practical "$program" "$mode" practical
	done
done
exit $failed
