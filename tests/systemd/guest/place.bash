# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the parts that run programs in places of their own: a service that records, and `place`.
. ./common.bash

# A hold long enough for a whole path of this machine.
fresh '[Profile]\nWindowSec=4s\nOverhead=30%\nHoldMaxSec=100ms\n'
systemctl start "$unit"
wait_for 60 at_least bursts 0
# named NAME: its paths are told, by its own name: its file was read where it lies.
named() { pathprofctl paths --since -5min --binary "hot-$1" -n 1 --json 2>/dev/null | grep -q '"path_id"\|"id"'; }
place() { # NAME UNIT-ARGUMENTS... -- COMMAND...: runs alone, so that the samples are its own
	local name=$1 arguments=()
	shift
	while [ "$1" != -- ]; do arguments+=("$1"); shift; done
	shift
	work "place-$name" "${arguments[@]}" "$@"
	check "place_$name" 'journalctl -q -u place-'"$name"' -n 3 -o cat --no-pager; pathprofctl processes --since -1min -n 6; pathprofctl binaries --since -1min -n 6; pathprofctl status | grep -E "drops|tracker|untracked"' \
		wait_for_bursts named "$name"
	rest "place-$name"
}
