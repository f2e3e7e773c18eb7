#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A path's ID is one of its database: compare of two files says of which each is, and show of that
# database shows that path. Of one database an ID needs no more.
set -eu
name=ctl_ids
. "$(dirname "$0")/ctl_common.bash"

cd "$dir"
for f in one two three four; do
	echo "__attribute__((noinline)) int $f(int x) { return x * ${#f}; }"
done >program.c
echo 'int main(void) { return one(1) + two(2) + three(3) + four(4); }' >>program.c
gcc -O0 -o program program.c

# database FILE FUNCTION=SAMPLES...: their IDs are in the order in which they are named.
database() {
	local file=$1 word
	shift
	for word in "$@"; do
		echo "path $(nm program | awk -v f="${word%=*}" '$3 == f { print $1 }') 10 ${word#*=}"
	done | "$known" "$file" code "$PWD/program"
}
database a.db one=100 two=200 three=700
database b.db four=500 three=100 two=200 one=200
run 0 compare file:a.db file:b.db
sed -n '/^Paths that moved/,/^$/p' got | awk 'NR > 2 && NF' >moved
[ "$(wc -l <moved)" -ge 3 ] || { cat got; fail "$(wc -l <moved) paths moved"; }
while read -r line; do
	id=$(grep -oE '[AB]:[0-9]+$' <<<"$line") || fail "no ID of a database: $line"
	file=$(tr AB ab <<<"${id%:*}").db
	grep -qxF -e "Path ID of ${id%:*}: pathprofctl --db $file show ID" got || fail "not told how to show $id"
	function=$(grep -oE '\b(one|two|three|four)\b' <<<"$line")
	"$ctl" --db "$file" show "${id#*:}" >shown
	grep -qE "^path ${id#*:} +$function\b" shown || { cat shown; fail "$id of $file is not $function"; }
done <moved
run 0 compare file:a.db file:b.db --json
python3 -c 'import json
for e in json.load(open("got"))["events"]: assert e["db"] in ("a.db", "b.db"), e'

"$known" known.db
run 0 compare --db known.db window:1 window:2
! grep -qE ' [AB]:[0-9]+$' got || fail "IDs of one database name a side"
finish
