#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon for a long time under a load that changes every minute. Resident memory, descriptors
# and the database's size are read every ten seconds, plotted, and held against their bounds: in the
# second half memory may be a tenth more than in the first, while baselines of an hour fill,
# descriptors four more, and the database as large as MaxUse= says.
#
#     SOAK_SECONDS=5400 tests/bench/soak.sh [DIRECTORY]      figures.txt and soak.svg go there
#
# It runs in a PID namespace of its own, so that the step source sees the load and nothing else of
# the machine, and other work goes on beside it.
set -eu
[ $$ -eq 1 ] || exec unshare --pid --fork --mount-proc "$BASH" "$0" "$@"
build=$(realpath "${BUILD:-build}")
seconds=${SOAK_SECONDS:-5400}
out=${1:-$build/soak}
max_use_kb=$((24 * 1024))
mkdir -p "$out"
work=$(mktemp -d)
group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/pathprof-soak
load=
daemon=

stop_load() {
	echo 1 >"$group/cgroup.kill" 2>/dev/null || true
	[ -z "$load" ] || wait "$load" 2>/dev/null || true
	load=
}
cleanup() {
	stop_load
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	wait 2>/dev/null || true
	rmdir "$group" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
mkdir -p "$group"

# ---------------------------------------------------------------- the load
prepare() {
	find /usr/include /usr/lib -type f -size -200k 2>/dev/null | head -3000 | xargs cat 2>/dev/null |
		head -c 8000000 >"$work/text" || true
	cat >"$work/sql" <<-'S'
		CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
			INSERT INTO t SELECT i, hex(i * 7919 % 10007), i * 0.5 FROM n;
		CREATE INDEX ti ON t(b);
		SELECT count(*), sum(c) FROM t WHERE b LIKE '%3%';
		SELECT a.b, count(*) FROM t a JOIN t b ON a.b = b.b GROUP BY a.b ORDER BY 2 DESC LIMIT 3;
	S
}
kinds=(compress forks sql python files quiet programs)
work_as() { # KIND
	case $1 in
	compress) gzip -6 <"$work/text" | bzip2 -c | bzip2 -dc | gzip -dc ;;
	forks) for _ in {1..200}; do (: "$RANDOM"); done ;;
	sql) sqlite3 :memory: <"$work/sql" ;;
	python) python3 -c 'import json, re
for i in range(50):
    s = json.dumps([{"k": j, "v": [j] * 5} for j in range(2000)])
    json.loads(s)
    re.findall(r"[a-z]+\d", s)' ;;
	files) find /usr/share -type f -name '*.h*' | sort | md5sum ;;
	quiet) sleep 1 ;;
	# A program under ever new names: each is a new file for the daemon.
	programs)
		cp /usr/bin/sha256sum "$work/p$RANDOM"
		for one in "$work"/p[0-9]*; do "$one" "$work/text"; done
		rm -f "$work"/p[0-9]*
		;;
	esac >/dev/null 2>&1
}
start_load() { # KIND
	(
		echo "$BASHPID" >"$group/cgroup.procs"
		renice -n 10 "$BASHPID" >/dev/null
		while :; do work_as "$1"; done
	) &
	load=$!
}

# ---------------------------------------------------------------- what is read
descriptors() { find "/proc/$daemon/fd" -mindepth 1 2>/dev/null | wc -l; }
figures() { # SECONDS KIND
	local rss db
	rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$daemon/status")
	db=$(du -ck "$out"/soak.db* | awk 'END { print $1 }')
	echo "$1 $rss $(descriptors) $db $2"
}

plot() {
	gnuplot <<-P
		set terminal svg size 800,600 font "sans,12"
		set output "$out/soak.svg"
		set multiplot layout 3,1 title "pathprofd, load changing every minute"
		set key off; set grid; set xlabel "minutes"
		set ylabel "resident, MB"; plot [][0:] "$out/figures.txt" using (\$1/60):(\$2/1024) with lines title ""
		set ylabel "descriptors"; plot [][0:] "" using (\$1/60):3 with lines title ""
		set ylabel "database, MB"; plot [][0:] "" using (\$1/60):(\$4/1024) with lines title ""
	P
}

judge() {
	awk -v max_use_kb=$max_use_kb -v total="$seconds" '
		function worse(name, late, early, most) {
			printf "%s: %d at most in the second half, %d in the first\n", name, late, early
			if (late > most) { print "not ok soak: " name " grows beyond " most; bad = 1 }
		}
		$1 <= total / 2 { if ($2 > rss0) rss0 = $2; if ($3 > fd0) fd0 = $3; if ($4 > db0) db0 = $4 }
		$1 > total / 2 { if ($2 > rss) rss = $2; if ($3 > fd) fd = $3; if ($4 > db) db = $4 }
		END {
			worse("resident kB", rss, rss0, rss0 * 1.1)
			worse("descriptors", fd, fd0, fd0 + 4)
			worse("database kB", db, db0, max_use_kb * 1.1 + 4096)
			if (!bad && rss) print "ok soak"
			exit bad || !rss
		}' "$out/figures.txt"
}

prepare
rm -f "$out"/soak.db*
cat >"$work/conf" <<-C
	[Profile]
	Source=step
	Overhead=2%
	WindowSec=10s
	[Store]
	Path=$out/soak.db
	MaxUse=$((max_use_kb / 1024))M
	KeepFree=1M
C
"$build/bin/pathprofd" -c "$work/conf" 2>"$out/log" &
daemon=$!
begin=$SECONDS at=0
: >"$out/figures.txt"
while [ $((SECONDS - begin)) -lt "$seconds" ]; do
	kind=${kinds[at++ % ${#kinds[@]}]}
	start_load "$kind"
	for _ in 1 2 3 4 5 6; do
		sleep 10
		kill -0 "$daemon" || { echo "not ok soak: the daemon died: $(tail -1 "$out/log")"; exit 1; }
		figures $((SECONDS - begin)) "$kind" | tee -a "$out/figures.txt" >/dev/null
		[ ! -t 1 ] || tail -1 "$out/figures.txt"
	done
	stop_load
done
plot
judge
