#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# compare, combine, baseline, drift and alerts: on a database of which all is known, on a real
# program recorded compressing and decompressing, on two builds of one program; the figures against
# others worked out here; and what goes wrong is one line that says what, where and what to do.
set -eu
name=ctl_drift
. "$(dirname "$0")/ctl_common.bash"
cd "$dir"

# says STATUS PATTERN ARGS...
says() {
	local status=$1 pattern=$2
	shift 2
	run "$status" "$@"
	[ "$(wc -l <"$dir/said")" = 1 ] && grep -q "^pathprofctl: .*$pattern" "$dir/said" || {
		cat "$dir/said"
		fail "pathprofctl $*: expected one line with '$pattern'"
	}
	[ ! -s "$dir/got" ] || fail "pathprofctl $*: wrote on standard output"
}

# holds WHAT: the Python on standard input, over `got` as JSON in j, holds.
holds() {
	{
		echo 'import json, math'
		echo 'j = json.load(open("got"))'
		cat
	} >check.py
	python3 check.py || {
		head -c 3000 got
		fail "$1"
	}
}

### A database of which all is known: three windows, all the same.
"$known" known.db
export PATHPROF_DB=known.db
run 0 compare window:1 window:2 --json
holds 'equal windows' <<'END'
f = j["figures"]
assert f["kl_bits"] < 1e-12 and f["overlap"] == 1 and f["coverage_dynamic"] == 1, f
assert f["angle_degrees"] < 1e-6 and f["kl_low_bits"] == 0, f
assert j["a"]["samples"] == j["b"]["samples"] == 1000
p = [.6, .3, .05, .04, .01]
assert abs(j["a"]["entropy_bits"] + sum(x * math.log2(x) for x in p)) < 1e-9
# 150 of 1000 strikes of the clock in the kernel, 50 in no file and 50 in a function without a path
assert (j["a"]["kernel_time"], j["a"]["pathless_time"]) == (.15, .1), j["a"]
END
run 0 compare window:1 '2026-01-02 01:00 UTC..'
grep -q 'No difference that chance could not have made' got || fail 'no verdict on equals'
run 0 compare window:1 window:2
grep -q "^time without a path  *of A's 15.00% in the kernel, 10.00% in code, of B's 15.00% in the kernel, 10.00%" got ||
	fail 'not said which time has no path'
run 0 compare window:1 window:2 --edges --json
holds 'edges' <<'END'
assert j["kind"] == "edges" and j["a"]["samples"] == 1000 and j["figures"]["kl_bits"] < 1e-12
END
# Three windows of three edges have four degrees of freedom, which say nothing of how edges scatter.
run 0 compare file:known.db file:known.db --edges --json
holds 'dispersion of few windows' <<'END'
assert "dispersion" not in j["a"] and "dispersion" not in j["b"], j["a"]
END

### Text profiles, against figures worked out here.
printf 'a\t6\nb\t3\nc\t1\n' >one.txt
printf 'a\t2\nb\t2\na\t2\nd\t4\n' >two.txt # a comes twice: it adds up
run 0 compare file:one.txt file:two.txt --json
holds 'text' <<'END'
f = j["figures"]
p, q = {"a": .4, "b": .2, "d": .4}, {"a": .6, "b": .3, "c": .1}
e = min(1 / 22, 1 / 4)
q = {k: v * (1 - e) for k, v in q.items()} | {"d": e}
d = sum(v * math.log2(v / q[k]) for k, v in p.items())
assert abs(f["kl_bits"] - d) < 1e-9, (f, d)
assert abs(f["overlap"] - .6) < 1e-9 and abs(f["coverage_dynamic"] - .6) < 1e-9, f
assert abs(sum(x["bits"] for x in j["events"]) - d) < 1e-9
assert j["events"][0]["what"] == "d" and j["events"][0]["a_share"] == 0
END
printf 'a\t0.6\nb\t0.4\n' >part.txt
run 0 compare file:part.txt file:part.txt
grep -q '^No difference: file:part.txt stands for file:part.txt' got || fail 'a profile of weights is stale for itself'
run 0 combine file:one.txt file:two.txt -o sum.txt
printf 'a\t10\nb\t5\nc\t1\nd\t4\n' >want
sort sum.txt >got
expect 'counts are added'
# Keys of edges stay themselves where paths are meant.
at=$(printf 'ab%.0s' {1..20})
printf "$at:0x10>$at:0x20\t3\n$at:0x10>$at:0x30\t1\n" >jumps.txt
printf "$at:0x10>$at:0x20\t6\n$at:0x10>$at:0x30\t2\n" >want
for kind in '' --edges; do
	run 0 combine $kind file:jumps.txt file:jumps.txt -o jumped.txt
	sort jumped.txt >got
	rm jumped.txt
	expect "keys of edges, combined $kind"
done

### What goes wrong.
says 2 'two profiles' compare window:1
says 2 'not a selector: use window:ID' compare window:1 nonsense
says 2 'a file is given as file:' compare window:1 one.txt
says 1 'not the id of a window' compare window:x window:1
says 1 'no such window' compare window:1 window:99
says 1 'is no time' compare window:1 sometime..
says 1 'not after its beginning' compare window:1 2026-02-01..2026-01-01
says 1 'no such baseline.*baseline list' compare baseline:none window:1
says 2 'a name is' compare baseline:../x window:1
mkdir baselines
ln -s round.baseline baselines/round.baseline
says 1 'symbolic links' compare baseline:round window:1
rm -r baselines
says 1 'No such file' compare file:none window:1
says 1 'not a regular file' compare file:. window:1
says 1 'is no build-id' compare alpha@xyz window:1
says 1 'nothing was seen' compare 2020-01-01..2020-01-02 window:1
says 1 'nothing was seen' compare alpha@aaaa 2026-01-01.. --comm nobody
for weight in nan -1 inf 1e30 '' x; do
	printf 'ok\t1\nbad\t%s\n' "$weight" >bad.txt
	says 1 'bad.txt:2' compare file:bad.txt window:1
done
: >empty.txt
says 1 'nothing was seen' compare file:empty.txt window:1
says 1 'sum.txt: is there already' combine file:one.txt file:two.txt -o sum.txt
says 2 '2 to' combine file:one.txt -o x.txt
says 2 'FILE is needed' combine file:one.txt file:two.txt
says 2 '--method mean' combine --method mean file:one.txt file:two.txt -o x.txt
says 1 'name the output' combine file:one.txt file:two.txt -o x.profile
place=$(printf 'ab%.0s' {1..20}):0x
printf '%s\t0.1\n%s\t0.2\n' "${place}1000:T" "${place}2000:N" >parts.txt
says 1 'less than half a sample.*name the output' combine file:parts.txt file:parts.txt -o x.profile
says 1 'name the output' combine file:jumps.txt file:jumps.txt -o x.profile
[ "$(echo x.*)" = 'x.*' ] || fail 'combine left a file that it could not fill'
printf '%s\t6\n%s\t0.2\n' "${place}1000:T" "${place}2000:N" >parts.txt
run 0 combine file:parts.txt file:parts.txt -o parts.profile
grep -q 'events of 3.2% of the weight are left out' said || fail 'combine: not said what a profile file has no room for'
says 2 'one of: set' baseline
says 2 'name is needed' baseline set
says 1 'nothing was seen' baseline set none --since 2020-01-01 --until 2020-01-02
says 1 'no such baseline' baseline rm none
says 2 '--threshold 0' drift --threshold 0
# Nothing in common: a figure all the same, and a word of warning.
run 0 compare file:one.txt window:1
grep -q 'no binary in common' said || fail 'disjoint supports were not told'
# patchelf moves the code within the file, and the build-id stays.
cp known.db moved.db
python3 -c 'import sqlite3
db = sqlite3.connect("moved.db")
db.execute("UPDATE paths SET start = start + 1048576")
db.commit()'
run 0 compare --binary alpha window:1 file:moved.db
grep -q 'though the build-id is the same: code may lie elsewhere' said || fail 'moved code was not told'

### Baselines.
run 0 baseline set good --window 1
says 1 'there already' baseline set good --window 2
run 0 baseline set good --window 2 --replace
run 0 baseline list --json
holds 'list' <<'END'
assert [(b["name"], b["samples"]) for b in j] == [("good", 1000)], j
END
# A profile file that another program made has several windows, and no note.
cp known.db baselines/several.baseline
run 0 baseline list --json
holds 'a list with a profile file of several windows' <<'END'
b = {x["name"]: x for x in j}["several"]
assert b["samples"] == 3000 and b["end_ns"] - b["begin_ns"] == 7260 * 10**9 and not b["note"], b
END
rm -f baselines/several.baseline*
run 0 baseline set part --comm alpha --container web-1
grep -q "^baseline 'part': the beginning to now, comm alpha, container web-1 of .*known.db$" got ||
	fail 'baseline: not said of what it is'
run 0 baseline rm part
run 0 compare baseline:good window:3 --json
holds 'baseline' <<'END'
assert j["figures"]["kl_bits"] < 1e-12 and j["figures"]["coverage_static"] == 1
END
run 0 drift --baseline good --check --json
holds 'drift from a baseline' <<'END'
assert {p["baseline"] for p in j} == {"good"} and not any(p["over"] for p in j), j
assert len([p for p in j if p["binary"]["name"].endswith("alpha")]) == 3
END
run 0 drift --baseline good
grep -q '^Each path that was seen whole counts once, ' got || fail 'drift: not said what counts'
run 0 baseline rm good
run 0 alerts
grep -q 'no alert' got || fail 'alerts where there are none'

### TIME of functions: clock samples, two places of one function together, by name over builds.
printf 'int first(int n) { return n * 3; }\nint second(int n) { return n * 5; }\n%s\n' \
	'int main(int c, char **v) { return first(c) + second(c); }' >timed.c
mkdir one two
cc -O1 -fno-inline -falign-functions=64 -Wl,--build-id -o one/timed timed.c || fail 'no compiler'
cc -O1 -fno-inline -falign-functions=128 -Wl,--build-id -o two/timed timed.c || fail 'no compiler'
timed() { # timed FILE FIRST FIRST+1 SECOND: a window with so many clock samples
	local first second
	first=$(nm "$1" | awk '$3 == "first" { print $1 }') second=$(nm "$1" | awk '$3 == "second" { print $1 }')
	printf 'path %s 5 100\nclock %s %s\nclock %x %s\nclock %s %s\n' "$first" "$first" "$2" $((16#$first + 1)) "$3" \
		"$second" "$4" | "$known" timed.db code "$PWD/$1" || fail 'no database of times'
}
timed one/timed 350 250 400
timed one/timed 100 200 700
timed two/timed 100 200 700
export PATHPROF_DB=timed.db
run 0 compare --sort time window:1 window:2 --json
holds 'TIME of functions' <<'END'
f, d = j["figures"], .3 * math.log2(.3 / .6) + .7 * math.log2(.7 / .4)
assert j["kind"] == "functions" and j["figure"] == "time" and j["a"]["samples"] == 1000, j
assert abs(f["kl_bits"] - d) < 1e-9 and abs(f["overlap"] - .7) < 1e-9, (f, d)
assert f["kl_low_bits"] > 0, f
assert {e["what"]: (e["a_share"], e["b_share"]) for e in j["events"]} == {
    "first": (.6, .3), "second": (.4, .7)}, j["events"]
END
run 0 compare --sort time window:2 window:3
grep -q '^TIME: clock samples by function' got && grep -q '^overlap  *100.00%' got || fail 'TIME over two builds'
run 0 compare --sort runs window:1 window:2
grep -q '^RUNS: ' got || fail 'compare --sort runs'
says 2 'sort time compares functions' compare --sort time --edges window:1 window:2
says 1 'lines of text have no TIME' compare --sort time file:one.txt window:1
"$known" branches.db branches
sqlite3 branches.db 'DELETE FROM clock_counts'
PATHPROF_DB=branches.db says 1 'no clock sample of what is selected' compare --sort time window:1 window:2

### A side of several builds: each is held against each of the other side.
ran() { # ran DB FILE FUNCTION COUNT...: a window with so many paths of these functions
	local db=$1 file=$2
	shift 2
	while [ $# -gt 0 ]; do
		echo "path $(nm "$file" | awk -v f="$1" '$3 == f { print $1 }') 2 $2"
		shift 2
	done | "$known" "$db" code "$PWD/$file" || fail "no $db"
}
mkdir third less
sed 's/second/other/' timed.c >less.c
cc -O1 -fno-inline -falign-functions=256 -Wl,--build-id -o third/timed timed.c || fail 'no compiler'
cc -O1 -fno-inline -falign-functions=64 -Wl,--build-id -o less/timed less.c || fail 'no compiler'
ran several.db one/timed first 300 second 600
ran several.db less/timed first 100
ran single.db third/timed first 400 second 600
for sides in "several single" "single several"; do
	run 0 compare "file:${sides% *}.db" "file:${sides#* }.db" --json --graph-cache "$dir/graphs"
	holds "builds of $sides" <<'END'
f = j["figures"]
assert f["builds_matched"] == 2 and f["matched_a"] == f["matched_b"] == 1 and f["overlap"] > .999, f
END
done

### More than chance can make, and nobody knows how much more.
ran apart.db one/timed first 1000 second 5
ran apart.db one/timed first 20 second 3
run 0 --db apart.db compare window:1 window:2
grep -q '^window:1 and window:2 are further apart than the 0[.]1.* bits that chance alone can make' got || {
	cat got
	fail 'a difference above what chance makes is put down to chance'
}

### Releases in one window are compared by what ran in that window.
ran releases.db one/timed first 500 second 500
ran releases.db third/timed first 500 second 500
ran releases.db third/timed first 9000
sqlite3 releases.db "UPDATE path_counts SET window = 1 WHERE window = 2;
	UPDATE binaries SET name = '$PWD/one/timed'"
run 0 --db releases.db releases --window 1 --file third/timed --graph-cache "$dir/graphs" --json
holds 'releases of a window' <<'END'
(last,) = [r for r in j if r["before"]]
assert last["matched"] == 1 and last["bits"] < .1, last
END

### A difference that no function has one hundredth of.
for ((i = 0; i < 150; i++)); do echo "int f$i(int n) { return n * $((i + 3)); }"; done >many.c
echo 'int main(void) { return 0; }' >>many.c
cc -O1 -Wl,--build-id -o many many.c || fail 'no compiler'
for counts in "200 200" "100 300"; do
	nm many | awk -v odd="${counts% *}" -v even="${counts#* }" \
		'$3 ~ /^f[0-9]+$/ { print "path", $1, 2, n++ % 2 ? odd : even }' | "$known" many.db code "$PWD/many" || fail 'no many.db'
done
run 0 --db many.db compare window:1 window:2
grep -q 'is stale for' got || fail 'no verdict on many functions'
! grep -q 'most in [.]' got || fail 'functions that moved most are told, and none is named'

### One build-id, two layouts: patchelf moves code within the file; addresses stay.
moved() { # moved FROM TO: its code at the end of the file
	cp "$1" "$2" && python3 - "$2" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
at, size, cnt = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
for i in range(cnt):
    kind, flags, offset, address = struct.unpack_from("<IIQQ", data, at + i * size)
    if kind == 1 and flags & 1:
        end = len(data) + (address - len(data)) % 4096
        length = struct.unpack_from("<Q", data, at + i * size + 32)[0]
        data += bytes(end - len(data)) + data[offset:offset + length]
        struct.pack_into("<Q", data, at + i * size + 8, end)
        print("%x" % (end - offset))
open(sys.argv[1], "wb").write(data)
END
}
mkdir -p three
by=$((16#$(moved one/timed three/timed))) || fail 'code was not moved'
cmp -s <(readelf -n one/timed) <(readelf -n three/timed) || fail 'the build-id did not stay'
first=$((16#$(nm one/timed | awk '$3 == "first" { print $1 }')))
second=$((16#$(nm one/timed | awk '$3 == "second" { print $1 }')))
laid() { # laid DB FILE BY: paths of its two functions, whose code lies so much further on
	printf 'path %x 2 300\npath %x 2 700\nclock %x 300\nclock %x 700\n' $((first + $3)) $((second + $3)) \
		$(((first + $3) & ~15)) $(((second + $3) & ~15)) | "$known" "$1" code "$2" || fail "no $1"
}
laid laid.db "$PWD/one/timed" 0
laid shifted.db "$PWD/three/timed" $by
elsewhere='three/timed has the build-id of .*one/timed and its code elsewhere'
for figure in runs time; do
	run 0 compare --sort $figure file:laid.db file:shifted.db --json
	[ "$(grep -c "$elsewhere" said)" = 1 ] || fail 'compare: not said that code was moved'
	holds "two layouts compared by $figure" <<'END'
assert j["figures"]["overlap"] == 1 and len(j["events"]) <= 2, j
END
done
rm -f layouts.db
run 0 combine file:laid.db file:shifted.db -o layouts.db
grep -q "$elsewhere" said || fail 'combine: not said that code was moved'
run 0 --db layouts.db top --by functions --json
! grep -q "do not fit" said || fail "top: a word of what fits"
holds 'two layouts combined' <<'END'
assert {r["function"]: r["samples"] for r in j} == {"first": 600, "second": 1400}, j
END
# A file that was replaced in place has one layout only: misfits are told of.
laid stale.db "$PWD/one/timed" $by
misfits='one/timed: 100% of its hottest samples do not fit its code'
for view in functions paths; do
	run 0 --db stale.db top --by $view
	grep -q "$misfits" said || fail "top --by $view: not said that code was moved"
done
run 0 combine file:laid.db file:stale.db -o stale.txt
grep -q "$misfits" said || fail 'combine: not said that code does not fit'
run 0 --db laid.db top --by functions
! grep -q 'do not fit' said || fail 'top: what fits was told of'

### Windows that weigh code differently: 1 to 3 are old ones, 4 to 6 reach a number of instructions.
"$known" kinds.db old
"$known" kinds.db
mixed='2 kinds of windows are selected, the newest is used.*--kind taken'
export PATHPROF_DB=kinds.db
says 1 'window:1 is of windows by a number of taken branches, window:4 of windows by a' \
	compare window:1 window:4
run 1 compare 2026-01-01.. window:1
grep -q 'weigh code differently and do not compare' said || fail 'kinds were compared'
grep -q "$mixed" said || fail 'compare: not said which kind a side is of'
says 1 'do not compare' combine window:1 window:4 -o both.profile
[ ! -e both.profile ] || fail 'kinds were combined'
says 1 'nothing was seen\|no such window' compare --kind taken window:1 window:4
run 0 compare --kind taken 2026-01-01.. window:1
run 0 compare file:one.txt window:1
run 0 compare 2026-01-01.. window:4 --json
grep -q "$mixed" said || fail 'compare: not said that a kind is left out'
holds 'a side of one kind' <<'END'
assert j["a"]["samples"] == 3000 and j["figures"]["kl_bits"] < 1e-12, j["a"]
assert j["figure"] == "runs" and j["a"]["kind"] == "horizon" and j["a"]["horizon"] == 1000, j["a"]
END
run 0 combine window:4 window:5 -o horizon.profile
run 0 --db horizon.profile windows --json
holds 'combine keeps the kind' <<'END'
assert [(w["kind"], w["horizon"]) for w in j] == [("horizon", 1000)], j
END
run 0 compare file:horizon.profile window:6
grep -q '^RUNS: each path that was seen whole counts once$' got || fail 'compare: not said of what shares are'
run 0 compare --kind taken window:1 window:2
grep -q '^SHARE: each path' got || fail 'compare: not said that the shares are of old windows'
run 0 compare file:one.txt file:two.txt
grep -q '^COUNTS: as the files have them$' got || fail 'compare: not said whose counts they are'
run 0 baseline set mixed
grep -q "$mixed" said || fail 'baseline: not said that a kind is left out'
run 0 compare baseline:mixed window:6
says 1 'do not compare' compare baseline:mixed window:1
run 0 drift --baseline mixed --json
holds 'drift of one kind' <<'END'
assert {p["window"] for p in j} == {4, 5, 6}, j
END
grep -q "$mixed" said || fail 'drift: not said that a kind is left out'
says 1 'do not compare' drift --baseline mixed --window 1
says 1 'nothing was seen' drift --baseline mixed --kind taken
says 1 'no binary has 200 samples' drift --kind taken
run 0 baseline rm mixed
for form in old old ''; do
	"$known" long.db $form
done
run 0 --db long.db drift --kind taken --json
holds 'drift of the other kind' <<'END'
assert j and {p["window"] for p in j} <= {1, 2, 3, 4, 5, 6}, j
END

### Measured here is what a service would have stored.
"$BUILD/tests/tools/drift_db" watched.db || fail 'no database that was watched'
run 0 --db watched.db drift --json
cp got stored
cp watched.db unwatched.db
sqlite3 unwatched.db 'DELETE FROM drift'
run 0 --db unwatched.db drift
grep -q 'Measured here' got || fail 'not measured here'
run 0 --db unwatched.db drift --json
holds 'drift as a service stores it' <<'END'
stored = json.load(open("stored"))
# one build in two containers, the other one where it was seen often enough
assert len(j) > 200 and {(p["binary"]["name"], p["container"]) for p in j} == {
    ("program1", ""), ("program1", "box"), ("program2", "")}, len(j)
over = [p["window"] for p in j if p["over"]]
assert len(over) == 10 and {p["container"] for p in j if p["over"]} == {"box"}, over
assert j == stored, [(a, b) for a, b in zip(j, stored) if a != b][:1]
END

# The service stores none of single processes.
run 0 --db watched.db drift --comm program --json
holds 'drift of the processes of a name' <<'END'
assert j == json.load(open("stored")), len(j)
END
says 1 'nothing was seen there' --db watched.db drift --comm nobody
says 1 'nothing was seen there' --db watched.db drift --pid 4242
says 1 'nothing was seen there' --db watched.db drift --binary none

### What the service stored is shown as it is.
"$known" stored.db
"$known" stored.db drift
run 10 --db stored.db drift --check --svg stored.svg
grep -q '^alpha *web-1 *rolling *3 .* 0\.4000 *0\.3000\.\.0\.5000 .* 2/3$' got || {
	cat got
	fail 'stored drift'
}
run 0 --db stored.db drift --check --threshold 0.35
run 0 --db stored.db drift --check --window 1
# During an update two builds run in one window, and the older one, which does not drift, comes
# first.
cp stored.db update.db
sqlite3 update.db "INSERT INTO binaries (build_id, kind, name, last_window)
		SELECT x'0001020304050607080900010203040506070809', kind, name, last_window FROM binaries WHERE id = 1;
	INSERT INTO drift SELECT window, (SELECT max(id) FROM binaries), container, baseline, window_samples, baseline_samples,
		kl, kl_corrected, kl_low, kl_high, overlap, angle, coverage_static, coverage_dynamic, matched FROM drift WHERE window = 3;
	UPDATE drift SET kl_corrected = 0.001, kl_low = 0 WHERE window = 3 AND binary = 1"
run 10 --db update.db drift --check
# Window 1 was measured while the clock stood in the year 2191: the last one is window 3 all the same.
cp stored.db future.db
sqlite3 future.db 'UPDATE windows SET begin_ns = 7000000000000000000, end_ns = 7000000060000000000 WHERE id = 1'
run 10 --db future.db drift --check
grep -q '^alpha *web-1 *rolling *3 ' got || fail 'the last drift after a clock that was set back'
grep -q '^pathprofctl: 1 window ends later than now, the last at 2191-10-27 12:27:40: the clock was set back since' said ||
	fail "not said of a window of the future: $(cat said)"
run 0 --db future.db windows --json
holds 'windows of the future come last' <<'END'
assert [w["id"] for w in j] == [3, 2, 1], j
END
grep -q ' 1 window ends later than now' said || fail 'windows: not said of a window of the future'
run 0 --db stored.db drift --json
holds 'stored drift' <<'END'
assert [(p["window"], p["kl_corrected_bits"], p["over"]) for p in j] == \
    [(3, .4, True), (2, .3, True), (1, .001, False)], j
END
run 0 --db stored.db alerts --json
holds 'alerts' <<'END'
assert [(a["rule"], a["state"]) for a in j] == [("fast", "firing"), ("slow", "resolved")], j
assert j[0]["told"] == {"rule": "fast"} and j[1]["told"] is None
END
run 0 --db stored.db alerts
grep -q '^firing *fast .*/alpha *web-1 *rolling *0\.4000' got || fail 'alerts as a table'
run 0 combine window:1 window:2 -o both.profile
run 0 compare file:both.profile window:3 --json
holds 'a profile file' <<'END'
assert j["a"]["samples"] == 2000 and j["figures"]["overlap"] == 1
END
unset PATHPROF_DB

### A real program at two kinds of work, and two builds of one program.
[ -x "$BUILD/bin/pathprofd" ] || fail "pathprofd is not built"
"$ctl" doctor >doctor || {
	echo "skip $name: no source can run here: $(grep '^no .*single steps' doctor)"
	exit 0
}
# record DB COMMAND...: once more, until a window that this has added has thirty bursts. A busy
# machine leaves few, and where each instruction is a stop of its own, bursts of 2 ms see few paths.
record() {
	local db=$1 had=0 most="SELECT coalesce(max(bursts), 0) FROM windows"
	shift
	[ ! -e "$db" ] || had=$(sqlite3 "$db" 'SELECT coalesce(max(id), 0) FROM windows')
	for _ in $(seq 8); do
		"$ctl" record --no-report --overhead 80 --hold 20ms -o "$db" -- "$@" >/dev/null 2>&1 ||
			fail "record $*"
		[ "$(sqlite3 "$db" "$most WHERE id > $had")" -lt 30 ] || return 0
	done
}
seq 1 1000000 | sed 's/7/ seven /g' >text
bzip2 -kc text >text.bz2
for ((i = 0; i < 6; i++)); do cat text.bz2; done >many.bz2
# heaviest AFTER: of the windows behind that one the one with most paths.
heaviest() {
	"$ctl" windows --json | python3 -c '
import json, sys
print(max((w["paths"], w["id"]) for w in json.load(sys.stdin) if w["id"] > int(sys.argv[1]))[1])' "$1"
}
# record_counted AFTER COMMAND...: until drift counts 200 samples of the library in the heaviest window, $found.
record_counted() {
	local after=$1
	shift
	for _ in $(seq 20); do
		record bz.db "$@"
		found=$(heaviest "$after")
		run 0 baseline set counted --window "$found" --replace
		! "$ctl" drift --baseline counted --binary libbz2.so.1.0.4 --window "$found" >/dev/null 2>&1 || return 0
	done
}
export PATHPROF_DB=bz.db
record_counted 0 bzip2 -kc text
packed=$found
run 0 baseline set packing --window "$packed"
before=$("$ctl" windows --json | grep -c '"id"')
record_counted "$before" bzip2 -dc many.bz2
last=$found
run 0 compare baseline:packing "window:$last" --json -n 0 --svg moved.svg
holds 'compressing and decompressing' <<'END'
f = j["figures"]
assert f["kl_bits"] > 0.5 and f["overlap"] < 0.5, f
assert abs(sum(e["bits"] for e in j["events"]) - f["kl_bits"]) < 1e-6
assert abs(sum(e["bits"] for e in j["functions"]) - f["kl_bits"]) < 1e-6
assert abs(sum(e["a_share"] for e in j["events"]) - 1) < 1e-6
assert abs(sum(e["b_share"] for e in j["functions"]) - 1) < 1e-6
assert "libbz2" in j["functions"][0]["binary"], j["functions"][0]
assert abs(sum(min(e["a_share"], e["b_share"]) for e in j["events"]) - f["overlap"]) < 1e-6
END
run 0 compare baseline:packing "window:$last"
grep -q 'is stale for .*most in' got || fail 'no sentence about what moved'
run 0 compare baseline:packing "window:$last" --branches --json
run 0 compare baseline:packing "window:$last" --edges --json
run 10 drift --baseline packing --check --svg drift.svg --binary libbz2.so.1.0.4 --window "$last"
run 0 drift --baseline packing --check --binary libbz2.so.1.0.4 --window "$packed"
for picture in moved drift; do
	python3 -c "import xml.dom.minidom as m; m.parse('$picture.svg')" ||
		fail "$picture.svg is not sound XML"
done
run 0 combine baseline:packing "window:$last" --method kl -o nearest.profile
run 0 compare file:nearest.profile "window:$last" --json
holds 'what was combined covers its parts' <<'END'
assert j["figures"]["coverage_dynamic"] > 0.95, j["figures"]
END
unset PATHPROF_DB

cat >program.c <<'END'
#include <stdlib.h>
#ifdef SECOND
__attribute__((noinline)) unsigned in_front(int x)
{
	return x * 7 + rand() % 3;
}
#endif
__attribute__((noinline)) unsigned same(unsigned n)
{
	unsigned s = 0;
	for (unsigned i = 0; i < n; i++)
		if (i % 3) s += i * n; else s ^= i;
	return s;
}
__attribute__((noinline)) unsigned other(unsigned n)
{
	unsigned s = 1;
#ifdef SECOND
	if (n & 1) s += same(3);
#endif
	while (n-- > 0) s = s * 31 + (s >> 5 & n);
	return s;
}
int main(int argc, char **argv)
{
	unsigned s = 0;
#ifdef SECOND
	s += in_front(argc);
#endif
	for (int i = 0; i < 150000; i++) s += same(1000 + s % 5) + other(500 + s % 3);
	return s == 12345;
}
END
mkdir old new
gcc -O2 -fno-align-loops -Wl,--build-id -o old/program program.c
gcc -O2 -fno-align-loops -Wl,--build-id -DSECOND -o new/program program.c
record builds.db ./old/program
record builds.db ./new/program
version() { readelf -n "$1" | sed -n 's/.*Build ID: \(........\).*/\1/p'; }
old=program@$(version old/program)
new=program@$(version new/program)
run 0 --db builds.db compare "$old" "$new" --json -n 0 --graph-cache "$dir/graphs"
holds 'two builds' <<'END'
f = j["figures"]
assert f["builds_matched"] == 1, f
assert 0.1 < f["matched_a"] < 1 and 0.1 < f["matched_b"] < 1, f
names = {e["function"] for e in j["functions"]}
assert "same" in names and "other" not in names, names
assert f["overlap"] > 0.5, f
END
rm old/program
says 1 'different builds and cannot be matched.*keep both' --db builds.db compare "$old" "$new"
finish
