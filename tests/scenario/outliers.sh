#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pathprofctl outliers over databases of made-up hosts: of 24 hosts whose paths scatter, the one whose flow
# moved is named and no other; of three, the odd one; a host with another build; one with few samples.
# The program runs under the sanitizers in check-all.
set -eu
name=outliers
. "$(dirname "$0")/ctl_common.bash"
. "$(dirname "$0")/../rounds.bash"
ctl=$BUILD/$(rounds bin/pathprofctl tests/pathprofctl-san)
export ASAN_OPTIONS=detect_leaks=0
for tool in sqlite3 python3; do
	command -v $tool >/dev/null || { echo "skip $name: no $tool" && exit 0; }
done
"$known" "$dir/known.db" code /bin/true < <(for i in $(seq 40); do printf 'path %x 20 1000\n' $((4096 + 64 * i)); done)

# host NUMBER SAMPLES FLOW [BUILD]: shares of 1/i that scatter by a fifth, FLOW of them moved to one path.
host() {
	cp "$dir/known.db" "$dir/host.db"
	python3 - "$dir/host.db" "$@" <<'END'
import math, os, random, sqlite3, sys
db, number, samples, flow = sqlite3.connect(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
random.seed(number)
db.execute("UPDATE meta SET value = ? WHERE name = 'identity'", ("%032x" % (number * 0x9e3779b97f4a7c15f39cc0605cedc835 % 2**128),))
if len(sys.argv) > 5:
    db.execute("UPDATE binaries SET build_id = ?", (bytes.fromhex(sys.argv[5]),))
paths = [row[0] for row in db.execute("SELECT path FROM path_counts ORDER BY path")]
shares = [math.exp(0.2 * random.gauss(0, 1)) / (i + 1) for i in range(len(paths))]
shares = [s / sum(shares) * (1 - flow) for s in shares]
shares[int(os.environ.get("flow_to", len(paths) // 2))] += flow
for path, share in zip(paths, shares):
    count = max(round(random.gauss(samples * share, math.sqrt(samples * share))), 0)
    db.execute("UPDATE path_counts SET samples = ?, squares = ?, weight = ?, weight_squares = ? WHERE path = ?",
               (count, count, float(count), float(count), path))
db.execute("UPDATE path_counts SET samples = 1, squares = 1, weight = 1, weight_squares = 1 WHERE samples = 0")
db.commit()
END
	# weigh: windows are weighed by the clock, and one path counts by so much more.
	[ -z "${weigh:-}" ] || sqlite3 "$dir/host.db" "UPDATE windows SET weighed = 1;
		UPDATE path_counts SET weight = samples * CASE WHEN path = (SELECT min(path) + 9 FROM path_counts) THEN $weigh ELSE 1 END;
		UPDATE path_counts SET weight_squares = weight * weight / samples"
	# clock: so many of 1000 samples of the clock are in the kernel, the others in no file.
	[ -z "${clock:-}" ] || sqlite3 "$dir/host.db" "UPDATE windows SET clock_hz = 100, clock_kernel = 1, clock_samples = 1000;
		INSERT INTO clock_counts SELECT id, 0, 16, (SELECT min(id) FROM processes), $clock FROM windows;
		INSERT INTO clock_counts SELECT id, 0, 0, (SELECT min(id) FROM processes), 1000 - $clock FROM windows"
	"$ctl" --db "$dir/host.db" parcel write --name "web$1" -o "$dir/parcels" >"$dir/out" 2>&1 || fail "web$1: $(cat "$dir/out")"
}
add() {
	rm -f "$dir/fleet.db"
	"$ctl" parcel add -o "$dir/fleet.db" "$dir"/parcels/*.parcel >"$dir/out" 2>&1 || fail "adding: $(cat "$dir/out")"
	rm -rf "$dir/parcels"
}
# named WANT: hosts that are named, as table and as JSON.
named() {
	"$ctl" --db "$dir/fleet.db" outliers >"$dir/table" 2>"$dir/err" || fail "outliers: $(cat "$dir/err")"
	local in_table
	in_table=$(sed -n 's/^\(web[0-9]*\) .*/\1/p' "$dir/table" | sort | xargs)
	[ "$in_table" = "$1" ] || fail "named are '$in_table', not '$1': $(cat "$dir/table")"
	"$ctl" --db "$dir/fleet.db" outliers --json >"$dir/json" || fail "outliers --json"
	python3 - "$dir/json" "$1" <<'END' || fail "JSON differs from the table"
import json, sys
rows = json.load(open(sys.argv[1]))
assert sorted(r["host"] for r in rows if r["outlier"]) == sorted(sys.argv[2].split()), rows
for row in rows:
    if row["outlier"] and row["reason"] == "behaviour":
        assert row["functions"] and row["bits"] > 0, row
END
}
for i in $(seq 24); do host $i $((2000 + 100 * i)) "$([ $i = 7 ] && echo 0.1 || echo 0)"; done
host 25 5 0
add
named web7
# Intervals over hosts are Cochran's of clusters, where hosts differ by more than their samples do.
"$ctl" --db "$dir/fleet.db" paths --since @0 --json >"$dir/json"
python3 - "$dir/fleet.db" "$dir/json" >"$dir/out" 2>&1 <<'END' || fail "intervals: $(tail -n 1 "$dir/out")"
import json, math, sqlite3, sys
db, rows, checked = sqlite3.connect(sys.argv[1]), json.load(open(sys.argv[2])), 0
for row in rows[:10]:
    sums = db.execute("""SELECT total(CASE WHEN c.path = ? THEN c.weight END), total(c.weight)
        FROM path_counts c JOIN parcel_windows w ON w.window = c.window JOIN parcels p ON p.id = w.parcel
        GROUP BY p.host""", (row["id"],)).fetchall()
    whole = sum(x for y, x in sums)
    ratio = sum(y for y, x in sums) / whole
    n = len(sums)
    half = 2.0639 * math.sqrt(n / (n - 1) * sum((y - ratio * x) ** 2 for y, x in sums)) / whole
    assert row["hosts"] == sum(y > 0 for y, x in sums), row
    assert abs(row["runs"] - ratio) < 1e-9, (row, ratio)
    assert row["runs_high"] - ratio > half * 0.999 and ratio - row["runs_low"] > half * 0.999, (row, ratio, half)
    checked += abs(row["runs_high"] - ratio - half) < 0.001 * half
assert checked >= 5, checked
END
grep -q 'Left out: 1 time a host with fewer than 50 samples' "$dir/table" || fail "the host with few samples is not told of"
grep -q '^CHANCE: ' "$dir/table" || fail "what CHANCE is"

for i in 1 2 3; do host $i 4000 "$([ $i = 3 ] && echo 0.5 || echo 0)"; done
add
named web3
"$ctl" --db "$dir/fleet.db" compare host:web1 host:web2 --json >"$dir/near" && "$ctl" --db "$dir/fleet.db" compare host:web1 host:web3 --json >"$dir/far" &&
	python3 - "$dir/near" "$dir/far" <<'END' || fail "compare host:web1 host:web3"
import json, sys
near, far = (json.load(open(name)) for name in sys.argv[1:])
near, far = (c["figures"]["kl_corrected_bits"] for c in (near, far))
assert far > 10 * max(near, 0.01), (near, far)
END
# The loss of each host by their sum is the figure of compare for the sum and that host.
"$ctl" --db "$dir/fleet.db" combine host:web1 host:web2 host:web3 -o "$dir/sum.profile" >"$dir/losses" || fail "combine of hosts"
for i in 1 3; do
	"$ctl" --db "$dir/fleet.db" compare "file:$dir/sum.profile" host:web$i | sed -n 's/^relative entropy D(B||A)  *\([0-9.]*\) bits/\1/p' >"$dir/want"
	awk -v host=host:web$i '$1 == host { print $2 }' "$dir/losses" | cmp -s - "$dir/want" ||
		fail "web$i loses $(cat "$dir/want") bits: $(cat "$dir/losses")"
done
! "$ctl" --db "$dir/fleet.db" compare host:web1 host:nobody >"$dir/out" 2>&1 || fail "compare with a host that is none"
grep -q 'fewer than 20 hosts' "$dir/table" || fail "that hosts are few is not told"
"$ctl" --db "$dir/fleet.db" outliers --binary nothing >"$dir/table" 2>&1
grep -q '^no program was seen there' "$dir/table" || fail "no binary: $(cat "$dir/table")"

# Hosts of which too few samples are there are not said to behave alike.
for i in 1 2 3; do host $i 5 0; done
add
"$ctl" --db "$dir/fleet.db" outliers >"$dir/table" 2>&1
grep -q '^no program can be judged' "$dir/table" && grep -q 'fewer than 50 samples' "$dir/table" || fail "few samples: $(cat "$dir/table")"

# More time would not help where each build ran on one host.
for i in 1 2 3; do host $i 4000 0 0$i; done
add
"$ctl" --db "$dir/fleet.db" outliers >"$dir/table" 2>&1
grep -q '^no program can be judged: each build looked at ran on fewer than three hosts; --limit looks at more$' "$dir/table" || fail "few hosts: $(cat "$dir/table")"

# Paths weighed by the clock count by their weights, as in the hub's alerts.
for i in 1 2 3; do weigh=$([ $i = 3 ] && echo 20 || echo 1) host $i 4000 0; done
add
named web3

for i in 1 2 3 4; do host $i 4000 0 $([ $i != 2 ] || echo 0102030405060708090a0b0c0d0e0f1011121314); done
add
named web2
grep -q '^web2 .*its build: 01020304, where 3 hosts run' "$dir/table" || fail "another build: $(cat "$dir/table")"

# Hosts of three ways, of six, four and two, and one that is like no other.
flow_of() { case $1 in [1-6]) echo 0 ;; [7-9] | 10) echo 0.3 ;; 11 | 12) echo 0.8 ;; esac; }
for i in $(seq 12); do host $i 6000 "$(flow_of $i)"; done
flow_to=30 host 13 6000 0.8
add
"$ctl" --db "$dir/fleet.db" modes >"$dir/table" 2>"$dir/err" && "$ctl" --db "$dir/fleet.db" modes --json >"$dir/json" || fail "modes: $(cat "$dir/err")"
python3 - "$dir/json" <<'END' || fail "modes: $(cat "$dir/table")"
import json, sys
rows = json.load(open(sys.argv[1]))
assert [sorted(int(h[3:]) for h in r["hosts"]) for r in rows] == [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10], [11, 12]], rows
assert [r["mode"] for r in rows] == [1, 2, 3] and all(r["modes"] == 3 and r["bits"] > 0.1 for r in rows), rows
assert abs(sum(r["share"] for r in rows) - 12 / 13) < 0.02, rows
assert rows[2]["functions"][0]["mode_share"] > rows[2]["functions"][0]["others_share"] + 0.3, rows
END
grep -q '1 time a host that is like no other' "$dir/table" && [ "$(grep -c '^true ' "$dir/table")" = 3 ] || fail "modes: $(cat "$dir/table")"
for i in $(seq 12); do host $i 4000 0; done
add
"$ctl" --db "$dir/fleet.db" modes >"$dir/table" 2>&1
grep -q '^hosts run each program in one way' "$dir/table" || fail "hosts that only scatter: $(cat "$dir/table")"
! "$ctl" --db "$dir/known.db" modes >"$dir/table" 2>"$dir/err" && grep -q 'has 0 hosts' "$dir/err" || fail "modes of no hosts: $(cat "$dir/err")"

# Hosts that differ in the paths of one function, whose share stays.
rm -f "$dir"/known.db*
printf 'path %x 20 1000\n' 4096 4160 | "$known" "$dir/known.db" code /bin/true
sqlite3 "$dir/known.db" 'UPDATE paths SET start = 4096, length = id - (SELECT min(id) FROM paths)'
for i in 1 2 3; do flow_to=1 host $i 6000 "$([ $i = 3 ] && echo 0.8 || echo 0)"; done
add
named web3
grep -q "^web3 .*paths, no function's share by 1%" "$dir/table" || fail "a function whose share stays: $(cat "$dir/table")"
for i in 1 2 3 4; do flow_to=1 host $i 6000 "$([[ $i == [23] ]] && echo 0.8 || echo 0)"; done
add
"$ctl" --db "$dir/fleet.db" modes >"$dir/table" 2>&1
[ "$(grep -c "^true .*paths, no function's share by 1%" "$dir/table")" = 2 ] || fail "modes of one function: $(cat "$dir/table")"

for i in 1 2; do host $i 4000 0; done
add
! "$ctl" --db "$dir/fleet.db" outliers >"$dir/table" 2>"$dir/err" || fail "two hosts are judged"
grep -q 'has 2 hosts' "$dir/err" || fail "two hosts: $(cat "$dir/err")"
! "$ctl" --db "$dir/known.db" outliers >"$dir/table" 2>"$dir/err" || fail "no hosts are judged"

# Hosts differ in what is in no file as they do in functions: the intervals of these rows know that.
for i in $(seq 6); do clock=$((i % 2 ? 100 : 400)) host $i 4000 0; done
add
"$ctl" --db "$dir/fleet.db" top --by functions --since @0 --json >"$dir/json" || fail "top of hosts that differ in the kernel"
python3 - "$dir/json" <<'END' || fail "the kernel's row: $(cat "$dir/json")"
import json, sys
rows = {r["binary"]["name"]: r for r in json.load(open(sys.argv[1]))}
for name, time in (("[kernel]", 0.25), ("[unknown]", 0.75)):
    row = rows[name]
    assert row["hosts"] == 6 and abs(row["time"] - time) < 1e-9, row
    assert row["time_high"] - time > 0.1 and time - row["time_low"] > 0.1, row
END
echo "ok $name"
