#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hosts send what they saw to a hub over TLS: its database holds the sums that sqlite3 finds in
# theirs, whatever is sent twice, killed or put back from a copy. Who has no certificate of the hub's
# authority, would replace what another host saw, or sends what is no parcel, gets an answer and nothing else.
set -u
name=hub
. "$(dirname "$0")/../own_processes.bash"
BUILD=$(realpath "${BUILD:-build}")
hub=$BUILD/bin/pathprof-hub ctl=$BUILD/bin/pathprofctl known=$BUILD/tests/tools/ctl_known_db
schema=$(realpath "$(dirname "$0")/../../schema/wire")
for tool in sqlite3 curl openssl zstd protoc-c python3; do
	command -v $tool >/dev/null || { echo "skip $name: no $tool" && exit 0; }
done
kills=5 hosts=3
[ "${PATHPROF_ROUNDS:-short}" != full ] || kills=200
dir=$(mktemp -d)
server=
trap 'kill -9 $server 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export TZ=UTC LC_ALL=C
failed=0
ok() { echo "ok $name: $1"; }
not_ok() { echo "not ok $name: $1: $2"; failed=1; }

# ---------------------------------------------------------------- an authority, and who it knows
"$hub" ca ca && "$hub" enrol ca hub --server --address 127.0.0.1,localhost || { not_ok ca "none is made"; exit 1; }
for h in $(seq $((hosts + 1))); do "$hub" enrol ca host$h || not_ok enrol "host$h"; done
openssl verify -CAfile ca/ca.pem -purpose sslclient ca/host1.pem >said 2>&1 &&
	openssl verify -CAfile ca/ca.pem -purpose sslserver ca/hub.pem >>said 2>&1 &&
	! openssl verify -CAfile ca/ca.pem -purpose sslclient ca/hub.pem >>said 2>&1 &&
	ok "certificates are what openssl takes them for" || not_ok certificates "$(tail -n 1 said)"
openssl verify -x509_strict -CAfile ca/ca.pem ca/host1.pem ca/hub.pem >said 2>&1 &&
	ok "certificates hold by the letter of RFC 5280" || not_ok "certificates, strictly" "$(paste -sd ';' said)"
"$hub" enrol ca mistaken --address 127.0.0.1 2>said
[ $? -eq 2 ] && grep -q -- '--server makes it' said && [ ! -e ca/mistaken.pem ] && ok "no host has the hub's addresses" || not_ok "addresses of a host" "$(cat said)"
for address in 127.0.0.1:7443 hub,,hub2 'hub, hub2' '[::1]' https://hub 10.0.0; do
	"$hub" enrol ca mistaken --server --address "$address" 2>said
	[ $? -eq 2 ] && grep -q 'is no host name and no IP address' said && [ ! -e ca/mistaken.pem ] && ok "no address: '$address'" || not_ok "no address: '$address'" "$(cat said)"
done
# No certificate outlives its authority's.
end_of() { openssl x509 -noout -enddate -in "$1"; }
"$hub" enrol ca long --days 36500 2>said && grep -q 'long: its certificate ends with that of the authority, ca/ca.pem, on .*and not 36500; make a new authority' said && [ "$(end_of ca/long.pem)" = "$(end_of ca/ca.pem)" ] &&
	ok "a certificate ends with its authority's, and that is said" || not_ok "beyond the authority's end" "$(cat said) $(end_of ca/long.pem)"
"$hub" enrol ca short2 --days 3600 2>said && [ "$(cat said)" = "pathprof-hub: wrote ca/short2.pem and ca/short2-key.pem" ] && ok "one that ends before is as long as it was to be" || not_ok "before the authority's end" "$(cat said)"
mkdir over
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout over/ca-key.pem -out over/ca.csr -subj /CN=over 2>/dev/null
openssl x509 -req -in over/ca.csr -signkey over/ca-key.pem -set_serial 1 -days 0 -extfile <(echo basicConstraints=CA:true) -out over/ca.pem 2>/dev/null
! "$hub" enrol over host1 2>said && grep -q 'over/ca.pem: its time was over on .*: make a new authority in another directory' said && [ ! -e over/host1.pem ] && [ ! -e over/host1-key.pem ] &&
	ok "an authority whose time is over signs nothing" || not_ok "an authority whose time is over" "$(ls over; cat said)"
[ "$(stat -c %a ca/ca-key.pem ca/host1-key.pem | sort -u)" = 600 ] && ok "keys are their owner's alone" ||
	not_ok keys "$(stat -c '%n %a' ca/*-key.pem | paste -sd ' ')"
cp ca/host1.pem before
! "$hub" enrol ca host1 2>said && cmp -s before ca/host1.pem && ok "nothing is overwritten" || not_ok overwritten "$(cat said)"
# A key without its certificate would sign what no hub takes.
mv ca/ca-key.pem safe.pem
! "$hub" ca ca 2>said && [ ! -e ca/ca-key.pem ] && grep -q 'ca/ca.pem: File exists' said && ok "no authority gets another key" || not_ok "another key" "$(ls ca; cat said)"
# Nor does one sign with another's.
"$hub" ca stranger && cp stranger/ca-key.pem ca/ca-key.pem
! "$hub" enrol ca lost 2>said && [ ! -e ca/lost.pem ] && [ ! -e ca/lost-key.pem ] && grep -q 'ca-key.pem is not the key of ca.pem' said && ok "no authority signs with another's key" || not_ok "another's key" "$(ls ca; cat said)"
mv safe.pem ca/ca-key.pem

# Names come from others: what a terminal would obey is not said as it is.
"$hub" serve $'a\x1b\xc2\x9b2J' 2>said
grep -q 'serve: a???2J: not expected' said && ok "no control characters are said" || not_ok "control characters" "$(od -c said | head -n 3)"

# ---------------------------------------------------------------- hosts' databases, of known content
# The known windows again and again, a slot further each time, with counts of the host's own.
make_host() { # NUMBER COPIES
	cp known.db "host$1.db"
	python3 - "host$1.db" "$1" "$2" <<'END'
import sqlite3, sys
db, host, copies = sqlite3.connect(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
db.execute("UPDATE meta SET value = ? WHERE name = 'identity'", ("%032x" % (host * 0x9e3779b97f4a7c15f39cc0605cedc835 % 2**128),))
columns = lambda table: [row[1] for row in db.execute("PRAGMA table_info(%s)" % table)]
last = db.execute("SELECT max(id) FROM windows").fetchone()[0]
for copy in range(1, copies):
    for table in ("windows", "window_ends", "window_drops", "window_processes", "path_counts", "edge_counts", "clock_counts"):
        names = columns(table)
        own = {"windows": {"id": "id + %d" % (copy * last), "begin_ns": "begin_ns + %d" % (copy * 300 * 10**9), "end_ns": "end_ns + %d" % (copy * 300 * 10**9)}}.get(
            table, {"window": "window + %d" % (copy * last)})
        where = "id" if table == "windows" else "window"
        db.execute("INSERT INTO %s SELECT %s FROM %s WHERE %s <= %d" % (table, ", ".join(own.get(n, n) for n in names), table, where, last))
db.execute("UPDATE path_counts SET samples = samples * ?", (host,))
db.commit()
END
}
"$known" known.db || { not_ok known "it is not made"; exit 1; }
for h in $(seq $hosts); do make_host $h 12; done
sums() { # DATABASE...: a line for each path, edge and place, over all of them
	for database; do
		sqlite3 -separator ' ' "$database" "
			SELECT 'path', hex(b.build_id), t.start, t.length, t.outcomes, p.comm, c.samples, c.weight
				FROM path_counts c JOIN paths t ON t.id = c.path JOIN binaries b ON b.id = t.binary
				JOIN processes p ON p.id = c.process;
			SELECT 'edge', hex(f.build_id), e.from_offset, hex(b.build_id), e.to_offset, p.comm, c.count, 0
				FROM edge_counts c JOIN edges e ON e.id = c.edge
				JOIN binaries f ON f.id = e.from_binary JOIN binaries b ON b.id = e.to_binary
				JOIN processes p ON p.id = c.process;
			SELECT 'drop', reason, 0, 0, 0, 0, count, 0 FROM window_drops;
			SELECT 'total', 0, 0, 0, 0, 0, bursts, branches FROM windows"
	done | awk '{ key = $1 " " $2 " " $3 " " $4 " " $5 " " $6; count[key] += $7; weight[key] += $8 }
		END { for (key in count) printf "%s %d %.6e\n", key, count[key], weight[key] }' | sort
}
same_sums() { # WHAT DATABASE...: those of the hub are those of the databases
	local what=$1
	shift
	sums "$@" >want
	sums hub.db >got
	if grep -q ^path want && cmp -s want got; then
		ok "$what: $(awk '/^path/ { n += $7 } END { print n }' got) samples"
	else
		not_ok "$what" "$(diff want got | head -n 3 | paste -sd ';')"
	fi
}

# ---------------------------------------------------------------- the hub
start() { # OPTION...
	: >hub.log
	(
		"$hub" serve --db hub.db --listen ${listen:-127.0.0.1}:${port:-0} --cert ca/hub.pem --key ca/hub-key.pem \
			--ca ca/ca.pem --keep 3650 "$@" >hub.log 2>&1 &
		echo $! >pid
	)
	server=$(cat pid)
	for _ in $(seq 1800); do
		grep -q listening hub.log && break
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	port=$(sed -n 's/.*, port \([0-9]*\);.*/\1/p' hub.log)
	[ -n "$port" ] || { not_ok start "$(tail -n 1 hub.log)"; exit 1; }
	url=https://127.0.0.1:$port
}
is_gone() { for _ in $(seq 3600); do kill -0 $server 2>/dev/null || return 0; sleep 0.05; done; return 1; }
stop() { kill -TERM $server; is_gone || not_ok "its end" "it goes on after SIGTERM"; }
as() { # HOST: options of who it is
	echo "--cert ca/$1.pem --key ca/$1-key.pem"
}
send() { # NUMBER [OPTION...]
	local h=$1
	shift
	# shellcheck disable=SC2046
	"$hub" send --once --db "host$h.db" --hub "$url" $(as "host$h") --ca ca/ca.pem "$@" >sent 2>said
}
labels=(- "group=front dc=ams" group=front "group=back dc=ams")
start
for h in $(seq $hosts); do send $h --labels "${labels[h]}" || not_ok "host$h sends" "$(tail -n 1 said)"; done
same_sums "three hosts sent" host?.db
send 1 && grep -q '^0 parcels sent, [1-9]' sent && ok "what is there is not sent again" || not_ok "sent again" "$(cat sent)"
"$hub" send --once --db host1.db --hub "$url" $(as host2) --ca ca/ca.pem >sent 2>said && grep -q '^0 parcels sent' sent && grep -q -- '--cert ca/host2.pem is that of host2: if this host was neither renamed' said &&
	ok "another host's certificate is told of" || not_ok "another host's certificate" "$(cat sent said)"
send 1 && [ ! -s said ] && ok "and its own is not" || not_ok "its own certificate" "$(cat said)"
! "$hub" send --once --db host1.db --hub "$url" --cert ca/host1.pem --key ca/host2-key.pem --ca ca/ca.pem >sent 2>said && grep -q -- '--key ca/host2-key.pem is not the key of --cert ca/host1.pem' said &&
	ok "another certificate's key is named" || not_ok "another certificate's key" "$(cat sent said)"
url=$url/ send 1 && grep -q '^0 parcels sent, [1-9]' sent && ok "an address with a slash at its end" || not_ok "a slash" "$(tail -n 1 said)"
"$ctl" --db hub.db hosts --json | python3 -c '
import json, sys
assert [h["name"] for h in json.load(sys.stdin)] == ["host1", "host2", "host3"]' 2>said &&
	ok "hosts have the names of their certificates" || not_ok hosts "$(tail -n 1 said)"
"$ctl" --db hub.db paths --since @0 --host host2 >got 2>said && [ "$(wc -l <got)" -gt 5 ] && ok "pathprofctl asks of one host" ||
	not_ok "pathprofctl" "$(tail -n 1 said)"

# ---------------------------------------------------------------- readers
"$hub" enrol ca reader --reader && "$hub" enrol ca late --reader || not_ok enrol "readers"
fetch() { # DATABASE OPTION...
	"$hub" fetch --db "$1" --hub "$url" $(as reader) --ca ca/ca.pem "${@:2}" 2>said
}
same_as_hub() { # WHAT DATABASE
	sums hub.db >want
	sums "$2" >got
	grep -q ^path want && cmp -s want got && ok "$1" || not_ok "$1" "$(diff want got | head -n 3 | paste -sd ';')"
}
fetch all.db && same_as_hub "a reader gets the sums of all hosts" all.db || not_ok "a reader" "$(tail -n 1 said)"
[ "$(sqlite3 all.db 'SELECT count(*) FROM parcels')" = $hosts ] && ok "one parcel a host" || not_ok "one parcel a host" "$(sqlite3 all.db 'SELECT host, slot FROM parcels' | paste -sd ' ')"
! fetch all.db && grep -q 'there is such a file' said && ok "no file is overwritten" || not_ok "no file is overwritten" "$(tail -n 1 said)"
# A part of the time, and of the hosts: as sqlite3 adds it up.
middle=$(sqlite3 hub.db "SELECT (min(end_ns) + max(end_ns)) / 2 / 1000000000 FROM windows")
sum_of() { sqlite3 "$1" "SELECT sum(c.samples) FROM path_counts c JOIN parcel_windows w ON w.window = c.window JOIN parcels p ON p.id = w.parcel JOIN windows v ON v.id = c.window WHERE $2"; }
fetch part.db --since $middle --host host2 && [ "$(sum_of part.db 1)" = "$(sum_of hub.db "p.host = 'host2' AND v.end_ns > $middle * 1000000000")" ] &&
	ok "one host since $middle: $(sum_of part.db 1) samples" || not_ok "one host since" "$(tail -n 1 said) $(sum_of part.db 1)"
fetch before.db --until $middle && [ "$(sum_of before.db 1)" = "$(sum_of hub.db "v.begin_ns < $middle * 1000000000")" ] &&
	ok "all hosts until then" || not_ok "all hosts until" "$(tail -n 1 said)"
! fetch none.db --host nobody && grep -q 'no host nobody' said && [ ! -e none.db ] && ok "an unknown host" || not_ok "an unknown host" "$(tail -n 1 said)"
! fetch none.db --since 4000000000 && grep -q 'nothing of that time' said && [ ! -e none.db ] && ok "a time without parcels" || not_ok "a time without" "$(tail -n 1 said)"
mkdir config
export XDG_CONFIG_HOME=$dir/config TMPDIR=$dir
mkdir config/pathprof
! "$ctl" --hub "$url" top 2>said && grep -q 'config/pathprof/reader.pem: cannot be read: .*enrol' said && ok "pathprofctl says which certificate it lacks" ||
	not_ok "no certificate" "$(tail -n 1 said)"
cp ca/reader.pem ca/reader-key.pem ca/ca.pem config/pathprof
for verb in "top --by functions" "top --by edges" paths edges binaries processes; do
	"$ctl" --db hub.db $verb --since @0 --json >want 2>said
	"$ctl" --hub "$url" $verb --since @0 --json >got 2>>said
	python3 - <<'END' 2>>said && ok "--hub $verb: as of the hub's database" || not_ok "--hub $verb" "$(tail -n 1 said)"
import json
def rows(path):
    found = json.load(open(path))
    return found["rows"] if isinstance(found, dict) and "rows" in found else found
def same(a, b, at=""):
    if isinstance(a, dict):
        assert a.keys() == b.keys(), (at, a.keys() ^ b.keys())
        for key in a:
            if key not in ("id", "window", "first_seen", "last_seen", "first_seen_ns", "last_seen_ns"):
                same(a[key], b[key], at + "/" + key)
    elif isinstance(a, list):
        assert len(a) == len(b), (at, len(a), len(b))
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, "%s/%d" % (at, i))
    elif isinstance(a, float) or isinstance(b, float):
        assert abs(a - b) <= 1e-6 * max(abs(a), abs(b)), (at, a, b)
    else:
        assert a == b, (at, a, b)
have = rows("want")
assert have
same(have, rows("got"))
END
done
# The three hosts ran the same workloads, without process ids: each row says whose it is, and a sum of how many hosts.
"$ctl" --hub "$url" processes --since @0 --json >got 2>said && python3 -c '
import collections, json
rows = collections.Counter(row["host"] for row in json.load(open("got")))
assert set(rows) == {"host1", "host2", "host3"} and len(set(rows.values())) == 1, rows' 2>>said &&
	"$ctl" --hub "$url" processes --since @0 >got 2>>said && grep -q ' HOST  *PID ' got && grep -q ' host2 ' got &&
	ok "processes say of which host they are" || not_ok "hosts of processes" "$(head -n 3 got | paste -sd ';') $(tail -n 1 said)"
"$ctl" --hub "$url" processes --since @0 --host host2 --json >got 2>said && python3 -c '
import json
assert {row["host"] for row in json.load(open("got"))} == {"host2"}' 2>>said && ok "processes of one host" || not_ok "processes of one host" "$(tail -n 1 said)"
"$ctl" --hub "$url" top --by comms --since @0 --json >got 2>said && python3 -c '
import json
rows = json.load(open("got"))
assert rows and all(row["hosts"] == 3 for row in rows), rows' 2>>said && ok "names of processes say of how many hosts they are" || not_ok "hosts of names" "$(tail -n 1 said)"
# Hosts by their labels: the sums are those of their databases, at the hub's database and over the network.
labelled() { # WHAT-DATABASES OPTION...
	local what=$1 want
	shift
	want=$(for database in $what; do sqlite3 "$database" "SELECT sum(samples) FROM path_counts"; done | awk '{ sum += $1 } END { print sum }')
	for from in "--hub $url" "--db hub.db"; do
		"$ctl" $from paths --json -n 0 --since @0 "$@" 2>said | python3 -c 'import json, sys; print(sum(row["samples"] for row in json.load(sys.stdin)))' >got 2>>said
		[ "$(cat got)" = "$want" ] && ok "paths ${from%% *} $*: $want samples" || not_ok "paths ${from%% *} $*" "$(cat got) samples, not $want; $(tail -n 1 said)"
	done
}
labelled "host1.db host2.db" --group front
labelled "host1.db host3.db" --label dc=ams
labelled "host1.db" --label dc=ams --group front
"$ctl" --db hub.db hosts --label dc=ams --json | python3 -c '
import json, sys
hosts = [(h["name"], h["labels"]) for h in json.load(sys.stdin)]
assert hosts == [("host1", "dc=ams group=front"), ("host3", "dc=ams group=back")], hosts' 2>said && ok "hosts by label" || not_ok "hosts by label" "$(tail -n 1 said)"
for word in dc=fra dc=am; do
	! "$ctl" --hub "$url" paths --label $word >got 2>said && grep -q "no host with the labels $word" said && ok "nobody has $word" || not_ok "nobody has $word" "$(head -n 1 got said)"
done
"$ctl" --hub "$url" paths --label "dc=a'b" >got 2>said; [ $? -eq 2 ] && ok "a label that is none" || not_ok "a label that is none" "$(tail -n 1 said)"
"$ctl" --hub "$url" compare --since @0 --json group:front group:back >got 2>said
"$ctl" --hub "$url" compare --since @0 --json host:host1 host:host3 >want 2>>said
grep -q '"kl' got && ! cmp -s got want && ok "groups are compared" || not_ok "groups are compared" "$(tail -n 1 said)"
workload=$(sqlite3 hub.db "SELECT iif(container <> '', container, comm) FROM processes ORDER BY container = '' LIMIT 1")
want=$(sqlite3 hub.db "SELECT sum(c.samples) FROM path_counts c JOIN processes p ON p.id = c.process WHERE iif(container <> '', container, comm) = '$workload'")
"$ctl" --hub "$url" paths --json -n 0 --since @0 --workload "$workload" | python3 -c 'import json, sys; print(sum(row["samples"] for row in json.load(sys.stdin)))' >got
[ "$(cat got)" = "$want" ] && ok "workload $workload: $want samples" || not_ok "workload $workload" "$(cat got), not $want"
"$ctl" --hub "$url" hosts --since @0 >got 2>said; [ $? -eq 2 ] || not_ok "hosts --since" "it is taken"
"$ctl" --hub "$url" status >got 2>said; [ $? -eq 2 ] && grep -q 'a hub has nothing' said && ok "a verb that a hub has nothing for" || not_ok "--hub status" "$(tail -n 1 said)"
"$ctl" --hub "$url" --db x top >got 2>said; [ $? -eq 2 ] && ok "a hub or a database" || not_ok "--hub and --db" "$(tail -n 1 said)"
compgen -G "$dir/pathprof-??????" >/dev/null && not_ok "what was fetched" "$(ls -d "$dir"/pathprof-*)" || ok "nothing that was fetched stays"
unset TMPDIR

# A slot that has grown takes the place of the emptier one.
cp hub.db yesterday.db
make_host 4 2
send 4 || not_ok "a fourth host" "$(tail -n 1 said)"
sqlite3 host4.db "INSERT INTO windows SELECT max(id) + 1, begin_ns, end_ns, source, basis, taken_wanted, 7, 8, 9, 10,
	11, 12, 13, horizon, clock_hz, clock_kernel, 14, 15, 0, weighed FROM windows"
send 4 && grep -q '^1 parcel sent' sent || not_ok "a fuller slot" "$(cat sent said)"
same_sums "a slot has grown" host?.db

# ---------------------------------------------------------------- killed, and put back
for h in $(seq $hosts); do make_host $h 24; done
sleeps=(0.02 0.05 0.1 0.2 0.4)
for i in $(seq $kills); do
	(sleep "${sleeps[i % 5]}"; kill -9 $server) &
	send $((i % hosts + 1))
	wait $!
	is_gone || not_ok kill "it goes on after SIGKILL"
	start
done
for h in $(seq $hosts); do send $h || not_ok "host$h after $kills kills" "$(tail -n 1 said)"; done
same_sums "after $kills kills of the hub" host?.db
"$ctl" --db hub.db db check >said 2>&1 && ok "the database is sound" || not_ok "the database" "$(tail -n 1 said)"
stop
rm -f hub.db hub.db-*
cp yesterday.db hub.db
start
for h in $(seq $((hosts + 1))); do send $h || not_ok "host$h after the copy" "$(tail -n 1 said)"; done
same_sums "yesterday's database was filled up" host?.db

# ---------------------------------------------------------------- hours summed up, by a hub that is killed meanwhile
# To hosts it is the same hub: nothing is sent again, and what comes late counts once.
stop
sqlite3 hub.db '.backup kept.db'
windows=$(sqlite3 hub.db "SELECT count(*) FROM windows")
for i in $(seq 5); do
	start --roll 1
	sleep "${sleeps[i % 5]}"
	kill -9 $server
	is_gone || not_ok kill "it goes on after SIGKILL"
	sums hub.db | cmp -s - want || not_ok "killed while hours are summed up" "$(sums hub.db | diff want - | head -n 3 | paste -sd ';')"
done
start --roll 1
to_roll() { sqlite3 -cmd '.timeout 5000' hub.db "SELECT count(*) FROM parcels WHERE NOT rolled"; }
rolled() { for _ in $(seq 3000); do [ "$(to_roll)" = 0 ] && return 0; sleep 0.1; done; return 1; }
rolled || not_ok "hours summed up" "$(to_roll) parcels are left"
same_sums "hours summed up" host?.db
left=$(sqlite3 hub.db "SELECT count(*) FROM windows")
[ "$left" -lt "$((windows / 2))" ] && ok "of $windows windows $left are left" || not_ok "windows that are left" "$left of $windows"
send 1 && grep -q '^0 parcels sent, [1-9]' sent && ok "and nothing is sent again" || not_ok "sent again" "$(cat sent said)"
sqlite3 host1.db "INSERT INTO windows SELECT max(id) + 1, begin_ns, end_ns, source, basis, taken_wanted, 7, 8, 9, 10,
	11, 12, 13, horizon, clock_hz, clock_kernel, 14, 15, 0, weighed FROM windows"
send 1 && grep -q '^1 parcel sent' sent || not_ok "a window of an hour that was summed up" "$(cat sent said)"
# How late the oldest hour is, from its end on: the hub's figure is the database's, or 0 once the hour is summed up.
python3 - 2>said <<'END' && ok "how late the oldest hour is" || not_ok "how late the oldest hour is" "$(tail -n 1 said)"
import re, socket, sqlite3, time
with socket.socket(socket.AF_UNIX) as hub:
    hub.connect("hub.db.socket")
    hub.sendall(b"figures\n")
    figures = b"".join(iter(lambda: hub.recv(65536), b"")).decode()
told = float(re.search(r'^pathprof_hub_roll_backlog_seconds\{tenant="default"\} (\S+)', figures, re.M)[1])
slot = sqlite3.connect("hub.db", timeout=60).execute("SELECT min(slot) FROM parcels WHERE NOT rolled").fetchone()[0]
late = time.time() - 86400 - (slot // 3600 + 1) * 3600 if slot else 0
assert not told or not slot or abs(told - late) < 900, (told, late)
END
same_sums "a window that came late" host?.db
send 1 && grep -q '^0 parcels sent, [1-9]' sent || not_ok "a late window is sent again" "$(cat sent said)"
"$ctl" --db hub.db db check >said 2>&1 && ok "the database is sound" || not_ok "the database" "$(tail -n 1 said)"
stop
grep -q 'hours of hosts summed up' hub.log || not_ok "its end" "$(tail -n 2 hub.log)"
rm -f hub.db hub.db-*
mv kept.db hub.db
make_host 1 24
start

# ---------------------------------------------------------------- who may not, and what may not
answer() { # STATUS WHAT CURL-ARGUMENT...: of the hub, with a reason
	local want=$1 what=$2 status
	shift 2
	status=$(curl -s -o answer -w '%{http_code}' --cacert ca/ca.pem --max-time 120 "$@" 2>said)
	if [ "$status" = "$want" ] && { [ "$want" = 000 ] || [ "$want" = 200 ] || python3 -c 'import json; assert json.load(open("answer"))["error"]'; }; then
		ok "$what: $want"
	else
		not_ok "$what" "status $status, not $want: $(head -c 200 answer)"
	fi
}
id_of() { sqlite3 "$1" "SELECT value FROM meta WHERE name = 'identity'"; }
mkdir parcels
"$ctl" --db host2.db parcel write --name someone -o parcels >/dev/null 2>&1
parcel=$(find parcels -name '*.parcel' | sort | head -n 1)
have=$url/v1/have?store=$(id_of host1.db)
# Before a body is sent: an answer that comes ahead of it would be lost with the connection.
ask=(-H "Expect: 100-continue" --expect100-timeout 60)
one=(--cert ca/host1.pem --key ca/host1-key.pem) two=(--cert ca/host2.pem --key ca/host2-key.pem)
answer 200 "its own store" "${one[@]}" "$have"
# A client that knows a store's random id, since the machine was cloned or renamed, gets the state
# of that store, and no more.
answer 200 "another host's store" "${two[@]}" "$have"
answer 400 "a slot that is none" "${one[@]}" "$have&slot=-300"
answer 200 "a slot of which nothing is there" "${one[@]}" "$have&slot=300"
# A client that made a mistake keeps its connection, also after a body; a client that may not ask loses it.
head -c 200 "$parcel" >cut
handshakes() { curl -s --cacert ca/ca.pem -o got -o got -w '%{http_code} %{num_connects} ' "$@"; }
took="$(handshakes "${one[@]}" "$have&slot=-300" "$have&slot=300")$(handshakes "${one[@]}" --data-binary @cut "$url/v1/parcels" "$url/v1/parcels")"
[ "$took" = '400 1 200 0 400 1 400 0 ' ] && ok "a client keeps its connection after a mistake" || not_ok "a connection after a mistake" "$took"
took=$(handshakes "$have" "$have")
[ "$took" = '403 1 403 1 ' ] && ok "a client without a certificate loses it" || not_ok "connections without a certificate" "$took"
reader=(--cert ca/reader.pem --key ca/reader-key.pem)
profile=$url/v1/profile?store=$(id_of host1.db)
answer 200 "a reader reads" "${reader[@]}" "$profile"
answer 403 "a host reads nothing, not even its own" "${one[@]}" "$profile"
answer 403 "a host asks for no hosts" "${one[@]}" "$url/v1/hosts"
answer 403 "a reader sends nothing" "${reader[@]}" --data-binary "@$parcel" "$url/v1/parcels"
answer 403 "a reader asks not for what a host sends" "${reader[@]}" "$have"
answer 400 "a time that is none" "${reader[@]}" "$profile&since=yesterday"
answer 400 "a time beyond all" "${reader[@]}" "$profile&until=99999999999999999999"
answer 404 "a store that nobody sent" "${reader[@]}" "$url/v1/profile?store=$(printf '%032x' 1)"
sums hub.db >before
answer 200 "a parcel that another host has sent" "${one[@]}" --data-binary "@$parcel" "$url/v1/parcels"
grep -q '"known"' answer && sums hub.db | cmp -s - before && ok "it is known, and counts once" || not_ok "a parcel that another host has sent" "$(cat answer)"
# One window more, and other counts: what another host saw would be replaced.
sqlite3 host2.db ".backup forged.db"
sqlite3 forged.db "INSERT INTO windows SELECT max(id) + 1, begin_ns, end_ns, source, basis, taken_wanted, 7, 8, 9, 10,
	11, 12, 13, horizon, clock_hz, clock_kernel, 14, 15, 0, weighed FROM windows; UPDATE path_counts SET samples = samples * 9"
"$ctl" --db forged.db parcel write -o forged >/dev/null
for forged in forged/*.parcel; do
	curl -s --cacert ca/ca.pem "${one[@]}" --data-binary "@$forged" "$url/v1/parcels" >>answers
done
grep -q "some of its windows are there under another host's name" answers && sums hub.db | cmp -s - before && ok "no host replaces what another one saw" ||
	not_ok "a forged parcel" "$(tail -c 300 answers)"
answer 200 "the same parcel of its own host" "${two[@]}" --data-binary "@$parcel" "$url/v1/parcels"
answer 403 "no certificate" "$have"
answer 403 "no certificate, with a parcel" "${ask[@]}" --data-binary "@$parcel" "$url/v1/parcels"
answer 403 "the hub's own certificate" --cert ca/hub.pem --key ca/hub-key.pem "$have"
# A host that makes up databases fills the hub with sixteen at most.
"$hub" enrol ca host6
for i in $(seq 17); do
	make_host 6 1
	sqlite3 host6.db "UPDATE meta SET value = '$(printf '%032x' $((0x6000 + i)))' WHERE name = 'identity'"
	send 6 || break
done
rm host6.db
[ "$i" -eq 17 ] && grep -q '403.*16 databases' said && ok "a seventeenth database: 403" || not_ok "a seventeenth database" "$i: $(tail -n 1 said)"
sqlite3 hub.db "SELECT count(DISTINCT store) FROM parcels WHERE host = 'host6'" | grep -qx 16 || not_ok "databases of one host" "not 16"
grep -q '127.0.0.1 (host6): 403: this host has sent of 16' hub.log && ok "the hub's log says whom it refused" || not_ok "the hub's log" "$(tail -n 1 hub.log)"
"$hub" ca others && "$hub" enrol others host1
answer 403 "the same name of another authority" --cert others/host1.pem --key others/host1-key.pem "$have"
grep -q '127.0.0.1 (says that it is host1): 403: the client certificate is not signed' hub.log && ok "and whom it does not believe" || not_ok "whom it does not believe" "$(tail -n 1 hub.log)"
grep -q '127.0.0.1 (no name): 403: a client certificate is needed' hub.log && ok "and from where" || not_ok "from where" "$(grep -m 1 403 hub.log)"
answer 000 "TLS 1.2" --tls-max 1.2 "${one[@]}" "$have"
answer 400 "no store" "${one[@]}" "$url/v1/have?store=xyz"
answer 404 "another way in" "${one[@]}" "$url/v1/other"
answer 405 "another method" "${one[@]}" -X DELETE "$url/v1/parcels"
head -c 100000 /dev/urandom >noise
answer 400 "noise" "${one[@]}" --data-binary @noise "$url/v1/parcels"
head -c $(($(stat -c %s "$parcel") - 20)) "$parcel" >cut
answer 400 "a parcel that was cut" "${two[@]}" --data-binary @cut "$url/v1/parcels"
answer 400 "nothing" "${two[@]}" --data-binary "" "$url/v1/parcels"
head -c 5000000 /dev/zero >large
answer 413 "five megabytes" "${one[@]}" "${ask[@]}" --data-binary @large "$url/v1/parcels"
head -c 200000000 /dev/zero >zeros
zstd -q -1 zeros -o bomb
answer 413 "a frame of 200 MB" "${one[@]}" --data-binary @bomb "$url/v1/parcels"
zstd -q -1 <zeros >bomb
answer 400 "a frame that does not say its size" "${one[@]}" --data-binary @bomb "$url/v1/parcels"
rm zeros
# A parcel as it is, but for the time at which it says that it was sent.
"$BUILD/tests/tools/parcel_write" >made
decoded() { zstd -qdc made | protoc-c --decode=pathprof.Parcel --proto_path="$schema" parcel.proto; }
encoded() { # a file, since a frame must say its size
	rm -f message encoded
	protoc-c --encode=pathprof.Parcel --proto_path="$schema" parcel.proto >message && zstd -q --check message -o encoded && cat encoded
}
decoded | sed -E 's/( sent_ns: )[0-9]+/\11000000000000000000/' | encoded >old
answer 409 "a host whose clock is years off" "${two[@]}" --data-binary @old "$url/v1/parcels"
now=$(date +%s)
for words in "role=a'b" "role=web dc=ams" "role=web role=web" 'role=\033[m' "$(printf 'k%d=v ' {1..40})" "$(head -c 3000 /dev/zero | tr '\0' k)=v"; do
	decoded | sed -E "s/( sent_ns: )[0-9]+/\1${now}000000000\n  labels: \"$words\"/" | encoded >mislabelled
	[ -s mislabelled ] || not_ok "labels" "no parcel is made of ${words:0:40}"
	answer 400 "a parcel whose labels are ${words:0:40}" "${two[@]}" --data-binary @mislabelled "$url/v1/parcels"
done
answer 400 "a question whose labels are none" "${reader[@]}" "$url/v1/hosts?labels=x%27%20OR%201"
answer 400 "a question with a plus of a label as it is" "${reader[@]}" "$url/v1/hosts?labels=v=1+2"
grep -q %2B answer || not_ok "a plus as it is" "nobody says how it is written: $(head -c 200 answer)"
answer 200 "a question with a plus of a label escaped" "${reader[@]}" "$url/v1/hosts?labels=v=1%2B2"
decoded | sed -E "s/( sent_ns: )[0-9]+/\1${now}000000000\n  labels: \"dc=ams\"/" | encoded >labelled
answer 200 "labels that are" "${two[@]}" --data-binary @labelled "$url/v1/parcels"
decoded | sed -E "s/( sent_ns: )[0-9]+/\1${now}000000000/" | encoded >fine
answer 200 "as it is" "${two[@]}" --data-binary @fine "$url/v1/parcels"
"$ctl" parcel add -o fine.db fine >/dev/null || not_ok "as it is" "pathprofctl does not add it"
decoded | sed -E "s/( sent_ns: )[0-9]+/\1${now}000000000/; s/( mispredicted: )[0-9]+/\11099511627776/" | encoded >immense
answer 400 "counts that no five minutes bring" "${two[@]}" --data-binary @immense "$url/v1/parcels"
grep -q 'counts add up to 2^40' answer || not_ok "counts that no five minutes bring" "not said: $(head -c 200 answer)"
make_host 5 2
later=$(((now - $(sqlite3 host5.db "SELECT max(end_ns) / 1000000000 FROM windows") + 86400) * 1000000000))
sqlite3 host5.db "UPDATE windows SET begin_ns = begin_ns + $later, end_ns = end_ns + $later"
! "$hub" send --once --db host5.db --hub "$url" $(as host3) --ca ca/ca.pem >sent 2>said && grep -q 'status 409.*in the future' said &&
	ok "slots of tomorrow: 409" || not_ok "slots of tomorrow" "$(tail -n 1 said)"
rm host5.db

# ---------------------------------------------------------------- those who may no longer
stop
grep -qE 'ends: .* parcels added, .* refused' hub.log && ok "it ends, and says what it did" || not_ok "its end" "$(tail -n 1 hub.log)"
: >denied
cat >authority.cnf <<'END'
[ca]
default_ca = d
[d]
database = index
default_md = sha256
default_crl_days = 30
crlnumber = number
serial = number
new_certs_dir = .
policy = any
unique_subject = no
[any]
commonName = supplied
END
: >index
echo 01 >number
# kept HOST COMMAND: the statuses of two requests on one connection, the command between them.
kept() {
	python3 - "$port" "$1" "${have#"$url"}" "$2" <<'END'
import http.client, ssl, subprocess, sys
port, host, path, command = sys.argv[1:]
context = ssl.create_default_context(cafile="ca/ca.pem")
context.load_cert_chain("ca/%s.pem" % host, "ca/%s-key.pem" % host)
connection = http.client.HTTPSConnection("127.0.0.1", int(port), context=context)
connection.connect()
connection.auto_open = 0
for act in (lambda: None, lambda: subprocess.run(["bash", "-c", command], check=True)):
    act()
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    print(answer.status)
END
}
# once HOST COMMAND WHAT: known at first, then no more, on one connection.
once() {
	statuses=$(kept "$1" "$2" 2>&1 | paste -sd ' ')
	judge_once "$3"
}
judge_once() { [ "$statuses" = "200 403" ] && ok "$1: 200, then 403" || not_ok "$1" "$statuses"; }
revoke() { openssl ca -config authority.cnf -cert ca/ca.pem -keyfile ca/ca-key.pem "$@" >said 2>&1; }
revoke -gencrl -out crl.new && mv crl.new crl.pem
# All addresses of the machine, of both versions.
listen='[::]'
start --crl crl.pem --denied denied
answer 200 "neither denied nor revoked" "${one[@]}" "$have"
echo reader >denied
answer 403 "a reader who is denied" "${reader[@]}" "$url/v1/hosts"
once host1 "echo host1 >denied" "denied in mid-connection"
answer 403 "denied while the hub runs" "${one[@]}" "$have"
: >denied
answer 200 "denied no more" "${one[@]}" "$have"
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca/short-key.pem -out short.csr -subj /CN=host1 2>/dev/null
# Again where a busy machine first asked after it had expired, or so early that its connection was
# silent for 20 s until then.
for seconds in 6 10 14 18 30 60; do
	end=$(($(date +%s) + seconds))
	revoke -batch -in short.csr -enddate "$(date -u -d "@$end" +%y%m%d%H%M%SZ)" -extfile <(echo extendedKeyUsage=clientAuth) -out ca/short.pem
	statuses=$(kept short "while [ \$(date +%s) -le $end ]; do sleep 0.2; done" 2>&1 | paste -sd ' ')
	[[ ! $statuses =~ ^200\ [0-9]{3}$ ]] || break
done
judge_once "expired in mid-connection"
export -f revoke
once host1 "revoke -revoke ca/host1.pem && revoke -gencrl -out crl.new && mv crl.new crl.pem" "revoked in mid-connection"
answer 403 "revoked while the hub runs" "${one[@]}" "$have"
answer 200 "another host is not" "${two[@]}" "$url/v1/have?store=$(id_of host2.db)"
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout late-key.pem -out late.csr -subj /CN=host3 2>/dev/null
openssl x509 -req -in late.csr -CA ca/ca.pem -CAkey ca/ca-key.pem -set_serial 77 -days 0 -extfile <(echo extendedKeyUsage=clientAuth) -out late.pem 2>/dev/null
sleep 1.1
answer 403 "a certificate that has expired" --cert late.pem --key late-key.pem "$have"

# A list that is not valid now revokes nobody, in GnuTLS's eyes.
revoke -gencrl -crlsec 1 -out crl.new && sleep 2 && mv crl.new crl.pem
answer 403 "revoked, by the list before one that is out of date" "${one[@]}" "$have"
grep -q 'is the list out of date.*stays in force' hub.log && ok "a list that is out of date is told of" ||
	not_ok "a list that is out of date" "$(tail -n 1 hub.log)"
stop
! timeout 60 "$hub" serve --db hub.db --listen 127.0.0.1:0 --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem --crl crl.pem >said 2>&1 &&
	grep -q 'is the list out of date' said && ok "the hub does not start with it" || not_ok "the hub starts with it" "$(tail -n 1 said)"
revoke -gencrl -out crl.new && mv crl.new crl.pem
printf 'other\nhost2 \n' >denied
start --crl crl.pem --denied denied
answer 403 "revoked, as a new list says" "${one[@]}" "$have"
answer 403 "denied by a line that ends in a blank" "${two[@]}" "$url/v1/have?store=$(id_of host2.db)"
mv denied denied.file && mkdir denied
answer 403 "denied, though the list cannot be read any more" "${two[@]}" "$url/v1/have?store=$(id_of host2.db)"
rmdir denied && : >denied
answer 200 "denied no more, once it can" "${two[@]}" "$url/v1/have?store=$(id_of host2.db)"
for wrong in "--ca none.pem" "--key none.pem"; do
	! "$hub" send --once --db host2.db --hub "$url" $(as host2) --ca ca/ca.pem $wrong >sent 2>said && grep -q -- "$wrong: " said &&
		ok "a file that cannot be read is named: $wrong" || not_ok "a file that cannot be read is named: $wrong" "$(cat said)"
done
! "$hub" send --once --db host2.db --hub https://127.0.0.1:1 $(as host2) --ca ca/ca.pem >sent 2>said && grep -q '; the hub could not take the rest now$' sent &&
	ok "a hub that is away is told beside the counts" || not_ok "a hub that is away" "$(cat sent said)"
! "$hub" send --once --db host1.db --hub "$url" $(as host1) --ca ca/ca.pem >sent 2>said && grep -q '; the hub refuses this certificate$' sent &&
	ok "a refusal is told beside the counts" || not_ok "a refusal" "$(cat sent said)"
for address in http://127.0.0.1:1 https:// https://127.0.0.1:99999 'https://a b:1'; do
	"$hub" send --once --db host2.db --hub "$address" $(as host2) --ca ca/ca.pem >sent 2>said
	[ $? -eq 2 ] && grep -qF -- "--hub $address: not https://HOST:PORT" said && ok "no hub: $address" || not_ok "no hub: $address" "$(tail -n 1 said)"
done
for address in 127.0.0.1:99999 127.0.0.1:x '[::1]:65536'; do
	! timeout 60 "$hub" serve --db other.db --listen "$address" --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem 2>said &&
		grep -qF -- "--listen $address: not an address in numbers and a port" said && ok "no port: $address" || not_ok "no port: $address" "$(tail -n 1 said)"
done
! timeout 60 "$hub" serve --db other.db --listen 127.0.0.1:0 --cert ca/hub.pem --key ca/host2-key.pem --ca ca/ca.pem 2>said &&
	grep -q -- '--key ca/host2-key.pem: not a certificate and its key' said && ok "another's key is named" || not_ok "another's key is named" "$(tail -n 1 said)"
! "$hub" send --once --db host2.db --hub "$url" $(as host2) --ca ca/ca.pem --labels "a=1 a=2" >sent 2>said && grep -q -- '--labels a=1 a=2: contradicts what was given before' said &&
	ok "labels that contradict one another are refused with a reason" || not_ok "labels" "$(tail -n 1 said)"

# ---------------------------------------------------------------- tenants
# Two who share a hub and see nothing of one another: names of hosts and ids of databases are each one's own.
"$hub" enrol ca elsewhere --tenant none
answer 403 "a tenant that the hub has not" --cert ca/elsewhere.pem --key ca/elsewhere-key.pem "$url/v1/have?store=$(id_of host2.db)"
stop
start --tenants gone
answer 503 "a tenant while the directory is away" --cert ca/elsewhere.pem --key ca/elsewhere-key.pem "$url/v1/have?store=$(id_of host2.db)"
stop
mkdir tenants other && cp ca/ca.pem ca/ca-key.pem other
"$hub" enrol other host2 --tenant other && "$hub" enrol other reader --tenant other --reader || not_ok "enrol --tenant" "$(ls other)"
! "$hub" enrol other host3 --tenant ../x 2>said && grep -q 'a name has letters' said && ok "a tenant's name is plain" || not_ok "a tenant's name" "$(cat said)"
sqlite3 hub.db "INSERT INTO alerts VALUES ('host', '/bin/x', 'host:host1', 'fleet', 2, 0, 5, 5, 0, 5, 1.0, '{}'),
	('host', CAST(X'2F62696E2FFF79' AS TEXT), 'host:host1', 'fleet', 2, 0, 5, 5, 0, 5, 1.0, '{}')"
start --tenants tenants
sums hub.db >before
make_host 2 3
"$hub" send --once --db host2.db --hub "$url" --cert other/host2.pem --key other/host2-key.pem --ca ca/ca.pem >sent 2>said ||
	not_ok "a host of another tenant" "$(tail -n 1 said)"
sums hub.db | cmp -s - before && ok "the default tenant's sums are as before" || not_ok "the default tenant" "its sums changed"
sums host2.db >want
sums tenants/tenant-other.db | cmp -s - want && ok "the other's are its host's" || not_ok "the other tenant" "$(ls tenants)"
theirs=(--cert other/host2.pem --key other/host2-key.pem) their_reader=(--cert other/reader.pem --key other/reader-key.pem)
three=$url/v1/profile?store=$(id_of host3.db)
answer 200 "a reader of the default tenant" "${reader[@]}" "$three"
answer 404 "the other's reader: what a host of the default one ran" "${their_reader[@]}" "$three"
answer 200 "the other's reader: its own" "${their_reader[@]}" "$url/v1/profile?store=$(id_of host2.db)"
curl -s --cacert ca/ca.pem "${their_reader[@]}" "$url/v1/hosts" >got
python3 -c 'import json; assert [s["host"] for s in json.load(open("got"))["stores"]] == ["host2"]' 2>said && ok "the other's reader: hosts are its own" || not_ok "hosts of the other" "$(cat got)"
curl -s --cacert ca/ca.pem "${theirs[@]}" "$url/v1/have?store=$(id_of host3.db)" >got
python3 -c 'import json; assert json.load(open("got"))["slots"] == []' 2>said && ok "the other's host: nothing of host3 is there" || not_ok "have of the other" "$(cat got)"
curl -s --cacert ca/ca.pem "${their_reader[@]}" "$url/v1/hosts?labels=dc%3Dams" >got
[ "$(cat got)" = '{"stores":[]}' ] && ok "the other's reader: no host has a label of the default one's" || not_ok "labels of the other" "$(cat got)"
answer 200 "alerts of the default tenant" "${reader[@]}" "$url/v1/alerts"
python3 -c 'import json; assert [a["binary"] for a in json.load(open("answer"))["alerts"]] == ["/bin/x", "/bin/\ufffdy"]' 2>said &&
	ok "one of a file whose name is not UTF-8 is among them" || not_ok "alerts of the default tenant" "$(cat answer)"
answer 200 "the other's reader asks for alerts" "${their_reader[@]}" "$url/v1/alerts"
[ "$(cat answer)" = '{"alerts":[]}' ] && ok "and gets none of the default tenant's" || not_ok "alerts of the other" "$(cat answer)"
# A profile of what ran on hosts of the default tenant alone: its reader is told that the file is missing, the other's that nothing ran.
ran=$(sqlite3 hub.db "SELECT lower(hex(b.build_id)) FROM path_counts c JOIN paths p ON p.id = c.path JOIN binaries b ON b.id = p.binary GROUP BY b.id ORDER BY sum(c.samples) DESC LIMIT 1")
sqlite3 tenants/tenant-other.db "SELECT count(*) FROM binaries" | grep -qx 0 && not_ok "the other tenant" "it has no binaries"
answer 404 "a profile: of a build that hosts of the default tenant ran" "${reader[@]}" "$url/v1/pgo/$ran?format=bolt-fdata&since=1"
grep -q 'no host ran' answer && not_ok "a profile" "$(cat answer)"
sqlite3 tenants/tenant-other.db "UPDATE binaries SET build_id = zeroblob(20) WHERE lower(hex(build_id)) = '$ran'"
answer 404 "the other's reader asks for it" "${their_reader[@]}" "$url/v1/pgo/$ran?format=bolt-fdata&since=1"
grep -q 'no host ran' answer && ok "and nothing of it ran there" || not_ok "a profile for the other" "$(cat answer)"
answer 403 "a host asks for no profile" "${theirs[@]}" "$url/v1/pgo/$ran?format=bolt-fdata"
answer 403 "a host asks for no alerts" "${theirs[@]}" "$url/v1/alerts"
"$hub" enrol ca alone --reader --tenant third
! "$hub" fetch --db none.db --hub "$url" $(as alone) --ca ca/ca.pem 2>said && grep -q 'no host has sent to this hub yet' said && ok "a hub to which nobody has sent" ||
	not_ok "a hub to which nobody has sent" "$(tail -n 1 said)"
fetch after.db && sums after.db | cmp -s - before && ok "a reader of the default tenant gets none of the other's" || not_ok "a reader of the default tenant" "$(tail -n 1 said)"
stop
echo other/host2 >denied
start --tenants tenants --denied denied
answer 403 "denied in one tenant" "${theirs[@]}" "$url/v1/have?store=$(id_of host2.db)"
make_host 2 24
answer 200 "not in the other" "${two[@]}" "$url/v1/have?store=$(id_of host2.db)"

# ---------------------------------------------------------------- those who are slow, and many
# Connections that say nothing, or half a request: others are served, and memory is bounded. The
# halves go on byte by byte, also while more come, for who is silent is cut off.
make_host 3 30
python3 - "$port" <<'END' &
import socket, ssl, sys, time
context = ssl.create_default_context(cafile="ca/ca.pem")
context.load_cert_chain("ca/host2.pem", "ca/host2-key.pem")
held = []

def go_on():
    for s in held[1::2]:
        try:
            s.sendall(b"x")
        except OSError:
            pass

for i in range(40):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    if i % 2:
        s = context.wrap_socket(s, server_hostname="127.0.0.1")
        s.sendall(b"POST /v1/parcels HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 1000)
    held.append(s)
    go_on()
open("held", "w").close()
while True:
    time.sleep(1)
    go_on()
END
slow=$!
for _ in $(seq 600); do [ -e held ] && break; sleep 0.1; done
send 3 && ok "one sends beside forty that hold connections" || not_ok "beside forty" "$(tail -n 1 said)"
head -c 4000000 /dev/zero >zeros
answer 429 "more bytes promised than a host's share" "${two[@]}" "${ask[@]}" --data-binary @zeros "$url/v1/parcels"
answer 400 "another host's four megabytes find room beside them" "${one[@]}" "${ask[@]}" --data-binary @zeros "$url/v1/parcels"
rm zeros
kill $slow 2>/dev/null
wait $slow 2>/dev/null
sums hub.db >got
make_host 1 24
for i in $(seq 16); do cp known.db "made$i.db"; sqlite3 "made$i.db" "UPDATE path_counts SET samples = samples * 6"; done
same_sums "what was sent meanwhile" host?.db made*.db fine.db
# The oldest slot cannot be read: the others are sent.
make_host 5 3
sqlite3 host5.db "PRAGMA ignore_check_constraints = ON; UPDATE path_counts SET samples = -1 WHERE window = (SELECT id FROM windows ORDER BY end_ns LIMIT 1)"
! "$hub" send --once --db host5.db --hub "$url" $(as host3) --ca ca/ca.pem >sent 2>said && grep -q 'impossible value' said &&
	grep -q '^[1-9][0-9]* parcels* sent, .* 1 refused' sent && ok "a damaged slot keeps no other back: $(cat sent)" || not_ok "a damaged slot" "$(cat sent) $(tail -n 1 said)"
peak=$(awk '/VmHWM/ { print $2 }' /proc/$server/status)
[ "$peak" -lt 300000 ] && ok "memory: $((peak / 1024)) MiB at most" || not_ok memory "$peak kB"
stop
# A question that is refused is no parcel that was.
start
answer 400 "a question of no store" "${two[@]}" "$url/v1/have?store=xyz"
# A name that would begin a line of its own, and one that is refused all the time: neither is the log's matter.
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout forger-key.pem -out forger.csr -utf8 -subj $'/CN=evil\nforged\x1b[2J' 2>/dev/null
openssl x509 -req -in forger.csr -CA ca/ca.pem -CAkey ca/ca-key.pem -set_serial 78 -days 2 -extfile <(echo extendedKeyUsage=clientAuth) -out forger.pem 2>/dev/null
answer 403 "a name with control characters" --cert forger.pem --key forger-key.pem "$url/v1/have?store=$(id_of host2.db)"
grep -q '127.0.0.1 (says that it is [^)]*): 403: the name in the client certificate has characters' hub.log && ! grep -q '^[^p]' hub.log && ! grep -q $'\x1b' hub.log &&
	ok "it stays within its line" || not_ok "a name with control characters" "$(od -c hub.log | tail -n 5 | paste -sd ';')"
noises=()
for i in $(seq 100); do noises+=("$url/v1/have?store=$i"); done
curl -s --cacert ca/ca.pem -H 'Connection: close' "${noises[@]}" >answers 2>&1
[ "$(grep -o 'a client certificate is needed' answers | wc -l)" = 100 ] && [ "$(grep -c '(no name): 403' hub.log)" -le 60 ] && ok "a hundred refusals: $(grep -c '(no name): 403' hub.log) lines" ||
	not_ok "a hundred refusals" "$(grep -o 'a client certificate is needed' answers | wc -l) answered, $(grep -c '(no name): 403' hub.log) lines"
stop
grep -qE '\(before it [0-9]+ refusals? that (is|are) not said\)|: [0-9]+ more requests? (was|were) refused' hub.log && ok "and the number of the others" || not_ok "the number of the others" "$(tail -n 3 hub.log)"
grep -q 'ends: 0 parcels added.* 0 known, 0 refused' hub.log && ok "parcels refused are parcels" || not_ok "parcels refused" "$(tail -n 2 hub.log)"

# ---------------------------------------------------------------- those who ask for much and do not read
# The list of hosts is 4 MB, and so is that of a slot's windows. One after another asks for it and takes the beginning, then
# 8 KB a second, for who is silent is cut off: as much as one may have is with the hub, and the next is told to come later.
sqlite3 hub.db "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
	INSERT INTO parcels (store, slot, windows, host, model, kernel, os, cpus, sent_ns)
	SELECT randomblob(16), $(($(date +%s) / 300 * 300)), 1, printf('%.200c%d', 'x', i), '', '', '', 1, 1 FROM n"
# As many windows as 64 parcels of one slot can have.
many=$(id_of host2.db) slot=$(sqlite3 host2.db "SELECT max(end_ns) / 300000000000 * 300 FROM windows")
sqlite3 hub.db "UPDATE parcel_windows SET recorded = randomblob(8 * 200000)
	WHERE parcel = (SELECT id FROM parcels WHERE store = x'$many' AND slot = $slot AND host = 'host2')"
start
for who in "reader /v1/hosts" "host2 /v1/have?store=$many&slot=$slot"; do
	python3 - "$port" $who >got 2>said <<'END' && ok "lists that nobody reads take no more than their share: $who" || not_ok "lists: $who" "$(cat got; tail -n 1 said)"
import collections, socket, ssl, sys, threading, time
context = ssl.create_default_context(cafile="ca/ca.pem")
context.load_cert_chain("ca/%s.pem" % sys.argv[2], "ca/%s-key.pem" % sys.argv[2])

def sip(s):
    while s.recv(4096):
        time.sleep(0.5)

def ask():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    s.connect(("127.0.0.1", int(sys.argv[1])))
    s = context.wrap_socket(s, server_hostname="127.0.0.1")
    s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % sys.argv[3].encode())
    head = s.recv(4096)
    threading.Thread(target=sip, args=(s,), daemon=True).start()
    return s, head, time.monotonic()

# On a busy machine the first may be cut off before the last asks: those of ten seconds are there at once.
asked = []
while len(asked) < 30 and not (asked and b" 429 " in asked[-1][1]):
    asked.append(ask())
statuses = collections.Counter(head.split()[1] for _, head, _ in asked)
print(statuses)
assert statuses == {b"200": len(asked) - 1, b"429": 1} and len(asked) > 1, statuses
taken = [at for _, _, at in asked[:-1]]
assert all(sum(at - 10 < other <= at for other in taken) <= 4 for at in taken), taken
assert b"retry-after" in asked[-1][1].lower()
END
done
for _ in $(seq 600); do curl -s --cacert ca/ca.pem "${reader[@]}" -o got -w '%{http_code}' "$url/v1/hosts" | grep -q 200 && break; sleep 0.1; done
[ "$(wc -c <got)" -gt 3500000 ] && ok "and come when these are gone" || not_ok "a list of hosts" "$(head -c 300 got)"
stop
start
answer 403 "one who may not ask" "$url/v1/hosts"
stop
grep -q ' 1 request of who may not ask$' hub.log && ok "one request is one" || not_ok "one request" "$(tail -n 2 hub.log)"
exit $failed
