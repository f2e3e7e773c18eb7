#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program whose file only its host has: who asks for its profile has hosts asked, one that may uploads it, and
# then the hub makes the profile and a reader sees the code. What was not asked for, is another build, no
# program, too large, or another tenant's is refused, and nothing of it stays.
. "$(dirname "$0")/../own_processes.bash"
name=fleet_files
. "$(dirname "$0")/fleet_common.bash" sqlite3 gcc curl openssl python3

# ---------------------------------------------------------------- a program that ran on one host
cat >work.c <<'END2'
#include <stdlib.h>
volatile unsigned long sum;
__attribute__((noinline)) void turn_wheels(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i & 1 ? 3 : i; }
int main(void) { for (int i = 0; i < 1500; i++) turn_wheels(60000); }
END2
mkdir bin home certs temporary
gcc -O1 -g -Wl,--build-id -o bin/worker work.c && gcc -O2 -Wl,--build-id -o other work.c || exit 1
id=$(readelf -n bin/worker | sed -n 's/.*Build ID: //p') other_id=$(readelf -n other | sed -n 's/.*Build ID: //p')
record_bursts 50 one.db "$dir/bin/worker"
sqlite3 one.db "UPDATE path_counts SET samples = samples * 30, squares = squares * 900, weight = weight * 30, weight_squares = weight_squares * 900"
"$hub" ca ca && "$hub" enrol ca hub --server --address 127.0.0.1 && "$hub" enrol ca one && "$hub" enrol ca reader --reader &&
	"$hub" enrol ca them --tenant other && "$hub" enrol ca their --tenant other --reader && cp ca/reader.pem ca/reader-key.pem ca/ca.pem certs || exit 1
as_unit pathprof-hub
start() {
	: >hub.log
	own
	TMPDIR=$dir/temporary "${as[@]}" "$hub" serve --db hub.db --tenants "$dir" --listen "127.0.0.1:${port:-0}" --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem >hub.log 2>&1 &
	server=$!
	await_hub
}
stop() { kill -TERM $server; wait $server 2>/dev/null; }
send() { # [OPTION...]
	"$hub" send --once --db one.db --hub "$url" --cert ca/one.pem --key ca/one-key.pem --ca ca/ca.pem "$@" >sent 2>said || not_ok "sending $*" "$(tail -n 1 said)"
}
ask() { # WHO WHAT [CURL-ARGUMENT...]: the answer in `got`
	rm -f got
	# A body waits for a look at its headers: an answer ahead of it may be lost with the connection.
	[[ " ${*:3}" != *" -T "* ]] || set -- "$@" -H 'Expect: 100-continue' --expect100-timeout 60
	status=$(curl -s -o got -w '%{http_code}' --max-time 120 --cert "ca/$1.pem" --key "ca/$1-key.pem" --cacert ca/ca.pem "$url/v1/$2" "${@:3}" 2>said)
}
refused() { # STATUS WORDS WHO WHAT [CURL-ARGUMENT...]
	ask "${@:3}"
	[ "$status" = "$1" ] && grep -q "$2" got && ok "$1: $2" || not_ok "${*:3}" "$status: $(head -c 300 got)"
}
there() { [ -e "hub.db.files/${id:0:2}/${id:2}" ]; }
since=$(($(date +%s) - 3600)) until=$(($(date +%s) + 60))
question="pgo/$id?format=bolt-fdata&since=$since&until=$until"
start
send
ask reader "$question"
cp got want
[ "$status" = 200 ] && grep -q turn_wheels want && ok "its profile, while the hub sees the file" || not_ok "the profile" "$status: $(head -c 300 got)"
# From now on its host alone has it, elsewhere.
stop
mv bin/worker home/worker
sqlite3 one.db "UPDATE binaries SET name = '$dir/home/worker' WHERE name = '$dir/bin/worker'"
start

# ---------------------------------------------------------------- asked for, by whom it may be sent
refused 404 'was not asked for' one "files/$id" -T home/worker
send --upload
there && not_ok "nobody asked" "$(find hub.db.files)"
refused 404 'hosts that may upload it are asked' reader "$question"
send
there && not_ok "without --upload" "the file came" || ok "a host that may not sends nothing"
chmod 750 home/worker
send --upload
there && not_ok "a file that not everybody may read" "it came"
grep -q 'uploaded' sent && not_ok "what it says" "$(cat sent)"
chmod 755 home/worker

# ---------------------------------------------------------------- refused
echo 'no program at all' >text
head -c 200 home/worker >short
truncate -s 257M large
refused 400 "that of another build, $other_id" one "files/$id" -T other
refused 400 'no ELF file with a build-id' one "files/$id" -T text
refused 400 'no ELF file with a build-id' one "files/$id" -T short
refused 400 'no ELF file with a build-id' one "files/$id" -X PUT -d ''
refused 413 'larger than 256 MiB' one "files/$id" -T large
refused 411 'length of a file is to be said' one "files/$id" -T home/worker -H 'Transfer-Encoding: chunked'
refused 404 'was not asked for' one "files/$other_id" -T other
refused 400 'a build-id is to stand' one "files/..%2f..%2fhub.db" -T home/worker
refused 400 'a build-id is to stand' one "files/${id^^}" -T home/worker
refused 404 'was not asked for' them "files/$id" -T home/worker
refused 403 "a reader's certificate sends nothing" reader "files/$id" -T home/worker
refused 403 "a host's certificate reads nothing" one "files/$id"
refused 405 'PUT /v1/files/' one "files/$id" -X DELETE
# Cut off in the midst: the next one is taken.
(printf 'PUT /v1/files/%s HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nhalf' "$id"; sleep 0.5) |
	timeout 10 openssl s_client -quiet -connect "127.0.0.1:$port" -cert ca/one.pem -key ca/one-key.pem -CAfile ca/ca.pem >/dev/null 2>&1
for _ in $(seq 600); do [ -z "$(find hub.db.files -type f)" ] && break; sleep 0.1; done
[ -z "$(find hub.db.files -type f)" ] && ok "of all that nothing stays" || not_ok "what stays" "$(find hub.db.files -type f)"
[ -e tenant-other.db.files ] && not_ok "another tenant" "it has a directory"

# ---------------------------------------------------------------- taken, and used
"$ctl" --hub "$url" --certificates certs cfg turn_wheels --binary "$id" --since @$since >got 2>said && not_ok "cfg without the file" "$(head -n 3 got)" ||
	{ grep -q 'no host has uploaded' said && ok "cfg says that hosts are asked"; } || not_ok "what cfg says" "$(cat said)"
send --upload
grep -q '1 file uploaded' sent && there && cmp -s home/worker "hub.db.files/${id:0:2}/${id:2}" && ok "uploaded, by the host that may" || not_ok "upload" "$(cat sent said; tail -n 2 hub.log)"
ask reader "$question"
[ "$status" = 200 ] && cmp -s want got && ok "and the profile is that of before" || not_ok "the profile" "$status: $(head -c 300 got)"
"$ctl" --hub "$url" --certificates certs cfg turn_wheels --binary "$id" --since @$since >got 2>said && grep -q 'turn_wheels' got && ok "cfg shows its code" || not_ok cfg "$(cat got said | head -n 5)"
"$ctl" --hub "$url" --certificates certs export --binary "$id" --format bolt-fdata --since @$since --until @$until -o exported 2>said && cmp -s want exported && ok "export needs no file of one's own" || not_ok export "$(cat said)"
ask reader "files/$id"
[ "$status" = 200 ] && cmp -s home/worker got && ok "a reader gets it" || not_ok "files" "$status"
refused 404 'no host has sent that it ran this build' their "files/$id"
cp got of_theirs
refused 404 'no host has sent that it ran this build' their "files/$other_id"
cmp -s got of_theirs && ok "another tenant's build is as one that nobody ran" || not_ok "another tenant's build" "$(cat got of_theirs)"
refused 404 'no host ran' their "$question"
refused 409 'is there already' one "files/$id" -T home/worker
send --upload
grep -q uploaded sent && not_ok "sent once" "$(cat sent)" || ok "it is sent once"

# ---------------------------------------------------------------- bounds, crashes, age
stop
start
ask reader "files/$id"
[ "$status" = 200 ] && ok "a hub that starts anew has it" || not_ok "after a start" "$status"
refused 404 'no host has sent that it ran this build' reader "files/$other_id"
refused 400 'a build-id is to stand' reader "files/${id:0:7}"
refused 400 'a build-id is to stand' reader "files/..%2fhub.db"
stop
chmod 0 "hub.db.files/${id:0:2}/${id:2}"
start
there && ok "a file that cannot be opened stays" || not_ok "a file that cannot be opened" "it is gone: $(tail -n 2 hub.log)"
stop
chmod 600 "hub.db.files/${id:0:2}/${id:2}"
truncate -s 0 "hub.db.files/${id:0:2}/${id:2}"
echo half >hub.db.files/comes
start
[ -z "$(find hub.db.files -type f)" ] && grep -q "removed, since it is not the file of build $id" hub.log && ok "what a crash left is gone" || not_ok "after a crash" "$(find hub.db.files -type f)"
stop
mkdir -p "hub.db.files/${other_id:0:2}" && cp other "hub.db.files/${other_id:0:2}/${other_id:2}" && truncate -s 1073741800 "hub.db.files/${other_id:0:2}/${other_id:2}"
start
refused 404 'hosts that may upload it are asked' reader "$question"
send --upload
there && not_ok "no room" "it came"
refused 507 'there is no room' one "files/$id" -T home/worker
stop
touch -d '31 days ago' "hub.db.files/${other_id:0:2}/${other_id:2}"
start
[ -z "$(find hub.db.files -type f)" ] && ok "what is older than parcels are kept is gone" || not_ok "an old file" "$(find hub.db.files -type f)"

# ---------------------------------------------------------------- a host that holds others up
refused 404 'hosts that may upload it are asked' reader "$question"
# It holds the one place for more than 20 s, and is never silent for so long.
python3 - "$port" "$id" 2>said <<'END' || not_ok "who holds others up" "$(tail -n 1 said)"
import socket, ssl, sys, time
context = ssl.create_default_context(cafile="ca/ca.pem")
context.load_cert_chain("ca/one.pem", "ca/one-key.pem")
s = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))), server_hostname="127.0.0.1")
s.sendall(b"PUT /v1/files/%s HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nslow" % sys.argv[2].encode())
for _ in range(7):
    time.sleep(5)
    s.sendall(b"ly")
END
for _ in $(seq 600); do [ -z "$(find hub.db.files -type f)" ] && break; sleep 0.1; done
refused 503 'held up others. files' one "files/$id" -T home/worker
"$hub" enrol ca two
ask two "files/$id" -T home/worker
[ "$status" = 200 ] && there && ok "another host's file comes meanwhile" || not_ok "another host" "$status: $(head -c 300 got)"
stop
exit $failed
