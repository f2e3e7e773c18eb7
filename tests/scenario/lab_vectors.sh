#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The golden vectors through pathprof-lab, byte for byte; from a file, from standard input, in
# pieces. That a comparison can fail is shown on a vector with one digit changed.
set -eu
build=${BUILD:-build}
lab=$(realpath "$build/bin/pathprof-lab")
cd "$(dirname "$0")/../vectors"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

ok() { echo "ok lab $1"; }
not_ok() { echo "not ok lab $1: $2"; failed=1; }

# same NAME GOLDEN: the output in $tmp/out is the golden file's.
same() {
	if cmp -s "$tmp/out" "$2"; then ok "$1"; else not_ok "$1" "differs from $2"; fi
}

# vector GOLDEN INPUT ARGUMENTS...: by file, by standard input, by -, and as two files.
vector() {
	local golden=$1 input=$2 lines
	shift 2
	"$lab" "$@" "$input" >"$tmp/out" 2>/dev/null
	same "$golden, $*" "$golden"
	"$lab" "$@" <"$input" >"$tmp/out" 2>/dev/null
	same "$golden from standard input" "$golden"
	lines=$(($(wc -l <"$input") / 2))
	head -n "$lines" "$input" >"$tmp/first"
	tail -n +$((lines + 1)) "$input" | sed 's/$/\r/' >"$tmp/second"
	"$lab" "$@" "$tmp/first" - <"$tmp/second" >"$tmp/out" 2>/dev/null
	same "$golden in two pieces, one of them with CR LF" "$golden"
}

vector hash.txt tuples.txt hash --bits 11
vector hash.txt tuples.txt hash
for spec in R16 P16 CR16 'H[P16]64' 'H[R16]64' 'H[CR16]64' 'H[P16]64A8' 'T[16]64' 'T[16]64A8'; do
	vector "compress-$(tr -d '[]' <<<"$spec").txt" tuples.txt compress "$spec"
done
vector compress-R16.txt tuples.txt compress --seed 1 R16
vector compress-T1664.txt tuples.txt compress 'T[16]64' --evict 8 --replace 7 --ways 2 --tag-bits 2
vector paths-bl.txt branches.txt paths
vector paths-bl.txt branches.txt paths --map bl --max-length 32 --extend none
vector paths-wpp.txt branches.txt paths --map wpp
cut -d' ' -f1-3 paths-bl.txt >"$tmp/paths"
vector hpt-32x4.txt "$tmp/paths" hpt --entries 32 --ways 4

"$lab" number dag.txt --interesting interesting.txt | grep -v '^edge ' >"$tmp/out"
same "number.txt" number.txt
"$lab" number dag.txt --interesting interesting.txt | grep '^edge ' >"$tmp/out"
printf 'edge %s\n' 's a 0 0' 's b 4 2' 'a c 0 0' 'a b 2 0' 'b c 0 -1' 'c d 0 0' 'c t 1 1' \
	'd t 0 0' >"$tmp/edges"
same "weights of the published example" "$tmp/edges"

# Paths are as long as functions are deep: all the left ways of 40 diamonds, and all the right ones.
for i in {0..39}; do
	printf '%s\n' "n$i l$i" "n$i r$i" "l$i n$((i + 1))" "r$i n$((i + 1))"
done >"$tmp/deep"
for way in l r; do
	printf 'n0' && for i in {0..39}; do printf ' %s%d n%d' $way "$i" $((i + 1)); done && echo
done >"$tmp/long"
"$lab" number "$tmp/deep" --interesting "$tmp/long" 2>&1 | grep -v '^edge ' >"$tmp/out"
awk -v first="0 0" -v last="$(((1 << 40) - 1)) 1" '{ print "path", $0, NR == 1 ? first : last }
	END { printf "paths %d\ndelta 1.0\n", 2 ^ 40 }' "$tmp/long" >"$tmp/expected"
same "interesting paths of 81 nodes" "$tmp/expected"

# Spilled paths and those that stay add up to the input.
sum() { awk '{ n[$1 " " $2 " " $3] += NF > 3 ? $4 : 1 } END { for (k in n) print k, n[k] }' | sort; }
"$lab" hpt --entries 16 --ways 2 --spill "$tmp/paths" 2>/dev/null | sum >"$tmp/out"
sum <"$tmp/paths" >"$tmp/expected"
same "hpt --spill loses nothing" "$tmp/expected"

printf 'a\t1\nb\t3\n' >"$tmp/a"
printf 'b\t1\nc\t1\n' >"$tmp/b"
"$lab" overlap "$tmp/a" "$tmp/b" >"$tmp/out"
echo 50.0000 >"$tmp/expected"
same "overlap by hand" "$tmp/expected"

sed '100s/[0-9]$/x/' hash.txt >"$tmp/changed"
"$lab" hash tuples.txt >"$tmp/out"
if (same planted "$tmp/changed") | grep -q '^not ok'; then
	ok "a changed vector is found"
else
	not_ok "a changed vector is found" "the comparison let it pass"
fi
exit $failed
