#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every path of generated programs is counted as often as it ran: early, late, cut at calls, without
# optimisation, position independent or not. A planted fault in a count must be found.
name=counting_oracle
. "$(dirname "$0")/counting_common.bash"
[ "${PATHPROF_ROUNDS:-short}" = full ] && programs=40 || programs=2
modes=("-O2" "-O2 --pathprof-late" "-O1 --pathprof-cut=calls" "-Os -fPIC" "-O3 --pathprof-late --pathprof-cut=calls"
	"-O0" "-O2 -fno-pie -no-pie" "-O1 -static")

for seed in $(seq 1 $programs); do
	python3 "$here/counting_generate.py" "$seed" 10 >program.c
	for i in "${!modes[@]}"; do
		# A short run takes each program through some of the modes.
		[ $programs -gt 2 ] || [ $((i % 2)) -eq $((seed % 2)) ] || continue
		# shellcheck disable=SC2086 # a list of words
		exact "program $seed ${modes[i]}" program.c ${modes[i]}
	done
done

# Turns of loops that are counted when the loop ends are as many, whatever counts them and wherever it is left.
deferred=("-O2" "-O2 --pathprof-late" "-O1 --pathprof-cut=calls" "-O3 -march=native" "-Os -fPIC")
for seed in $(seq 1 $programs); do
	python3 "$here/counting_generate.py" "$seed" 10 turns >program.c
	for mode in "${deferred[@]}"; do
		[ $programs -gt 2 ] || [ $seed = 1 ] || [[ $mode == *late ]] || continue
		# shellcheck disable=SC2086 # a list of words
		exact "program $seed $mode, turns deferred" program.c $mode --pathprof-defer-turns
		# shellcheck disable=SC2086 # a list of words
		"$cc" -w -fwrapv $mode --pathprof-defer-turns -S program.c -o - | grep -c 'addq.*%.*(%' >>added
	done
done
awk '{ n += $1 } END { exit n < 20 }' added && ok "loops are deferred in these programs" || not_ok "deferred turns" "hardly any loop is: $(paste -sd ' ' added)"

# The last comparison once more, of a count that is one too many, and of one that is missing.
awk -F '\t' -v OFS='\t' 'NR == 1 { $4++ } { print }' counted.tsv >more.tsv
sed 1d counted.tsv >less.tsv
for planted in more less; do
	if python3 "$here/counting_oracle.py" oracle log $planted.tsv >said 2>&1; then
		not_ok "planted fault ($planted)" "it is not found"
	else
		ok "planted fault ($planted)"
	fi
done
exit $failed
