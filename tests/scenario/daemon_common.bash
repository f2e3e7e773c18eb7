# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the daemon's scenarios. Sourced; leaves $tmp, $pathprofd, and cleans up at the end.
. "$(dirname "${BASH_SOURCE[0]}")/../own_processes.bash"
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
pathprofd=$BUILD/bin/pathprofd
relay_program=$BUILD/bin/pathprof-relay
flow=$BUILD/tests/workloads/flow_loops
tmp=$(mktemp -d)
chmod 755 "$tmp"
db=$tmp/p.db
failed=0
daemon= busy= relay=

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: $2"; failed=1; }
# check NAME WHY COMMAND...: one test.
check() {
	local name=$1 why=$2
	shift 2
	if "$@"; then ok "$name"; else not_ok "$name" "$why"; fi
}
finish() { exit "$failed"; }

cleanup() {
	[ -z "$busy" ] || kill -9 "$busy" 2>/dev/null || true
	[ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null || true
	[ -z "$relay" ] || kill -9 "$relay" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$tmp"
}
trap cleanup EXIT

[ -x "$pathprofd" ] || { echo "not ok daemon: $pathprofd was not built"; exit 1; }

# start ARGUMENTS...: the daemon in the background; returns when it says that it profiles.
start() {
	: >"$tmp/log" # or what an earlier one said there might be read
	"$pathprofd" "$@" 2>>"$tmp/log" &
	daemon=$!
	wait_for 60 grep -q 'profiling to' "$tmp/log" && return 0
	sed 's/^/| /' "$tmp/log"
	return 1
}

# start_judged SAMPLES BINARY...: the daemon with the settings in $conf, whose last WindowSec= it makes
# so long, from the one given on, that the third window has three times so many samples of each
# binary (a LIKE pattern): how many a second has depends on what else runs. Sets $window_s.
start_judged() {
	local samples=$1 least binary
	shift
	window_s=$(sed -n 's/^WindowSec=//p' "$conf")
	while :; do
		start -c "$conf" --db "$db" || return 1
		wait_for $((300 + 30 * window_s)) has_windows 3 || return 1
		least=$(for binary; do samples_of_window 3 "$binary"; done | sort -n | head -n 1)
		[ "$least" -lt $((3 * samples)) ] && [ "$window_s" -lt 32 ] || return 0
		stop
		rm -f "$db"*
		window_s=$((2 * window_s))
		sed -i "s/^WindowSec=.*/WindowSec=$window_s/" "$conf"
	done
}
has_windows() { [ "$(sql 'SELECT count(*) FROM windows' 2>/dev/null || echo 0)" -ge "$1" ]; }
samples_of_window() {
	sql "SELECT coalesce(sum(c.samples), 0) FROM path_counts c JOIN paths p ON p.id = c.path JOIN
		binaries b ON b.id = p.binary WHERE c.window = $1 AND b.name LIKE '$2'"
}

# start_relay ARGUMENTS...: pathprof-relay in the background, under the command in $as; returns when
# it says that it relays.
as=()
start_relay() {
	: >"$tmp/relay.log"
	"${as[@]}" "$relay_program" "$@" 2>>"$tmp/relay.log" 9>&- &
	relay=$!
	wait_for 60 grep -q 'relaying what is in' "$tmp/relay.log" && return 0
	sed 's/^/| /' "$tmp/relay.log"
	return 1
}

# stop_relay [SIGNAL]: sets $relay_status.
stop_relay() {
	kill "-${1:-TERM}" "$relay"
	relay_status=0
	wait "$relay" 2>/dev/null || relay_status=$?
	relay=
}

# stop: SIGTERM; sets $stop_status, also of one that has ended before, and $stop_ms.
stop() {
	local begin=${EPOCHREALTIME/./}
	kill -TERM "$daemon" 2>/dev/null || true
	stop_status=0
	wait "$daemon" || stop_status=$?
	daemon=
	stop_ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
}

# kill_idle PID: SIGKILL to the stepper while it holds no thread: one that is killed in the middle
# of a step leaves its target with the trap flag set.
kill_idle() {
	local i
	for ((i = 0; i < 2000; i++)); do
		kill -STOP "$1"
		wait_for 2 grep -q '^State:.T' "/proc/$1/status"
		if ! grep -qsE "^TracerPid:.$1\$" /proc/[0-9]*/task/*/status; then
			kill -KILL "$1"
			return
		fi
		kill -CONT "$1"
		sleep 0.01
	done
	return 1
}

# wait_for SECONDS COMMAND...: until it succeeds; five minutes at least, for machines on which a
# window of two seconds lasts half a minute. Only what never comes takes as long. The looks are programs,
# which can take a third of a CPU: they come less often after a while.
wait_for() {
	local end=$((SECONDS + ($1 > 300 ? $1 : 300))) pause=100
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep "0.$pause"
		[ $pause -gt 200 ] || pause=$((pause + 10))
	done
}

# A program of known branches that runs until it is killed.
start_busy() {
	[ -x "$flow" ] || { echo "not ok workload: $flow was not built"; exit 1; }
	"$flow" 2000000000 >"$tmp/busy.out" &
	busy=$!
}

sql() { sqlite3 -cmd '.timeout 60000' -readonly "$db" "$1"; }
status_of() { sql "SELECT json_extract(json, '\$.$1') FROM daemon_status"; }
# true_that EXPRESSION: of numbers, decimals included.
true_that() { awk "BEGIN { exit !($1) }"; }
