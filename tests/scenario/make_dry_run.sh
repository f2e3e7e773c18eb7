#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make -n` says what would be done and does none of it: whatever runs anything makes the build
# directory first.
set -u
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

for target in run test check check-all check-vm check-systemd check-headers check-packages deb dist-bin bench experiments fuzz; do
	# ONLY a part that there is not: were the tests run, they would end at once.
	if ! ONLY=none make -n BUILD="$work/build" "$target" >"$work/said" 2>&1; then
		echo "not ok make_dry_run_$target: $(tail -1 "$work/said")"
		failed=1
	elif [ -e "$work/build" ]; then
		echo "not ok make_dry_run_$target: it made $(find "$work/build" | tail -1)"
		rm -rf "$work/build"
		failed=1
	else
		echo "ok make_dry_run_$target"
	fi
done
exit $failed
