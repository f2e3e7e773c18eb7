#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A writer killed at any moment loses at most the open window, never the file: KILLS times SIGKILL
# at a random moment, from the creation of the file on; every second file under retention. After
# each kill the file opens, is sound, holds every window the writer said was committed, whole and
# right, and at most one more.
set -eu

BUILD=${BUILD:-build}
. "$(dirname "$0")/../rounds.bash"
KILLS=${KILLS:-$(rounds 60 200)}
name=store_kill
writer=$BUILD/tests/tools/store_writer
dir=$(mktemp -d)
pid=

finish() {
	if [ -n "$pid" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
	rm -rf "$dir"
}
trap finish EXIT

fail() {
	echo "not ok $name: $1"
	exit 1
}

[ -x "$writer" ] || fail "$writer is not built"

# Kills are spread over the time that a first window takes here, and beyond.
: >"$dir/told"
begin_us=${EPOCHREALTIME/[.,]/}
"$writer" write "$dir/first" >"$dir/told" 2>"$dir/said" &
pid=$!
until [ -s "$dir/told" ]; do
	kill -0 "$pid" 2>/dev/null || fail "the writer ended by itself: $(cat "$dir/said")"
	sleep 0.01
done
first_ms=$(((${EPOCHREALTIME/[.,]/} - begin_us) / 1000))
kill -KILL "$pid"
wait "$pid" 2>/dev/null || true
pid=

last=0 total=0 empty=0
for ((i = 0; i < KILLS; i++)); do
	# A new file each tenth time: creation and migration are killed too.
	if ((i % 10 == 0)); then
		total=$((total + last)) last=0 file=$dir/db$i mode=
		if ((i / 10 % 2)); then mode=retain; fi
	fi
	: >"$dir/told"
	"$writer" write "$file" $mode >"$dir/told" 2>"$dir/said" &
	pid=$!
	ms=$((i % 10 == 0 ? RANDOM % (30 + first_ms) : RANDOM % (150 + first_ms)))
	sleep "$((ms / 1000)).$(printf '%03d' $((ms % 1000)))"
	kill -KILL "$pid" 2>/dev/null || fail "kill $i: the writer ended by itself: $(cat "$dir/said")"
	wait "$pid" 2>/dev/null || true
	pid=
	told=$(tail -n 1 "$dir/told")
	if [ -n "$told" ]; then last=$told; else empty=$((empty + 1)); fi
	now=$("$writer" verify "$file" "$last" 2>&1) || fail "kill $i at $ms ms: $now"
	last=$now
done
total=$((total + last))
((empty < KILLS)) || fail "no window was ever written"
echo "$name: $KILLS kills, $total windows committed, $empty kills before the first window"
echo "ok $name"
