#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Drift in the service, by a pinned baseline: a library that comes to be used otherwise is told of
# by the exec hook, also when the daemon is killed between the first sign and the alert. What the
# alert must do is computed from the windows that the daemon stored.
. "$(dirname "$0")/daemon_common.bash"
. "$(dirname "$0")/../rounds.bash"

# More of a busy machine for us, where that is allowed: figures need samples.
renice -n -10 -p $$ >/dev/null 2>&1 || true
conf=$tmp/p.conf
# A build of its own: others on this machine use the library as well.
mkdir "$tmp/lib"
objcopy --remove-section .note.gnu.build-id \
	"$(ldd "$(command -v bzip2)" | awk '$1 ~ /^libbz2/ { print $3 }')" "$tmp/lib/libbz2.so.1.0"
lib=$tmp/lib/libbz2.so.1.0
export LD_LIBRARY_PATH=$tmp/lib
windows_to_fire=3
limit=${LIMIT_SECONDS:-1200}
# If each instruction is a stop of its own, 2 ms hold few branches.
cat >"$conf" <<END
[Profile]
Source=step
Overhead=100%
FrequencyHz=1997
HoldMaxSec=10ms
TakenBranches=8
WindowSec=$(rounds 2 4)
[Drift]
Rolling=10min
SamplesMin=50
[Tell]
Journal=no
Exec=$tmp/hook
[Alert fast]
Enabled=no
[Alert slow]
Enabled=no
[Alert use]
Baseline=before
Binary=$lib
Threshold=0.2
Hysteresis=0.1
SamplesMin=50
Windows=$windows_to_fire
CoolDown=0
END
printf '#!/bin/sh\ncat >>"%s"\necho >>"%s"\n' "$tmp/told" "$tmp/told" >"$tmp/hook"
chmod 755 "$tmp/hook"
: >"$tmp/told"

# A program that does what $tmp/mode says, round after round, until $tmp/mode is gone.
seq 400000 >"$tmp/text"
bzip2 -k "$tmp/text"
# It is there whole at each moment: a program that reads an empty one ends.
do_now() { echo "$1" >"$tmp/mode.new" && mv "$tmp/mode.new" "$tmp/mode"; }
do_now compress
(
	while read -r mode 2>/dev/null <"$tmp/mode"; do
		case $mode in
		compress) bzip2 -c "$tmp/text" ;;
		*) bzip2 -dc "$tmp/text.bz2" ;;
		esac >"$tmp/out.bz2"
	done
) &
busy=$!

of_lib="FROM drift d JOIN binaries b ON b.id = d.binary JOIN windows w ON w.id = d.window
	WHERE b.name = '$lib' AND d.baseline ="
measured() { sql "SELECT count(*) $of_lib '$1'" 2>/dev/null || echo 0; }
measured_at_least() { [ "$(measured "$1")" -ge "$2" ]; }
alert() { sql "SELECT $2 FROM alerts WHERE rule = '$1' AND binary = '$lib'" 2>/dev/null || true; }
is_in() { [ "$(alert "$1" phase)" = "$2" ]; }
told() { grep -c "\"status\":\"$2\",\"rule\":\"$1\"" "$tmp/told"; }

if ! start_judged 50 "$lib" || ! start_relay -c "$conf" --db "$db"; then
	not_ok start "the daemon or its relay did not start"
	finish
fi
check measured "$(measured rolling) windows" wait_for "$limit" measured_at_least rolling 3
check quiet-before "$(cat "$tmp/told")" test ! -s "$tmp/told"
check quiet-before-in-store "$(alert use phase)" test -z "$(alert use phase)"

# The baseline is put where the daemon finds it, as pathprofctl does.
if [ -x "$BUILD/bin/pathprofctl" ] &&
	"$BUILD/bin/pathprofctl" --db "$db" baseline set before >"$tmp/out" 2>&1; then
	check pinned "not measured" wait_for "$limit" measured_at_least before 1
else
	not_ok pinned "no baseline: $(cat "$tmp/out")"
fi

# replayed STREAK: when the windows since the kill make an alert fire that has seen so many windows
# over the threshold before them. A window of few samples is no evidence to the rule, whatever it
# says.
replayed() {
	sql "SELECT w.end_ns, d.kl_low > 0.2 AND d.kl_corrected > 0.2 $of_lib 'before'
		AND d.window_samples >= 50 AND w.id > $killed_window ORDER BY w.id" | awk -F '|' -v streak="$1" \
		-v most="$windows_to_fire" '{ streak = $2 ? streak + 1 : 0 } streak == most { print $1; exit }'
}
# Killed once the alert is pending, and started again until it fires. A look that came late finds it
# firing.
is_seen() { [ "$(alert use phase)" -ge 1 ]; }
fires_after_kill() {
	wait_for "$limit" is_seen 2>/dev/null || { not_ok pending "never"; return; }
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null || true
	killed_window=$(sql 'SELECT max(window) FROM drift')
	streak=$(alert use streak) phase=$(alert use phase)
	check pending-outlives-kill "$phase" test "$phase" -ge 1
	start -c "$conf" --db "$db" || not_ok restart "the daemon did not start again"
	check fires "$(alert use "phase || ' ' || streak")" wait_for "$limit" is_in use 2
	fired=$((fired + 1))
}
resolves() {
	do_now compress
	check resolves "$(alert use phase)" wait_for "$limit" is_in use 0
}
# Twice as many windows from now on, and the looks may come twice as late.
fire_later() {
	windows_to_fire=$((2 * windows_to_fire))
	sed -i "s/^Windows=.*/Windows=$windows_to_fire/" "$conf"
	kill -HUP "$daemon"
	wait_for 60 grep -q 'settings read again' "$tmp/log"
}
# A window below the threshold, straight after the kill, makes the count begin again: then, and
# where it fired before the kill, what was counted does not show, and the library changes once more.
fired=0
for _ in 1 2 3 4 5; do
	do_now decompress
	fires_after_kill
	[ "$phase" != 1 ] || [ "$(replayed "$streak")" = "$(replayed 0)" ] || break
	resolves
	[ "$phase" = 1 ] || fire_later
done
check goes-on-where-it-was "fired at $(alert use fired_ns), by $streak windows before the kill at \
	$(replayed "$streak"), by none at $(replayed 0)" \
	eval '[ "$(alert use fired_ns)" = "$(replayed "$streak")" ] && [ "$(replayed "$streak")" != "$(replayed 0)" ]'
wait_for 30 eval '[ "$(told use firing)" -ge "$fired" ]' || true
check told-once "$(told use firing) times" test "$(told use firing)" -eq "$fired"
grep -m1 '"rule":"use"' "$tmp/told" >"$tmp/first" || true
check names-library "$(cat "$tmp/first")" grep -q '"binary":"[^"]*/lib/libbz2.so' "$tmp/first"
check names-paths "$(cat "$tmp/first")" grep -q '"paths":\[{"path_id":[0-9]' "$tmp/first"

resolves
check told-resolved "not told" wait_for 30 eval '[ "$(told use resolved)" -eq "$fired" ]'
rm "$tmp/mode"
stop
check survives "exit status $stop_status" test "$stop_status" -eq 0
finish
