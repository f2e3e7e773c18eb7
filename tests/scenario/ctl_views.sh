#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A database of which everything is known (tests/tools/ctl_known_db.c): every view says exactly
# that, as text and as JSON, filters select what they say, and hostile names come out harmless.
set -eu
name=ctl_views
. "$(dirname "$0")/ctl_common.bash"

db=$dir/known.db
"$known" "$db" || fail "the generator failed"
export PATHPROF_DB=$db

run 0 paths
cat >"$dir/want" <<'END'
 SHARE    +/-  SAMPLES  FUNCTION                                LENGTH  OUTCOMES                          BINARY                           ID
60.00%  8.63%     1800  alpha+0x1000                                 4  TTNT                              alpha                             1
30.00%  8.09%      900  alpha+0x1040                                 1  T                                 alpha                             2
 5.00%  4.08%      150  alpha+0x2000                                 0  -                                 alpha                             3
 4.00%  3.73%      120  Main::run(int)+0x10                         32  TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT  jit:4242                          4
 1.00%  2.32%       30  \x1b[31mred\x0a\xff\xe2\x80\xae+0x3000       2  NN                                \x1b[31mred\x0a\xff\xe2\x80\xae   5
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
ID  BEGIN                LENGTH  SOURCE  BASIS  BURSTS  BRANCHES  PATHS   HELD  DROPS
 2  2026-01-02 01:00:00    1min  step    time       40      2000   1000  0.50%  gone:3 budget:12
 1  2026-01-02 00:00:00    1min  step    time       40      2000   1000  0.50%  gone:3 budget:12
END
expect "windows --until"

run 0 top --by functions --since @0
cat >"$dir/want" <<'END'
 SHARE    +/-  SAMPLES  PATHS  FUNCTION                                BINARY
60.00%  8.63%     1800      1  alpha+0x1000                            alpha
30.00%  8.09%      900      1  alpha+0x1040                            alpha
 5.00%  4.08%      150      1  alpha+0x2000                            alpha
 4.00%  3.73%      120      1  Main::run(int)                          jit:4242
 1.00%  2.32%       30      1  \x1b[31mred\x0a\xff\xe2\x80\xae+0x3000  \x1b[31mred\x0a\xff\xe2\x80\xae
END
expect "top --by functions"

run 0 top --by edges --since '2026-01-02 01:30' --until '2026-01-02 03:00'
cat >"$dir/want" <<'END'
 SHARE  COUNT  FROM          TO                                      BINARY
70.00%    700  alpha+0x1010  alpha+0x1000                            alpha
20.00%    200  alpha+0x1050  alpha+0x1040                            alpha
10.00%    100  alpha+0x1060  \x1b[31mred\x0a\xff\xe2\x80\xae+0x3000  alpha
END
expect "top --by edges"

run 0 show 1
cat >"$dir/want" <<'END'
path 1  alpha+0x1000
  binary    /nonexistent/bin/alpha
  build-id  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  start     0x1000
  share     60.00%  (95% interval 51.06% to 68.32%)
  samples   1800  (weight 1800.0)
  ways      TTNT  (4 branches; T taken, N not taken)
END
grep -v '^  code      not available: /nonexistent/bin/alpha: ' "$dir/got" >"$dir/shown" || true
[ "$(wc -l <"$dir/got")" = 8 ] || fail "show: no line says why there is no code"
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
selects "" --window 9
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

# On a terminal of 80 columns no line is longer, and names are cut in the middle.
script -qc "stty cols 80; LC_ALL=C $ctl --color=never paths" /dev/null </dev/null |
	tr -d '\r' >"$dir/got"
awk 'length > 80 {exit 1}' "$dir/got" || fail "a line is longer than the terminal is wide"
grep -q '60.00%  ##########' "$dir/got" || fail "no bar on a terminal"
grep -q 'TTTT\.\.TTTT' "$dir/got" || fail "nothing was shortened in the middle"

# A reader that leaves early is no error and makes no noise.
set +o pipefail
"$ctl" paths 2>"$dir/said" | head -1 >/dev/null
[ ! -s "$dir/said" ] || fail "a closed pipe was complained about"

# The right figures are told from wrong ones: a database with one more window is another picture.
"$known" "$db" now
run 0 paths
head -2 "$dir/got" | tail -1 >"$dir/one"
grep -q ' 2400  alpha+0x1000' "$dir/one" || fail "a fourth window did not count"
run 0 top
grep -q '^60.00% .* 600  alpha+0x1000' "$dir/got" || fail "top: not the last five minutes"
finish
