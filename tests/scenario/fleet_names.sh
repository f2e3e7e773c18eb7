#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of functions travel with parcels: of programs whose files neither the hub nor who asks it has,
# top, compare and releases say the functions. They travel once; parcels without them, of older hosts
# or with more in them than is known here, are taken as ever; a host that sends a million is refused,
# and no build gets more than there is room for.
. "$(dirname "$0")/../own_processes.bash"
name=fleet_names
. "$(dirname "$0")/fleet_common.bash" sqlite3 python3 gcc zstd curl

# ---------------------------------------------------------------- two builds of a program, on two hosts
cat >work.c <<'END'
volatile unsigned long sum;
__attribute__((noinline)) void turn_wheels(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i & 1 ? 3 : i; }
__attribute__((noinline)) void pull_levers(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum ^= i & 2 ? i : 5; }
int main(void) { for (int i = 0; i < ROUNDS; i++) { turn_wheels(HOW_OFTEN); pull_levers(20000); } }
END
mkdir bin certs
gcc -O1 -DHOW_OFTEN=120000 -DROUNDS=2000 -o bin/worker work.c || exit 1
# Stores names as pathprofd does when it measures drift: names of paths that outlive the build, out
# of a baseline of the same.
name_paths() { # HOST
	XDG_STATE_HOME=$dir/state "$ctl" --db "$1.db" baseline set "$1" --since @0 --binary "$dir/bin/worker" >/dev/null 2>said || not_ok baseline "$(tail -n 1 said)"
	sqlite3 "$1.db" "ATTACH '$(find "$dir" -name "$1.baseline")' AS b;
		INSERT OR IGNORE INTO portable_paths SELECT t.id, n.function, n.place, n.name FROM b.portable_paths n
			JOIN b.paths p ON p.id = n.path JOIN b.binaries o ON o.id = p.binary JOIN binaries x ON x.build_id = o.build_id
			JOIN paths t ON t.binary = x.id AND t.start = p.start AND t.length = p.length AND t.outcomes = p.outcomes;
		INSERT OR IGNORE INTO binary_functions SELECT x.id, f.keys FROM b.binary_functions f
			JOIN b.binaries o ON o.id = f.binary JOIN binaries x ON x.build_id = o.build_id"
}
record_bursts 100 one.db "$dir/bin/worker"
name_paths one
cp bin/worker first
gcc -O1 -DHOW_OFTEN=10000 -DROUNDS=8000 -o bin/worker work.c || exit 1
record_bursts 100 two.db "$dir/bin/worker"
name_paths two
cp bin/worker second

"$hub" ca ca && "$hub" enrol ca hub --server --address 127.0.0.1 && "$hub" enrol ca one && "$hub" enrol ca two && "$hub" enrol ca evil &&
	"$hub" enrol ca reader --reader && cp ca/reader.pem ca/reader-key.pem ca/ca.pem certs || exit 1
as_unit pathprof-hub
as_hub=("${as[@]}")
as_unit pathprof-send
start() { # DATABASE
	: >hub.log
	own
	"${as_hub[@]}" "$hub" serve --db "$1" --listen "127.0.0.1:${port:-0}" --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem >hub.log 2>&1 &
	server=$!
	await_hub
}
stop() { kill -TERM $server; wait $server 2>/dev/null; }
send() { # HOST DATABASE [OPTION...]
	local host=$1 db=$2
	shift 2
	own
	"${as[@]}" "$hub" send --once --db "$db" --hub "$url" --cert "ca/$host.pem" --key "ca/$host-key.pem" --ca ca/ca.pem "$@" >sent 2>said ||
		not_ok "$host sends" "$(tail -n 1 said)"
}
names() { sqlite3 "$1" "SELECT count(*) FROM jit_symbols"; }
ask() { "$ctl" --hub "$url" --certificates certs "$@" >got 2>said; }
start hub.db
send two two.db
cp first bin/worker
send one one.db
mkdir plain
"$ctl" --db one.db parcel write --name one -o plain >/dev/null
rm bin/worker first second
[ "$(names hub.db)" -gt 0 ] && ok "the hub has $(names hub.db) names" || not_ok "names at the hub" "none"
ask top --by functions --since -1d && grep -q ' turn_wheels .*worker' got && grep -q ' pull_levers .*worker' got &&
	ok "top says functions of programs that nobody has" || not_ok top "$(head -n 4 got said | paste -sd ';')"
ask top --by functions --since -1d --host two && grep -q ' turn_wheels .*worker' got && ok "and of one host" || not_ok "top of one host" "$(head -n 4 got said | paste -sd ';')"
ask compare host:one host:two
grep -q turn_wheels got || grep -q pull_levers got && ok "compare says them" || not_ok compare "$(head -n 8 got said | paste -sd ';')"
ask releases worker && grep -Eq '^worker .* (turn_wheels|pull_levers) [0-9]+% -> ' got && ok "releases: $(grep -Eo '[0-9.]+ +[0-9.]+% +(turn|pull).*' got)" ||
	not_ok releases "$(head -n 5 got said | paste -sd ';')"
"$ctl" --db hub.db paths --since @0 >got 2>said
grep -q turn_wheels got && ok "so does the hub's own database" || not_ok "the hub's database" "$(head -n 3 got said | paste -sd ';')"

# ---------------------------------------------------------------- once, or not at all
stop
start none.db
send one one.db --no-names
[ "$(names none.db)" -eq 0 ] && ok "--no-names: none" || not_ok "--no-names" "$(names none.db)"
stop

# ---------------------------------------------------------------- older and newer parcels, and hostile ones
cat >parcel.py <<'END'
"""A parcel's message with other names in it: none; in a field that nobody knows; or very many, from a place on."""
import subprocess, sys

what, path, out = sys.argv[1:4]
message = subprocess.run(["zstd", "-qdc", path], stdout=subprocess.PIPE, check=True).stdout


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def read_varint(at):
    n = shift = 0
    while True:
        n |= (message[at] & 127) << shift
        shift += 7
        at += 1
        if message[at - 1] < 128:
            return n, at


def bytes_field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


kept, names, at = b"", [], 0
while at < len(message):
    begin = at
    key, at = read_varint(at)
    size, at = read_varint(at)
    if key & 7 == 2:
        at += size
    if key >> 3 == 6:
        names.append(message[begin:at])
    else:
        kept += message[begin:at]
if what == "later":
    kept += b"".join(names) + bytes_field(99, b"of a later version") + varint(98 << 3) + varint(7)
elif what != "none":
    count, first = int(sys.argv[4]), int(sys.argv[5])
    # the identity of the build whose names are there
    inner = names[0][1 + len(varint(len(names[0]) - 2)):]
    inner = inner[inner[0] != 10:]
    identity = inner[:2 + inner[1]] + b"\x10\x01"
    kept += bytes_field(6, identity + bytes_field(3, varint(2 * first) + b"\2" * (count - 1)) + bytes_field(4, b"\1" * count)
                        + bytes_field(5, b"f\0" * count))
open(out + ".raw", "wb").write(kept)
subprocess.run(["zstd", "-qf", "--check", out + ".raw", "-o", out], check=True)
END
parcel=$(find plain -name '*.parcel' | sort | head -n 1)
post() { curl -s -o answer -w '%{http_code}' --cacert ca/ca.pem --max-time 300 --cert "ca/$1.pem" --key "ca/$1-key.pem" --data-binary "@$2" "$url/v1/parcels"; }
sums() { sqlite3 "$1" "SELECT sum(samples), sum(weight) FROM path_counts; SELECT sum(count) FROM edge_counts; SELECT sum(samples) FROM clock_counts"; }
start hostile.db
python3 parcel.py none "$parcel" old
status=$(post one old)
sums hostile.db >want
[ "$status" = 200 ] && [ -s want ] && [ "$(names hostile.db)" -eq 0 ] && ok "a parcel of a host that sends no names" || not_ok "an old parcel" "$status $(cat answer)"
python3 parcel.py later "$parcel" new
status=$(post one new)
sums hostile.db >got
[ "$status" = 200 ] && cmp -s want got && [ "$(names hostile.db)" -gt 0 ] && ok "a parcel with fields that are not known: its names come, its counts stay" ||
	not_ok "a newer parcel" "$status $(cat answer)"
python3 parcel.py many "$parcel" million 1000000 1
status=$(post one million)
[ "$status" = 413 ] && grep -q 'functions' answer && ok "a million names: 413" || not_ok "a million names" "$status $(cat answer)"
for first in 1000000 1100000 1200000; do
	python3 parcel.py many "$parcel" some 65536 $first
	status=$(post one some)
	[ "$status" = 200 ] || not_ok "65,536 names" "$status $(cat answer)"
done
most=$(sqlite3 hostile.db "SELECT max(n) FROM (SELECT count(*) AS n FROM jit_symbols GROUP BY binary)")
[ "$most" -eq 100000 ] && ok "a build has 100,000 names at most" || not_ok "names of a build" "$most"
grep -q 'names of functions are left out' hub.log && ok "and the hub says that others are left out" || not_ok "the hub's log" "$(tail -n 1 hub.log)"
sums hostile.db | cmp -s want - && ok "counts are as they were" || not_ok counts "they differ"
peak=$(awk '/VmHWM/ { print $2 }' /proc/$server/status)
[ "$peak" -lt 300000 ] && ok "memory: $((peak / 1024)) MiB at most" || not_ok memory "$peak kB"
stop
grep -q ', [1-9][0-9]* names of functions left out' hub.log && ok "they are counted: $(grep -o '[0-9]* names of functions left out' hub.log)" || not_ok counted "$(tail -n 1 hub.log)"
"$ctl" --db hostile.db db check >said 2>&1 && ok "the database is sound" || not_ok "the database" "$(tail -n 1 said)"
exit $failed
