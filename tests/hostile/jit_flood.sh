#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A neighbour's processes run generated code and have large files of its names, which are others
# whenever one looks.
. "$(dirname "$0")/hostile_common.bash"

program=$(for_neighbour "$hostile/jit_flood")
start_beside
wait_for 30 eval '[ "$(windows)" -ge 1 ]' || not_ok first-window "none"
before=$(windows)
as_neighbour "$program" 6 40 $((3 * window_s)) >"$tmp/offered" 2>"$tmp/neighbour.log" ||
	not_ok neighbour "$(cat "$tmp/neighbour.log")"
wait_for 30 eval '[ "$(windows)" -ge $((before + 3)) ]' || not_ok later-windows "none"
what_must_hold jit-flood "$before"
# What it does for that is told, and it did look: the flood offers more than all of its memory.
check looked "no names" test "$(sql 'SELECT count(*) FROM jit_symbols')" -ge 1
check bounded "$(status_of tracker.jit_postponed) and $(status_of tracker.jit_refused) times" \
	test $(($(status_of tracker.jit_postponed) + $(status_of tracker.jit_refused))) -ge 1
check would-be-noticed "$(cat "$tmp/offered") bytes are no flood" \
	test "$(cat "$tmp/offered")" -gt $((memory_most_mb << 20))
show_teeth
stop
check ends-well "$stop_status" test "$stop_status" -eq 0
finish
