# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by what builds and runs the kernel module: ok / not ok lines and the verdict on a build.
failed=0

ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1: $2"
	failed=1
}
finish() { exit $failed; }

# verdict_build NAME STATUS LOG: warnings count, nobody sees them otherwise. That type information is
# left out for want of a kernel to take it from is no matter.
verdict_build() {
	if [ "$2" -ne 0 ]; then
		not_ok "$1" "$(grep -m1 -E 'error|Error' "$3" || tail -1 "$3")"
	elif grep -iE 'warning|error:' "$3" | grep -q -v 'Skipping BTF'; then
		not_ok "$1" "$(grep -iE 'warning|error:' "$3" | grep -m1 -v 'Skipping BTF')"
	else
		ok "$1"
	fi
}
