#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A fleet of three hosts that are not simulated: network and process namespaces, in each a pathprofd with the
# step source, a workload of its own, and pathprof-hub send; and a hub that they reach over TLS. One host
# compresses another way than the others. A reader on a fourth network asks which one it is.
set -u
name=fleet_hosts
. "$(dirname "$0")/../own_processes.bash"
BUILD=$(realpath "${BUILD:-build}")
hub=$BUILD/bin/pathprof-hub ctl=$BUILD/bin/pathprofctl
for tool in ip sqlite3 python3 gzip; do
	command -v $tool >/dev/null || { echo "skip $name: no $tool" && exit 0; }
done
[ "${FLEET_NETWORK:-}" = own ] || {
	unshare --mount --net true 2>/dev/null || { echo "skip $name: no network namespace can be made here" && exit 0; }
	FLEET_NETWORK=own exec unshare --mount --net bash "$0"
}
dir=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export TZ=UTC LC_ALL=C
failed=0
ok() { echo "ok $name: $1"; }
not_ok() { echo "not ok $name: $1: $2"; failed=1; }

# ---------------------------------------------------------------- four networks and a hub on the bridge
mount -t tmpfs tmpfs /run && ip link set lo up && ip link add bridge type bridge && ip addr add 10.99.0.1/24 dev bridge && ip link set bridge up ||
	{ echo "skip $name: no bridge can be made here" && exit 0; }
for i in 1 2 3 4; do
	ip netns add net$i && ip link add link$i type veth peer name eth0 netns net$i &&
		ip link set link$i master bridge up && ip -n net$i addr add 10.99.0.1$i/24 dev eth0 &&
		ip -n net$i link set eth0 up && ip -n net$i link set lo up || { not_ok network "net$i"; exit 1; }
done
"$hub" ca ca && "$hub" enrol ca hub --server --address 10.99.0.1 && "$hub" enrol ca reader --reader || { not_ok ca "none is made"; exit 1; }
for i in 1 2 3; do "$hub" enrol ca web$i || not_ok enrol web$i; done
"$hub" serve --db fleet.db --listen 10.99.0.1:7443 --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem 2>hub.log &
for _ in $(seq 600); do grep -q listening hub.log && break; sleep 0.1; done
grep -q listening hub.log && ok "the hub listens" || { not_ok hub "$(tail -n 1 hub.log)"; exit 1; }

# ---------------------------------------------------------------- three hosts
find "$(dirname "$BUILD")" -maxdepth 3 -name '*.[ch]' -type f 2>/dev/null | sort | head -n 200 | xargs cat >text
[ -s text ] || seq 100000 >text
cat >host.sh <<'END'
# NUMBER LEVEL: profiles what runs in this process namespace until it has seen enough of gzip.
i=$1 level=$2
printf '[Profile]\nSource=step\nOverhead=20%%\nWindowSec=2\n' >conf$i
"$BUILD/bin/pathprofd" -c conf$i --db host$i.db 2>log$i &
daemon=$!
while :; do gzip -$level <text >/dev/null; done &
work=$!
for _ in $(seq 300); do
	sleep 1
	samples=$(sqlite3 host$i.db "SELECT total(samples) FROM path_counts" 2>/dev/null)
	[ "${samples%.*}" -lt 6000 ] 2>/dev/null || [ -z "$samples" ] || break
	kill -0 $daemon 2>/dev/null || break
done
kill $work
kill -TERM $daemon
wait $daemon
END
export BUILD
hosts=
for i in 1 2 3; do
	level=6
	[ $i != 3 ] || level=1
	ip netns exec net$i unshare --pid --fork --mount-proc --kill-child bash host.sh $i $level &
	hosts="$hosts $!"
done
# shellcheck disable=SC2086
wait $hosts
for i in 1 2 3; do
	samples=$(sqlite3 host$i.db "SELECT total(samples) FROM path_counts" 2>/dev/null)
	[ "${samples%.*}" -ge 6000 ] 2>/dev/null && ok "host $i profiled itself: ${samples%.*} samples" || not_ok "host $i" "$samples samples; $(tail -n 1 log$i)"
done

# ---------------------------------------------------------------- they send, each from its own network
for i in 1 2 3; do
	ip netns exec net$i "$hub" send --once --db host$i.db --hub https://10.99.0.1:7443 --cert ca/web$i.pem --key ca/web$i-key.pem \
		--ca ca/ca.pem >sent 2>said && ok "web$i sends: $(cat sent)" || not_ok "web$i sends" "$(tail -n 1 said)"
done

# ---------------------------------------------------------------- and are asked
ask() { ip netns exec net4 "$ctl" --hub https://10.99.0.1:7443 --certificates ca "$@"; }
ask hosts --json >got 2>said && python3 -c '
import json
assert [h["name"] for h in json.load(open("got"))] == ["web1", "web2", "web3"]' 2>>said && ok "three hosts" || not_ok hosts "$(tail -n 1 said)"
# How much there is, and since when, is what the hub keeps: the sum that was fetched does not say.
ask hosts >got 2>said && sed -n 1p got | grep -q ' CPU  *PARCELS  *WINDOWS .* LAST ' && [ "$(grep -c '^web[123] ' got)" = 3 ] && grep -q 'sent nothing of it is not listed' got &&
	ok "hosts of the last hour" || not_ok "hosts of the last hour" "$(cat got said | head -n 5 | paste -sd ';')"
kept_by_hub() { sqlite3 -separator ' ' fleet.db "SELECT host, count(*), sum(windows), min(slot), max(slot) FROM parcels GROUP BY host ORDER BY host"; }
ask hosts --json | python3 -c '
import json, sys
for row in json.load(sys.stdin):
    print(row["name"], row["parcels"], row["windows"], row["first_slot"], row["last_slot"])' >got 2>said && [ -s got ] && kept_by_hub | cmp -s - got &&
	ok "and in JSON: $(paste -sd ';' got)" || not_ok "hosts in JSON" "$(paste -sd ';' got), not $(kept_by_hub | paste -sd ';'); $(tail -n 1 said)"
# A hub of an earlier version says less of a host; what it does not say is left out.
cat >older.py <<'END'
import http.client, http.server, json, ssl
context = ssl.create_default_context(cafile="ca/ca.pem")
context.load_cert_chain("ca/reader.pem", "ca/reader-key.pem")
class Older(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        hub = http.client.HTTPSConnection("10.99.0.1", 7443, context=context)
        hub.request("GET", self.path)
        answer = hub.getresponse()
        body = answer.read()
        if self.path.startswith("/v1/hosts"):
            stores = json.loads(body)["stores"]
            body = json.dumps({"stores": [{key: row[key] for key in ("store", "host", "labels")} for row in stores]}).encode()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
own.load_cert_chain("ca/hub.pem", "ca/hub-key.pem")
server = http.server.ThreadingHTTPServer(("10.99.0.1", 7444), Older)
server.socket = own.wrap_socket(server.socket, server_side=True)
open("older", "w").close()
server.serve_forever()
END
python3 older.py 2>older.err &
for _ in $(seq 600); do [ -e older ] && break; sleep 0.1; done
ask --hub https://10.99.0.1:7444 hosts --json >got 2>said && python3 -c '
import json
rows = json.load(open("got"))
assert [row["name"] for row in rows] == ["web1", "web2", "web3"], rows
for row in rows:
    assert row["last_slot"] > 0 and not {"parcels", "windows", "first_slot"} & set(row), row' 2>>said && ok "hosts of a hub that says less of them" || not_ok "hosts of a hub that says less of them" "$(tail -n 1 said)"
ask top --by binaries --json >got 2>said && python3 -c '
import json
rows = json.load(open("got"))
gzip = [r for r in rows if r["binary"]["name"].endswith("/gzip")]
assert gzip and gzip[0]["hosts"] == 3 and gzip[0]["runs"] > 0.5, rows' 2>>said && ok "gzip is on top, on three hosts" || not_ok top "$(tail -n 1 said)"
ask compare host:web1 host:web2 --json >near 2>said && ask compare host:web1 host:web3 --json >far 2>>said && python3 -c '
import json
near, far = (json.load(open(name))["figures"]["overlap"] for name in ("near", "far"))
print("overlap of web1 with web2 %.0f%%, with web3 %.0f%%" % (100 * near, 100 * far))
assert near > far + 0.1, (near, far)' >out 2>>said && ok "$(cat out)" || not_ok compare "$(tail -n 1 said)"
ask outliers --binary gzip --json >got 2>said && python3 -c '
import json
rows = json.load(open("got"))
assert [r["host"] for r in rows if r["outlier"]] == ["web3"], rows' 2>>said && ok "web3 is the outlier, and no other" || not_ok outliers "$(tail -n 1 said | head -c 600)"
exit $failed
