#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the hub takes: HOSTS stores of SLOTS five minutes each, as hosts that come back after an outage
# send them, four at a time. A slot is a recording of a few programs, so parcels are as large as those
# of a host at the default budget. Lines of `name value unit`.
#
#     BUILD=build HOSTS=16 SLOTS=24 tests/bench/bench_hub.sh
set -eu
build=$(realpath "${BUILD:-build}")
ctl=$build/bin/pathprofctl hub=$build/bin/pathprof-hub
hosts=${HOSTS:-16} slots=${SLOTS:-24}
work=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

cat >work.sh <<'END'
gzip -9 <"$1" >/dev/null
bzip2 -9 <"$1" >/dev/null
lua5.4 -e 'local t = {} for i = 1, 900000 do t[i] = (i * 7919) % 10007 end table.sort(t) print(#t)' >/dev/null
END
"$ctl" record -o slot.db --overhead 20% --no-report -- sh work.sh "$ctl" >/dev/null

# One slot after the other: all windows of the recording, so much later each time.
make_store() { # NUMBER
	cp slot.db "host$1.db"
	python3 - "host$1.db" "$1" "$slots" <<'END'
import sqlite3, sys
db, host, slots = sqlite3.connect(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
db.execute("UPDATE meta SET value = ? WHERE name = 'identity'", ("%032x" % (host + 1),))
db.execute("UPDATE windows SET begin_ns = begin_ns / 300000000000 * 300000000000 + id, end_ns = end_ns / 300000000000 * 300000000000 + id + 1")
tables = [t for t, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
columns = lambda table: [row[1] for row in db.execute("PRAGMA table_info(%s)" % table)]
last, = db.execute("SELECT max(id) FROM windows").fetchone()
for slot in range(1, slots):
    for table in ["windows"] + [t for t in tables if t not in ("drift", "portable_paths") and "window" in columns(t)]:
        key = "id" if table == "windows" else "window"
        values = [{"begin_ns": "begin_ns - %d" % (slot * 300 * 10**9), "end_ns": "end_ns - %d" % (slot * 300 * 10**9)}.get(
            name, "%s + %d" % (key, slot * last) if name == key else name) for name in columns(table)]
        db.execute("INSERT INTO %s SELECT %s FROM %s WHERE %s <= %d" % (table, ", ".join(values), table, key, last))
db.commit()
END
}
"$hub" ca ca
"$hub" enrol ca hub --server --address 127.0.0.1
for h in $(seq "$hosts"); do make_store "$h"; "$hub" enrol ca "host$h"; done
: >log
"$hub" serve --db hub.db --listen 127.0.0.1:0 --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem >log 2>&1 &
server=$!
until grep -q listening log; do sleep 0.1; done
port=$(sed -n 's/.*, port \([0-9]*\);.*/\1/p' log)

begin=$(date +%s%N)
seq "$hosts" | xargs -P 4 -I % "$hub" send --once --db host%.db --hub "https://127.0.0.1:$port" --cert ca/host%.pem \
	--key ca/host%-key.pem --ca ca/ca.pem >sent
wall_ns=$(($(date +%s%N) - begin))
parcels=$(awk '{ n += $1 } END { print n }' sent)
[ "$parcels" -eq $((hosts * slots)) ] || { echo "only $parcels of $((hosts * slots)) parcels came: $(tail -n 1 log)" >&2; exit 1; }
ticks=$(awk '{ print $14 + $15 }' /proc/$server/stat)
peak=$(awk '/VmHWM/ { print $2 }' /proc/$server/status)
mkdir parcels && "$ctl" --db slot.db parcel write -o parcels >/dev/null
echo "parcel $(stat -c %s parcels/*.parcel | head -n 1) bytes"
echo "parcels $parcels sent"
awk -v n="$parcels" -v ns="$wall_ns" 'BEGIN { printf "rate %.0f parcels/s (aim 500)\n", n / ns * 1e9 }'
awk -v n="$parcels" -v t="$ticks" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "cpu %.1f ms a parcel\n", t / hz / n * 1e3 }'
echo "peak $((peak / 1024)) MiB (aim 512)"
