#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Neighbours that map, fork, exec, make threads, signal and rename themselves as fast as they can,
# without any right, beside a live daemon with the step source. Under each flood the daemon stays
# alive and within its memory, its windows close in time, tracking takes no more than its share of
# CPU time, the log stays quiet, and the profile of somebody else is still there, and differs from the one
# without a neighbour no more than chance lets two profiles differ.
#
# Windows are held to 10 % of their length.
. "$(dirname "$0")/judged_common.bash"
. "$(dirname "$0")/../rounds.bash"
flood_s=${FLOOD_SECONDS:-$(rounds 4 7)} # the log has one line in ten seconds: no flood lasts longer
flood_binary=$hostile/flood
[ -x "$flood_binary" ] || { echo "not ok floods: $flood_binary was not built"; exit 1; }
cp "$flood_binary" "$tmp/flood"
chmod 755 "$tmp/flood"

# flood KIND SECONDS [REASON]: for so long, and until it has done its thing a thousand times, there are
# windows, and the tracker has dropped records for that reason. The children of its first process end
# with it.
flood() {
	: >"$tmp/flood.cnt"
	: >"$tmp/flood.out"
	chmod 666 "$tmp/flood.cnt"
	"${neighbour[@]}" "$tmp/flood" "$1" "$tmp/flood.cnt" >"$tmp/flood.out" &
	others+=("$!")
	wait_for 60 grep -q flooding "$tmp/flood.out"
	sleep "$2"
	wait_for 120 eval '[ "$(flooded)" -ge 1000 ]' || true
	wait_for 60 has_windows 2 || true
	[ -z "${3:-}" ] || wait_for 120 has_dropped "$3" || true
	wait_for 240 seen_enough || true
}
has_dropped() { [ "$(dropped "$1")" -gt 0 ]; }
# How often the flood has done its thing.
flooded() { od -An -td8 "$tmp/flood.cnt" | tr -d ' '; }

# ---------------------------------------------------------------- nothing happens, and the twin
start_busy
begin quiet
sleep 5
wait_for 240 seen_enough || true
end
quiet_db=$db
judge quiet

# Each check notices what it is for: a daemon that is held up, takes memory, talks and works without
# end, one that does not see the program, and one that is killed.
twin_notices() { ! "$2" || { not_ok "twin-$1" "not noticed"; return; }; ok "twin-$1"; }
if command -v gcc >/dev/null; then
	cat >"$tmp/misbehave.c" <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		char *taken;
		static void *work(void *unused)
		{
			sleep(2);
			fputs("one\ntwo\n", stderr);
			for (volatile unsigned long i = 0;; i++)
				;
		}
		__attribute__((constructor)) static void misbehave(void)
		{
			pthread_t threads[8];
			memset(taken = malloc(160 << 20), 1, 160 << 20);
			for (int i = 0; i < 8; i++)
				pthread_create(&threads[i], NULL, work, NULL);
		}
	END
	gcc -O1 -shared -fPIC -pthread -o "$tmp/misbehave.so" "$tmp/misbehave.c" || not_ok twin-build "gcc"
	kept=$pathprofd
	printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$tmp/misbehave.so" "$pathprofd" >"$tmp/misbehaving"
	chmod 755 "$tmp/misbehaving"
	pathprofd=$tmp/misbehaving
	begin twin
	pathprofd=$kept
	sleep 1
	kill -STOP "$daemon"
	sleep 2.5
	kill -CONT "$daemon"
	works_without_end() {
		[ "$(daemon_cpu_ns)" -gt $((3 * $(tracking_share_ns $(($(date +%s%N) - start_ns))))) ]
	}
	wait_for 240 works_without_end || true
	end
	twin_notices memory memory_bounded
	twin_notices windows windows_in_time
	twin_notices log log_quiet
	twin_notices tracking tracking_cheap
else
	echo "skip twin: no gcc"
fi
db=$tmp/blind.db
sleep 1000 &
others+=("$!")
: >"$tmp/log"
"$pathprofd" --record -p "$!" --db "$db" --source step --window "$window_s" 2>>"$tmp/log" &
daemon=$!
watch_machine
start_ns=$(date +%s%N)
wait_for 60 has_windows 3
end
twin_notices neighbour profile_there
begin killed
kill -9 "$daemon"
end
twin_notices alive alive

# The same program under the same name, with more of one function's work.
if command -v gcc >/dev/null; then
	kill -9 "$busy"
	wait "$busy" 2>/dev/null || true
	mv "$flow" "$tmp/kept"
	sed 's/FIBONACCI = 13/FIBONACCI = 16/' "$here/tests/workloads/flow_loops.c" >"$tmp/twin.c"
	gcc -O2 -o "$flow" "$tmp/twin.c" || not_ok twin-build "gcc"
	start_busy
	begin other
	wait_for 240 seen_enough || true
	end
	twin_notices profile profile_same
	echo "# twin: $(most_different)"
	kill -9 "$busy"
	wait "$busy" 2>/dev/null || true
	mv "$tmp/kept" "$flow"
	start_busy
else
	echo "skip twin-profile: no gcc"
fi

# ---------------------------------------------------------------- floods
show_stall_allowed
for kind in ${FLOODS:-mmap swarm pieces fork exec threads signals comm}; do
	reason=
	[ "$kind" != mmap ] || reason=map-rate
	# The daemon also waits for locks of a neighbour whom the machine does not let run, which no account
	# tells. Whoever is late by himself is late three times.
	for _ in 1 2 3; do
		rm -f "$tmp/$kind.db"*
		begin "$kind"
		flood "$kind" "$flood_s" $reason
		end
		! windows_in_time || ! profile_same || break
	done
	judge "$kind"
	# Signals are no event; of the others each is at least one record, or nothing was tested. What the
	# kernel loses it says with a later record, so the end of a flood may be missing.
	[ "$kind" = signals ] || check "$kind-reached" "$(tracker_saw) records of $(flooded) events" \
		eval '[ "$(flooded)" -ge 1000 ] && [ "$(tracker_saw)" -ge $(($(flooded) / 4 * 3)) ]'
	echo "# $kind: windows $(windows_of) s, late by $(worst_window) ns, $memory_kb kB, tracking" \
		"$(($(status_of costs.tracker_cpu_ns) / (run_ns / 1000))) thousandths of a CPU," \
		"$(status_of tracker.lost) lost, $(status_of tracker.drops)"
	[ -z "$reason" ] || check "$kind-told" "$(status_of tracker)" test "$(dropped "$reason")" -gt 0
	# Its records are too many for the tracker's time, or for the time that the machine leaves it.
	[ "$kind" != swarm ] || check swarm-told "$(status_of tracker)" \
		test $(($(dropped cpu-time) + $(status_of tracker.lost))) -gt 0
	rm -f "$db"*
done
finish
