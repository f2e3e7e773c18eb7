#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Drift on real programs, end to end. Side by side bzip2 compresses text, then random bytes, then
# expands, and sqlite3 changes its mix of queries; both come back. Each alarm comes after its change
# and for its program only, names the path that moved most and one that has grown, and resolves; a
# real Alertmanager shows it once, a real Prometheus reads the figures, pathprofctl shows them.
#
# Midway the daemon is killed: the one that follows goes on telling of what fires.
#
# Other programs may want the machine: all waiting is for what was measured, not for time.
. "$(dirname "$0")/alert_common.bash"
. "$(dirname "$0")/../rounds.bash"

ctl=$BUILD/bin/pathprofctl
[ -x "$ctl" ] || { echo "not ok ctl: $ctl was not built"; exit 1; }
samples_min=50
threshold=0.2
# More of a busy machine for us, where that is allowed.
renice -n -10 -p $$ >/dev/null 2>&1 || true

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

# The current work of each program stands in a file, read again at least every second: enough work
# at a time that starting programs is little of it. $tmp/stop ends them.
many() { printf '%s;\n' "$1"{,,,,}{,,,,}{,,,,}{,,,,}; }
many 'SELECT sum(a * b), max(a % 13) FROM t WHERE b % 7 = 3' >"$tmp/sums"
many "SELECT count(*) FROM t WHERE s LIKE '%3%1%9%'" >"$tmp/texts"
bzip2_worker() {
	while [ ! -e "$tmp/stop" ]; do
		case $(cat "$tmp/bzip2") in
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

# rule PROGRAM LIBRARY
rule() {
	cat <<-END
		[Alert $1]
		SamplesMin=$samples_min
		CoolDown=0
		Threshold=$threshold
		Hysteresis=0.1
		Binary=$tmp/lib/$2*
	END
}
conf=$tmp/p.conf
cat >"$conf" <<END
[Profile]
Source=step
Overhead=100%
WindowSec=${WINDOW_SECONDS:-$(rounds 3 6)}
TakenBranches=4
FrequencyHz=2000
[Drift]
SamplesMin=$samples_min
[Tell]
Journal=no
Exec=$tmp/hook
Alertmanager=$alertmanager_url
[Metrics]
Listen=$listen
[Alert fast]
Enabled=no
[Alert slow]
Enabled=no
$(rule bzip2 libbz2)
$(rule sqlite3 libsqlite3)
END

# measured BINARY SINCE_NS: windows that began since then and were judged.
measured() {
	sql "SELECT count(*) FROM drift d JOIN binaries b ON b.id = d.binary
		JOIN windows w ON w.id = d.window WHERE b.name LIKE '$tmp/lib/$1%'
		AND d.baseline = 'rolling' AND d.window_samples >= $samples_min AND w.begin_ns >= $2"
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
	check "$1-names-paths" "$(tail -c 300 "$tmp/told")" names_paths "$1" "$changed_ns"
}

# names_paths RULE CHANGED_NS: what its last message says of paths, against the store's own counts:
# the window that fired, and those that ended before the change.
names_paths() {
	python3 - "$db" "$tmp/told" "$@" <<-'END'
		import json, math, sqlite3, sys
		told = [json.loads(l) for l in open(sys.argv[2]) if l.strip()]
		told = [d for d in told if d["rule"] == sys.argv[3] and d["status"] == "firing"][-1]
		db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True, timeout=5)
		def counts(which, time_ns):
		    return dict(db.execute("""SELECT p.id, sum(c.weight) FROM path_counts c
		        JOIN paths p ON p.id = c.path JOIN binaries b ON b.id = p.binary
		        JOIN windows w ON w.id = c.window WHERE b.name = ? AND w.end_ns """ + which +
		        " ? GROUP BY p.id", (told["binary"], time_ns)))
		fired, = db.execute("SELECT fired_ns FROM alerts WHERE rule = ?", sys.argv[3:4]).fetchone()
		now, before = counts("=", fired), counts("<=", int(sys.argv[4]))
		n, m = sum(now.values()), sum(before.values())
		# weighed by the clock they are worth fewer than they are
		seen, = db.execute("""SELECT sum(c.samples) FROM path_counts c JOIN paths p ON p.id = c.path
		    JOIN binaries b ON b.id = p.binary JOIN windows w ON w.id = c.window
		    WHERE b.name = ? AND w.end_ns = ?""", (told["binary"], fired)).fetchone()
		assert 0 < told["samples"] <= seen, (told["samples"], seen)
		paths = {p["path_id"]: p for p in told["paths"]}
		assert len(paths) == len(told["paths"]) > 0, told["paths"]
		for i, p in paths.items():
		    assert abs(p["share"] - now.get(i, 0) / n) < 1e-9, (p, now.get(i, 0), n)
		assert any(p["share"] > p["baseline_share"] for p in paths.values()), paths
		def moved(i):
		    p, q = now.get(i, 0) / n, max(before.get(i, 0) / m, 0.5 / seen)
		    return (p * math.log2(p / q) if p else 0) - (p - q) / math.log(2)
		most = max(now | before, key=moved)
		assert most in paths, (most, moved(most), paths)
	END
}

# scraped RULE LIBRARY: while it fires a real Prometheus has the figures of a window that is stored.
scraped() {
	local of="{binary=~\"$tmp/lib/$2.*\",baseline=\"rolling\"}"
	check "$1-scraped-phase" "$(value_of 'pathprof_alerts{phase="firing"}') fire" \
		wait_for 20 value_is 1 'pathprof_alerts{phase="firing"}'
	check "$1-scraped-alert" "not firing" \
		wait_for 20 value_is 1 "pathprof_alert_firing{rule=\"$1\",binary=~\"$tmp/lib/$2.*\"}"
	check "$1-scraped-samples" "$(value_of "pathprof_drift_samples$of")" \
		wait_for 20 has_value "pathprof_drift_samples$of >= $samples_min"
	check "$1-scraped-drift" "$(value_of "pathprof_drift_kl_corrected$of")" \
		wait_for 20 has_value "pathprof_drift_kl_corrected$of > $threshold"
	check "$1-scraped-value" "$(value_of "pathprof_drift_kl_corrected$of"): $(figures "$2")" \
		wait_for 20 is_stored "$2" "pathprof_drift_kl_corrected$of"
}

# is_stored LIBRARY QUERY: what Prometheus answers is the drift of a window. While a new scrape comes
# in it may have no answer.
is_stored() {
	local value
	value=$(value_of "$2")
	[ "$(sql "SELECT count(*) > 0 FROM drift d JOIN binaries b ON b.id = d.binary
		WHERE b.name LIKE '$tmp/lib/$1%' AND d.baseline = 'rolling'
		AND abs(d.kl_corrected - ${value:-9e9}) < 1e-9")" = 1 ]
}

# shown RULE LIBRARY: pathprofctl shows the alert, and the window in which it began to fire.
shown() {
	local drift="drift --threshold $threshold --binary $(basename "$tmp/lib/$2"*)" status=0
	ctl() { "$ctl" --db "$db" "$@" 2>"$tmp/err"; }
	ctl alerts >"$tmp/out"
	check "$1-ctl-alerts" "$(cat "$tmp/out" "$tmp/err")" grep -q "^firing  *$1 .*$2" "$tmp/out"
	ctl $drift --check >"$tmp/out" || status=$?
	check "$1-ctl-drift" "$(cat "$tmp/out" "$tmp/err")" grep -q "^$2.* rolling " "$tmp/out"
	check "$1-ctl-drift-check" "exit status $status" test "$status" -eq 10
	ctl alerts --json >"$tmp/alerts.json"
	ctl $drift --json >"$tmp/drift.json"
	check "$1-ctl-json" "$(head -c 1000 "$tmp/alerts.json" "$tmp/drift.json")" \
		same_in_json "$1" "$(fired_ns "$1")"
	ctl $drift --svg "$tmp/drift.svg" >/dev/null || true
	check "$1-ctl-svg" "$(head -c 300 "$tmp/drift.svg")" python3 - "$tmp/drift.svg" "$2" <<-'END'
		import sys, xml.etree.ElementTree as tree
		texts = [t.text or "" for t in tree.parse(sys.argv[1]).iter() if t.tag.endswith("text")]
		assert any(t.startswith(sys.argv[2]) and "rolling" in t for t in texts), texts
	END
}
same_in_json() {
	python3 - "$tmp" "$threshold" "$@" <<-'END'
		import json, sys
		tmp, threshold, rule, fired_ns = sys.argv[1], float(sys.argv[2]), sys.argv[3], int(sys.argv[4])
		alert, = [a for a in json.load(open(tmp + "/alerts.json")) if a["rule"] == rule]
		assert alert["state"] == "firing" and alert["fired_ns"] == fired_ns, alert
		told = [json.loads(l) for l in open(tmp + "/told") if l.strip()]
		told = [t for t in told if t["rule"] == rule][-1]
		same = lambda a, b: abs(a - b) <= 1e-6 * abs(b)
		assert same(alert["told"]["value"], told["value"]), (alert["told"], told)
		assert [p["path_id"] for p in alert["told"]["paths"]] == \
		    [p["path_id"] for p in told["paths"]], (alert["told"], told)
		for key in ("status", "rule", "binary", "build_id", "baseline", "starts_at"):
		    assert alert["told"][key] == told[key], (key, alert["told"], told)
		point, = [p for p in json.load(open(tmp + "/drift.json"))
		          if p["end_ns"] == fired_ns and p["baseline"] == "rolling"]
		assert point["over"] and point["kl_low_bits"] > threshold, point
		assert point["binary"]["name"] == alert["binary"], (point, alert["binary"])
		assert same(point["kl_corrected_bits"], told["value"]), (point, told)
	END
}

# killed: the daemon, and another one follows.
killed() {
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null || true
	killed_at=$(date +%s%N)
	start -c "$conf" --db "$db" || not_ok restart "the daemon did not start again"
}
# told_after_kill RULE LIBRARY: the relay tells Alertmanager each minute, with the daemon that follows
# as well.
told_after_kill() {
	check "$1-told-again" "not since it was killed" wait_for 90 told_since "$killed_at" "$2"
	check "$1-still-one" "$(active "$2") are shown" is_active 1 "$2"
	check "$1-still-firing" "$(phase "$1")" is_in "$1" 2
}

start_worker() {
	LD_LIBRARY_PATH="$tmp/lib" tmp="$tmp" bash -c "$(declare -f "$1_worker"); $1_worker" &
	helpers="$helpers $!"
}

now_does bzip2 text
start_worker bzip2
now_does sqlite3 sums
start_worker sqlite3
start_judged "$samples_min" "$tmp/lib/libbz2%" "$tmp/lib/libsqlite3%" &&
	start_relay -c "$conf" --db "$db" ||
	{ not_ok daemon "it or its relay did not start"; finish; }
limit=$((60 + 20 * window_s))
for library in libbz2 libsqlite3; do
	wait_for "$limit" has_measured $library 0 3 || not_ok $library-measured "$(figures $library)"
done
check bzip2-quiet "$(figures libbz2)" test "$(fired_ns bzip2)" = 0
check sqlite3-quiet "$(figures libsqlite3)" test "$(fired_ns sqlite3)" = 0

now_does bzip2 random
fires bzip2 libbz2
scraped bzip2 libbz2
shown bzip2 libbz2
killed
check bzip2-alone "$(figures libsqlite3)" test "$(fired_ns sqlite3)" = 0

now_does bzip2 expand
now_does sqlite3 texts
fires sqlite3 libsqlite3
wait_for "$limit" has_measured libbz2 "$changed_ns" 2 || true
check bzip2-expanding-fires "$(figures libbz2)" is_in bzip2 2
told_after_kill bzip2 libbz2

now_does bzip2 text
now_does sqlite3 sums
for program in bzip2 sqlite3; do
	check $program-resolves "$(figures libbz2) | $(figures libsqlite3)" \
		wait_for "$limit" is_in $program 0
done
for library in libbz2 libsqlite3; do
	check "$library-gone" "still shown" wait_for 20 is_active 0 "$library"
	check "$library-notified-resolved" "nobody was" \
		wait_for 20 has_notified 1 "resolved .*$library"
	check "$library-notified-once" "$(cat "$tmp/notified")" \
		test "$(notified "firing .*$library")" -eq 1
done
hooked() { grep -c "\"status\":\"$2\",\"rule\":\"$1\"" "$tmp/told"; }
for program in bzip2 sqlite3; do
	for status in firing resolved; do
		check "$program-hook-$status" "$(hooked $program $status) times" \
			wait_for 10 eval '[ "$(hooked $program $status)" = 1 ]'
	done
done

get "http://$listen/metrics" >"$tmp/metrics"
check promtool "$(promtool check metrics <"$tmp/metrics" 2>&1 | head -3)" \
	promtool check metrics <"$tmp/metrics"
check scraped-quiet "$(value_of 'pathprof_alerts{phase="firing"}') fire" \
	wait_for 20 value_is 0 'pathprof_alerts{phase="firing"}'
: >"$tmp/stop"
stop
check ends-well "exit status $stop_status: $(tail -n 3 "$tmp/log")" test "$stop_status" -eq 0
for library in libbz2 libsqlite3; do echo "# $library: $(figures $library)"; done
finish
