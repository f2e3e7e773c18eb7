# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the scenarios of alerting: a real Alertmanager, whose notifications a small server of
# ours records, and a real Prometheus, all on loopback with their data under $tmp. Sourced.
# Descriptor 9 is the scenario's own: none of them holds it open.
. "$(dirname "${BASH_SOURCE[0]}")/daemon_common.bash"
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
export no_proxy=127.0.0.1
helpers=

end_helpers() {
	local pid
	for pid in $helpers; do kill -9 "$pid" 2>/dev/null || true; done
	cleanup
}
trap end_helpers EXIT

for tool in prometheus promtool prometheus-alertmanager python3; do
	command -v "$tool" >/dev/null || { echo "skip alerts: $tool is not installed"; exit 0; }
done

# free_port: one that nobody listens on now.
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# get URL [EXPRESSION]: what Python makes of the JSON there, d; without one the text as it is. What
# may not stand in a URL is spelled out.
get() {
	python3 - "$@" <<-'END'
		import json, sys, urllib.parse, urllib.request
		from datetime import datetime
		url = urllib.parse.quote(sys.argv[1], safe=":/?=&%")
		try:
		    text = urllib.request.urlopen(url, timeout=60).read().decode()
		except OSError as error:
		    sys.exit("%s: %s" % (url, error))
		d = json.loads(text) if len(sys.argv) > 2 else None
		print(eval(sys.argv[2]) if len(sys.argv) > 2 else text, end="" if d is None else "\n")
	END
}

# The receiver of Alertmanager's notifications: a line `STATUS BINARY` each alert of one.
start_receiver() {
	receiver_port=$(free_port)
	: >"$tmp/notified"
	python3 - "$receiver_port" "$tmp/notified" <<-'END' 2>/dev/null &
		import http.server, json, sys
		class Receiver(http.server.BaseHTTPRequestHandler):
		    def do_POST(self):
		        d = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
		        with open(sys.argv[2], "a") as out:
		            for a in d["alerts"]:
		                print(a["status"], a["labels"].get("binary", "?"), file=out)
		        self.send_response(200)
		        self.end_headers()
		http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
	END
	helpers="$helpers $!"
}

# Says at once what is new; never repeats what is not.
run_alertmanager() {
	prometheus-alertmanager --config.file="$tmp/alertmanager.yml" \
		--storage.path="$tmp/alertmanager" --cluster.listen-address= \
		--web.listen-address="127.0.0.1:$alertmanager_port" >"$tmp/alertmanager.log" 2>&1 9>&- &
	alertmanager=$!
	helpers="$helpers $!"
	wait_for 30 get "$alertmanager_url/-/ready" >/dev/null 2>&1
}

start_alertmanager() {
	start_receiver
	alertmanager_port=$(free_port)
	alertmanager_url=http://127.0.0.1:$alertmanager_port
	cat >"$tmp/alertmanager.yml" <<-END
		route:
		  receiver: test
		  group_by: ['...']
		  group_wait: 0s
		  group_interval: 1s
		  repeat_interval: 4h
		receivers:
		  - name: test
		    webhook_configs:
		      - url: http://127.0.0.1:$receiver_port/
		        send_resolved: true
	END
	run_alertmanager
}

# active BINARY: how many alerts about it Alertmanager shows.
active() {
	get "$alertmanager_url/api/v2/alerts?active=true" \
		"sum('$1' in a['labels']['binary'] for a in d)"
}
is_active() { [ "$(active "$2")" = "$1" ]; }
# told_since NS BINARY: it was told of the one about it after that time.
told_since() {
	[ "$(get "$alertmanager_url/api/v2/alerts?active=true" "sum('$2' in a['labels']['binary']
		and datetime.fromisoformat(a['updatedAt']).timestamp() > $1 / 1e9 for a in d)")" = 1 ]
}
notified() { grep -c -- "$1" "$tmp/notified" || true; }
has_notified() { [ "$(notified "$2")" -ge "$1" ]; }

# start_prometheus TARGET: scrapes host:port every second.
start_prometheus() {
	prometheus_url=http://127.0.0.1:$(free_port)
	cat >"$tmp/prometheus.yml" <<-END
		global:
		  scrape_interval: 1s
		scrape_configs:
		  - job_name: pathprof
		    static_configs:
		      - targets: ['$1']
	END
	prometheus --config.file="$tmp/prometheus.yml" --storage.tsdb.path="$tmp/prometheus" \
		--web.listen-address="${prometheus_url#http://}" >"$tmp/prometheus.log" 2>&1 9>&- &
	helpers="$helpers $!"
	wait_for 30 get "$prometheus_url/-/ready" >/dev/null 2>&1
}

# value_of QUERY: of the first result; nothing when there is none.
value_of() {
	get "$prometheus_url/api/v1/query?query=$1" \
		"d['data']['result'][0]['value'][1] if d['data']['result'] else ''"
}
value_is() { [ "$(value_of "$2")" = "$1" ]; }
has_value() { [ -n "$(value_of "$1")" ]; }
