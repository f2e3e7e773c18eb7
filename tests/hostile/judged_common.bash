# SPDX-License-Identifier: GPL-2.0-or-later
# A run of the daemon beside neighbours, and the verdict on it: alive, within its memory, windows in time, a
# quiet log, tracking within its share of CPU time, and the profile of somebody else, which is there and
# differs from the one without neighbours no more than chance lets two profiles differ. Sourced; the one
# without neighbours is made first, and stays in $quiet_db.
. "$(dirname "${BASH_SOURCE[0]}")/hostile_common.bash"
[ -x "$flow" ] || { echo "not ok $(basename "$0" .sh): $flow was not built"; exit 1; }

window_s=2
memory_most_kb=98304
log_lines_most=1 # in ten seconds
# A name of its own: others may run the same program on this machine.
victim=victim$(($$ % 100000))
cp "$flow" "$tmp/$victim"
flow=$tmp/$victim

# However slow the machine: clock samples of the busy program, by which its functions are told apart.
seen_enough() {
	[ "$(sql "SELECT ifnull(sum(c.samples), 0) FROM clock_counts c JOIN processes p ON p.id = c.process
		WHERE p.comm = '$victim'")" -ge 200 ]
}

begin() { # NAME ARGUMENTS...
	db=$tmp/$1.db
	shift
	start --db "$db" --source step --window "$window_s" "$@"
	watch_machine
	start_ns=$(date +%s%N)
}

# By the kernel's account, without its children.
daemon_cpu_ns() {
	awk -v hz="$(getconf CLK_TCK)" '{ printf "%.0f", ($14 + $15) / hz * 1e9 }' "/proc/$daemon/stat" 2>/dev/null ||
		echo 0
}
# End of the daemon and of all others; what is judged afterwards is in $db, $tmp and these.
end() {
	is_alive=no
	! kill -0 "$daemon" 2>/dev/null || is_alive=yes
	memory_kb=$(awk '/^VmHWM/ { kb = $2 } END { print kb + 0 }' "/proc/$daemon/status" 2>/dev/null || echo 0)
	cpu_ns=$(daemon_cpu_ns)
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
# A twentieth of one CPU (a hundredth of all where that is more), and what was saved up or owed: by its
# own account, and by the kernel's of the process, which has as much for all else that it does.
tracking_share_ns() { echo $(($1 / 100 * ($(nproc) > 5 ? $(nproc) : 5) + 300000000)); }
tracking_cheap() {
	[ "$(status_of costs.tracker_cpu_ns)" -le "$(tracking_share_ns $run_ns)" ] &&
		[ "$cpu_ns" -le $((2 * $(tracking_share_ns $run_ns))) ]
}
dropped() { status_of "tracker.drops.\"$1\""; }
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
	check "$1-tracking" "$(status_of costs.tracker_cpu_ns) ns of CPU time, $cpu_ns with all else, in $run_ns ns" \
		tracking_cheap
}
