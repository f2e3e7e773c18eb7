#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The same bytes: the packages of build/deb, which took the objects of this tree, against a build from
# nothing in another directory, of another user's habits.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/packages/common.bash

copy_tree "$work/elsewhere"
cd "$work/elsewhere" || exit 1
(umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 HOME=/nonexistent BUILD=build packaging/deb >"$work/log" 2>&1)
got reproducible_build $? "$work/log"
[ "$failed" = 0 ] || finish
for deb in "$build"/deb/*.deb; do
	name=${deb##*/}
	if cmp -s "$deb" "build/deb/$name"; then
		ok "reproducible_$name"
	else
		not_ok "reproducible_$name" "the bytes differ: diffoscope shows where"
	fi
done
finish
