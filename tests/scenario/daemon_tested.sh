#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tested sets in the service: of a program that runs what its tests ran nothing is untested, one path more
# than they ran is a share between the bounds that pathprofctl works out of the same windows, and a set that
# comes later or cannot be used is noticed. The share is told once, whoever is killed, with the command that
# shows it, and that it is over when a set comes that has those paths.
. "$(dirname "$0")/daemon_common.bash"
tracer=$BUILD/bin/pathprof-trace ctl=$BUILD/bin/pathprofctl
command -v qemu-x86_64 >/dev/null || { echo "skip daemon_tested: no qemu-x86_64 (apt install qemu-user)"; exit 0; }
command -v gcc >/dev/null || { echo "skip daemon_tested: no gcc"; exit 0; }

cat >"$tmp/app.c" <<'END'
#include <stdlib.h>
static volatile int sink;
static __attribute__((noinline)) void step(int i, int odd)
{
	if (odd && i % 4 == 0)
		sink += i;
	else
		sink -= i;
}
int main(int argc, char **argv)
{
	for (long round = atol(argv[1]); round > 0; round--)
		for (int i = 0; i < 1000; i++)
			step(i, argc > 2);
	return 0;
}
END
gcc -O1 -Wl,--build-id -o "$tmp/app" "$tmp/app.c"
mkdir "$tmp/tested" "$tmp/state"
"$tracer" --paths "$tmp/plain.paths" -- "$tmp/app" 3
"$tracer" --paths "$tmp/both.paths" -- "$tmp/app" 3 odd
"$ctl" tested merge -o "$tmp/tested/app.tested" "$tmp/plain.paths"
db=$tmp/p.db
cat >"$tmp/conf" <<END
[Profile]
Source=step
Overhead=20%
HoldMaxSec=20ms
WindowSec=1
[Tested]
Directory=$tmp/tested
AlertShare=2%
AlertSpan=1h
[Tell]
Exec=$tmp/hook
END
printf '#!/bin/sh\ncat >>"%s"\necho >>"%s"\n' "$tmp/told" "$tmp/told" >"$tmp/hook"
chmod 755 "$tmp/hook"
: >"$tmp/told"

# The endpoint's figures without its relay: by the socket that the relay asks.
figures() {
	python3 - "$db.socket" <<-'END'
		import socket, sys
		with socket.socket(socket.AF_UNIX) as s:
		    s.connect(sys.argv[1])
		    s.sendall(b"figures\n")
		    text = b""
		    while part := s.recv(65536):
		        text += part
		print(text.decode())
	END
}
# of METRIC YES-OR-NO: the sum over builds of the program.
of() {
	figures | awk -v name="$1" -v tested="tested=\"$2\"" -v app="$tmp/app" \
		'index($0, name "{") == 1 && index($0, tested) && index($0, app) { sum += $NF } END { printf "%.6f", sum }'
}
start_app() {
	"$tmp/app" 1000000000 "$@" &
	busy=$!
}
end_app() { kill -9 "$busy"; wait "$busy" 2>/dev/null || true; busy=; }
at_least() { true_that "$(of "$1" "$2") >= $3"; }
# told STATUS: how often; is_told STATUS TIMES.
told() { grep -c "\"status\":\"$1\",\"rule\":\"untested\"" "$tmp/told" || true; }
is_told() { [ "$(told "$1")" -eq "$2" ]; }
# member EXPRESSION: of the first message that a share of untested paths fires, m.
member() {
	python3 -c 'import json, sys
m = next(m for m in map(json.loads, filter(str.strip, open(sys.argv[1]))) if (m["rule"], m["status"]) == ("untested", "firing"))
print(eval(sys.argv[2]))' "$tmp/told" "$1"
}

start -c "$tmp/conf" --db "$db"
start_relay -c "$tmp/conf" --db "$db"
check set-read "$(cat "$tmp/log")" wait_for 60 grep -q '1 tested set read' "$tmp/log"
start_app
check tested-counted "$(figures | grep tested)" wait_for 600 at_least pathprof_tested_samples_total yes 200
check nothing-untested "$(of pathprof_tested_samples_total no)" true_that "$(of pathprof_tested_samples_total no) == 0"
check nothing-told "$(cat "$tmp/told")" test ! -s "$tmp/told"
end_app
start_app odd
check untested-counted "$(figures | grep tested)" wait_for 600 at_least pathprof_tested_samples_total no 200
check told "$(figures | grep untested)" wait_for 600 is_told firing 1
check told-in-log "$(cat "$tmp/log")" wait_for 60 grep -q "app on .*: .* are paths that no test ran; limit 2% (AlertShare=), tested set .app.tested." "$tmp/log"
check told-of-binary "$(cat "$tmp/told")" test "$(member "m['binary']")" = "$tmp/app"
check told-of-set "$(cat "$tmp/told")" test "$(member "m['baseline']")" = app.tested
check told-for-sure "$(cat "$tmp/told")" \
	test "$(member "m['threshold'] == 0.02 < m['low'] <= m['value'] <= m['high']")" = True

# The command in the message shows the same share, of the windows until then.
command=$(member "m['command']")
"$BUILD/bin/${command%% *}" ${command#* } --until "@$(member "m['starts_at']" | xargs date +%s -d)" \
	--json >"$tmp/shown.json" 2>"$tmp/err" || true
shown=$(jq .untested_share.share "$tmp/shown.json" 2>>"$tmp/err" || true)
value=$(member "m['value']")
check command-shows "${shown:-nothing}, where $value was told: $command: $(cat "$tmp/err")" \
	true_that "${shown:-0} >= 0.5 * $value && ${shown:-0} <= 2 * $value"

# Killed while it fires: it goes on firing, by the windows of before, and nobody is told again.
before=$(sql 'SELECT max(id) FROM windows')
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
start -c "$tmp/conf" --db "$db"
check earlier-windows-read "$(cat "$tmp/log")" wait_for 60 grep -Eq 'windows? held against tested sets' "$tmp/log"
check counted-again "$(figures | grep tested)" wait_for 600 at_least pathprof_tested_samples_total no 200
check told-once "$(cat "$tmp/told")" is_told firing 1
check fires-still "$("$ctl" --db "$db" alerts)" \
	test "$(sql "SELECT phase FROM alerts WHERE rule = 'untested' AND binary = '$tmp/app'")" = 2
end_app

# A recording of samples is refused as a tested set, and one of all paths is accepted: untested
# stands still from then on.
sqlite3 -cmd '.timeout 5000' "$db" ".backup '$tmp/tested/live.tested.part'"
mv "$tmp/tested/live.tested.part" "$tmp/tested/live.tested"
"$ctl" tested merge -o "$tmp/tested/both.tested" "$tmp/both.paths"
refused() { grep -q 'live.tested holds samples' "$tmp/log" && grep -q '2 tested sets read' "$tmp/log"; }
check sets-read-again "$(cat "$tmp/log")" wait_for 60 refused
no=$(of pathprof_tested_samples_total no) yes=$(of pathprof_tested_samples_total yes)
check counters-kept "$no" true_that "$no >= 200"
start_app odd
check tested-since "$yes and no more" wait_for 600 at_least pathprof_tested_samples_total yes "$yes + 200"
check no-longer-untested "$no, then $(of pathprof_tested_samples_total no)" \
	true_that "$(of pathprof_tested_samples_total no) == $no"
check resolved "$(figures | grep untested)" wait_for 600 is_told resolved 1
check resolved-alone "$(cat "$tmp/told")" is_told firing 1
end_app
# The window in which the program ended, and one more: what it did is in the counters then.
wait_for 60 has_windows $(($(sql 'SELECT count(*) FROM windows') + 2)) || true

# The counters are what pathprofctl finds in the windows themselves.
weight_no=$(of pathprof_tested_weight_total no) weight_yes=$(of pathprof_tested_weight_total yes)
stop
check ends "status $stop_status" test "$stop_status" -eq 0
"$ctl" tested merge -o "$tmp/all.tested" "$tmp/plain.paths" "$tmp/both.paths"
"$ctl" --db "$db" untested "$tmp/all.tested" --binary app --json >"$tmp/both.json"
check all-is-tested "$(head -c 300 "$tmp/both.json")" grep -q '"untested": 0' "$tmp/both.json"
all=$(sql "SELECT ifnull(sum(c.weight), 0) FROM path_counts c JOIN paths p ON p.id = c.path
	JOIN binaries b ON b.id = p.binary WHERE b.name LIKE '%/app' AND c.window > $before")
check weights-add-up "$weight_no + $weight_yes of $all" \
	true_that "$weight_no + $weight_yes <= 1.001 * $all && $weight_no + $weight_yes >= 0.5 * $all"
finish
