#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A database of which everything is known (tests/tools/ctl_known_db.c): every view says exactly
# that, as text and as JSON, filters select what they say, and hostile names come out harmless. First
# windows as versions before 0.2 wrote them, then TIME and RUNS, then both kinds in one database.
set -eu
name=ctl_views
. "$(dirname "$0")/ctl_common.bash"

db=$dir/old.db
"$known" "$db" old || fail "the generator failed"
export PATHPROF_DB=$db

# leans: it is said that old windows lean, and nothing else.
leans() {
	echo "pathprofctl: these are windows by a number of taken branches: their" \
		"shares lean towards code with many branches" | cmp -s - "$dir/said" || {
		cat "$dir/said"
		fail "$1: not said, or not alone, that old shares lean towards branches"
	}
}

run 0 paths
leans paths
cat >"$dir/want" <<'END'
 SHARE    +/-  SAMPLES  FUNCTION                                LENGTH  OUTCOMES                          BINARY                           ID
60.00%  8.63%     1800  alpha+0x1000                                 4  TTNT                              alpha                             1
30.00%  8.09%      900  alpha+0x1040                                 1  T                                 alpha                             2
 5.00%  4.08%      150  alpha+0x2000                                 0  -                                 alpha                             3
 4.00%  3.73%      120  Main::run(int)+0x10                         32  TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT  jit:4242                          4
 1.00%  2.32%       30  \x1b[31mred\x0a\xff\xe2\x80\xae+0x3000       2  NN                                \x1b[31mred\x0a\xff\xe2\x80\xae   5

SHARE: 120 bursts of 32 taken branches.
END
expect "paths"

run 0 edges
cat >"$dir/want" <<'END'
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  0x1010                                           0x1000   2100           210
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  0x1050                                           0x1040    600            60
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  0x1060  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb:0x3000    300            30
END
expect "edges"

run 0 windows --until '2026-01-02 01:30'
cat >"$dir/want" <<'END'
ID  BEGIN                LENGTH  SOURCE  BASIS  KIND   CLOCK  BURSTS  BRANCHES  PATHS   HELD  DROPS
 2  2026-01-02 01:00:00    1min  step    time   taken      0      40      2000   1000  0.50%  gone:3, budget:12
 1  2026-01-02 00:00:00    1min  step    time   taken      0      40      2000   1000  0.50%  gone:3, budget:12
END
expect "windows --until"
# Reasons that a line has no room for are left out whole, the last ones first.
cp "$db" "$dir/drops.db"
sqlite3 "$dir/drops.db" "INSERT OR IGNORE INTO window_drops SELECT id, column1, 1000 + column1 FROM windows, (VALUES (1), (3), (4), (5), (6), (7))"
all=$("$ctl" --db "$dir/drops.db" windows --until '2026-01-02 01:30' | sed -n 's/^ 1 .*%  //p')
cut=0
for width in $(seq 116 2 150); do
	COLUMNS=$width "$ctl" --db "$dir/drops.db" windows --until '2026-01-02 01:30' >"$dir/got" 2>&1
	shown=$(sed -n 's/^ 1 .*0\.50% *\(.*\)\.\.$/\1/p' "$dir/got")
	[[ "$all" == "$shown"* && ( -z "$shown" || "$shown" == *", " ) ]] && ! grep -q '[^ ]\.\.' "$dir/got" || fail "windows of $width columns: $(cat "$dir/got")"
	[ -z "$shown" ] || cut=$((cut + 1))
done
[ $cut -gt 0 ] || fail "no line of windows was cut"

run 0 top --by functions --since @0
leans functions
cat >"$dir/want" <<'END'
 SHARE    +/-  SAMPLES  PATHS  FUNCTION                                BINARY
60.00%  8.63%     1800      1  alpha+0x1000                            alpha
30.00%  8.09%      900      1  alpha+0x1040                            alpha
 5.00%  4.08%      150      1  alpha+0x2000                            alpha
 4.00%  3.73%      120      1  Main::run(int)                          jit:4242
 1.00%  2.32%       30      1  \x1b[31mred\x0a\xff\xe2\x80\xae+0x3000  \x1b[31mred\x0a\xff\xe2\x80\xae

SHARE: 120 bursts of 32 taken branches.
END
expect "top --by functions"

# Nothing was written for long: the five minutes are the last ones that there are.
run 0 top --by functions
grep -q "the newest window ended at 2026-01-02 02:01:00: this shows the 5min up to then" "$dir/said" ||
	fail "top of an old database: $(cat "$dir/said")"
grep -q '^60.00% .* alpha+0x1000 ' "$dir/got" || fail "top of an old database shows nothing"

run 0 top --by edges --since '2026-01-02 01:30' --until '2026-01-02 03:00'
cat >"$dir/want" <<'END'
 SHARE  COUNT  FROM          TO                                      BINARY
70.00%    700  alpha+0x1010  alpha+0x1000                            alpha
20.00%    200  alpha+0x1050  alpha+0x1040                            alpha
10.00%    100  alpha+0x1060  \x1b[31mred\x0a\xff\xe2\x80\xae+0x3000  alpha

SHARE: of the branches taken in 40 bursts of 32 taken branches.
END
expect "top --by edges"

run 0 show 1
cat >"$dir/want" <<'END'
path 1  alpha+0x1000
  binary    /nonexistent/bin/alpha
  build-id  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  start     0x1000
  share     60.00%  (95% interval 51.06% to 68.32%)
  from      120 bursts of 32 taken branches
  samples   1800  (weight 1800.0)
  ways      TTNT  (4 branches; T taken, N not taken)
END
grep -v '^  code      not available: /nonexistent/bin/alpha: ' "$dir/got" >"$dir/shown" || true
[ "$(wc -l <"$dir/got")" = 9 ] || fail "show: no line says why there is no code"
mv "$dir/shown" "$dir/got"
expect "show"

# JSON: the same figures, valid UTF-8, and Wilson's interval worked out a second time.
for verb in paths edges windows processes binaries 'top --by functions --since @0' 'show 5'; do
	read -ra words <<<"$verb"
	run 0 "${words[@]}" --json
	cp "$dir/got" "$dir/${words[0]}.json"
done
python3 - "$dir" <<'END' || fail "JSON"
import json, math, sys

def load(name):
    with open(f"{sys.argv[1]}/{name}.json", encoding="utf-8", errors="strict") as f:
        return json.load(f)

def wilson(p, n, z=1.959963984540054):
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return middle - half, middle + half

paths = load("paths")
assert [p["samples"] for p in paths] == [1800, 900, 150, 120, 30], paths
assert [p["outcomes"] for p in paths] == ["TTNT", "T", "", "T" * 32, "NN"], paths
assert paths[0]["binary"] == {"name": "/nonexistent/bin/alpha", "build_id": "aa" * 20,
                              "kind": "build-id"}, paths[0]
assert paths[0]["start"] == "0x1000" and paths[0]["function"] is None
assert paths[3]["function"] == "Main::run(int)" and paths[3]["binary"]["kind"] == "jit"
assert paths[3]["function_start"] == "0x7f0000001000", paths[3]
for p in paths:
    low, high = wilson(p["share"], 120)  # bursts, not the 3000 samples
    assert abs(p["share_low"] - low) < 1e-6 and abs(p["share_high"] - high) < 1e-6, p
    assert p["basis"] == "time", p
    assert {p[f"{f}{e}"] for f in ("time", "runs") for e in ("", "_low", "_high")} == {None}, p
assert abs(sum(p["share"] for p in paths) - 1) < 1e-9

edges = load("edges")
assert [(e["from"], e["to"], e["count"], e["mispredicted"]) for e in edges] == [
    ("0x1010", "0x1000", 2100, 210), ("0x1050", "0x1040", 600, 60),
    ("0x1060", "0x3000", 300, 30)], edges

windows = load("windows")
assert [w["id"] for w in windows] == [3, 2, 1], windows
assert windows[2]["begin_ns"] == 1767312000 * 10**9
assert windows[0]["drops"] == {"gone": 3, "budget": 12} and windows[0]["ends"] == {"full": 40}
assert abs(windows[0]["held_ratio"] - 0.005) < 1e-9
assert windows[0]["kind"] == "taken" and windows[0]["horizon"] == 0, windows[0]

processes = load("processes")
assert [(p["pid"], p["container"]) for p in processes] == [(4242, "web-1"), (5555, "")], processes
assert processes[1]["comm"] == "\x1b[2Jevil\ufffd", processes[1]

assert [b["samples"] for b in load("binaries")] == [2850, 120, 30]
assert load("show")["binary"]["name"] == "/tmp/\x1b[31mred\n\ufffd\u202e"
assert load("show")["blocks"] == [] and load("show")["code_missing"]
assert [f["samples"] for f in load("top")] == [1800, 900, 150, 120, 30]
END

# ids FILTER...: the PATH-IDs that a filter leaves, in order.
ids() {
	run 0 paths "$@" --json
	python3 -c 'import json, sys; print(*[p["id"] for p in json.load(sys.stdin)])' <"$dir/got"
}
# selects WANT FILTER...
selects() {
	local want=$1 got
	shift
	got=$(ids "$@")
	[ "$got" = "$want" ] || fail "paths $*: selected '$got', expected '$want'"
}
selects "1 2" -n 2
selects "1 2 3 4 5" -n 0
selects "5" --pid 5555
selects "1 2 3 4" --comm alpha
selects "1 2 3" --binary /nonexistent/bin/alpha
selects "1 2 3" --binary alpha
selects "5" --binary bbbb
selects "1 2 3 4" --container web-1
selects "1 2 3 4" --container web
selects "1 2 3 4 5" --window 2
run 1 paths --window 9
grep -q "no window 9: .pathprofctl windows. lists them" "$dir/said" || fail "--window 9: $(cat "$dir/said")"
selects "" --since '2026-01-02 02:01:00'
selects "1 2 3 4 5" --since '2026-01-02 02:00:59'
selects "" --until '2026-01-02'
selects "1 2 3 4 5" --until '2026-01-02 00:00:01'
selects "1 2 3 4 5" --since @1767312000 --until 2026-01-03
selects "" --since yesterday --until now
selects "1 2 3 4 5" --host "$(hostname)"

# Into a UTF-8 terminal the right-to-left mark stays escaped, a plain accent does not.
for locale in C C.UTF-8; do
	LC_ALL=$locale "$ctl" processes >"$dir/got"
	if LC_ALL=C grep -q $'[\001-\011\013-\037\177]\|\342\200' "$dir/got"; then
		fail "$locale: a control character came through"
	fi
done

# Nor do tags and other characters without a shape, which would let two names look alike.
cp "$PATHPROF_DB" "$dir/shapeless.db"
sqlite3 "$dir/shapeless.db" "UPDATE processes SET comm = 'al' || char(0xe0061) || 'p' || char(0x180e) || 'h' || char(0xfff9) WHERE pid = 4242"
LC_ALL=C.UTF-8 "$ctl" --db "$dir/shapeless.db" processes >"$dir/got"
grep -qF 'al\xf3\xa0\x81\xa1p\xe1\xa0\x8eh\xef\xbf\xb9 ' "$dir/got" || fail "characters without a shape: $(cat "$dir/got")"

# On a terminal of 80 columns no line is longer, and names are cut in the middle.
script -qc "stty cols 80; LC_ALL=C $ctl --color=never paths" /dev/null </dev/null |
	tr -d '\r' | grep -v '^pathprofctl: ' >"$dir/got"
awk 'length > 80 {exit 1}' "$dir/got" || fail "a line is longer than the terminal is wide"
grep -q '60.00%  ##########' "$dir/got" || fail "no bar on a terminal"
grep -q 'TTTT\.\.TTTT' "$dir/got" || fail "nothing was shortened in the middle"

# A reader that leaves early is no error and makes no noise.
set +o pipefail
"$ctl" paths 2>"$dir/said" | head -1 >/dev/null
leans "a closed pipe"

# The right figures are told from wrong ones: a database with one more window is another picture.
"$known" "$dir/more.db" old
"$known" "$dir/more.db" old
run 0 --db "$dir/more.db" paths
head -2 "$dir/got" | tail -1 >"$dir/one"
grep -q ' 3600  alpha+0x1000' "$dir/one" || fail "more windows did not count"

# ---------------------------------------------------------------- TIME and RUNS

db=$dir/known.db
"$known" "$db" || fail "the generator failed"
export PATHPROF_DB=$db
sources="TIME: 3000 samples of a clock set to 99 a second of each CPU, the kernel's included.
Without a path: 15.00% in the kernel, 10.00% in code of which none was seen whole.
RUNS: 120 bursts of up to 1000 instructions, each counted once.
No counter told rates of instructions, so all code is taken to run at one: 10.0% would be 5.3% for code
of half the others' rate, and 18.2% for code of twice their rate."

# silent WHAT: nothing was said on standard error.
silent() {
	[ ! -s "$dir/said" ] && return
	cat "$dir/said"
	fail "$1: something was said"
}

# alpha has 45 % of the time, which its paths share as 6000 : 4500 : 5000 instructions.
run 0 paths
silent paths
cat >"$dir/want" <<END
  TIME    +/-    RUNS  SAMPLES  FUNCTION                                LENGTH  OUTCOMES                          BINARY                           ID
20.00%  1.49%   4.00%      120  Main::run(int)+0x10                         32  TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT  jit:4242                          4
17.42%  2.43%  60.00%     1800  alpha+0x1000                                 4  TTNT                              alpha                             1
14.52%  2.23%   5.00%      150  alpha+0x2000                                 0  -                                 alpha                             3
13.06%  2.09%  30.00%      900  alpha+0x1040                                 1  T                                 alpha                             2
10.00%  1.31%   1.00%       30  \x1b[31mred\x0a\xff\xe2\x80\xae+0x3000       2  NN                                \x1b[31mred\x0a\xff\xe2\x80\xae   5

$sources
END
expect "paths by time"

run 0 paths --sort runs -n 3
cat >"$dir/want" <<END
  RUNS    +/-    TIME  SAMPLES  FUNCTION      LENGTH  OUTCOMES  BINARY  ID
60.00%  5.38%  17.42%     1800  alpha+0x1000       4  TTNT      alpha    1
30.00%  4.94%  13.06%      900  alpha+0x1040       1  T         alpha    2
 5.00%  1.05%  14.52%      150  alpha+0x2000       0  -         alpha    3

$sources
END
expect "paths by runs"

run 0 top --by functions --since @0
cat >"$dir/want" <<END
  TIME    +/-    RUNS  SAMPLES  PATHS  FUNCTION                                BINARY
20.00%  1.43%   4.00%      120      1  Main::run(int)                          jit:4242
17.42%  2.43%  60.00%     1800      1  alpha+0x1000                            alpha
15.00%  1.28%       -        0      0  [kernel]                                -
14.52%  2.23%   5.00%      150      1  alpha+0x2000                            alpha
13.06%  2.09%  30.00%      900      1  alpha+0x1040                            alpha
10.00%  1.31%   1.00%       30      1  \x1b[31mred\x0a\xff\xe2\x80\xae+0x3000  \x1b[31mred\x0a\xff\xe2\x80\xae
 5.00%  0.78%       -        0      0  Main::idle()                            jit:4242
 5.00%  0.78%       -        0      0  [unknown]                               -

$sources
END
expect "functions by time"

run 0 binaries
cat >"$dir/want" <<END
  TIME    +/-    RUNS  SAMPLES  BINARY                                BUILD-ID                                  OWNER  FIRST SEEN           LAST SEEN
45.00%  1.78%  95.00%     2850  /nonexistent/bin/alpha                aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  -      2026-01-02 00:00:00  2026-01-02 02:01:00
25.00%  1.55%   4.00%      120  jit:4242                              1700000000000000000000000000000000000000  -      2026-01-02 00:00:00  2026-01-02 02:01:00
15.00%  1.28%       -        0  [kernel]                              -                                         -      -                    -
10.00%  1.07%   1.00%       30  /tmp/\x1b[31mred\x0a\xff\xe2\x80\xae  bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb  -      2026-01-02 00:00:00  2026-01-02 02:01:00
 5.00%  0.78%       -        0  [unknown]                             -                                         -      -                    -

$sources
END
expect "binaries by time"

# A path without instructions has no TIME, but its function has, whoever called it.
cp "$db" "$dir/timeless.db"
sqlite3 "$dir/timeless.db" "
	INSERT INTO paths(binary, start, length, outcomes, last_window)
		SELECT binary, start, 1, 0, last_window FROM paths WHERE id = 4;
	INSERT INTO path_counts(window, path, process, samples, weight)
		SELECT window, (SELECT max(id) FROM paths), process, 20, 20 FROM path_counts WHERE path = 4"
run 0 --db "$dir/timeless.db" top --by callers --since @0
grep -qE '^20\.00% +1\.43% +5\.88% +180 +Main::run\(int\) ' "$dir/got" || fail "a path without TIME: $(cat "$dir/got")"

# Windows with clocks of their own: the figure is the fastest one's.
cp "$db" "$dir/clocks.db"
sqlite3 "$dir/clocks.db" 'UPDATE windows SET clock_hz = 49 WHERE id = 2'
run 0 --db "$dir/clocks.db" paths -n 1
grep -q '^TIME: 3000 samples of a clock set to up to 99 a second of each CPU' "$dir/got" ||
	fail "clocks that differ: $(cat "$dir/got")"

# Samples that pathprofd did not read in time are told of from a hundredth on, below tables and in JSON.
cp "$db" "$dir/lost.db"
sqlite3 "$dir/lost.db" "INSERT INTO window_drops SELECT id, 2, 10 FROM windows"
for verb in paths edges 'top --since @0'; do
	# shellcheck disable=SC2086 # a list of words
	run 0 --db "$dir/lost.db" $verb
	! grep -q ' were lost' "$dir/got" || fail "$verb: a hundredth of lost samples is told of"
done
sqlite3 "$dir/lost.db" "UPDATE window_drops SET count = 1000 WHERE reason = 2 AND window = 1"
for verb in paths 'top --by edges --since @0' 'top --since @0'; do
	# shellcheck disable=SC2086 # a list of words
	run 0 --db "$dir/lost.db" $verb
	grep -q '^1020 samples (25.4%) were lost, for pathprofd did not read them in time' "$dir/got" ||
		fail "$verb: lost samples: $(cat "$dir/got")"
done
run 0 --db "$dir/lost.db" paths --json
grep -q '"lost": 1020,' "$dir/got" || fail "lost samples in JSON: $(head -n 3 "$dir/got")"

# RUNS of generated code that the clock alone saw are unknown, and so are those of two processes. A
# table names four owners of a binary's files and says that there are more; JSON names all.
cp "$db" "$dir/generated.db"
python3 - "$dir/generated.db" <<'END' || fail "no second process with generated code"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
jit, = db.execute("SELECT id FROM binaries WHERE name = 'jit:4242'").fetchone()
other = db.execute("INSERT INTO binaries(build_id, kind, name, last_window) SELECT x'18', kind,"
                   " 'jit:5555', last_window FROM binaries WHERE id = ?", (jit,)).lastrowid
db.execute("DELETE FROM path_counts WHERE path IN (SELECT id FROM paths WHERE binary = ?)", (jit,))
db.execute("UPDATE clock_counts SET binary = ? WHERE binary = ? AND place ="
           " (SELECT max(place) FROM clock_counts WHERE binary = ?)", (other, jit, jit))
for owner in range(4000000001, 4000000007):
    db.execute("INSERT INTO window_files SELECT min(w.id), b.id, ?, 0, 0 FROM windows w, binaries b"
               " WHERE b.name LIKE '%/alpha'", (owner,))
db.commit()
END
run 0 --db "$dir/generated.db" binaries
grep -qE '^25\.00% +[0-9.]+% +- +0 +jit: \(generated code of 2 processes\) ' "$dir/got" || {
	cat "$dir/got"
	fail "binaries: RUNS of generated code of which no path was seen"
}
grep -q ' 4000000001+4000000002+4000000003+4000000004+\.\.\. ' "$dir/got" || fail "binaries: owners"
run 0 --db "$dir/generated.db" binaries --json
python3 - "$dir/got" <<'END' || fail "binaries: owners in JSON"
import json, sys
alpha, = [b for b in json.load(open(sys.argv[1])) if b["binary"]["name"].endswith("/alpha")]
assert alpha["owners"] == list(range(4000000001, 4000000007)), alpha
END

run 0 processes
cat >"$dir/want" <<END
  TIME    +/-    RUNS  SAMPLES   PID  COMM             CONTAINER  BINARY                                LAST SEEN
80.00%  1.43%  99.00%     2970  4242  alpha            web-1      /nonexistent/bin/alpha                2026-01-02 02:01:00
20.00%  1.43%   1.00%       30  5555  \x1b[2Jevil\xff  -          /tmp/\x1b[31mred\x0a\xff\xe2\x80\xae  2026-01-02 02:01:00

$sources
END
expect "processes by time"

run 0 show 3
grep -q '^  time      14.52%  (95% interval 12.38% to 16.84%)$' "$dir/got" || fail "show: time"
grep -q '^  runs      5.00%  (95% interval 4.06% to 6.15%)$' "$dir/got" || fail "show: runs"
grep -q '^  at rates  2.56% to 9.52% of runs' "$dir/got" || fail "show: the range of rates"
grep -q '^  from      120 bursts of up to 1000 instructions, each counted once$' "$dir/got" || fail "show: from"
grep -q 'share' "$dir/got" && fail "show: one share too many"

# JSON, the estimates and the intervals of TIME worked out a second time.
for verb in paths binaries processes windows 'top --by functions --since @0' 'show 3'; do
	read -ra words <<<"$verb"
	run 0 "${words[@]}" --json
	cp "$dir/got" "$dir/${words[0]}.json"
done
python3 - "$dir" <<'END' || fail "JSON of TIME and RUNS"
import json, math, sys
Z = 1.959963984540054

def load(name):
    with open(f"{sys.argv[1]}/{name}.json", encoding="utf-8") as f:
        return json.load(f)

def wilson(p, n):
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    return max(middle - half, 0), min(middle + half, 1)

def near(a, b):
    return abs(a - b) < 1e-6

# id: its function's clock samples, weight, instructions, effective sightings (at most the bursts)
truth = {1: (1350, 1800, 18000, 120), 2: (1350, 900, 13500, 120), 3: (1350, 150, 15000, 120),
         4: (600, 120, 6000, 120), 5: (300, 30, 1200, 30)}
paths = {p["id"]: p for p in load("paths")}
runs = {i: w for i, (_, w, _, _) in truth.items()}
for i, (t, w, insns, n) in truth.items():
    p, mates = paths[i], [u for j, u in truth.items() if u[0] == t and j != i]
    m = insns / (insns + sum(u[2] for u in mates))
    low, high = wilson(t / 3000, 3000)
    if mates:
        others = sum(u[2] for u in mates)
        variance = 1 / n + sum(u[2] ** 2 / u[3] for u in mates) / others ** 2
        factor = math.exp(2 * math.asinh(Z / 2 * math.sqrt(variance)))
        odds = m / (1 - m)
        m_low, m_high = odds / (odds + factor), odds * factor / (1 + odds * factor)
    else:
        m_low, m_high = n / (n + Z * Z), 1
    time = t / 3000 * m
    assert near(p["time"], time) and p["share"] == p["time"], p
    assert p["share_low"] == p["time_low"] and p["share_high"] == p["time_high"], p
    assert near(p["time_low"], time * math.exp(-math.hypot(
        math.log(low * 3000 / t), math.log(m_low / m)))), p
    assert near(p["time_high"], time * math.exp(math.hypot(
        math.log(high * 3000 / t), math.log(m_high / m)))), p
    assert near(p["runs"], runs[i] / sum(runs.values())), p
    assert p["runs_low"] < p["runs"] < p["runs_high"] and p["basis"] == "time", p
    others = sum(runs.values()) - w
    assert near(p["runs_half_rate"], w / 2 / (w / 2 + others)), p
    assert near(p["runs_twice_rate"], 2 * w / (2 * w + others)), p
    assert p["kind"] == "horizon" and p["horizon"] == 1000, p
    assert p["weight"] == w and p["samples"] == w, p

functions = load("top")
kernel, unknown = functions[2], functions[7]
assert kernel["binary"]["name"] == "[kernel]" and unknown["binary"]["name"] == "[unknown]"
assert kernel["function"] is None and kernel["paths"] == 0 and kernel["runs"] is None
assert near(kernel["time"], 0.15) and near(unknown["time_low"], wilson(0.05, 3000)[0])
assert near(sum(f["time"] for f in functions), 1)
assert near(sum(f["runs"] or 0 for f in functions), 1)
idle = functions[6]
assert idle["function"] == "Main::idle()" and idle["paths"] == 0 and idle["samples"] == 0, idle
assert near(sum(b["time"] for b in load("binaries")), 1)
assert [p["kernel_time"] for p in load("processes")] == [0.1, 0.05]
assert load("show")["time"] == paths[3]["time"] and load("show")["runs"] == paths[3]["runs"]
window = load("windows")[0]
assert (window["kind"], window["horizon"], window["clock_hz"], window["clock_kernel"],
        window["clock_samples"]) == ("horizon", 1000, 99, True, 1000), window
END

# Shares are of the selection: alpha's clock samples are all there are.
run 0 binaries --binary alpha
grep -q '^100.00% .* 2850  /nonexistent/bin/alpha' "$dir/got" || fail "--binary: not all its time"
run 0 processes --comm alpha
[ "$(grep -c web-1 "$dir/got")" = 1 ] || fail "--comm: not one process"

# Places of the clock and starts of paths meet in the function that contains both, and what the
# clock alone saw in code without a function is a row of the binary.
cat >"$dir/code.c" <<'END'
int puts(const char *text);
#define RUN __asm__ volatile(".fill 32, 1, 0x90")
__attribute__((noinline)) int first(int n) { RUN; return n * n; }
__attribute__((noinline)) int second(int n) { RUN; return n ^ 1; }
__attribute__((noinline)) int third(int n) { RUN; return n - 2; }
int main(int argc, char **argv) { puts(argv[0]); return first(argc) + second(argc) + third(argc); }
END
cc -O1 -falign-functions=64 -Wl,--build-id -o "$dir/code" "$dir/code.c" || fail "no compiler"
at() { # at FUNCTION: its file offset; address and offset of .text agree
	nm "$dir/code" | awk -v name="$1" '$3 == name {print $1}'
}
plus() { printf '%x' $((16#$1 + $2)); }
"$known" "$dir/code.db" code "$dir/code" <<END || fail "no database of code"
path $(at first) 10 30
path $(plus "$(at first)" 3) 30 10
path $(at second) 10 40
clock $(at first) 500
clock $(plus "$(at first)" 16) 100
clock $(at second) 200
clock $(at third) 150
clock 0 50
END
run 0 --db "$dir/code.db" top --by functions --since @0
silent "functions of code"
cat >"$dir/want" <<'END'
  TIME    +/-    RUNS  SAMPLES  PATHS  FUNCTION  BINARY
60.00%  3.03%  50.00%       40      2  first     code
20.00%  2.48%  50.00%       40      1  second    code
15.00%  2.21%       -        0      0  third     code
 5.00%  1.36%       -        0      0  [code]    code

TIME: 1000 samples of a clock set to 99 a second of each CPU, the kernel's included.
Without a path: 0.00% in the kernel, 20.00% in code of which none was seen whole.
RUNS: 100 bursts of up to 1000 instructions, each counted once.
No counter told rates of instructions, so all code is taken to run at one: 10.0% would be 5.3% for code
of half the others' rate, and 18.2% for code of twice their rate.
END
expect "functions of code"
# Weighed by the clock the paths have all instructions of 800 samples. The 200 others stand for a
# quarter as many runs, which low ends allow for, and those of sums.
sqlite3 "$dir/code.db" "UPDATE windows SET weighed = 1;
	UPDATE path_counts SET weight = weight * 0.8 * horizon * 1e6 / clock_hz, weight_squares = 0,
		insns = path_counts.insns * 0.8 * horizon * 1e6 / clock_hz FROM windows WHERE windows.id = window"
run 0 --db "$dir/code.db" top --by functions --since @0
grep -q '^Up to 20% of all runs may be missing, ' "$dir/got" || fail "missing runs: $(cat "$dir/got")"
run 0 --db "$dir/code.db" binaries --since @0 --json
python3 - "$dir/got" <<'END' || fail "missing runs in JSON"
import json, sys
row = json.load(open(sys.argv[1]))[0]
assert row["runs"] == 1 and abs(row["runs_low"] - 0.8 * 80 / (80 + 1.959964 ** 2)) < 1e-5, row
END
run 0 --db "$dir/code.db" paths
awk '{print $1, $3, $5}' "$dir/got" | sed -n '2,4p' >"$dir/paths"
printf '%s\n' '30.00% 37.50% first' '30.00% 12.50% first+0x3' '20.00% 50.00% second' |
	diff - "$dir/paths" || fail "paths of code"
# Paths of equal figures have one order, whichever of them a database met first.
for order in 'first second' 'second first'; do
	for function in $order; do
		echo "path $(at "$function") 10 30"
	done | "$known" "$dir/$order.db" code "$dir/code"
	run 0 --db "$dir/$order.db" paths
	awk '{print $1, $4}' "$dir/got" | sed -n '2,3p' >"$dir/$order"
done
[ "$(wc -l <"$dir/first second")" = 2 ] && cmp -s "$dir/first second" "$dir/second first" ||
	fail "paths of equal figures: $(cat "$dir/first second" "$dir/second first")"
# An export of clocks that differ says so as the views do.
cp "$dir/code.db" "$dir/clocks.db"
sqlite3 "$dir/clocks.db" 'CREATE TEMP TABLE other AS SELECT * FROM windows;
	UPDATE other SET id = id + 1, clock_hz = 49; INSERT INTO windows SELECT * FROM other'
run 0 --db "$dir/clocks.db" export --any-owner -F folded -o "$dir/folded"
grep -q 'counts are TIME, from a clock set to up to 99 samples a second' "$dir/said" ||
	fail "export of clocks that differ: $(cat "$dir/said")"
# Each clock's samples stand for as much time as lies between them.
sqlite3 "$dir/clocks.db" 'CREATE TEMP TABLE other AS SELECT * FROM clock_counts;
	UPDATE other SET window = window + 1; INSERT INTO clock_counts SELECT * FROM other'
run 0 --db "$dir/clocks.db" export --any-owner -F folded -o "$dir/folded"
time_is=$(awk '{ sum += $NF } END { printf "%.0f", sum / 1e6 }' "$dir/folded")
time_was=$(sqlite3 "$dir/clocks.db" 'SELECT CAST(round(sum(c.samples * 1e3 / w.clock_hz)) AS INT)
	FROM clock_counts c JOIN windows w ON w.id = c.window')
[ "$time_is" = "$time_was" ] || fail "clocks that differ: $time_is ms are exported, $time_was were sampled"
# A chain whose outermost callers were not found out begins with the binary of those that were.
cp "$dir/code.db" "$dir/deep.db"
sqlite3 "$dir/deep.db" "INSERT INTO contexts
	SELECT 1, 0, 0, 0, 1 UNION SELECT 2, 1, min(binary), $((16#$(at third))), 1 FROM paths;
	INSERT INTO context_counts SELECT window, 2, path, process, samples, weight FROM path_counts"
run 0 --db "$dir/deep.db" export --any-owner -F folded -o "$dir/folded"
grep -q '^code;\[not known\];third;first [0-9]*$' "$dir/folded" && ! grep '^;' "$dir/folded" ||
	fail "stacks whose beginning is not known: $(cat "$dir/folded")"

# ---------------------------------------------------------------- kinds

"$known" "$dir/branches.db" branches
run 0 --db "$dir/branches.db" paths -n 1
silent "branches"
cat >"$dir/want" <<'END'
  RUNS    +/-  SAMPLES  FUNCTION      LENGTH  OUTCOMES  BINARY  ID
60.00%  5.38%     1800  alpha+0x1000       4  TTNT      alpha    1

RUNS: 120 bursts of 32 taken branches, sampled on branches.
END
expect "windows sampled on branches"
run 0 --db "$dir/branches.db" paths --json -n 1
grep -q '"runs_half_rate": null, "runs_twice_rate": null, "basis": "branches", "kind": "branches"' \
	"$dir/got" || fail "sampled on branches: rates matter"
# Without bursts paths were counted, and where there are branches another tool counted these.
cp "$dir/branches.db" "$dir/counted.db"
sqlite3 "$dir/counted.db" 'UPDATE windows SET bursts = 0'
run 0 --db "$dir/counted.db" paths -n 1
grep -qx 'RUNS: counts of another tool.' "$dir/got" || fail "counts of another tool: $(cat "$dir/got")"
sqlite3 "$dir/counted.db" 'UPDATE windows SET branches = 0'
run 0 --db "$dir/counted.db" paths -n 1
grep -qx 'RUNS: exact counts, of every path that ran.' "$dir/got" || fail "counted paths: $(cat "$dir/got")"
sqlite3 "$dir/counted.db" 'INSERT INTO window_drops SELECT max(id), 1, 4 FROM windows'
run 0 --db "$dir/counted.db" paths -n 1
grep -qx 'RUNS: exact counts, of all but 4 executions of paths without a counter.' "$dir/got" ||
	fail "counted paths without a counter: $(cat "$dir/got")"
sqlite3 "$dir/counted.db" 'UPDATE windows SET paths = 0, branches = 2000; DELETE FROM path_counts'
run 0 --db "$dir/counted.db" top --by edges --since @0
grep -qx 'SHARE: of the branches taken in counts of another tool.' "$dir/got" || fail "counted branches: $(cat "$dir/got")"
run 0 --db "$dir/branches.db" paths --sort time -n 1
grep -q 'sort time: TIME is not known of what is selected' "$dir/said" || fail "--sort time: not said that it is not known"

# Old ones, then new ones: the new ones are shown as if they were alone.
"$known" "$dir/mixed.db" old
"$known" "$dir/mixed.db"
for verb in paths 'top --by functions --since @0' binaries processes 'show 2' edges; do
	read -ra words <<<"$verb"
	run 0 "${words[@]}"
	cp "$dir/got" "$dir/want"
	run 0 --db "$dir/mixed.db" "${words[@]}"
	expect "$verb of mixed kinds"
	grep -q '^pathprofctl: 2 kinds of windows are selected, the newest is used: windows by a number' \
		"$dir/said" || fail "$verb: nothing was said of the kind left out"
	grep -q 'number of taken branches weigh code differently and are left out: --kind taken' \
		"$dir/said" || fail "$verb: not said why, or how to see it"
	[ "$(wc -l <"$dir/said")" = 1 ] || fail "$verb: said more than once"
done
run 0 --db "$dir/old.db" paths
cp "$dir/got" "$dir/want"
run 0 --db "$dir/mixed.db" paths --kind taken
expect "--kind taken"
leans "--kind taken"
run 0 --db "$dir/mixed.db" windows --json
[ "$(grep -c '"id"' "$dir/got")" = 6 ] || fail "windows: not all kinds are listed"
run 0 --db "$dir/mixed.db" windows --kind horizon --json
[ "$(grep -c '"id"' "$dir/got")" = 3 ] || fail "windows --kind horizon: not those alone"
run 0 --db "$dir/mixed.db" paths --kind branches
grep -q 'nothing matches: the windows of that time are of another kind' "$dir/said" ||
	fail "--kind branches: there are none"
run 0 --db "$dir/mixed.db" paths --until 2000-01-01
grep -q 'nothing matches: the windows there are lie between ' "$dir/said" || fail "--until: none"
run 0 --db "$dir/mixed.db" paths --comm nobody-is-called-so
grep -q 'nothing matches: [1-9][0-9]* bursts were taken in [1-9]' "$dir/said" || fail "--comm: none"
sqlite3 "$dir/mixed.db" 'UPDATE windows SET bursts = 0; DELETE FROM window_drops' &&
	run 0 --db "$dir/mixed.db" paths --comm nobody-is-called-so
grep -q 'nothing matches: 6000 paths were counted in 6 windows of that time, none of what' "$dir/said" ||
	fail "exact counts, of somebody else"
sqlite3 "$dir/mixed.db" 'UPDATE windows SET paths = 0' &&
	run 0 --db "$dir/mixed.db" paths --comm nobody-is-called-so
grep -q 'nothing matches: in [1-9][0-9]* windows nothing that is watched computed long enough to be seen: it slept' "$dir/said" ||
	fail "idle windows"
sqlite3 "$dir/mixed.db" 'INSERT INTO window_drops SELECT id, 10, 7 FROM windows' &&
	run 0 --db "$dir/mixed.db" paths --comm nobody-is-called-so
grep -q 'samples were left out as budget: the overhead budget was spent' "$dir/said" ||
	fail "windows of which the budget let nothing through"
run 2 paths --kind sometimes
run 2 paths --sort weight

# A window of now counts with the others.
"$known" "$db" now
run 0 paths
grep -q ' 2400  alpha+0x1000' "$dir/got" || fail "a fourth window did not count"
run 0 top
grep -q '^17.42% .* 600  alpha+0x1000' "$dir/got" || fail "top: not the last five minutes"
# A recording that is over shows the same at any time: here its first window ended six minutes ago.
"$known" "$dir/over.db" now
"$known" "$dir/over.db" now
sqlite3 "$dir/over.db" 'UPDATE windows SET begin_ns = begin_ns - ago, end_ns = end_ns - ago
	FROM (SELECT 1 AS which, 360000000000 AS ago UNION SELECT 2, 120000000000) WHERE id = which'
run 0 --db "$dir/over.db" top
grep -q ' 1200  alpha+0x1000' "$dir/got" || fail "top of a recording that is over: a part of it: $(cat "$dir/got")"
# Explanations of the words stand below, a line each, and only on request.
explained() { # WORD VERB...
	local word=$1
	shift
	run 0 --db "$db" "$@" --explain
	[ "$(grep -cE "^$word +[a-z]" "$dir/got")" = 1 ] || fail "$* does not explain $word"
	[ "$(awk 'length > 100' "$dir/got" | grep -cE "^$word ")" = 0 ] || fail "$word takes more than a line"
	run 0 --db "$db" "$@"
	! grep -qE "^$word +[a-z]" "$dir/got" || fail "$* explains $word unasked"
}
explained horizon paths
explained weight top --since @0
explained 'KL, D\(B\|\|A\)' compare window:1 window:2
explained overlap compare window:1 window:2
explained HELD windows
run 0 --db "$db" paths --explain --json
python3 -m json.tool "$dir/got" >/dev/null || fail "JSON with explanations is none"
finish
