#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What parcels cost: a recording of eight programs as one host's five minutes, how many bytes it
# takes, and how long it takes to write it, to read it and to add it up. Each figure stands beside its
# aim, where there is one. Lines of `name value unit`.
#
#     BUILD=build tests/bench/bench_parcel.sh
#
# BURSTS (2150): so many bursts at least, which a host at 430 a minute takes in five minutes.
set -eu
build=$(realpath "${BUILD:-build}")
ctl=$build/bin/pathprofctl
bursts=${BURSTS:-2150}
copies=100
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >work.sh <<'END'
input=$1
bzip2 -9 <"$input" >/dev/null
gzip -9 <"$input" >/dev/null
xz -2 <"$input" >/dev/null
openssl dgst -sha256 -hex "$input" >/dev/null
perl -e 'my %c; for my $i (1 .. 900000) { $c{$i % 4999} .= chr(65 + $i % 26) } print scalar keys %c' >/dev/null
lua5.4 -e 'local t = {} for i = 1, 900000 do t[i] = (i * 7919) % 10007 end table.sort(t) print(#t)' >/dev/null
python3 -c 'import json; d = [{"a": i, "b": str(i)} for i in range(60000)]; print(len(json.dumps(json.loads(json.dumps(d)))))' >/dev/null
sqlite3 :memory: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
	SELECT sum(i % 97), group_concat(DISTINCT i % 13) FROM n" >/dev/null
END

have() { [ ! -e host.db ] || sqlite3 host.db "SELECT sum(bursts) FROM windows WHERE id < 1000000"; }
while [ "$(($(have)))" -lt "$bursts" ]; do
	"$ctl" record -o host.db --overhead 20% --no-report -- sh work.sh "$ctl" >/dev/null
done
# All of it as if it had ended in one slot, with its own length kept.
sqlite3 host.db "UPDATE windows SET begin_ns = 1700000100000000000 + id, end_ns = 1700000100000000001 + id"
# The same again five minutes later: the first parcel has names of functions, the second what is sent from then on.
sql="CREATE TEMP TABLE w AS SELECT * FROM windows; UPDATE w SET id = id + 1000000, begin_ns = begin_ns + 300000000000,
	end_ns = end_ns + 300000000000; INSERT INTO windows SELECT * FROM w;"
for table in window_ends window_drops window_processes path_counts edge_counts clock_counts; do
	sql+="CREATE TEMP TABLE t_$table AS SELECT * FROM $table; UPDATE t_$table SET window = window + 1000000; INSERT INTO $table SELECT * FROM t_$table;"
done
sqlite3 host.db "$sql"

# cpu COMMAND...: processor seconds.
cpu() {
	local TIMEFORMAT='%U %S'
	{ time "$@" >/dev/null 2>said; } 2>times || { cat said >&2 && exit 1; }
	awk '{ print $1 + $2 }' times
}

mkdir parcels copies
write_s=$(cpu "$ctl" --db host.db parcel write -o parcels)
named=$(find parcels -name '*.parcel' | sort | head -n 1)
file=$(find parcels -name '*.parcel' | sort | tail -n 1)
bytes=$(stat -c %s "$file")
names_bytes=$(($(stat -c %s "$named") - bytes))
rows=$("$ctl" parcel read --json "$file" | python3 -c '
import json, sys
print(sum(len(p[t]) for p in json.load(sys.stdin)[0]["parts"] for t in ("paths", "edges", "places")))')
names=()
for i in $(seq $copies); do ln -s "../$file" "copies/$i" && names+=("copies/$i"); done
none_s=$(cpu "$ctl" parcel read "$file")
read_s=$(cpu "$ctl" parcel read "${names[@]}")
add_s=$(cpu "$ctl" parcel add -o fleet.db "$file")
db_bytes=$(stat -c %s host.db)

echo "bursts $(have)"
echo "windows $(sqlite3 host.db 'SELECT count(*) FROM windows WHERE id < 1000000')"
echo "rows $rows"
echo "database $db_bytes bytes"
echo "parcel $bytes bytes"
awk -v b="$bytes" -v r="$rows" 'BEGIN { printf "row %.1f bytes\n", b / r }'
awk -v b="$bytes" -v n="$(have)" 'BEGIN { printf "host_and_day_at_430_a_minute %.1f MB (aim: at most 8)\n", b * 430 * 5 / n * 288 / 1e6 }'
echo "names_once $names_bytes bytes"
awk -v s="$write_s" 'BEGIN { printf "write %.2f cpu_s, names of all functions looked up for it\n", s / 2 }'
awk -v a="$read_s" -v b="$none_s" -v n=$copies 'BEGIN { printf "read %.0f parcels/cpu_s\n", (n - 1) / (a - b) }'
echo "add $add_s cpu_s"
