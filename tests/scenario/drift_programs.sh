#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Drift on real programs, end to end. bzip2 compresses text, then random bytes, then expands;
# sqlite3 changes its mix of queries; both come back. Each alarm comes after its change and for its
# program only, names paths that have grown, and resolves; a real Alertmanager shows it once, a
# real Prometheus reads the figures.
#
# Other programs may want the machine: all waiting is for what was measured, not for time.
. "$(dirname "$0")/alert_common.bash"

limit=${LIMIT_SECONDS:-90}
# More of a busy machine for those who are watched, where that is allowed.
first=
[ "$(nice -n -18 nice 2>/dev/null)" != -18 ] || first='nice -n -18'

cat "$here"/libprofile/src/*/*.c | head -c 300000 >"$tmp/part"
for _ in $(seq 30); do cat "$tmp/part"; done >"$tmp/text"
head -c 8000000 /dev/urandom >"$tmp/random"
cat "$tmp/text" "$tmp/text" | bzip2 -1 >"$tmp/text.bz2"
sqlite3 "$tmp/q.db" 'CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER, s TEXT);
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
	INSERT INTO t SELECT i, i * 7919 % 10007, hex(i * 7919 % 10007) || hex(i) FROM n'

# private LIBRARY...: copies of our own, of other build-ids, so that nobody else's bzip2 counts.
private() {
	mkdir "$tmp/lib"
	python3 - "$tmp/lib" "$@" <<-'END'
		import os, re, subprocess, sys
		for path in sys.argv[2:]:
		    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True)
		    old = bytes.fromhex(re.search("Build ID: ([0-9a-f]+)", notes.stdout).group(1))
		    code = open(path, "rb").read()
		    assert code.count(old) == 1
		    with open(os.path.join(sys.argv[1], os.path.basename(path)), "wb") as out:
		        out.write(code.replace(old, os.urandom(len(old))))
	END
	chmod 755 "$tmp"/lib/*
}
# used_by PROGRAM NAME: the library that it loads.
used_by() { ldd "$(command -v "$1")" | awk -v n="$2" 'index($1, n) { print $3 }'; }
private "$(used_by bzip2 libbz2)" "$(used_by sqlite3 libsqlite3)"

# What each of them does now stands in a file, read again at least every second: enough work at a
# time that starting programs is little of it. $tmp/stop ends them.
many() { printf '%s;\n' "$1"{,,,,}{,,,,}{,,,,}{,,,,}; }
many 'SELECT sum(a * b), max(a % 13) FROM t WHERE b % 7 = 3' >"$tmp/sums"
many "SELECT count(*) FROM t WHERE s LIKE '%3%1%9%'" >"$tmp/texts"
bzip2_worker() {
	while [ ! -e "$tmp/stop" ]; do
		case $(cat "$tmp/bzip2") in
		nothing) sleep 1 ;;
		text) timeout 1 bzip2 -1c "$tmp/text" ;;
		random) timeout 1 bzip2 -1c "$tmp/random" ;;
		expand) timeout 1 bzip2 -dc "$tmp/text.bz2" ;;
		esac >/dev/null
	done
}
sqlite3_worker() {
	while [ ! -e "$tmp/stop" ]; do
		timeout 1 sqlite3 "$tmp/q.db" <"$tmp/$(cat "$tmp/sqlite3")" >/dev/null
	done
}
# now_does PROGRAM WHAT: in one step, for the worker may be reading.
now_does() {
	echo "$2" >"$tmp/$1.new"
	mv "$tmp/$1.new" "$tmp/$1"
	changed_ns=$(date +%s%N)
}

start_alertmanager || { not_ok alertmanager "$(tail -n 3 "$tmp/alertmanager.log")"; finish; }
listen=127.0.0.1:$(free_port)
start_prometheus "$listen" || { not_ok prometheus "$(tail -n 3 "$tmp/prometheus.log")"; finish; }
printf '#!/bin/sh\ncat >>%s/told; echo >>%s/told\n' "$tmp" "$tmp" >"$tmp/hook"
chmod 755 "$tmp/hook"
cat >"$tmp/p.conf" <<END
[Profile]
Source=step
Overhead=100%
WindowSec=6s
TakenBranches=4
FrequencyHz=2000
[Drift]
SamplesMin=50
[Tell]
Journal=no
Exec=$tmp/hook
Alertmanager=$alertmanager_url
[Metrics]
Listen=$listen
[Alert fast]
Enabled=no
SamplesMin=50
CoolDown=0
[Alert slow]
Enabled=no
[Alert bzip2]
SamplesMin=50
CoolDown=0
Threshold=0.2
Hysteresis=0.1
Binary=$tmp/lib/libbz2*
[Alert sqlite3]
SamplesMin=50
CoolDown=0
Threshold=0.2
Hysteresis=0.1
Binary=$tmp/lib/libsqlite3*
END

# measured BINARY SINCE_NS: windows that began since then and were judged.
measured() {
	sql "SELECT count(*) FROM drift d JOIN binaries b ON b.id = d.binary
		JOIN windows w ON w.id = d.window WHERE b.name LIKE '$tmp/lib/$1%'
		AND d.baseline = 'rolling' AND d.window_samples >= 50 AND w.begin_ns >= $2"
}
has_measured() { [ "$(measured "$1" "$2")" -ge "$3" ]; }
# phase RULE: 0 quiet, 1 pending, 2 firing.
phase() { sql "SELECT coalesce(max(phase), 0) FROM alerts WHERE rule = '$1'"; }
is_in() { [ "$(phase "$1")" = "$2" ]; }
fired_ns() { sql "SELECT coalesce(max(fired_ns), 0) FROM alerts WHERE rule = '$1'"; }
figures() {
	sql "SELECT group_concat(round(kl_corrected, 3) || ' >' || round(kl_low, 3) || ' of ' ||
		cast(window_samples AS INTEGER), '; ') FROM drift d JOIN binaries b
		ON b.id = d.binary WHERE b.name LIKE '$tmp/lib/$1%' AND d.baseline = 'rolling'"
}

# fires PROGRAM LIBRARY: the alarm comes, not before the change, soon after it, for this one.
fires() {
	local fired
	check "$1-fires" "$(figures "$2")" wait_for "$limit" is_in "$1" 2
	fired=$(fired_ns "$1")
	check "$1-not-before" "$fired, changed at $changed_ns" test "$fired" -gt "$changed_ns"
	check "$1-soon" "$(measured "$2" "$changed_ns") windows: $(figures "$2")" \
		test "$(measured "$2" "$changed_ns")" -le 5
	check "$1-shown" "Alertmanager shows none" wait_for 20 is_active 1 "$2"
}

# The last message of a rule: the first of its paths is in the store and has grown.
names_paths() {
	python3 - "$tmp/told" "$1" <<-'END'
		import json, sys
		told = [json.loads(l) for l in open(sys.argv[1]) if l.strip()]
		told = [d for d in told if d["rule"] == sys.argv[2] and d["status"] == "firing"]
		path = told[-1]["paths"][0]
		assert path["share"] != path["baseline_share"] and path["path_id"], path
		print(path["path_id"])
	END
}
check_paths() {
	local id
	id=$(names_paths "$1" 2>"$tmp/err") || id=0
	check "$1-names-paths" "$(tail -n 1 "$tmp/err") $(tail -c 300 "$tmp/told")" \
		test "$(sql "SELECT count(*) FROM paths p JOIN binaries b ON b.id = p.binary
			WHERE p.id = $id AND b.name LIKE '$tmp/lib/$2%'")" = 1
}

start_worker() {
	$first env LD_LIBRARY_PATH="$tmp/lib" tmp="$tmp" \
		bash -c "$(declare -f "$1_worker"); $1_worker" &
	helpers="$helpers $!"
}

start -c "$tmp/p.conf" --db "$db" || { not_ok daemon "it did not start"; finish; }
now_does bzip2 text
start_worker bzip2
wait_for "$limit" has_measured libbz2 0 3 || not_ok bzip2-measured "$(figures libbz2)"
check bzip2-quiet "$(figures libbz2)" test "$(fired_ns bzip2)" = 0
now_does bzip2 random
fires bzip2 libbz2
check_paths bzip2 libbz2
now_does bzip2 expand
wait_for "$limit" has_measured libbz2 "$changed_ns" 2 || true
check bzip2-expanding-fires "$(figures libbz2)" is_in bzip2 2
now_does bzip2 text
check bzip2-resolves "$(figures libbz2)" wait_for "$limit" is_in bzip2 0
now_does bzip2 nothing

now_does sqlite3 sums
start_worker sqlite3
wait_for "$limit" has_measured libsqlite3 0 3 || not_ok sqlite3-measured "$(figures libsqlite3)"
check sqlite3-quiet "$(figures libsqlite3)" test "$(fired_ns sqlite3)" = 0
now_does sqlite3 texts
fires sqlite3 libsqlite3
check_paths sqlite3 libsqlite3
now_does sqlite3 sums
check sqlite3-resolves "$(figures libsqlite3)" wait_for "$limit" is_in sqlite3 0

for library in libbz2 libsqlite3; do
	check "$library-gone" "still shown" wait_for 20 is_active 0 "$library"
	check "$library-notified-resolved" "nobody was" \
		wait_for 20 has_notified 1 "resolved .*$library"
	check "$library-notified-once" "$(cat "$tmp/notified")" \
		test "$(notified "firing .*$library")" -eq 1
done

# bits are no unit that promtool knows
get "http://$listen/metrics" | grep -v 'pathprof_drift_kl[a-z_]*_bits' >"$tmp/metrics"
check promtool "$(promtool check metrics <"$tmp/metrics" 2>&1 | head -3)" \
	promtool check metrics <"$tmp/metrics"
check scraped-alerts "$(value_of 'pathprof_alerts%7Bphase=%22firing%22%7D') fire" \
	wait_for 20 value_is 0 'pathprof_alerts%7Bphase=%22firing%22%7D'
check scraped-drift "no figure" test -n "$(value_of 'pathprof_drift_samples%7Bbinary=~%22.*libbz2.*%22%7D')"
: >"$tmp/stop"
stop
check ends-well "exit status $stop_status: $(tail -n 3 "$tmp/log")" test "$stop_status" -eq 0
finish
