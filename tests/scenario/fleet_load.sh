#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Many hosts send to a hub that is killed at random, that finds its disk full, that is stopped, and
# whose database is an old copy; answers are lost, bodies are cut off, parcels come twice and before
# they are full. What the hub holds in the end is what the hosts sent, to the count.
. "$(dirname "$0")/../own_processes.bash"
. "$(dirname "$0")/../rounds.bash"
name=fleet_load
. "$(dirname "$0")/fleet_common.bash"
hosts=$(rounds 16 1000) slots=$(rounds 10 8) kills=$(rounds 6 200) strangers=$(rounds 1000 10000)

# ---------------------------------------------------------------- what hosts are made of
"$hub" ca ca && "$hub" enrol ca hub --server --address 127.0.0.1 || { not_ok ca "none is made"; exit 1; }
for h in $(seq "$hosts"); do "$hub" enrol ca "host$h" || exit 1; done
cat >work.sh <<'END'
gzip -9 <"$1" >/dev/null
bzip2 -9 <"$1" >/dev/null
END
mkdir parcels
for i in 1 2; do
	record_bursts 40 "slot$i.db" sh work.sh "$ctl"
	"$ctl" --db "slot$i.db" parcel write -o parcels >/dev/null 2>said || { not_ok record "$(tail -n 1 said)"; exit 1; }
done

# ---------------------------------------------------------------- the hub
start() { # DATABASE
	: >hub.log
	"$hub" serve --db "$1" --listen "127.0.0.1:${port:-0}" --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem >hub.log 2>&1 &
	server=$!
	until grep -q listening hub.log; do
		kill -0 $server 2>/dev/null || { not_ok start "$(tail -n 1 hub.log)"; exit 1; }
		sleep 0.02
	done
	port=$(sed -n 's/.*, port \([0-9]*\);.*/\1/p' hub.log)
}
stop() { kill "${1:--TERM}" $server; wait $server 2>/dev/null; }
end=$(($(date +%s) / 300 * 300))
load() { # OPTION...: its log is `load`, what the hub must hold then `want`
	"$build/tests/tools/fleet_load" --hub "https://127.0.0.1:$port" --certs ca --hosts "$hosts" --slots "$slots" --end $end \
		--lose 20 --cut 20 --again 20 --early 30 --patience 600 "$@" parcels/*.parcel 2>load | sort >want
}
same() { # WHAT DATABASE
	sqlite3 -separator ' ' "$2" "SELECT lower(hex(p.store)), p.slot, p.windows,
		(SELECT sum(c.samples) FROM parcel_windows w JOIN path_counts c ON c.window = w.window WHERE w.parcel = p.id),
		(SELECT sum(c.count) FROM parcel_windows w JOIN edge_counts c ON c.window = w.window WHERE w.parcel = p.id),
		(SELECT sum(c.samples) FROM parcel_windows w JOIN clock_counts c ON c.window = w.window WHERE w.parcel = p.id)
		FROM parcels p" | sort >got
	if [ "$(wc -l <want)" -eq $((hosts * slots)) ] && cmp -s want got && grep -qx 'failed 0' load; then
		ok "$1: $(wc -l <got) parcels, $(awk '{ n += $4 } END { print n }' got) samples; $(paste -sd ' ' load)"
	else
		not_ok "$1" "$(diff want got | head -n 3 | paste -sd ';') $(paste -sd ' ' load)"
	fi
}

# ---------------------------------------------------------------- killed, over and over
start hub.db
load &
loading=$!
done_kills=0
until [ $done_kills -eq "$kills" ]; do
	sleep "0.$((RANDOM % 40 + 10))"
	kill -0 $loading 2>/dev/null || { load & loading=$!; } # all of it again, until there were enough
	stop -KILL
	start hub.db
	done_kills=$((done_kills + 1))
done
wait $loading
same "a hub was killed $kills times" hub.db
"$ctl" --db hub.db db check >said 2>&1 && ok "the database is sound" || not_ok "the database" "$(tail -n 1 said)"

# ---------------------------------------------------------------- yesterday's copy, and a hub that stands still
stop
rm -f old.db
start old.db
all=$slots
slots=$((all / 2)) end=$((end - (all - all / 2) * 300)) # the first half
load
stop
end=$((end + (all - slots) * 300)) slots=$all
cp old.db copy.db
start old.db
load --first $((all / 2))
same "two halves, one after the other" old.db
stop
start copy.db
load &
loading=$!
sleep 1
kill -STOP $server
sleep 3
kill -CONT $server
wait $loading
same "an old copy was filled up by a hub that was stopped meanwhile" copy.db
stop

# ---------------------------------------------------------------- a full disk
# The hub has a disk of its own that is full after some parcels; then there is room.
size=$(($(stat -c %s hub.db) / 1024))
mkdir disk
if unshare --mount sh -c 'mount -t tmpfs -o size=64k none disk' 2>/dev/null; then
	: >hub.log
	unshare --mount bash -c '
		mount -t tmpfs -o "size=$1k" none disk
		(until [ -e more ]; do sleep 0.1; done; mount -o remount,size=2g none disk) &
		exec "${@:2}"' bash $((size / 2)) "$hub" serve --db disk/hub.db --listen "127.0.0.1:$port" --cert ca/hub.pem \
		--key ca/hub-key.pem --ca ca/ca.pem >hub.log 2>&1 &
	server=$!
	until grep -q listening hub.log; do sleep 0.05; kill -0 $server || break; done
	load &
	loading=$!
	until grep -q ': 503: .*full' hub.log; do sleep 0.1; kill -0 $loading 2>/dev/null || break; done
	grep ': 503: .*full' hub.log | grep -qv 'disk/hub.db: cannot write: .*free some space' && not_ok "what is said of a full disk" "$(grep -m 1 ': 503: .*full' hub.log)"
	grep -q ': 503: .*full' hub.log && ok "a full disk: $(grep -m 1 -o '503: .*full.*' hub.log)" || not_ok "a full disk" "$(tail -n 1 hub.log)"
	: >more
	wait $loading
	mkdir out
	nsenter --mount --target $server sh -c "cp '$dir'/disk/hub.db '$dir'/disk/hub.db-* '$dir/out'"
	stop
	same "a disk that was full for a while" out/hub.db
	# A host's disk is full while its service has the database open: what is there is sent.
	start full.db
	cat >full.sh <<'END'
mount -t tmpfs -o size=64m none disk && cp "$1" disk/host.db && shift
python3 -c '
import sqlite3, sys
db = sqlite3.connect("disk/host.db")
db.execute("PRAGMA journal_mode=WAL")
db.execute("UPDATE windows SET bursts = bursts + 1 WHERE id = 1")
db.commit()
print(flush=True)
sys.stdin.read()' < <(sleep 600) >opened &
until [ -s opened ]; do sleep 0.05; kill -0 $! || exit 1; done
dd if=/dev/zero of=disk/filler bs=4k 2>/dev/null
[ "$(df --output=avail disk | tail -n 1)" -eq 0 ] || echo "there is room"
"$@"
status=$?
kill $!
exit $status
END
	unshare --mount bash full.sh slot1.db "$hub" send --once --db disk/host.db --hub "https://127.0.0.1:$port" --cert ca/host1.pem \
		--key ca/host1-key.pem --ca ca/ca.pem >sent 2>said
	total() { sqlite3 "$1" "SELECT (SELECT sum(samples) FROM path_counts) || ' ' || (SELECT sum(bursts) FROM windows)"; }
	sqlite3 slot1.db "UPDATE windows SET bursts = bursts + 1 WHERE id = 1"
	grep -q '^[1-9].* parcels* sent, 0 there already, 0 refused' sent && [ "$(total full.db)" = "$(total slot1.db)" ] &&
		ok "a host whose disk is full: $(cat sent)" || not_ok "a host whose disk is full" "$(cat sent said | tail -n 2 | paste -sd ';') $(total full.db), not $(total slot1.db)"
	stop
else
	echo "skip $name: full disk: no file system can be mounted here"
fi

# ---------------------------------------------------------------- connections without end
rm -f hub.db hub.db-*
start hub.db
cat >strangers.py <<'END'
import resource, socket, sys, time
port, count = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held, refused = [], 0
for i in range(count):
    s = socket.socket()
    s.settimeout(0.05)
    s.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT: none that a hub is to listen on
    s.bind(("127.0.%d.%d" % (1 + i // 200 % 200, 1 + i % 200), 0))
    try:
        s.connect(("127.0.0.1", port))
        s.setblocking(False)
        held.append(s)
        if len(held) > 2000:
            held.pop(0).close()
    except OSError:
        refused += 1
open("came", "w").write("%d of %d" % (count - refused, count))
time.sleep(1000)
END
python3 strangers.py "$port" "$strangers" 2>said &
crowd=$!
load
same "hosts beside $strangers connections that say nothing, of two hundred addresses and more" hub.db
kill $crowd 2>/dev/null
wait $crowd 2>/dev/null
peak=$(awk '/VmHWM/ { print $2 }' /proc/$server/status)
[ "$peak" -lt 524288 ] && ok "memory: $((peak / 1024)) MiB at most" || not_ok memory "$peak kB"
stop
exit $failed
