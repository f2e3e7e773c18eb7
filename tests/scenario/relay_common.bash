# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the scenarios of pathprof-relay: receivers that do as they are told, a stand-in for
# pathprofd (tests/tools/alert_writer.c), and the relay between them. Sourced. Descriptor 9 is the
# scenario's own.
. "$(dirname "${BASH_SOURCE[0]}")/daemon_common.bash"
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
export no_proxy=127.0.0.1

alert_writer=$BUILD/tests/tools/alert_writer
[ -x "$alert_writer" ] || { echo "not ok writer: $alert_writer was not built"; exit 1; }
command -v python3 >/dev/null || { echo "skip relay: python3 is not installed"; exit 0; }
: >"$tmp/get.err"
conf=$tmp/p.conf
state=$tmp/state
receiver= real=
end_all() {
	local pid
	for pid in $receiver $real; do kill -9 "$pid" 2>/dev/null || true; done
	cleanup
}
trap end_all EXIT

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Receivers, each at a path of its own: for each message a line `STATUS BINARY` in the file of that
# name, of an Alertmanager's `alert BINARY`. The file NAME.mode says what they do: 200, 503, hang
# until the relay gives up. NAME.asked has a line for each try, NAME.hangs for each that hangs, and
# NAME.left for each of these that was given up.
python3 - "$tmp" <<-'END' 2>"$tmp/receiver.err" &
	import http.server, json, os, sys
	class Receiver(http.server.BaseHTTPRequestHandler):
	    def do_POST(self):
	        name = sys.argv[1] + "/" + self.path.split("/")[1]
	        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
	        mode = open(name + ".mode").read().strip()
	        open(name + ".asked", "a").write("x\n")
	        if mode == "hang":
	            open(name + ".hangs", "a").write("x\n")
	            try:
	                self.rfile.read(1)
	            except OSError:
	                pass
	            open(name + ".left", "a").write("x\n")
	            return
	        if mode == "200":
	            with open(name, "a") as out:
	                for a in body if isinstance(body, list) else [body]:
	                    if "labels" in a:
	                        print("alert", a["labels"]["binary"], file=out)
	                    else:
	                        print(a["status"], a["binary"], file=out)
	        self.send_response(int(mode))
	        self.send_header("Content-Length", "0")
	        self.end_headers()
	server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
	server.daemon_threads = True
	open(sys.argv[1] + "/port.new", "w").write(str(server.server_port))
	os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
	server.serve_forever()
END
receiver=$!
wait_for 20 test -s "$tmp/port" || { not_ok receiver "$(cat "$tmp/receiver.err")"; finish; }
port=$(cat "$tmp/port")
url=http://127.0.0.1:$port
is_now() { echo "$2" >"$tmp/$1.new"; mv "$tmp/$1.new" "$tmp/$1.mode"; }
for name in hook manager; do
	is_now "$name" 200
	: >"$tmp/$name"
done
# told LINE [FILE]: how often.
told() { grep -cx -- "$1" "$tmp/${2:-hook}" || true; }
# is_told LINE CNT [FILE]
is_told() { [ "$(told "$1" "${3:-hook}")" -ge "$2" ]; }
# twice FILE: lines that are there more than once.
twice() { sort "$tmp/$1" | uniq -d; }

# start_writer [COMMAND...]: the stand-in; what happens goes to descriptor 9.
mkfifo "$tmp/commands"
start_writer() {
	"$@" "$alert_writer" "$db" <"$tmp/commands" >"$tmp/writer.out" 2>"$tmp/writer.err" 9>&- &
	daemon=$!
	exec 9>"$tmp/commands"
	wait_for 20 grep -q ready "$tmp/writer.out" || not_ok writer "$(cat "$tmp/writer.err")"
	dots=0
}
has_dots() { [ "$(grep -c '^\.$' "$tmp/writer.out")" -ge "$dots" ]; }
# happens LINE: and is in the store when this returns.
happens() {
	echo "$1" >&9
	dots=$((dots + 1))
	wait_for 20 has_dots || not_ok happens "$1: $(cat "$tmp/writer.err")"
}
kill_writer() {
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null || true
	exec 9>&-
	daemon=
}
settings() { printf '%b' "$1" >"$conf"; chmod 644 "$conf"; }
relay() { start_relay -c "$conf" --db "$db" --state "$state" "$@"; }

# get_figures: of the endpoint, into $tmp/metrics. figure NAME: one of them.
get_figures() {
	python3 - "http://$listen/metrics" >"$tmp/metrics" 2>"$tmp/get.err" <<-'END'
		import sys, urllib.request
		print(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode(), end="")
	END
}
figure() { sed -n "s/^pathprof_$1 //p" "$tmp/metrics"; }
# is_up: the stand-in answered, which the relay gives it some seconds for.
is_up() { get_figures && [ "$(figure 'up{source="made"}')" = 1 ]; }
