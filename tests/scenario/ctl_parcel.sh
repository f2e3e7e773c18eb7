#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Parcels out of databases: their sums are those that sqlite3 finds in the database itself, and
# nothing that a parcel should not have is in it. Those of two recordings are added up in a third
# database with nothing but files, and every verb shows the sum of both.
set -eu
name=ctl_parcel
. "$(dirname "$0")/ctl_common.bash"
command -v sqlite3 >/dev/null || { echo "skip $name: no sqlite3 (apt install sqlite3)" && exit 0; }

# expect_near WHAT [SHARE]: as expect, but what stands with a point is a weight, which parcels round:
# that of a row by up to an eighth, and the sum of all by much less.
expect_near() {
	python3 - "$dir/want" "$dir/got" "${2:-0.125}" >"$dir/diff" <<'END' || { head -n 5 "$dir/diff" && fail "$1"; }
import sys
def same(a, b):
	if "." not in a: return a == b
	return abs(float(a) - float(b)) <= float(sys.argv[3]) * abs(float(a))
want, got = (open(name).read().splitlines() for name in sys.argv[1:3])
unlike = [(a, b) for a, b in zip(want, got)
	  if len(a.split()) != len(b.split()) or not all(map(same, a.split(), b.split()))]
for a, b in unlike: print("want " + a + "\ngot  " + b)
if len(want) != len(got): print(f"{len(want)} lines wanted, {len(got)} there")
sys.exit(bool(unlike) or len(want) != len(got))
END
}

# sums FILE...: of all parcels, in the order of truth()'s columns.
sums() {
	"$ctl" parcel read --json "$@" | python3 -c '
import json, sys
parts = [p for parcel in json.load(sys.stdin) for p in parcel["parts"]]
windows = [w for p in parts for w in p["windows"]]
def total(table, field): return sum(row[field] for p in parts for row in p[table])
print(len(windows), sum(w["bursts"] for w in windows), sum(w["clock_samples"] for w in windows),
      sum(sum(w["drops"].values()) for w in windows), sum(sum(w["ends"].values()) for w in windows),
      total("paths", "samples"), total("edges", "count"), total("edges", "mispredicted"),
      total("places", "samples"), "%.9e" % total("paths", "weight"), "%.9e" % total("edges", "weight"))'
}

# truth DATABASE
truth() {
	sqlite3 -separator ' ' "$1" "SELECT count(*), sum(bursts), sum(clock_samples),
		(SELECT total(count) FROM window_drops), (SELECT total(count) FROM window_ends),
		(SELECT total(samples) FROM path_counts), (SELECT total(count) FROM edge_counts),
		(SELECT total(mispredicted) FROM edge_counts), (SELECT total(samples) FROM clock_counts),
		(SELECT total(weight) FROM path_counts), (SELECT total(weight) FROM edge_counts)
		FROM windows" | awk '{ printf "%d %d %d %d %d %d %d %d %d %.9e %.9e\n", $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 }'
}

# rounding DATABASE: five standard deviations of the sum of all weights, as a share of it. A weight
# of n looks is rounded by an eighth of itself by the root of n, and deviates by half of that.
rounding() {
	sqlite3 -separator ' ' "$1" "SELECT total(weight_squares), total(weight) FROM path_counts
		UNION ALL SELECT total(weight * weight / count), total(weight) FROM edge_counts" |
		awk '$2 > 0 && $1 / $2 / $2 > most { most = $1 / $2 / $2 }
			END { print 0.001 + 5 / 16 * sqrt(most) }'
}

# same_sums WHAT DATABASE FILE...
same_sums() {
	local what=$1 database=$2
	shift 2
	truth "$database" >"$dir/want"
	sums "$@" >"$dir/got"
	expect_near "$what" "$(rounding "$database")"
}

# ---------------------------------------------------------------- a database of known content
"$known" "$dir/known.db"
run 0 --db "$dir/known.db" --json parcel write -o "$dir/parcels"
same_sums "sums of the known database" "$dir/known.db" "$dir"/parcels/*.parcel
slots=$(sqlite3 "$dir/known.db" "SELECT count(DISTINCT end_ns / 300000000000) FROM windows")
[ "$(find "$dir/parcels" -name "*.parcel" | wc -l)" = "$slots" ] || fail "$(ls "$dir/parcels"): $slots slots"

# The same again under the same names; a part of it by time.
ls "$dir/parcels" >"$dir/want"
run 0 --db "$dir/known.db" parcel write -o "$dir/parcels"
ls "$dir/parcels" >"$dir/got"
expect "names of the files"
begin=$(sqlite3 "$dir/known.db" "SELECT max(end_ns) / 1000000000 FROM windows")

run 0 --db "$dir/known.db" parcel write --since "@$((begin - 1))" -o "$dir/late"
[ "$(ls "$dir/late" | wc -l)" = 1 ] || fail "--since: $(ls "$dir/late")"

# Code in no known function that the clock of one host alone found: no other host has it.
for host in 1 2; do
	cp "$dir/known.db" "$dir/host.db"
	sqlite3 "$dir/host.db" "UPDATE meta SET value = printf('%016x%016x', $host * 7919, $host) WHERE name = 'identity'"
	[ $host = 2 ] || sqlite3 "$dir/host.db" "
		INSERT INTO binaries(build_id, kind, name, last_window)
			SELECT x'cccccccccccccccccccccccccccccccccccccccc', 1, '/nonexistent/ghost', max(id) FROM windows;
		INSERT INTO clock_counts(window, binary, place, process, samples)
			SELECT window, (SELECT max(id) FROM binaries), 4096, min(process), 100 FROM clock_counts GROUP BY window;
		UPDATE windows SET clock_samples = clock_samples + 100"
	run 0 --db "$dir/host.db" parcel write --name web$host -o "$dir/ghosts"
	run 0 parcel add -o "$dir/ghosts.db" "$dir"/ghosts/*.parcel
	rm -r "$dir/ghosts"
done
run 0 --db "$dir/ghosts.db" top --by functions --since @0
grep -qE '^ *4\.76% +[0-9.]+% +- +0 +1 +0 +\[ghost\] ' "$dir/got" || fail "a function of one host: $(cat "$dir/got")"
grep -qE '^ *16\.59% .* 3600 +2 +1 +alpha\+0x1000 ' "$dir/got" || fail "a function of two hosts: $(cat "$dir/got")"

# ---------------------------------------------------------------- a real program
# The program that records finds the daemon beside itself, which the one under test may not.
cat >"$dir/work.sh" <<'END'
for i in 1 2 3; do bzip2 -9 <"$1" >/dev/null; done
END
ctl=$BUILD/bin/pathprofctl run 0 record -o "$dir/one.db" --overhead 20% --no-report -- sh "$dir/work.sh" "$BUILD/bin/pathprofctl"
mkdir "$dir/one"
run 0 --db "$dir/one.db" parcel write -o "$dir/one"
same_sums "sums of a recording" "$dir/one.db" "$dir"/one/*.parcel
run 0 parcel read --json "$dir"/one/*.parcel
grep -q "\"name\": \"$(uname -n)\"" "$dir/got" || fail "the host's name is not in it"
grep -q '"comm": "bzip2"' "$dir/got" || fail "the workload is not in it"
! grep -q '"pid"' "$dir/got" || fail "a process id is in it"
run 0 parcel read "$dir"/one/*.parcel
grep -q ' step ' "$dir/got" || fail "no row: $(cat "$dir/got")"

# ---------------------------------------------------------------- two hosts, added up by files alone
cat >"$dir/work.sh" <<'END'
for i in 1 2 3; do gzip -9 <"$1" >/dev/null; bzip2 -9 <"$1" >/dev/null; done
END
ctl=$BUILD/bin/pathprofctl run 0 record -o "$dir/two.db" --overhead 20% --no-report -- sh "$dir/work.sh" "$BUILD/bin/pathprofctl"
mkdir "$dir/two" "$dir/fleet"
run 0 --db "$dir/two.db" parcel write --name two -o "$dir/two"
cp "$dir"/one/*.parcel "$dir"/two/*.parcel "$dir/fleet"
parcels=$(find "$dir/fleet" -name '*.parcel' | wc -l)
run 0 parcel add -o "$dir/fleet.db" "$dir"/fleet/*.parcel
grep -qx "$parcels added, 0 in the place of emptier ones, 0 there already" "$dir/got" || fail "add: $(cat "$dir/got")"

# sums_of_tables DATABASE...: a line for each path, edge and place, without processes' ids. In a parcel
# all of the kernel is one place.
sums_of_tables() {
	local database kernel="b.kind IS 3 AND b.name IS '[kernel]'"
	for database in "$@"; do
		sqlite3 -separator ' ' "$database" "
			SELECT 'path', hex(b.build_id), t.start, t.length, t.outcomes, p.comm, c.samples, c.weight
				FROM path_counts c JOIN paths t ON t.id = c.path JOIN binaries b ON b.id = t.binary
				JOIN processes p ON p.id = c.process;
			SELECT 'edge', hex(f.build_id), e.from_offset, hex(b.build_id), e.to_offset, p.comm, c.count,
				coalesce(c.weight, 0) FROM edge_counts c JOIN edges e ON e.id = c.edge
				JOIN binaries f ON f.id = e.from_binary JOIN binaries b ON b.id = e.to_binary
				JOIN processes p ON p.id = c.process;
			SELECT 'clock', iif($kernel, '', hex(coalesce(b.build_id, ''))) || '-',
				iif($kernel, 16, c.place), 0, 0, p.comm, c.samples, 0
				FROM clock_counts c LEFT JOIN binaries b ON b.id = c.binary
				JOIN processes p ON p.id = c.process;
			SELECT 'drop', reason, 0, 0, 0, 0, count, 0 FROM window_drops;
			SELECT 'end', reason, 0, 0, 0, 0, count, 0 FROM window_ends;
			SELECT 'total', 0, 0, 0, 0, 0, bursts, branches FROM windows"
	done | awk '{ key = $1 " " $2 " " $3 " " $4 " " $5 " " $6; count[key] += $7; weight[key] += $8 }
		END { for (key in count) printf "%s %d %.9e\n", key, count[key], weight[key] }' | sort
}
sums_of_tables "$dir/one.db" "$dir/two.db" >"$dir/want"
sums_of_tables "$dir/fleet.db" >"$dir/got"
grep -q '^path' "$dir/want" && grep -q '^edge' "$dir/want" && grep -q '^clock' "$dir/want" ||
	fail "the recordings hold nothing"
expect_near "sums of two databases and of their parcels added up"
run 0 --db "$dir/fleet.db" db check

# Every verb reads it; what top shows of a function is what it shows of both databases together.
functions() {
	local database
	for database in "$@"; do
		"$ctl" --db "$database" --json top --by functions --since @0 -n 0 2>/dev/null
	done | functions_of
}
functions_of() {
	python3 -c '
import collections, json, sys
sums = collections.defaultdict(lambda: [0, 0.0])
decoder, text = json.JSONDecoder(), sys.stdin.read().strip()
while text:
	rows, end = decoder.raw_decode(text)
	for row in rows:
		if row["binary"] and row["binary"]["name"] != "[kernel]":
			key = (row["binary"]["build_id"], row.get("function_start"))
			sums[key][0] += row["samples"] or 0
			sums[key][1] += row["weight"] or 0
	text = text[end:].strip()
for key in sorted(sums, key=str): print(*key, sums[key][0], "%.9e" % sums[key][1])'
}
functions "$dir/one.db" "$dir/two.db" >"$dir/want"
functions "$dir/fleet.db" >"$dir/got"
[ "$(wc -l <"$dir/want")" -ge 5 ] || fail "top shows only $(wc -l <"$dir/want") functions"
expect_near "top of two databases and of their parcels added up"

# One host's part of it is what its own database shows.
here=$(uname -n)
run 0 --db "$dir/fleet.db" --json hosts
[ "$(grep -o '"name": "[^"]*"' "$dir/got" | sort)" = "$(printf '"name": "%s"\n' "$here" two | sort)" ] ||
	fail "hosts: $(cat "$dir/got")"
functions "$dir/two.db" >"$dir/want"
"$ctl" --db "$dir/fleet.db" --json top --by functions --since @0 -n 0 --host two >"$dir/top" 2>"$dir/said" ||
	fail "top --host: $(cat "$dir/said")"
functions_of <"$dir/top" >"$dir/got"
expect_near "top of one host"
run 0 --db "$dir/fleet.db" hosts
grep -q "^two  .* $(ls "$dir/two" | wc -l)  " "$dir/got" || fail "hosts: $(cat "$dir/got")"
cp "$dir/fleet.db" "$dir/lost.db"
sqlite3 "$dir/lost.db" 'DELETE FROM window_drops WHERE reason = 2'
run 0 --db "$dir/lost.db" hosts
! grep -q "Samples lost" "$dir/got" || fail "hosts that lost nothing: $(cat "$dir/got")"
sqlite3 "$dir/lost.db" "INSERT INTO window_drops SELECT window, 2, 100000 FROM parcel_windows
	WHERE parcel = (SELECT min(id) FROM parcels WHERE host = 'two')"
run 0 --db "$dir/lost.db" hosts
grep -qE '^Samples lost, for pathprofd did not read them in time: two [1-9]00000 \([0-9.]+%\); CPU leaves them out' "$dir/got" ||
	fail "hosts that lost samples: $(cat "$dir/got")"
run 0 --db "$dir/lost.db" hosts --json
grep -q 'samples lost, .* two ' "$dir/said" || fail "hosts that lost samples, beside JSON: $(cat "$dir/said")"
run 1 --db "$dir/fleet.db" paths --host elsewhere
grep -q "pathprofctl hosts. lists" "$dir/said" || fail "--host elsewhere: $(cat "$dir/said")"
PATHPROF_DB=$dir/none.db run 0 compare "file:$dir/fleet.db" "file:$dir/fleet.db" --host two
PATHPROF_DB=$dir/none.db run 1 compare "file:$dir/fleet.db" "file:$dir/fleet.db" --host elsewhere
grep -q "nothing was seen there" "$dir/said" || fail "compare --host elsewhere: $(cat "$dir/said")"
run 0 --db "$dir/one.db" hosts
grep -q "no parcels were added" "$dir/got" || fail "hosts of one: $(cat "$dir/got")"
run 0 --db "$dir/fleet.db" processes --since @0
grep -Eq " - +gzip" "$dir/got" || fail "workloads: $(cat "$dir/got")"

for view in paths edges windows processes binaries "paths --host two" "export -F csv"; do
	# shellcheck disable=SC2086 # words
	"$ctl" --db "$dir/fleet.db" $view --since @0 >"$dir/got" 2>"$dir/said" || fail "$view: $(cat "$dir/said")"
	[ -s "$dir/got" ] || fail "$view shows nothing"
done

# Twice changes nothing; a slot that has grown takes the place of the emptier one, in either order.
sums_of_tables "$dir/fleet.db" >"$dir/want"
run 0 parcel add -o "$dir/fleet.db" "$dir"/fleet/*.parcel
grep -qx "0 added, 0 in the place of emptier ones, $parcels there already" "$dir/got" || fail "twice: $(cat "$dir/got")"
sums_of_tables "$dir/fleet.db" >"$dir/got"
expect "sums after the same parcels came twice"
cp "$dir/two.db" "$dir/less.db"
sqlite3 "$dir/two.db" "INSERT INTO windows SELECT max(id) + 1, begin_ns, end_ns, source, basis, taken_wanted, 7, 8, 9, 10,
	11, 12, 13, horizon, clock_hz, clock_kernel, 14, 15, 0, weighed FROM windows"
mkdir "$dir/more" "$dir/other"
run 0 --db "$dir/two.db" parcel write --name another -o "$dir/other"
run 1 parcel add -o "$dir/fleet.db" "$dir"/other/*.parcel
grep -q "some of its windows are there under another host's name" "$dir/said" || fail "another name: $(cat "$dir/said")"
run 0 --db "$dir/two.db" parcel write --name two -o "$dir/more"
run 0 parcel add -o "$dir/fleet.db" --json "$dir"/more/*.parcel "$dir"/two/*.parcel
grep -q '"replaced": 1,' "$dir/got" || fail "a fuller parcel: $(cat "$dir/got")"
sums_of_tables "$dir/one.db" "$dir/two.db" >"$dir/want"
sums_of_tables "$dir/fleet.db" >"$dir/got"
expect_near "sums after a fuller parcel came"
run 0 --db "$dir/fleet.db" db check

# Parcels that cannot be added are reported, and the rest is added.
head -c 200 "$(find "$dir/one" -name '*.parcel' | head -n 1)" >"$dir/cut"
run 1 parcel add -o "$dir/other.db" "$dir/cut" "$dir"/one/*.parcel
grep -q "^[1-9].* added, .*, 1 failed" "$dir/got" || fail "a damaged one: $(cat "$dir/got")"
run 1 parcel add -o "$dir/two.db" "$dir"/two/*.parcel
grep -q "was made of this database" "$dir/said" || fail "of itself: $(cat "$dir/said")"
run 1 --db "$dir/fleet.db" parcel write -o "$dir/late"
grep -q "no windows are selected" "$dir/said" || fail "parcels of parcels: $(cat "$dir/said")"
run 2 parcel add "$dir"/one/*.parcel

# A parcel of another machine gets no facts of this one.
sqlite3 "$dir/one.db" "UPDATE boots SET boot_id = 'another'"
mkdir "$dir/moved"
run 0 --db "$dir/one.db" parcel write -o "$dir/moved"
grep -q 'no host.s name' "$dir/said" || fail "nothing said: $(cat "$dir/said")"
run 0 parcel read --json "$dir"/moved/*.parcel
grep -q '"host": {"name": "", "model": "", "kernel": "", "os": "", "cpus": 0' "$dir/got" || fail "a host of another machine"
run 0 --db "$dir/one.db" parcel write --name web1 -o "$dir/moved"
run 0 parcel read --json "$dir"/moved/*.parcel
grep -q '"host": {"name": "web1", "model": ""' "$dir/got" || fail "--name is not in it"

# ---------------------------------------------------------------- what cannot be
run 1 parcel read "$dir/known.db" "$dir"/one/*.parcel
grep -q "known.db: no parcel" "$dir/said" || fail "a database passes for a parcel"
grep -q ' step ' "$dir/got" || fail "one bad file hides the others"
for file in "$dir"/one/*.parcel; do head -c 200 "$file" >"$dir/cut"; done
run 1 parcel read "$dir/cut"
grep -q "cut: the parcel is damaged: it is cut off" "$dir/said" || fail "cut: $(cat "$dir/said")"
run 1 parcel read "$dir/none"
grep -q "none: No such file" "$dir/said" || fail "none: $(cat "$dir/said")"
run 2 parcel read
run 2 parcel
run 2 parcel write "$dir/cut"
run 1 --db "$dir/known.db" parcel write -o "$dir/known.db/nowhere"
grep -q "nowhere: no directory, and it cannot be made" "$dir/said" || fail "nowhere: $(cat "$dir/said")"
run 1 --db "$dir/known.db" parcel write --until @1 -o "$dir/late"
grep -q "no windows are selected" "$dir/said" || fail "no windows: $(cat "$dir/said")"
finish
