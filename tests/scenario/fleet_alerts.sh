#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Alerts of a fleet at the hub: of made-up hosts one changes its ways, and a new build of a program runs
# otherwise on all of them. Each is told once, however often the hub is killed, and names the function;
# another new build that runs as the one before, and a fleet in which nothing changes, are told nothing of.
. "$(dirname "$0")/../own_processes.bash"
name=fleet_alerts
. "$(dirname "$0")/fleet_common.bash" sqlite3 python3 curl
known=$build/tests/tools/ctl_known_db hosts=5
relay= listens=
trap 'kill -9 $server $relay $listens 2>/dev/null; rm -rf "$dir"' EXIT

# ---------------------------------------------------------------- hosts
# Four slots up to the last one that is due: as many as a hub judges that begins. Programs: web, of
# which host 3 has a part of the flow moved from the third slot on; cron, where host 2 had it in the
# first two; shop, whose new build runs otherwise from then on, on all hosts; mail, whose new build
# does not. Shares of 1/i that scatter between hosts.
due() { echo $((($(date +%s) - 360) / 300 * 300)); }
end=$(due)
for i in $(seq 24); do printf 'path %x 20 1000\n' $((4096 + 64 * i)); done | "$known" known.db code /bin/true || exit 1
cat >make.py <<'END'
import math, random, sqlite3, sys
file, host, end, drift = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "drift"
db = sqlite3.connect(file)
db.execute("UPDATE meta SET value = ? WHERE name = 'identity'", ("%032x" % (host * 0x9e3779b97f4a7c15f39cc0605cedc835 % 2**128),))
paths = [row[0] for row in db.execute("SELECT start FROM paths ORDER BY start")]
for table in ("path_counts", "paths", "processes", "binaries"):
    db.execute("DELETE FROM " + table)
names = ["count_beans", "sort_orders", "parse_header", "send_mail"]

def add_build(number, path):
    db.execute("INSERT INTO binaries VALUES (?, ?, 1, ?, 0)", (number, bytes([number] * 20), path))
    db.execute("INSERT INTO processes VALUES (?, 1, ?, 0, 0, 'work', '', ?, 0)", (number, number, number))
    for i, start in enumerate(paths):
        db.execute("INSERT INTO paths VALUES (?, ?, ?, 2, 0, 0)", (number * 100 + i, number, start))
        db.execute("INSERT INTO portable_paths VALUES (?, ?, ?, ?)", (number * 100 + i, 1000 + i % 4, i, names[i % 4]))
        db.execute("INSERT INTO jit_symbols VALUES (?, ?, 64, ?)", (number, start, names[i % 4]))
    db.execute("INSERT INTO binary_functions VALUES (?, ?)", (number, b"".join((1000 + k).to_bytes(8, "little") for k in range(4))))

for number, path in ((1, "/srv/web"), (2, "/srv/shop"), (3, "/srv/shop"), (4, "/srv/mail"), (5, "/srv/mail"), (6, "/srv/cron")):
    add_build(number, path)
scatter = random.Random(host)
shares = {p: [math.exp(0.1 * scatter.gauss(0, 1)) / (i + 1) for i in range(len(paths))] for p in ("web", "shop", "mail", "cron")}
chance = random.Random(host + 100)
columns = [row[1] for row in db.execute("PRAGMA table_info(windows)")]
for slot in range(4):
    begin = end - (4 - slot) * 300 + 5
    late = slot >= 2
    db.execute("INSERT INTO windows SELECT %s FROM windows WHERE id = 1" % ", ".join(
        {"id": str(slot + 10), "begin_ns": "%d000000000" % begin, "end_ns": "%d000000000" % (begin + 280)}.get(c, c) for c in columns))
    for number, program in ((1, "web"), (3 if late else 2, "shop"), (5 if late else 4, "mail"), (6, "cron")):
        moved = drift and (late and (number == 3 or (number == 1 and host == 3)) or not late and number == 6 and host == 2)
        total = sum(shares[program])
        for i in range(len(paths)):
            share = shares[program][i] / total * (0.7 if moved else 1) + (0.3 if moved and i == 9 else 0)
            count = max(round(chance.gauss(3000 * share, math.sqrt(3000 * share))), 1)
            db.execute("INSERT INTO path_counts (window, path, process, samples, weight, squares, weight_squares) VALUES (?, ?, ?, ?, ?, ?, ?)",
                       (slot + 10, number * 100 + i, number, count, float(count), count, float(count)))
db.execute("DELETE FROM windows WHERE id = 1")
db.commit()
END
"$hub" ca ca && "$hub" enrol ca hub --server --address 127.0.0.1 && "$hub" enrol ca reader --reader && mkdir certs &&
	cp ca/reader.pem ca/reader-key.pem ca/ca.pem certs || exit 1
for h in $(seq $hosts); do "$hub" enrol ca web$h || exit 1; done
cat >hub.conf <<'END'
[Alert host]
Pooled=1
[Alert release]
Pooled=1
[Tell]
END
# A receiver of alerts: its port is its own from now on, and refuses connections until there is a
# file `listening`. To the webhook it is busy twice.
python3 - >listener <<'END' &
import http.server, os, time
class Listener(http.server.BaseHTTPRequestHandler):
    busy = 2
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        hooked = not self.path.startswith("/api/")
        refused = hooked and Listener.busy > 0
        Listener.busy -= refused
        name = "refused" if refused else "hooked" if hooked else "managed"
        open(name, "ab").write(("%s %s " % (self.path, self.headers["Content-Type"])).encode() + body + b"\n")
        self.send_response(503 if refused else 200)
        self.end_headers()
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener, bind_and_activate=False)
server.server_bind()
print(server.server_port, flush=True)
while not os.path.exists("listening"):
    time.sleep(0.02)
server.server_activate()
server.serve_forever()
END
listens=$!
for _ in $(seq 1200); do [ -s listener ] && break; sleep 0.05; done
listener=$(cat listener)
printf 'Exec=/bin/sh %s/hook\nAlertmanager=http://127.0.0.1:%s\nWebhook=http://127.0.0.1:%s/hook?team=fleet\n' "$dir" "$listener" "$listener" >>hub.conf
echo "cat >>'$dir/told'; echo >>'$dir/told'" >hook

as_unit pathprof-hub
as_hub=("${as[@]}")
as_unit pathprof-hub-relay
start() { # DATABASE [OPTION...]
	: >hub.log
	own
	"${as_hub[@]}" "$hub" serve --db "$1" --listen "127.0.0.1:${port:-0}" --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem "${@:2}" >hub.log 2>&1 &
	server=$!
	await_hub
}
stop() { kill -TERM $server; wait $server 2>/dev/null; }
fill() { # DATABASE drift|quiet
	start "$1" --config off.conf
	for h in $(seq $hosts); do
		cp known.db "host$h.db" && python3 make.py "host$h.db" $h "$end" "$2" || exit 1
		"$hub" send --once --db "host$h.db" --hub "$url" --cert "ca/web$h.pem" --key "ca/web$h-key.pem" --ca ca/ca.pem >sent 2>said ||
			not_ok "web$h sends" "$(tail -n 1 said)"
	done
	stop
}
printf '[Alert host]\nEnabled=no\n[Alert release]\nEnabled=no\n' >off.conf
judged() { sqlite3 "$1" "SELECT json_extract(json, '\$.spans.\"300\".until') FROM daemon_status" 2>/dev/null; }
# The hub has judged all four slots.
await() { # DATABASE
	for _ in $(seq 1800); do [ "$(judged "$1")" -ge "$end" ] 2>/dev/null && return; sleep 0.1; done
	not_ok "judging" "up to $(judged "$1"), not $end: $(tail -n 2 hub.log | paste -sd ';')"
}
messages() { sqlite3 "$1" "SELECT rule, binary, container, fired FROM messages ORDER BY id" | paste -sd ' '; }

# ---------------------------------------------------------------- nothing changes
fill quiet.db quiet
start quiet.db --config hub.conf
await quiet.db
[ -z "$(messages quiet.db)" ] && ok "a fleet in which nothing changes: nothing is told" || not_ok "a quiet fleet" "$(messages quiet.db)"
stop
# A slot that becomes due meanwhile pushes the first one out.
grep -Eq 'alerts: [3-9] spans judged, 0 not judged' hub.log || not_ok "four spans" "$(tail -n 1 hub.log)"

# ---------------------------------------------------------------- a host, and a release
# Once more where another slot became due meanwhile: a hub that begins then leaves the first out.
for _ in $(seq 5); do
	end=$(due)
	fill hub.db drift
	for pause in 0.1 0.3 0.6; do
		start hub.db --config hub.conf
		sleep $pause
		kill -9 $server
		wait $server 2>/dev/null
	done
	start hub.db --config hub.conf
	await hub.db
	[ "$(due)" != "$end" ] || break
	stop
	rm -f hub.db hub.db-*
done
want="host|/srv/cron|host:web2|1 host|/srv/web|host:web3|1 host|/srv/cron|host:web2|0 release|/srv/shop|build:030303030303|1"
[ "$(messages hub.db)" = "$want" ] && ok "told once, over three kills: web2, that it is over, web3, and the build of shop" || not_ok told "$(messages hub.db): $(cat hub.log)"
kill -9 $server
wait $server 2>/dev/null
start hub.db --config hub.conf
sleep 1
[ "$(messages hub.db)" = "$want" ] && ok "and not again by the hub that comes after" || not_ok "told again" "$(messages hub.db)"
# A damaged record of the build before is told with its reason, not as an empty line.
sqlite3 hub.db "VACUUM INTO 'damaged.db'"
sqlite3 damaged.db "UPDATE daemon_status SET json = replace(json, '$(printf '02%.0s' $(seq 20))', 'broken')"
! "$hub" judge --db damaged.db --since $((end - 300)) --until "$end" >judged 2>said && grep -q '/srv/shop: .*earlier build "broken", which is no build-id' said &&
	ok "a damaged build before: $(cat said)" || not_ok "a damaged build before" "$(cat said): $(head -c 300 judged)"
# The last slot is judged again: nothing is told again, and an alert of what is not there any more is over: a
# program, a host whose program others run, a rule, a build of mail that was rolled back. Of a host that was there a while ago nothing is known yet.
kill -9 $server
wait $server 2>/dev/null
# A status that cannot be read is no empty one: nothing is judged again, and it is not written over.
sqlite3 damaged.db "UPDATE daemon_status SET json = '{\"spans\": {'"
! "$hub" judge --db damaged.db --since $((end - 300)) --until "$end" >judged 2>said && grep -q 'status, which says what was judged, is damaged' said &&
	ok "judging on a damaged status" || not_ok "judging on a damaged status" "$(cat said): $(head -c 300 judged)"
start damaged.db --config hub.conf
for _ in $(seq 1200); do grep -q 'alerts: .* is damaged' hub.log && break; sleep 0.05; done
stop
grep -q 'alerts: damaged.db: .* is judged again, .*status, which says what was judged, is damaged' hub.log &&
	[ "$(sqlite3 damaged.db 'SELECT json FROM daemon_status')" = '{"spans": {' ] && [ "$(messages damaged.db)" = "$want" ] &&
	ok "a damaged status is told and stays" || not_ok "a damaged status" "$(tail -n 2 hub.log): $(sqlite3 damaged.db 'SELECT json FROM daemon_status' | head -c 100)"
long=$(((end - 200000) * 1000000000)) late=$(((end - 600) * 1000000000))
sqlite3 hub.db "INSERT INTO alerts VALUES ('host', '/srv/gone', 'host:web9', 'fleet', 2, 0, $long, $long, 0, $long, 1.0, '{}'),
	('host', '/srv/web', 'host:web9', 'fleet', 2, 0, $long, $long, 0, $long, 1.0, '{}'),
	('host', '/srv/web', 'host:web8', 'fleet', 2, 0, $late, $late, 0, $late, 1.0, '{}'),
	('no_such', '/srv/web', 'host:web3', 'fleet', 2, 0, $late, $late, 0, $late, 1.0, '{}'),
	('release', '/srv/mail', 'build:040404040404', 'previous', 2, 1, $late, $late, 0, $late, 1.0, '{}');
	UPDATE daemon_status SET json = json_set(json, '\$.spans.\"300\".until', $((end - 300)))"
start hub.db --config hub.conf
await hub.db
told_of() { sqlite3 hub.db "SELECT summary FROM messages WHERE NOT fired AND $1"; } # WHERE
[ "$(messages hub.db)" = "$want no_such|/srv/web|host:web3|0 host|/srv/gone|host:web9|0 host|/srv/web|host:web9|0 release|/srv/mail|build:040404040404|0" ] && told_of "binary = '/srv/gone'" | grep -q 'was not judged for a day' &&
	ok "a span that is judged again tells nothing again, and ends what is gone" || not_ok "judged again" "$(messages hub.db): $(tail -n 3 hub.log)"
told_of "container = 'host:web9' AND binary = '/srv/web'" | grep -q 'was not judged for a day' &&
	[ "$(sqlite3 hub.db "SELECT phase, streak FROM alerts WHERE container = 'host:web8'")" = "2|0" ] &&
	ok "of a host that is gone nothing is known, though its program was judged" || not_ok "a host that is gone" "$(sqlite3 hub.db "SELECT * FROM alerts WHERE container IN ('host:web8', 'host:web9')")"
told_of "binary = '/srv/mail'" | grep -q '^/srv/mail, build:040404040404, runs no more, while another build does: .* is over$' &&
	ok "the alert of a build that was rolled back is over" || not_ok "a build that was rolled back" "$(sqlite3 hub.db "SELECT * FROM alerts WHERE binary = '/srv/mail'")"
told_of "rule = 'no_such'" | grep -q 'host:web3, is not judged any more: .* is closed, since the hub has no such rule any more$' &&
	ok "an alert whose rule is gone is over" || not_ok "a rule that is gone" "$(told_of "rule = 'no_such'")"
sqlite3 -cmd '.timeout 5000' hub.db "DELETE FROM alerts WHERE container = 'host:web8'"

"$ctl" --hub "$url" --certificates certs alerts >got 2>said && grep -Eq '^firing +host +/srv/web +host:web3 ' got && grep -Eq '^firing +release +/srv/shop +build:0303' got &&
	ok "pathprofctl --hub alerts lists them" || not_ok "pathprofctl alerts" "$(cat got said | paste -sd ';')"
"$ctl" --hub "$url" --certificates certs alerts --json >got 2>said
python3 - <<'END' 2>said && ok "what they say: who, by how much, in which function, since when, and a command" || not_ok "what they say" "$(tail -n 1 said): $(head -c 1500 got)"
import json
rows = {row["rule"]: row["told"] for row in json.load(open("got")) if row["state"] == "firing"}
host, release = rows["host"], rows["release"]
assert host["host"] == "web3" and host["hosts"] == 5 and host["build_id"] == "01" * 20, host
assert release["before_build_id"] == "02" * 20 and release["hosts"] == release["hosts_out"] == 5, release
assert release["matched"] > 0.99, release
for told in host, release:
    assert told["value"] > told["low"] > told["threshold"] == {"host": 0.05, "release": 0.01}[told["rule"]], told
    path = told["paths"][0]
    assert path["function"] == "sort_orders" and path["share"] > path["baseline_share"] + 0.2, told
    assert told["status"] == "firing" and told["starts_at"] and told["command"].startswith("pathprofctl --hub URL "), told
END
sqlite3 hub.db "SELECT summary FROM messages WHERE binary IN ('/srv/web', '/srv/shop')" >summaries
sqlite3 hub.db "SELECT summary FROM messages WHERE NOT fired AND binary = '/srv/cron'" | grep -q '^/srv/cron, host:web2, no longer stands out: the alert of rule "host" that fired at .* is over$' || not_ok "that it is over" "$(sqlite3 hub.db 'SELECT summary FROM messages WHERE NOT fired')"
grep -q '^/srv/web on host web3 runs differently than on the 4 others with this build, since .*: most in sort_orders (elsewhere .* %, on this host .* %).*; .* bits (95 %: .*) from the closest other host, limit .* (rule "host").*; see pathprofctl --hub URL outliers --binary 0101' summaries &&
	grep -q '^/srv/shop in build 030303030303 runs differently than in build 020202020202 before it, on 5 of 5 hosts, since .*: most in sort_orders (was .* %, now .* %).*; see pathprofctl --hub URL compare shop@020202020202 shop@030303030303 --since @' summaries &&
	ok "and for people" || not_ok "for people" "$(cat summaries)"
# The commands that they name answer.
command=$(sed -n 's/.*see pathprofctl --hub URL \(outliers .*\)/\1/p' summaries)
# shellcheck disable=SC2086
"$ctl" --hub "$url" --certificates certs $command >got 2>said && grep -q '^web3 ' got && ok "the command of the one names web3" || not_ok "$command" "$(cat got said | paste -sd ';')"
command=$(sed -n 's/.*see pathprofctl --hub URL \(compare .*\)/\1/p' summaries)
# shellcheck disable=SC2086
"$ctl" --hub "$url" --certificates certs $command >got 2>said && grep -q sort_orders got && ok "that of the other compares shop's builds" || not_ok "$command" "$(cat got said | paste -sd ';')"
"$ctl" --db hub.db compare host:web1 host:web2 --since -1h >got 2>said; [ $? -eq 2 ] && grep -q 'go with --hub' said || not_ok "compare --since" "$(cat said)"

# ---------------------------------------------------------------- delivered as pathprofd's alerts are
# The webhook's receiver is down at first, then refuses twice: each alert comes in the end, and once.
scrape=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf '[Metrics]\nListen=127.0.0.1:%s\n' "$scrape" >>hub.conf
tell() {
	own
	"${as[@]}" "$build/bin/pathprof-relay" -c hub.conf --db hub.db --state notes >>relay.log 2>&1 &
	relay=$!
}
end_relay() { kill -TERM $relay; wait $relay 2>/dev/null; }
lines() { cat "$1" 2>/dev/null | wc -l; }
tell
for _ in $(seq 600); do grep -q 'webhook: .*trying again' relay.log && break; sleep 0.1; done
: >listening
for _ in $(seq 3000); do [ "$(lines told)" = 2 ] && [ "$(lines hooked)" -ge 2 ] && [ -s managed ] && break; sleep 0.1; done
is_confined $relay || not_ok "the relay's unit" "$(grep -E 'Cap|Seccomp' /proc/$relay/status | paste -sd ' ')"
# The relay gives the hub some seconds to answer.
for _ in $(seq 60); do curl -s "http://127.0.0.1:$scrape/metrics" >metrics; ! grep -q '^pathprof_hub_' metrics || break; sleep 1; done
end_relay
tell
sleep 1
end_relay
[ "$(grep -c '"status":"firing"' told)" = 2 ] && grep -q '"host":"web3"' told && ok "pathprof-relay tells the hook what fires, once" || not_ok "the hook" "$(cat told relay.log | head -c 600)"

kill $listens
wait $listens 2>/dev/null
grep -q '^/api/v2/alerts .*"alertname":"host".*"container":"host:web3"' managed && ok "and to an Alertmanager" || not_ok "the Alertmanager" "$(head -c 600 managed)"
sort told >want
sed -n 's/^[^{]*//p' hooked | sort | cmp -s - want && [ "$(lines refused)" = 2 ] && ! grep -qv '^/hook?team=fleet application/json {' hooked refused &&
	ok "and a webhook that was down and then refused twice: once each, in the words of the hook" || not_ok "the webhook" "$(head -c 600 hooked refused 2>&1; tail -n 3 relay.log)"
grep -q '^pathprof_hub_alerts_firing{scope="host"} 1' metrics && grep -q '^pathprof_hub_alerts_firing{scope="release"} 1' metrics && grep -q '^pathprof_hub_spans_total{result="failed"} 0' metrics &&
	grep -q '^pathprof_hub_roll_backlog_seconds{tenant="default"} 0' metrics && grep -q '^pathprof_hub_figures_unread_total{what="alerts"} 0' metrics &&
	ok "Prometheus scrapes the hub's figures at it" || not_ok "the figures" "$(grep hub metrics | head -n 5)"

# ---------------------------------------------------------------- more than may be active
# web3 stands out again, with an alert that is over, while 256 others of its rule fire.
stop
sqlite3 hub.db "VACUUM INTO 'full.db'"
sqlite3 full.db "UPDATE alerts SET phase = 0, streak = 0, fired_ns = $late - 1000000000, since_ns = $late, resolved_ns = $late, seen_ns = $late WHERE container = 'host:web3' AND rule = 'host';
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 256)
	INSERT INTO alerts SELECT 'host', '/srv/gone', 'host:no' || i, 'fleet', 2, 0, $late, $late, 0, $late, 1.0, '{}' FROM n;
	UPDATE daemon_status SET json = json_set(json, '\$.spans.\"300\".until', $((end - 300)))"
start full.db --config hub.conf
await full.db
stop
[ "$(sqlite3 full.db "SELECT phase FROM alerts WHERE container = 'host:web3' AND rule = 'host'")" = 0 ] && grep -q 'alerts: .* 1 left out' hub.log &&
	ok "an alert that was over is left out like a new one while 256 fire" || not_ok "more than 256" "$(sqlite3 full.db "SELECT * FROM alerts WHERE container = 'host:web3'"): $(tail -n 1 hub.log)"

# ---------------------------------------------------------------- rules that cannot be
for pattern in '[Alert host]\nPooled=1\nMetric=overlap' '[Alert host]\nPooled=17' '[Alert x]\nScope=planet'; do
	# shellcheck disable=SC2059
	printf "$pattern\n" >bad.conf
	timeout 60 "$hub" serve --db hub.db --listen 127.0.0.1:0 --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem --config bad.conf 2>said
	status=$?
	[ $status -ne 0 ] && [ $status -ne 124 ] && ok "refused: $(tail -n 1 said)" || not_ok "a rule that cannot be" "$pattern is taken"
done

# ---------------------------------------------------------------- no rules at all
start hub.db --config off.conf
firing() { sqlite3 hub.db "SELECT count(*) FROM alerts WHERE phase > 0"; }
for _ in $(seq 600); do [ "$(firing)" = 0 ] && break; sleep 0.1; done
[ "$(firing)" = 0 ] && [ "$(told_of "summary LIKE '%no such rule any more'" | wc -l)" = 3 ] &&
	ok "rules that are switched off leave no alert firing" || not_ok "rules that are switched off" "$(firing) fire: $(tail -n 2 hub.log)"
stop
exit $failed
