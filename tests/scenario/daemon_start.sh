#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Settings that are well formed and still fail when the daemon starts: it ends with status 1, or with 78
# where trying again cannot help, never by a signal, and its last line names the setting or the file,
# and what to do.
. "$(dirname "$0")/daemon_common.bash"

conf=$tmp/p.conf

wanted_status=1
# fails NAME WANTED SETTINGS [COMMAND...]: settings in lines; run by the command's help. It ends with
# $wanted_status.
fails() {
	local name=$1 wanted=$2 status=0
	printf '%b' "$3" >"$conf"
	chmod 644 "$conf"
	shift 3
	timeout 600 "$@" "$pathprofd" -c "$conf" --source step --duration 20s >"$tmp/out" 2>"$tmp/err" || status=$?
	if [ "$status" -ne "$wanted_status" ]; then
		not_ok "$name" "exit status $status"
	elif ! tail -1 "$tmp/err" | grep -qE -- "$wanted"; then
		not_ok "$name" "said: $(cat "$tmp/err")"
	else
		ok "$name"
	fi
}

store="[Store]\nPath=$db\n"
mkdir "$tmp/dir"
wanted_status=78 fails store-directory "$tmp/dir" "[Store]\nPath=$tmp/dir\n"
echo 'no database' >"$tmp/text"
fails store-text "$tmp/text: .*(not a|damaged)" "[Store]\nPath=$tmp/text\n"
sqlite3 "$tmp/other.db" 'CREATE TABLE t(a)'
fails store-other-program "$tmp/other.db" "[Store]\nPath=$tmp/other.db\n"
wanted_status=78 fails store-no-directory "$tmp/none" "[Store]\nPath=$tmp/none/p.db\n"

printf '%b' "$store[Drift]\nBaselines=$tmp/no-such\n" >"$conf"
"$pathprofd" -c "$conf" --source step --duration 1s 2>"$tmp/err" || true
check baselines-missing "said: $(cat "$tmp/err")" grep -q "Baselines=$tmp/no-such: No such file" "$tmp/err"

# An hour of a busy host in the store: half a second of reading comes before the start, the rest
# after it, and no more than some two seconds of CPU time altogether. How much is done in a second
# depends on the machine and on what else it does. So the start is held against that with an empty
# store and two windows of the ten that are read, and all of it against sqlite3 where that is slow.
cpu_ms() { awk '{ sub(/.*\) /, ""); print ($12 + $13) * 10 }' "/proc/$daemon/stat"; }
rm -f "$db"*
printf '[Profile]\nSource=step\n' >"$conf"
start -c "$conf" --db "$db" --window 1h
empty_ms=$(cpu_ms)
stop
rm -f "$db"*
"$BUILD/tests/tools/large_db" "$db" 12 60000
start -c "$conf" --db "$db" --window 1h
at_start_ms=$(cpu_ms)
wait_for 300 grep -q 'windows are measured from here on' "$tmp/log" || true
restored_ms=$(cpu_ms)
read_ms=$(
	TIMEFORMAT='%U %S'
	{ time sql 'SELECT total(c.weight + p.length) FROM path_counts c
		JOIN paths p ON p.id = c.path' >/dev/null; } 2>&1 |
		awk '{ printf "%d", 1000 * ($1 + $2) }'
)
check large-store-starts "$at_start_ms ms of CPU time until it profiles: $empty_ms, $restored_ms" \
	test "$at_start_ms" -le $((empty_ms + 1000 + (restored_ms - empty_ms) / 5))
check large-store-is-read "$(cat "$tmp/log")" grep -q 'windows are measured from here on' "$tmp/log"
check large-store-bounded "$(cat "$tmp/log")" grep -q 'begin with the newest 10 of 12 windows' "$tmp/log"
check large-store-cpu "$restored_ms ms of CPU time, sqlite3 takes $read_ms" \
	test "$restored_ms" -le $((15 * read_ms > 6000 ? 15 * read_ms : 6000))
stop
check large-store-stops "status $stop_status" test "$stop_status" -eq 0
# It ends as well while it still reads.
start -c "$conf" --db "$db" --window 1h
stop
check stops-while-reading "status $stop_status" test "$stop_status" -eq 0
rm -f "$db"*

# A stepper that answers late, as on a machine whose CPUs others hold: the service starts all the
# same, says so, and has its source a moment later.
cat >"$tmp/late.c" <<-'C'
	#include <fcntl.h>
	#include <string.h>
	#include <unistd.h>
	__attribute__((constructor)) static void wait_once(int argc, char **argv)
	{
		if (argc > 1 && !strcmp(argv[1], "--stepper") && open(ONCE, O_CREAT | O_EXCL, 0600) >= 0)
			sleep(7);
	}
C
gcc -shared -fPIC -DONCE="\"$tmp/once\"" -o "$tmp/late.so" "$tmp/late.c"
: >"$tmp/log"
LD_PRELOAD=$tmp/late.so "$pathprofd" --db "$db" --source step 2>>"$tmp/log" &
daemon=$!
wait_for 60 grep -q 'profiling to' "$tmp/log" || true
check late-stepper-said "$(cat "$tmp/log")" grep -q 'does not answer: the machine is busy; trying again' "$tmp/log"
check late-stepper-starts "$(cat "$tmp/log")" grep -q 'profiling to' "$tmp/log"
check late-stepper-comes "$(cat "$tmp/log")" wait_for 60 grep -q 'source step: open again' "$tmp/log"
stop
check late-stepper-stops "status $stop_status" test "$stop_status" -eq 0
rm -f "$db"*

# A database whose path leaves no room for a socket beside it: told, and the service starts.
long=$tmp/$(printf 'd%.0s' {1..100})
mkdir "$long"
"$pathprofd" --db "$long/p.db" --source step --duration 1s 2>"$tmp/err" || not_ok long-path "status $?"
check long-path-said "$(cat "$tmp/err")" grep -q 'pathprof-relay cannot connect to this service: .*File name too long' "$tmp/err"

# Starts as another user, as the unit does.
if [ "$(id -u)" -eq 0 ]; then
	as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	cp "$pathprofd" "$tmp/pathprofd"
	chmod 755 "$tmp/pathprofd"
	pathprofd=$tmp/pathprofd
	mkdir "$tmp/state"
	sqlite3 "$tmp/state/p.db" 'PRAGMA user_version' >/dev/null
	: >"$tmp/state/p.db"
	fails store-of-root "belongs to another user: chown nobody" "[Store]\nPath=$tmp/state/p.db\n" "${as_nobody[@]}"
	rm "$tmp/state/p.db"
	fails store-no-right 'ReadWritePaths=' "[Store]\nPath=$tmp/state/p.db\n" "${as_nobody[@]}"
fi
finish
