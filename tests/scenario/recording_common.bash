# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the scenarios of recordings' readers: what writes recordings, what shows how they are
# read, an empty directory to work in, and the ok / not ok lines.

build=$(realpath "${BUILD:-build}")
write=$build/tests/tools/perf_data_write
dump=$build/tests/tools/recording_dump
work=$(mktemp -d)
failed=0
trap 'rm -rf "$work"' EXIT

ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1: $2"
	failed=1
}
for program in "$write" "$dump"; do
	[ -x "$program" ] || { echo "not ok ${0##*/}: $program is not built"; exit 1; }
done
cd "$work" || exit 1
