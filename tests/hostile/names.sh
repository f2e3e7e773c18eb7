#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A neighbour's programs, files and control groups have ever new names: with control characters,
# newlines, bytes that are no UTF-8, quotes, and as long as can be. The daemon stays within its
# memory, windows close in time, the database takes its share and no more, and what pathprofctl
# prints of it acts on no terminal and is JSON where that was asked for.
. "$(dirname "$0")/hostile_common.bash"
ctl=$BUILD/bin/pathprofctl
window_s=2
flood_s=${FLOOD_SECONDS:-6}
group=
leave_group() {
	[ -z "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
}
trap 'stop_others; leave_group; cleanup' EXIT

# ---------------------------------------------------------------- what is judged
# plain FILE: no control characters but the end of a line, and UTF-8 throughout.
plain() {
	python3 - "$1" <<-'END'
		import sys, unicodedata
		text = open(sys.argv[1], 'rb').read().decode()
		bad = [c for c in text if c != '\n' and unicodedata.category(c) in ('Cc', 'Cf')]
		sys.exit(f'{sys.argv[1]}: {bad[:4]}' if bad else 0)
	END
}
json_valid() { python3 -c 'import json, sys; json.loads(open(sys.argv[1], "rb").read().decode())' "$1"; }
colours_taken_out() { sed -E 's/\x1b\[[0-9;]*m//g; s/\r$//' "$1"; }
# On a terminal: what it writes there, with its own colours taken out.
on_terminal() { # FILE COMMAND...
	local out=$1
	shift
	script -qec "$(printf '%q ' "$@")" "$tmp/typescript" >"$tmp/pty" </dev/null
	colours_taken_out "$tmp/pty" >"$out"
}
# A verb with its options each.
views=(binaries processes 'paths -n 300' 'top --by functions' status edges)
judge_views() { # NAME
	local view word
	for view in "${views[@]}"; do
		word=${view%% *}
		# shellcheck disable=SC2086 # a verb and its options
		LC_ALL=C.UTF-8 timeout 60 "$ctl" --db "$db" $view >"$tmp/view" 2>&1 || [ $? -eq 3 ] ||
			not_ok "$1-$word" "$(tail -n 1 "$tmp/view")"
		check "$1-$word-plain" "$(plain "$tmp/view" 2>&1 | tail -n 1)" plain "$tmp/view"
		# shellcheck disable=SC2086
		timeout 60 "$ctl" --db "$db" --json $view >"$tmp/json" 2>/dev/null || true
		check "$1-$word-json" "$(head -c 200 "$tmp/json")" json_valid "$tmp/json"
	done
	on_terminal "$tmp/view" "$ctl" --db "$db" --color always binaries
	check "$1-terminal" "$(plain "$tmp/view" 2>&1 | tail -n 1)" plain "$tmp/view"
}
log_plain() { plain "$1" && ! grep -q '^<0>\|^pathprofd: forged' "$1"; }

# What the database takes: 16 kB at most for each sample of the clock, and 2 MB.
db_kb() { du -ck "$db" "$db-wal" 2>/dev/null | awk 'END { print $1 }'; }
samples() { sql 'SELECT sum(clock_samples) FROM windows'; }
db_bounded() { [ "$(db_kb)" -le $((2048 + 16 * $(samples))) ]; }
# Names that were made up, by what they begin with or hold; they go with their windows.
made_up() {
	sql "SELECT count(DISTINCT $2) FROM $1 WHERE instr($2, char(27)) OR instr($2, 'DROP TABLE')
		OR instr($2, 'owned') OR length($2) >= 64"
}
names_go() { # TABLE COLUMN
	local left
	sqlite3 -cmd '.timeout 5000' "$db" ".backup '$tmp/old.db'"
	sqlite3 "$tmp/old.db" 'UPDATE windows SET begin_ns = begin_ns - 864000000000000, end_ns = end_ns - 864000000000000
		WHERE id < (SELECT max(id) FROM windows)'
	"$ctl" --db "$tmp/old.db" vacuum --max-age 1d >"$tmp/vacuum" 2>&1
	left=$(db=$tmp/old.db made_up "$1" "$2")
	[ "$left" -le $(($(made_up "$1" "$2") / 2)) ]
}

begin() {
	db=$tmp/$1.db
	start --db "$db" --source step --window "$window_s" --overhead 5
	watch_machine
}
flood() { # WHAT DIRECTORY COMMAND...
	local what=$1 dir=$2
	shift 2
	: >"$tmp/flood.out"
	"$@" "${neighbour[@]}" "$program" "$what" "$dir" >"$tmp/flood.out" 2>&1 &
	others+=("$!")
	wait_for 5 grep -q flooding "$tmp/flood.out" || not_ok "$what-floods" "$(cat "$tmp/flood.out")"
	sleep "$flood_s"
}
judge() { # NAME TABLE COLUMN
	what_must_hold "$1" 2
	check "$1-log-plain" "$(cat -v "$tmp/log")" log_plain "$tmp/log"
	peak=$(peak_mb)
	stop_others
	stop
	check "$1-reached" "no such name in $2" test "$(made_up "$2" "$3")" -ge 10
	check "$1-database" "$(db_kb) kB for $(samples) samples" db_bounded
	check "$1-names-go" "$(cat "$tmp/vacuum" 2>/dev/null)" names_go "$2" "$3"
	judge_views "$1"
	echo "# $1: $peak MB, $(db_kb) kB of database, $(made_up "$2" "$3") such names," \
		"$(sql "SELECT max(length($3)) FROM $2") bytes at most, $(samples) samples"
}

program=$(for_neighbour "$hostile/name_flood")
start_busy

# ---------------------------------------------------------------- files
begin files
flood files "$tmp/neighbour"
judge files binaries name
files_db=$db

# ---------------------------------------------------------------- control groups
# in_group COMMAND...: as root, who gives a group away; then whoever the command makes of it.
in_group() { echo 0 >"$group/cgroup.procs" && exec "$@"; }
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [ "$(id -u)" -eq 0 ] && [ -n "$root" ] && mkdir "$root/names$$" 2>/dev/null; then
	group=$root/names$$
	chown 65534:65534 "$group" "$group/cgroup.procs"
	views=(processes status)
	begin groups
	flood groups "$group" in_group
	judge groups processes container
else
	echo "skip groups: no control group can be made here"
fi

# ---------------------------------------------------------------- the twin
# The names themselves, printed as they are, are found by each check.
db=$files_db
noticed() { # NAME COMMAND...
	local name=$1
	shift
	if "$@" 2>/dev/null; then not_ok "twin-$name" "not noticed"; else ok "twin-$name"; fi
}
sql 'SELECT name FROM binaries' >"$tmp/raw"
noticed plain plain "$tmp/raw"
sql "SELECT '[\"' || group_concat(name, '\",\"') || '\"]' FROM binaries" >"$tmp/raw.json"
noticed json json_valid "$tmp/raw.json"
on_terminal "$tmp/view" cat "$tmp/raw"
noticed terminal plain "$tmp/view"
printf 'pathprofd: one\n<0>forged\n' >"$tmp/forged"
noticed log log_plain "$tmp/forged"
samples() { echo -128; } # nothing is allowed then
noticed database db_bounded
finish
