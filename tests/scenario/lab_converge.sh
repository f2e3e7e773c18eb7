#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# converge of pathprof-lab against an implementation written from the paper (lab_converge.py), on
# streams made to converge, not to, and to change behind its back; what it refuses; and that the
# comparison can fail.
. "$(dirname "$0")/lab_common.bash"
oracle=$here/lab_converge.py

# same NAME [OPTION NUMBER]... : the figures of the stream in the file of that name.
same() {
	local stream=$1 options=() words=()
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		bounds) options+=(--heuristic bounds) words+=(heuristic=2) && shift ;;
		random) options+=(--random) words+=(random=1) && shift ;;
		*) options+=("--$1" "$2") words+=("$1=$2") && shift 2 ;;
		esac
	done
	"$lab" converge "${options[@]}" "$stream" >out 2>err
	python3 "$oracle" profile "$stream" want_out want_err "${words[@]}"
	if cmp -s out want_out && cmp -s err want_err; then
		ok "converge $stream ${words[*]}"
	else
		not_ok "converge $stream ${words[*]}" "$(diff out want_out | head -n 4) $(diff err want_err)"
	fi
}

for kind in constant alternating phase phases unique zipf uniform falling rising large mixed; do
	python3 "$oracle" draw $kind 1 $kind
	same $kind
	same $kind bounds
	same $kind bounds random interval 500 clear 300 entries 16
	same $kind entries 2 interval 37 clear 11 back-off 35
done
python3 "$oracle" draw mixed 2 mixed2
same mixed2 bounds increase 0 decrease 0 back-off 1000 interval 100
same mixed2 bounds increase 100 decrease 100 interval 1
same mixed2 random seed 18446744073709551615 back-off 100000 interval 50
same mixed2 random seed 5 back-off 1 interval 50
same mixed2 back-off 0
same mixed2 interval 4294967295 clear 4294967295

# What can be told without an implementation.
figure() { awk -v name="$1" '{ for (i = 2; i < NF; i += 2) if ($i == name) print $(i + 1) }' err; }
told() { # NAME CONDITION...
	local name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name" "$* $(cat err)"; fi
}
"$lab" converge constant >out 2>err
# 4,000 and 2,000 after each back-off, at 8,000 and 20,000 executions.
told "a constant is profiled for four of fifteen intervals" [ "$(figure profiled)" -eq 8000 ]
told "its profile is the full one" [ "$(figure diff-1) $(figure find-n)" = "0.000000 1.000000" ]
"$lab" converge --back-off 0 mixed >out 2>err
told "without back-off all is profiled" [ "$(figure profiled)" -eq "$(figure executions)" ]
told "and nothing differs" [ "$(figure diff-1) $(figure diff-n)" = "0.000000 0.000000" ]
"$lab" converge <mixed >again 2>/dev/null
"$lab" converge mixed >out 2>/dev/null
told "standard input gives the same" cmp -s out again
"$lab" converge /dev/null >out 2>err
told "an empty stream has no sites" [ "$(figure sites) $(figure find-1)" = "0 nan" ]

# complains NAME STATUS TEXT ARGUMENTS...
complains() {
	local name=$1 want=$2 text=$3 status=0
	shift 3
	"$lab" converge "$@" >out 2>err </dev/null || status=$?
	if [ $status -eq "$want" ] && grep -qF -- "$text" err && [ ! -s out ]; then
		ok "converge refuses $name"
	else
		not_ok "converge refuses $name" "exit $status, $(head -c 200 err)"
	fi
}
for line in '' '401136' '401136 2a 7' '-1 2a' '401136 2g' '401136 1ffffffffffffffff'; do
	printf '1 1\n1 2\n%s\n1 3\n' "$line" >bad
	complains "'$line'" 1 'bad:3: ' bad
done
complains "a missing file" 1 'nowhere: ' nowhere
complains "an odd table" 2 'entries: 7 is not an even number in 2..16' --entries 7
complains "a table too large" 2 'entries: 18' --entries 18
complains "no interval" 2 '--interval: ' --interval 0
complains "no clear interval" 2 '--clear: ' --clear 0
complains "an interval of 33 bits" 2 '--interval: ' --interval 4294967296
complains "a back-off too long" 2 'back-off: 100001 is above 100000 %' --back-off 100001
complains "a bound above 100" 2 '--increase: ' --heuristic bounds --increase 101
complains "a negative bound" 2 '--decrease: ' --heuristic bounds --decrease -1
complains "bounds without their heuristic" 2 'go with --heuristic bounds' --increase 1
complains "no such heuristic" 2 "'falling' is neither increasing nor bounds" --heuristic falling
complains "an unknown option" 2 'converge: bad option' --frobnicate
status=0
"$lab" converge mixed >/dev/full 2>err || status=$?
told "a full disk is told, and no summary" [ "$status $(wc -l <err)" = "1 1" ]

# An implementation with one rule changed must not pass.
wrong() { # NAME SED
	sed "$2" "$oracle" >wrong.py
	cmp -s wrong.py "$oracle" && not_ok "$1" "the rule is not there"
	"$lab" converge --heuristic bounds --interval 500 rising >out 2>err
	python3 wrong.py profile rising want_out want_err heuristic=2 interval=500
	if cmp -s out want_out; then not_ok "$1 is found" "the comparison let it pass"; else ok "$1 is found"; fi
}
wrong "a bound of 3 %" 's/"increase": 2/"increase": 3/'
wrong "invariance of the whole table" 's/self.rules\["entries"\] \/\/ 2) \* 10/self.rules["entries"]) * 10/'
wrong "a back-off one longer" 's/back_off \/\/ 1$/back_off \/\/ 1 + 1/'
wrong "a test at the first interval" 's/self.last = self.previous = None/self.last, self.previous = None, 0/'
exit $failed
