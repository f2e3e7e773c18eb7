#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Receivers by https: only who is vouched for by CAFile= and bears the name asked for is told, the
# token goes with each try, and to nobody whom a redirect names. What fails is counted, and said
# once.
. "$(dirname "$0")/alert_common.bash"

probe=$BUILD/tests/tools/tell_probe
[ -x "$probe" ] || { echo "not ok probe: $probe was not built"; exit 1; }
command -v openssl >/dev/null || { echo "skip https: openssl is not installed"; exit 0; }

cd "$tmp"
openssl_quietly() { openssl "$@" 2>>"$tmp/openssl.log"; }
# authority NAME: NAME.pem and its key.
authority() {
	openssl_quietly req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-subj "/CN=$1" -keyout "$1.key" -out "$1.pem"
}
authority ours
authority theirs
openssl_quietly req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=receiver \
	-keyout server.key -out server.csr
echo 'subjectAltName=IP:127.0.0.1' >server.ext
openssl_quietly x509 -req -in server.csr -CA ours.pem -CAkey ours.key -CAcreateserial -days 2 \
	-extfile server.ext -out server.pem || not_ok certificate "$(tail -n 3 openssl.log)"
cat server.key >>server.pem
echo s3cret >token

# server NAME PORT [CERTIFICATE]: takes down `PATH AUTHORIZATION`; /moved is elsewhere now.
server() {
	: >"$1"
	python3 - "$@" "http://127.0.0.1:$elsewhere/there" <<-'END' 2>/dev/null &
		import http.server, ssl, sys
		class Receiver(http.server.BaseHTTPRequestHandler):
		    def do_POST(self):
		        self.rfile.read(int(self.headers["Content-Length"]))
		        with open(sys.argv[1], "a") as out:
		            print(self.path, self.headers.get("Authorization", "-"), file=out)
		        self.send_response(307 if self.path == "/moved" else 200)
		        self.send_header("Location", sys.argv[-1])
		        self.send_header("Content-Length", "0")
		        self.end_headers()
		    do_GET = do_POST
		server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Receiver)
		if len(sys.argv) > 4:
		    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
		    context.load_cert_chain(sys.argv[3])
		    server.socket = context.wrap_socket(server.socket, server_side=True,
		                                        do_handshake_on_connect=False)
		server.serve_forever()
	END
	helpers="$helpers $!"
	wait_for 10 bash -c ": 2>/dev/null </dev/tcp/127.0.0.1/$2" 2>/dev/null
}
elsewhere=$(free_port)
server there "$elsewhere" || not_ok server "the one without TLS did not start"
port=$(free_port)
server here "$port" server.pem || not_ok server "the one with TLS did not start"

mkfifo commands
# tell CA_FILE URL: a service that tells there and has one alert.
tell() {
	: >here
	"$probe" -j -c "$1" -b token "$2" "$listen" <commands >out 2>log &
	daemon=$!
	exec 9>commands
	wait_for 10 grep -q ready out || not_ok probe "$(cat log)"
	echo 'fire /bin/one' >&9
}
end() {
	exec 9>&-
	wait "$daemon" || not_ok ends-well "exit status $?"
	daemon=
}
# figure NAME: of pathprof_tell_NAME.
figure() { get "http://$listen/metrics" | sed -n "s/^pathprof_tell_$1{.*} //p"; }
at_least() { [ "$(figure "$1")" -ge "$2" ]; }
# refused_by NAME WHY: nothing was sent, tries are counted, and WHY is said once.
refused_by() {
	check "$1-counted" "$(figure failed_tries_total) tries" wait_for 20 at_least failed_tries_total 3
	check "$1-waits" "$(figure queued) wait" test "$(figure queued)" -eq 1
	check "$1-untold" "$(cat here)" test ! -s here
	check "$1-said-once" "$(cat log)" test "$(grep -c . log)" -eq 1
	check "$1-said" "$(cat log)" grep -q "webhook: .*$2.*; trying again" log
}
listen=127.0.0.1:$(free_port)
here_url=https://127.0.0.1:$port

tell ours.pem "$here_url/hook"
check told "$(cat log)" wait_for 20 grep -qx '/hook Bearer s3cret' here
check told-counted "$(figure told_total)" wait_for 20 at_least told_total 1
check told-silently "$(cat log)" test ! -s log
end

cp theirs.pem believed.pem
tell believed.pem "$here_url/hook"
refused_by wrong-authority certificate
cp ours.pem believed.pem
check authority-exchanged "$(cat log)" wait_for 20 grep -qx '/hook Bearer s3cret' here
check authority-exchanged-said "$(cat log)" wait_for 20 grep -q 'webhook: the receiver takes alerts again' log
tries=$(figure failed_tries_total)
cp theirs.pem believed.pem
echo 'fire /bin/two' >&9
check authority-withdrawn "$(cat here log)" wait_for 20 at_least failed_tries_total $((tries + 1))
end

tell none.pem "$here_url/hook"
refused_by no-authority none.pem
end

tell ours.pem "https://localhost:$port/hook"
refused_by wrong-name 'name.*localhost'
end

tell ours.pem "http://127.0.0.1:$port/hook"
check no-tls-counted "$(cat log)" wait_for 20 at_least failed_tries_total 3
check no-tls-untold "$(cat here)" test ! -s here
end

tell ours.pem "$here_url/moved"
check moved-given-up "$(cat log)" wait_for 20 at_least dropped_total 1
check moved-said "$(cat log)" wait_for 20 \
	grep -q 'webhook: the receiver refused alerts with HTTP status 307' log
check moved-asked "$(cat here)" grep -qx '/moved Bearer s3cret' here
check moved-not-followed "$(cat there)" test ! -s there
end
python3 - "$elsewhere" <<-'END'
	import sys, urllib.request
	urllib.request.urlopen("http://127.0.0.1:%s/there" % sys.argv[1], b"x", timeout=60)
END
check would-be-noticed "the other server takes nothing down" grep -q '^/there -$' there
finish
