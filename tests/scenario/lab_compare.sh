#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# compare and combine of pathprof-lab against an implementation in decimal arithmetic (lab_compare.py),
# to 1e-9 relative; what they refuse; and that the comparison can fail.
. "$(dirname "$0")/lab_common.bash"
oracle=$here/lab_compare.py

# within NAME BOUND FIGURE: the figure is a number no greater than the bound.
within() {
	if awk -v x="$3" -v max="$2" 'BEGIN { exit !(x ~ /^[0-9]/ && x + 0 <= max) }'; then
		ok "$1"
	else
		not_ok "$1" "apart by $3"
	fi
}

# compared NAME A B [LAB OPTIONS]: every figure of compare.
compared() {
	local name=$1 a=$2 b=$3 words=()
	shift 3
	for word in "$@"; do
		case $word in --branches) words+=(branches) ;; --epsilon) ;; *) words+=("epsilon=$word") ;; esac
	done
	"$lab" compare "$a" "$b" "$@" >out
	within "compare $name" 1e-9 "$(python3 "$oracle" compare "$a" "$b" out "${words[@]}")"
}

# combined METHOD NAME FILE...: nine digits are printed.
combined() {
	local method=$1 name=$2
	shift 2
	"$lab" combine --method "$method" "$@" >out 2>err
	within "combine $method, $name" 6e-9 "$(python3 "$oracle" combine "$method" out err "$@")"
}

for i in 1 2 3; do
	python3 "$oracle" draw "$i" 300 paths "p$i"
	python3 "$oracle" draw "1$i" 200 branches "b$i"
	python3 "$oracle" draw "2$i" 100 huge "h$i"
done
compared "paths" p1 p2
compared "paths the other way round" p2 p1
compared "a profile with itself" p1 p1
compared "with a chosen epsilon" p1 p3 --epsilon 1e-7
compared "counts up to 2^63" h1 h2
compared "branches" b1 b2 --branches
compared "branches with a chosen epsilon" b3 b1 --branches --epsilon 1e-9
sed 's/path/other/' p2 >disjoint
compared "nothing in common" p1 disjoint
awk -F'\t' '{ print $1 "\t" $2 + (NR == 1) }' p1 >close
compared "one count of many changed" p1 close

for method in unscaled scaled polling kl; do
	combined "$method" "two" p1 p2
	combined "$method" "three" p1 p2 p3
	combined "$method" "counts up to 2^63" h1 h3
done
combined polling "branches" b1 b2 b3
combined kl "nothing in common" p1 disjoint
combined kl "one near two others" p1 close p2
"$lab" combine --method kl p1 p2 >hybrid 2>/dev/null
compared "with a combined profile" p3 hybrid
if "$lab" compare p3 hybrid | grep -q '^kl_corrected nan$'; then
	ok "weights that are no counts have no interval"
else
	not_ok "weights that are no counts have no interval" "$("$lab" compare p3 hybrid | grep kl_corrected)"
fi

# The interval, and what cannot be checked by a formula: order, and a second run.
"$lab" compare p1 p2 >first
"$lab" compare p1 p2 >second
if cmp -s first second; then ok "compare is deterministic"; else not_ok "compare is deterministic" "differs"; fi
verdict=$(awk '{ v[$1] = $2 } END {
	print (v["kl_low"] >= 0 && v["kl_low"] <= v["kl_corrected"] && v["kl_corrected"] <= v["kl_high"] &&
		v["kl_corrected"] < v["kl"]) ? "yes" : "no" }' first)
if [ "$verdict" = yes ]; then ok "the interval holds the figure"; else not_ok "the interval holds the figure" "$(tr '\n' ' ' <first)"; fi
"$lab" compare p1 p1 >same
verdict=$(awk '{ v[$1] = $2 } END { print (v["kl"] == 0 && v["kl_low"] == 0 && v["overlap"] == 1) }' same)
if [ "$verdict" = 1 ]; then ok "the same is the same"; else not_ok "the same is the same" "$(tr '\n' ' ' <same)"; fi
"$lab" compare --json p1 p2 | python3 -c 'import json, sys
for name, value in json.load(sys.stdin).items(): print(name, repr(value))' >json
if python3 -c 'import sys
a, b = (dict(l.split() for l in open(f)) for f in sys.argv[1:])
sys.exit(set(a) != set(b) or any(float(a[k]) != float(b[k]) for k in a))' first json; then
	ok "JSON says the same"
else
	not_ok "JSON says the same" "$(head -c 200 json)"
fi
"$lab" compare - p2 <p1 >second
if cmp -s first second; then ok "compare from standard input"; else not_ok "compare from standard input" "differs"; fi

# run ARGUMENTS...; complains NAME STATUS TEXT.
run() {
	status=0
	timeout 120 "$lab" "$@" >out 2>err </dev/null || status=$?
}
complains() {
	if [ "$status" -eq "$2" ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$3" err && [ ! -s out ]; then
		ok "$1"
	else
		not_ok "$1" "exit $status, $(head -c 200 err)"
	fi
}
for line in 'x\t-1' 'x\tnan' 'x\tinf' 'x\t1e300' 'x\t18446744073709555712' 'x 1' '\t1' 'x\t'; do
	printf 'a\t1\n'"$line"'\nb\t2\n' >bad
	run compare bad p1
	complains "compare refuses '$line'" 1 'bad:2: '
	run combine --method scaled p1 bad
	complains "combine refuses '$line'" 1 'bad:2: '
done
printf '401136/2\t1\n' >bad
run compare --branches b1 bad
complains "compare --branches refuses a direction of 2" 1 'bad:1: '
: >empty
printf 'a\t0\n' >zero
for none in empty zero; do
	run compare "$none" p1
	complains "compare refuses $none as actual" 1 "$none: an empty profile"
	run compare p1 "$none"
	complains "compare refuses $none as assumed" 1 "$none: an empty profile"
	run combine --method kl p1 "$none"
	complains "combine refuses $none" 1 "$none: an empty profile"
done
run compare p1 nowhere
complains "compare: a missing file" 1 'nowhere: '
run compare p1 p2 --epsilon 0.9
complains "compare: an epsilon too large" 1 'epsilon'
printf 'a\t18446744073709551615\n' >most
run combine --method unscaled most most
complains "combine: a sum beyond 2^64" 1 '2^64'
for words in 'compare p1' 'compare p1 p2 p3' 'compare p1 p2 --epsilon 0' 'compare p1 p2 --epsilon x' \
	'combine p1 p2' 'combine --method mean p1 p2' 'combine --method kl p1'; do
	# shellcheck disable=SC2086
	run $words
	complains "usage: $words" 2 'pathprof-lab: '
done

awk '$1 == "kl" { $2 = sprintf("%.17g", $2 * (1 + 2e-9)) } { print }' first >changed
if awk -v x="$(python3 "$oracle" compare p1 p2 changed)" 'BEGIN { exit !(x > 1e-9) }'; then
	ok "a changed digit is found"
else
	not_ok "a changed digit is found" "the comparison let it pass"
fi
exit $failed
