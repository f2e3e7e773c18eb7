#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pathprofctl under the sanitizers for addresses and undefined behaviour: a program of more functions
# than any table begins with, and the scenarios that read every view.
name=ctl_sanitized
. "$(dirname "$0")/ctl_common.bash"
ctl=$BUILD/tests/pathprofctl-san
export PATHPROFCTL=$ctl ASAN_OPTIONS=detect_leaks=0
here=$(dirname "$0")

# Paths in every other function of 1000, the clock in all.
for i in $(seq 1000); do echo "int __attribute__((noinline)) f$i(int a) { return a + $i; }"; done >"$dir/many.c"
{
	echo "int main(int n, char **v) { return"
	for i in $(seq 1000); do echo "f$i(n) +"; done
	echo "0; }"
} >>"$dir/many.c"
gcc -O1 -o "$dir/many" "$dir/many.c" || fail "gcc"
nm "$dir/many" | sed -nE 's/^0*([0-9a-f]+) T f([0-9]+)$/\1 \2/p' |
	while read -r address i; do
		[ $((i % 2)) = 0 ] || echo "path $address 4 $i"
		echo "clock $address $i"
	done | "$known" "$dir/many.db" code "$dir/many" || fail "no database"
for view in top paths edges processes binaries; do
	"$ctl" --db "$dir/many.db" --json "$view" -n 2000 --since 2020-01-01 >"$dir/$view" 2>"$dir/said" </dev/null ||
		fail "$view: $(grep -m 1 -E 'Sanitizer|runtime error|.' "$dir/said")"
done
[ "$(grep -c '"function": "f' "$dir/top")" -ge 500 ] || fail "top: $(wc -l <"$dir/top") lines"

for script in ctl_views ctl_errors ctl_parcel; do
	bash "$here/$script.sh" >"$dir/out" 2>&1 || fail "$script: $(grep -E 'not ok|Sanitizer|runtime error' "$dir/out" | head -3 | tr '\n' ';')"
	grep '^skip' "$dir/out" || true
done
finish
