#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The messages of pathprof-lab for wrong input and options: one line that names file and line, exit
# 1 (2 for usage), and never a crash.
. "$(dirname "$0")/lab_common.bash"
vectors=$(realpath "$here/../vectors")

# run ARGUMENTS...: status in $status, complaint in err.
run() {
	status=0
	timeout 300 "$lab" "$@" >out 2>err </dev/null || status=$?
}

# Checks the complaint: it is one line, names this program, and contains this text.
complains() {
	local name=$1 want=$2 text=$3
	if [ "$status" -ne "$want" ]; then
		not_ok "$name" "exit $status, not $want: $(head -c 200 err)"
	elif [ "$(wc -l <err)" -ne 1 ]; then
		not_ok "$name" "$(wc -l <err) lines on standard error"
	elif ! grep -aqF "pathprof-lab: " err || ! grep -aqF -- "$text" err; then
		not_ok "$name" "says '$(head -c 200 err)', not '$text'"
	else
		ok "$name"
	fi
}

# bad LINE COMMAND...: LINE, in printf's notation, stands third after two good ones.
bad() {
	local line=$1 good
	shift
	case $1 in
	hash | compress) good='401136 2a' ;;
	paths) good='401016 cond 401800 1 401800' ;;
	hpt) good='401136 2 3' ;;
	esac
	printf '%s\n%s\n'"$line"'\n%s\n' "$good" "$good" "$good" >input
	run "$@" input
	complains "$1: refuses '${line:0:40}'" 1 'input:3: '
}

huge=1$(printf '%0200000d' 0)
for command in hash 'compress P2'; do
	for line in '' '401136' '401136 2a 7' '-1 2a' '+1 2a' '401136 -2' 'x 2a' '0x 2a' '0x0x1 2a' \
		'0X 1' '401136 2g' '11112222333344445 1' '1 0xfffffffffffffffff' '1,2' '1 1.5' \
		'4011\00036 2a' '\000' '401136 2a\00032' '\377\376 \001' "$huge $huge" "f$huge 1" \
		"1 $(printf 'f%.0s' {1..70000})" "$(printf 'a %.0s' {1..100})"; do
		# shellcheck disable=SC2086
		bad "$line" $command
	done
done
for line in '' '401016 cond 401800 1' '401016 cond 401800 1 401800 1 1' '401016 branch 401800 1 401800' \
	'401016 COND 401800 1 401800' '401016 cond 401800 2 401800' '401016 cond 401800 -1 401800' \
	'401016 cond 401800 yes 401800' '401016 cond 401800 01x 401800' '401016 ret 401800 0 401018' \
	'401016 call 401800 0 401018' '401016 cond 401800 1 401800 -1' \
	'401016 cond 401800 1 401800 18446744073709551616' '401016 cond 401800 1 401800 0x1' \
	'cond 401016 401800 1 401800' '401016 cond 11112222333344445 1 401800' \
	'401016 con\000d 401800 1 401800' '401016 \377 401800 1 401800'; do
	bad "$line" paths
done
for line in '' '401136 2' '401136 2 3 1 1' '401136 33 0' '401136 -1 0' '401136 0x2 3' '401136 2 4' \
	'401136 0 1' '401136 32 100000000' '401136 2 3 -1' '401136 2 3 18446744073709551616' \
	'401136 2 3 1e3' 'z 2 3'; do
	bad "$line" hpt
done

printf '401136 2a\n401136' >input
run hash input
complains "hash: refuses a truncated last line" 1 'input:2: '
printf 'a\t1\n' >good
for profile in 'a\t1\nb 2\n' 'a\t1\nb\t-2\n' 'a\t1\nb\t\n' 'a\t1\n\t2\n' 'a\t1\n\n' \
	'a\t1\nb\t18446744073709551616\n' 'a\t1\nb\00002\t2\n' 'a\t1\nb'; do
	printf '%b' "$profile" >profile
	run overlap profile good
	complains "overlap: refuses '$profile'" 1 'profile:2: '
	run overlap good profile
	complains "overlap: refuses '$profile' as the second" 1 'profile:2: '
done

# Graphs.
printf 's a\na b\nb s\n' >cycle
run number cycle
complains "number: refuses a cycle" 1 'cycle: '
printf 's s\n' >cycle
run number cycle
complains "number: refuses a loop at the start" 1 'cycle: '
: >empty
run number empty
complains "number: refuses a graph without edges" 1 'empty: '
printf 's a\na\n' >graph
run number graph
complains "number: refuses an edge with one end" 1 'graph:2: '
for i in {1..70}; do printf 'n%d n%d\nn%d n%d\n' "$i" $((i + 1)) "$i" $((i + 1)); done >wide
run number wide
complains "number: refuses more than 2^64 paths" 1 'wide: '
interesting() {
	printf 's a c t\n%s\n' "$2" >paths
	run number "$vectors/dag.txt" --interesting paths
	complains "number: refuses $1" 1 'paths:2: '
}
interesting "an unknown node" 's a c q'
interesting "an edge that is none" 's c t'
interesting "a path that does not begin at the start" 'a c t'
interesting "a path that stops early" 's a c'
interesting "a path twice" 's a c t'
interesting "an empty path" ''

# Files.
for command in hash 'compress P2' paths hpt number; do
	# shellcheck disable=SC2086
	run $command nowhere
	complains "${command%% *}: a missing file" 1 'nowhere: '
	# shellcheck disable=SC2086
	run $command /
	complains "${command%% *}: a directory as file" 1 '/: '
done
run overlap nowhere good
complains "overlap: a missing file" 1 'nowhere: '
run overlap good /
complains "overlap: a directory as file" 1 '/: '
run number "$vectors/dag.txt" --interesting nowhere
complains "number: a missing file of paths" 1 'nowhere: '

# Output that does not arrive; the summary of some commands must not follow then.
lost_output() {
	local name=$1
	shift
	status=0
	"$lab" "$@" >/dev/full 2>err </dev/null || status=$?
	complains "$name: a full disk" 1 'standard output: '
	status=0
	"$lab" "$@" >&- 2>err </dev/null || status=$?
	complains "$name: closed standard output" 1 'standard output: '
}
lost_output hash hash "$vectors/tuples.txt"
lost_output compress compress P16 "$vectors/tuples.txt"
lost_output paths paths "$vectors/branches.txt"
lost_output number number "$vectors/dag.txt"
lost_output overlap overlap good good
cut -d' ' -f1-3 "$vectors/paths-bl.txt" >hot
lost_output hpt hpt hot

# Usage.
usage() {
	local name=$1
	shift
	run "$@"
	# getopt names an unknown option on a line of its own before ours.
	if [ "$status" -ne 2 ]; then
		not_ok "usage: $name" "exit $status, not 2"
	elif ! tail -n 1 err | grep -q '^pathprof-lab: .*see pathprof-lab --help$' ||
		[ "$(wc -l <err)" -gt 2 ]; then
		not_ok "usage: $name" "says '$(head -c 200 err)'"
	else
		ok "usage: $name"
	fi
}
usage "no such command" frobnicate
for command in hash compress paths hpt number; do
	usage "$command: unknown option" $command --frobnicate
done
usage "hash: bits above 64" hash --bits 65
usage "hash: negative bits" hash --bits -1
usage "hash: bits that are none" hash --bits eleven
usage "hash: bits without a value" hash --bits
usage "compress: no notation" compress
for spec in X256 R0 R R-1 'H[P256]' 'H[P256]3' 'H[P256]131072' 'T[256]1' 'P256A0' 'P256A257' \
	'R99999999999999999999' 'P256 ' '' "$(printf 'R%.0s' {1..5000})"; do
	usage "compress: notation '${spec:0:20}'" compress "$spec"
done
usage "compress: seed 0" compress R16 --seed 0
usage "compress: seed of 65 bits" compress R16 --seed 18446744073709551616
usage "compress: replace above 16 bits" compress 'T[16]64' --replace 65536
usage "compress: no ways" compress 'T[16]64' --ways 0
usage "compress: 9 ways" compress 'T[16]64' --ways 9
usage "compress: 9 tag bits" compress 'T[16]64' --tag-bits 9
usage "paths: no such mapping" paths --map xyz
usage "paths: no such extension" paths --extend sideways
usage "paths: length 0" paths --max-length 0
usage "paths: length 33" paths --max-length 33
usage "paths: extensions that are none" paths --extend loop --extensions many
usage "hpt: entries no power of two" hpt --entries 500
usage "hpt: too many entries" hpt --entries 131072
usage "hpt: 17 ways" hpt --entries 17 --ways 17
usage "hpt: no entries" hpt --entries 0
usage "number: no graph" number
usage "number: two graphs" number "$vectors/dag.txt" "$vectors/dag.txt"
usage "overlap: one profile" overlap good
usage "overlap: three profiles" overlap good good good
run
if [ "$status" -eq 2 ] && grep -q '^usage: ' err; then
	ok "usage: nothing asked for"
else
	not_ok "usage: nothing asked for" "exit $status"
fi

# Random bytes: a clear refusal or a result, and nothing else.
crashed=0
for seed in {1..40}; do
	awk -v seed="$seed" 'BEGIN { srand(seed); for (i = 0; i < 300; i++) {
		r = int(rand() * 256)
		printf "%c", rand() < 0.1 ? 10 : rand() < 0.2 ? 32 : rand() < 0.5 ? 48 + r % 10 : r } }' \
		>noise
	for command in hash 'compress H[P2]4A2' paths hpt number 'overlap noise'; do
		# shellcheck disable=SC2086
		run $command noise
		if [ "$status" -gt 1 ] || { [ "$status" -eq 1 ] && ! grep -aq '^pathprof-lab: noise' err; }; then
			not_ok "$command on random bytes $seed" "exit $status"
			crashed=1
		fi
	done
done
[ "$crashed" -eq 1 ] || ok "random bytes end in a refusal or a result"
exit $failed
