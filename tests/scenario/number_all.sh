#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Path numbers of every function of real programs, there and back, under every cut; the largest is
# the compiler: 40,000 functions, some with more than 2^64 paths. That a fault is found is shown on
# paths that lost their last edge.
set -u
build=${BUILD:-build}
tool=$build/tests/tools/number_all
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# program FILE: a line a cut.
program() {
	local name lines=0 cut figures
	name=$(basename "$1")
	if [ ! -x "$1" ]; then
		echo "skip number-$name: no $1"
		return
	fi
	if ! "$tool" "$1" >"$tmp/out" 2>"$tmp/err"; then
		echo "not ok number-$name: $(head -n 1 "$tmp/err")"
		failed=1
		return
	fi
	while IFS=: read -r cut figures; do
		echo "ok number-$name-$cut #$figures"
		lines=$((lines + 1))
	done <"$tmp/out"
	if [ $lines -ne 3 ]; then
		echo "not ok number-$name: $lines cuts instead of 3"
		failed=1
	fi
}

program /bin/gzip
program /usr/bin/lua5.4
program "$(gcc -print-prog-name=cc1)"

if "$tool" /bin/gzip plant >"$tmp/out" 2>"$tmp/err"; then
	echo "not ok number-planted: paths without their last edge have the same numbers"
	failed=1
elif grep -q 'another number' "$tmp/err" && grep -q 'another code' "$tmp/err"; then
	echo "ok number-planted"
else
	echo "not ok number-planted: $(head -n 1 "$tmp/err")"
	failed=1
fi
exit $failed
