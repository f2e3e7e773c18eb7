#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A neighbour maps ELF files that claim gigabytes of notes, millions of sections, and no end.
. "$(dirname "$0")/hostile_common.bash"

program=$(for_neighbour "$hostile/crafted_elf")
start_beside
wait_for 30 eval '[ "$(windows)" -ge 1 ]' || not_ok first-window "none"
before=$(windows)
as_neighbour "$program" "$tmp/neighbour" $((2 * window_s + 1)) >"$tmp/neighbour.log" 2>&1 ||
	not_ok neighbour "$(cat "$tmp/neighbour.log")"
wait_for 30 eval '[ "$(windows)" -ge $((before + 2)) ]' || not_ok later-windows "none"
# Windows that show a path of somebody else's program, in which none is on a busy machine now and then.
seen() {
	sql "SELECT count(DISTINCT w.id) FROM windows w JOIN path_counts c ON c.window = w.id
		JOIN paths p ON p.id = c.path JOIN binaries b ON b.id = p.binary
		WHERE b.name LIKE '%/flow_loops' AND w.id > $before"
}
wait_for 120 eval '[ "$(seen)" -ge 2 ]' || true
what_must_hold crafted-elf "$before"
show_teeth
stop
check ends-well "$stop_status" test "$stop_status" -eq 0
check others-profiled "flow_loops in $(seen) windows" test "$(seen)" -ge 2
finish
