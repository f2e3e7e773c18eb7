#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Parcels out of databases: their sums are those that sqlite3 finds in the database itself, and
# nothing that a parcel should not have is in it.
set -eu
name=ctl_parcel
. "$(dirname "$0")/ctl_common.bash"
command -v sqlite3 >/dev/null || { echo "skip $name: no sqlite3 (apt install sqlite3)" && exit 0; }

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
      total("places", "samples"), "%.5g" % total("paths", "weight"), "%.5g" % total("edges", "weight"))'
}

# truth DATABASE
truth() {
	sqlite3 -separator ' ' "$1" "SELECT count(*), sum(bursts), sum(clock_samples),
		(SELECT total(count) FROM window_drops), (SELECT total(count) FROM window_ends),
		(SELECT total(samples) FROM path_counts), (SELECT total(count) FROM edge_counts),
		(SELECT total(mispredicted) FROM edge_counts), (SELECT total(samples) FROM clock_counts),
		(SELECT total(weight) FROM path_counts), (SELECT total(weight) FROM edge_counts)
		FROM windows" | awk '{ printf "%d %d %d %d %d %d %d %d %d %.5g %.5g\n", $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 }'
}

# same_sums WHAT DATABASE FILE...
same_sums() {
	local what=$1 database=$2
	shift 2
	truth "$database" >"$dir/want"
	sums "$@" >"$dir/got"
	expect "$what"
}

# ---------------------------------------------------------------- a database of known content
"$known" "$dir/known.db"
mkdir "$dir/parcels"
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
mkdir "$dir/late"
run 0 --db "$dir/known.db" parcel write --since "@$((begin - 1))" -o "$dir/late"
[ "$(ls "$dir/late" | wc -l)" = 1 ] || fail "--since: $(ls "$dir/late")"

# ---------------------------------------------------------------- a real program
cat >"$dir/work.sh" <<'END'
for i in 1 2 3; do bzip2 -9 <"$1" >/dev/null; done
END
run 0 record -o "$dir/one.db" --overhead 20% --no-report -- sh "$dir/work.sh" "$BUILD/bin/pathprofctl"
mkdir "$dir/one"
run 0 --db "$dir/one.db" parcel write -o "$dir/one"
same_sums "sums of a recording" "$dir/one.db" "$dir"/one/*.parcel
run 0 parcel read --json "$dir"/one/*.parcel
grep -q "\"name\": \"$(uname -n)\"" "$dir/got" || fail "the host's name is not in it"
grep -q '"comm": "bzip2"' "$dir/got" || fail "the workload is not in it"
! grep -q '"pid"' "$dir/got" || fail "a process id is in it"
run 0 parcel read "$dir"/one/*.parcel
grep -q ' step ' "$dir/got" || fail "no row: $(cat "$dir/got")"

# Of another machine nothing is said of this one.
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
run 1 --db "$dir/known.db" parcel write -o "$dir/nowhere"
grep -q "nowhere/.*cannot be written" "$dir/said" || fail "nowhere: $(cat "$dir/said")"
run 1 --db "$dir/known.db" parcel write --until @1 -o "$dir/late"
grep -q "no windows there" "$dir/said" || fail "no windows: $(cat "$dir/said")"
finish
