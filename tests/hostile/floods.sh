#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Neighbours that map, fork, exec, make threads, signal and rename themselves as fast as they can,
# without any right, beside a live daemon with the step source. Under each flood the daemon stays
# alive and within its memory, its windows close in time, tracking takes no more than its share of
# CPU time, the log stays quiet, and the profile of somebody else is still there, and differs from the one
# without a neighbour no more than chance lets two profiles differ.
#
# Windows are held to 10 % of their length (hostile_common.bash).
. "$(dirname "$0")/hostile_common.bash"
. "$(dirname "$0")/../rounds.bash"
[ -x "$flow" ] || { echo "not ok floods: $flow was not built"; exit 1; }

window_s=2
flood_s=${FLOOD_SECONDS:-$(rounds 4 7)}
memory_most_kb=98304
log_lines_most=1 # in ten seconds; no flood here lasts longer
# A name of its own: others may run the same program on this machine.
victim=victim$(($$ % 100000))
cp "$flow" "$tmp/$victim"
flow=$tmp/$victim
flood_binary=$hostile/flood
[ -x "$flood_binary" ] || { echo "not ok floods: $flood_binary was not built"; exit 1; }
cp "$flood_binary" "$tmp/flood"
chmod 755 "$tmp/flood"

# flood KIND SECONDS [REASON]: for so long, and until it has done its thing a thousand times, there are
# windows, and the tracker has dropped records for that reason. The children of its first process end
# with it.
flood() {
	: >"$tmp/flood.cnt"
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
# However slow the machine: clock samples of the busy program, by which its functions are told apart.
seen_enough() {
	[ "$(sql "SELECT ifnull(sum(c.samples), 0) FROM clock_counts c JOIN processes p ON p.id = c.process
		WHERE p.comm = '$victim'")" -ge 200 ]
}
has_dropped() { [ "$(dropped "$1")" -gt 0 ]; }
dropped() { status_of "tracker.drops.\"$1\""; }
# How often the flood has done its thing.
flooded() { od -An -td8 "$tmp/flood.cnt" | tr -d ' '; }

begin() {
	db=$tmp/$1.db
	start --db "$db" --source step --window "$window_s"
	watch_machine
	start_ns=$(date +%s%N)
}

# End of the daemon and of all others; what is judged afterwards is in $db, $tmp and these.
end() {
	is_alive=no
	! kill -0 "$daemon" 2>/dev/null || is_alive=yes
	memory_kb=$(awk '/^VmHWM/ { print $2 }' "/proc/$daemon/status" 2>/dev/null || echo 0)
	stop_others
	stop
	run_ns=$(($(date +%s%N) - start_ns))
}

# ---------------------------------------------------------------- what is judged
alive() { [ "$is_alive" = yes ] && [ "$stop_status" -eq 0 ]; }
memory_bounded() { [ "$memory_kb" -gt 0 ] && [ "$memory_kb" -le "$memory_most_kb" ]; }
log_quiet() { [ "$(grep -vc 'profiling to' "$tmp/log")" -le "$log_lines_most" ]; }

worst_window() { own_lateness | sort -n | tail -n 1; }
windows_in_time() {
	[ "$(sql 'SELECT count(*) FROM windows')" -ge 3 ] && [ "$(worst_window)" -le "${window_s}00000000" ]
}
# Windows without a clock sample of the busy program in some file, the last one aside, which is cut
# short.
without_profile() {
	sql "SELECT begin_ns, end_ns FROM windows w WHERE id < (SELECT max(id) FROM windows) AND NOT EXISTS
		(SELECT 1 FROM clock_counts c JOIN processes p ON p.id = c.process
		 WHERE c.window = w.id AND p.comm = '$victim' AND c.binary > 0)"
}
# In each of them the program ran for less than it takes to be seen for certain: 20 samples.
profile_there() {
	without_profile | awk -F'[| ]' -v least=$((20 * 1000000000 / 97)) '
		FILENAME != "-" { at[++cnt] = $1; ran[cnt] = $3; next }
		{
			first = last = 0
			for (i = 1; i <= cnt; i++) {
				if (at[i] <= $1) first = ran[i]
				if (at[i] <= $2) last = ran[i]
			}
			if (last - first >= least) exit missing = 1
		}
		END { exit missing }' "$tmp/late" -
}
# A twentieth of one CPU (a hundredth of all where that is more), and what was saved up or owed.
tracking_cheap() {
	[ "$(status_of costs.tracker_cpu_ns)" -le \
		$((run_ns / 100 * ($(nproc) > 5 ? $(nproc) : 5) + 300000000)) ]
}
tracker_saw() { echo $(($(status_of tracker.events) + $(status_of tracker.lost) + $(dropped cpu-time))); }
windows_of() { sql 'SELECT round((end_ns - begin_ns) / 1e9, 2) FROM windows' | paste -sd ' '; }

# TIME of the busy program's functions, as $db and the quiet database have them: "FACTOR FUNCTION" of the
# one that differs most, in widths of both intervals together. Nothing: one has none. (There are too few
# bursts in some seconds to judge RUNS.)
most_different() {
	local file
	for file in "$quiet_db" "$db"; do
		"$BUILD/bin/pathprofctl" --db "$file" top --by functions --comm "$victim" -n 0 --json || return
	done | python3 -c '
import json, math, sys
text, decoder, sides = sys.stdin.read(), json.JSONDecoder(), []
while text.strip():
    rows, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    sides.append({row["function"]: row for row in rows if row["binary"]["name"].endswith(sys.argv[1])})
most = (-1, "")
def time(row): # and half its width
    return (row["time"], (row["time_high"] - row["time_low"]) / 2) if row else (0, 0)
for name in sides[0].keys() | sides[1].keys() if sides[0] and sides[1] else ():
    (a, a_half), (b, b_half) = (time(side.get(name)) for side in sides)
    if max(a, b) >= 0.01:
        most = max(most, (abs(a - b) / math.hypot(a_half, b_half), name))
if most[0] >= 0:
    print("%.2f %s" % most)' "$victim"
}
# One is the limit of 95 of 100; of ten functions and ten floods none comes to two by chance.
profile_same() { [[ $(most_different) =~ ^([0-2]\.[0-9]+)\  ]] && true_that "${BASH_REMATCH[1]} <= 2"; }

judge() {
	check "$1-alive" "exit status $stop_status" alive
	check "$1-memory" "$memory_kb kB" memory_bounded
	check "$1-windows" "$(windows_of) s; late by $(worst_window) ns" windows_in_time
	check "$1-log" "$(cat "$tmp/log")" log_quiet
	check "$1-neighbour" "no clock samples of $victim in $(without_profile | paste -sd ' ')" profile_there
	check "$1-profile" "$(most_different)" profile_same
	check "$1-tracking" "$(status_of costs.tracker_cpu_ns) ns of CPU time in $run_ns ns" tracking_cheap
}

# ---------------------------------------------------------------- nothing happens, and the twin
start_busy
begin quiet
sleep 5
wait_for 240 seen_enough || true
end
quiet_db=$db
judge quiet

# Each check notices what it is for: a daemon that is held up, talks, spends and is killed, and a
# program that is not in the profile.
begin twin
sleep 1
kill -STOP "$daemon"
sleep 2.5
kill -CONT "$daemon"
sleep 4
end
is_alive=no memory_kb=$((memory_most_kb + 1))
printf 'one\ntwo\n' >>"$tmp/log"
twin_notices() { ! "$2" || { not_ok "twin-$1" "not noticed"; return; }; ok "twin-$1"; }
twin_notices alive alive
twin_notices memory memory_bounded
twin_notices windows windows_in_time
twin_notices log log_quiet
victim=nobody twin_notices neighbour profile_there
run_ns=0
status_of() { echo 300000001; }
twin_notices tracking tracking_cheap
unset -f status_of
status_of() { sql "SELECT json_extract(json, '\$.$1') FROM daemon_status"; }

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
