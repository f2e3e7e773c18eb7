#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each error is reported in one clear line on standard error, with the right exit status, nothing on
# standard output, and never by a crash: missing, foreign and damaged databases, bad flags, times
# and ids, a full disk.
set -eu
name=ctl_errors
. "$(dirname "$0")/ctl_common.bash"

db=$dir/known.db
"$known" "$db" || fail "the generator failed"

# says STATUS PATTERN ARGS...
says() {
	local status=$1 pattern=$2
	shift 2
	run "$status" "$@"
	[ "$(wc -l <"$dir/said")" = 1 ] || {
		cat "$dir/said"
		fail "pathprofctl $*: not one line"
	}
	grep -q "^pathprofctl: .*$pattern" "$dir/said" || {
		cat "$dir/said"
		fail "pathprofctl $*: expected '$pattern'"
	}
	[ ! -s "$dir/got" ] || fail "pathprofctl $*: wrote on standard output"
}

# Usage.
says 2 'a verb is needed'
says 2 'no such verb' frobnicate
says 2 'no such option' --frobnicate
says 2 'no such option' -x paths
says 2 '--pid 2: contradicts what was given before' --db "$db" paths -p 1 --pid 2
says 2 'no such option' --db "$db" paths --max-size 5
says 2 'needs a FILE' paths --db
says 2 'takes no value' paths --json=yes
says 2 'not expected' --db "$db" paths extra
says 2 '--color pink' --color pink paths
says 2 'PATH-ID' --db "$db" show
says 2 'PATH-ID' --db "$db" show 1 2
for id in x 1x '' 0 -1 99999999999999999999; do
	says 2 'PATH-ID\|no such option' --db "$db" show "$id"
done
for id in alpha: :3 alpha:x alpha:-1 alpha:99999999999999999999; do
	says 2 'FUNCTION:NUMBER' --db "$db" show "$id"
done
says 2 'FUNCTION is needed' --db "$db" cfg
says 2 'FUNCTION is needed' --db "$db" cfg alpha beta
says 2 '--format png' --db "$db" cfg alpha --format png
says 2 'exclude' --db "$db" cfg alpha --format dot --json
says 2 'needs a DIR' --db "$db" cfg alpha --graph-cache
says 2 'needs a FUNCTION' --db "$db" paths --function
says 2 'not expected' --db "$db" paths --function alpha beta
says 2 'one of paths' --db "$db" top --by colour
says 2 'a recording is needed' import -o "$dir/none.db"
says 2 'second.data: one recording at a time .*counts takes several files' import -o "$dir/none.db" first.data second.data
[ ! -e "$dir/none.db" ] || fail "an import that is refused makes a database"
says 2 'is needed' --db "$db" vacuum
says 2 'check' --db "$db" db
says 2 'check' --db "$db" db frobnicate
says 2 'needed' record
says 2 'exclude' record --pid 1 -- true
for bad in '' soon 2026 2026-13-01 2026-02-30 '2026-01-02 25:00' '2026-01-02 10:00:61' @ @x @1e400 \
	-5parsecs 'ago' '1h' -99999999999999999999h 1.2.3 'now now' $'\033[2J'; do
	says 2 '--since' --db "$db" paths --since "$bad"
done
says 2 'not before' --db "$db" paths --since today --until yesterday
for bad in x 0 -3 4294967296 99999999999999999999; do
	says 2 '--pid' --db "$db" paths --pid "$bad"
done
for bad in x -1 4294967296; do
	says 2 '--limit' --db "$db" paths --limit "$bad"
done
for bad in x 0 5Q 9999999999999T 1.2.3G; do
	says 2 '--max-size' --db "$db" vacuum --max-size "$bad"
done
for bad in x 0 -5d 5parsecs; do
	says 2 '--max-age' --db "$db" vacuum --max-age "$bad"
done
says 2 '--overhead' record --overhead 101 -- true
says 2 '--overhead' record --overhead lots -- true

# Times that are fine.
for good in now today yesterday tomorrow 2026-01-02 '2026-01-02 10:00' '2026-01-02 10:00:30' \
	2026-01-02T10:00:30Z '2026-01-02 10:00 UTC' 10:00 -5min '-1h 30min' '1h ago' '2 days ago' +1h \
	@1767312000 @1767312000.5; do
	run 0 --db "$db" paths --since "$good"
done

# Functions: what is not there, cannot be read or is no function says which, and what to do.
for words in cfg 'paths --function'; do
	read -ra verb <<<"$words"
	says 1 'no function of that name' --db "$db" "${verb[@]}" frobnicate
	says 1 'code cannot be read: /nonexistent' --db "$db" "${verb[@]}" frobnicate@alpha
	says 1 'code cannot be read: /nonexistent' --db "$db" "${verb[@]}" 0x1000 --binary alpha
	says 1 'no binary of this name' --db "$db" "${verb[@]}" frobnicate@nowhere
	says 1 'code cannot be read: /etc/passwd' --db "$db" "${verb[@]}" frobnicate@/etc/passwd
	says 1 'no code at that file offset' --db "$db" "${verb[@]}" 0xfffffffffff
	says 1 'nothing matches: the windows there are lie between' --db "$db" "${verb[@]}" main --until 2020-01-01
	says 1 'no function of that name' --db "$db" "${verb[@]}" $'\033[2J%n%s'
	says 1 'has no code at that file offset' --db "$db" "${verb[@]}" "0x7fffff@$(realpath "$ctl")"
	says 1 'no such database' --db "$dir/none.db" "${verb[@]}" main
done
says 1 'no function of that name' --db "$db" show frobnicate:3
# Counted paths without names of their functions, as parcels bring them.
cp "$db" "$dir/nameless.db"
sqlite3 "$dir/nameless.db" "UPDATE binaries SET name = '/nonexistent/bin/counted' WHERE kind = 3; DELETE FROM jit_symbols"
for words in cfg 'paths --function'; do
	read -ra verb <<<"$words"
	says 1 'no function of that name' --db "$dir/nameless.db" "${verb[@]}" frobnicate
done
# Suggestions for a wrong name: a letter fewer, another case, a part of it.
for near in cmd_exprt CMD_EXPORT md_expor 'Book::cmd_export' 'Book::cmd_exprt(Page const&)'; do
	says 1 'no function of that name.* did you mean .*cmd_export' --db "$db" cfg "$near@$(realpath "$ctl")"
done
says 1 'no function of that name.*: without a symbol' --db "$db" cfg "qqqqqqqq@$(realpath "$ctl")"
says 1 'main:.* no such path' --db "$db" show "main@$(realpath "$ctl"):99999999"
says 1 'cannot be written' --db "$db" cfg "main@$(realpath "$ctl")" -o "$dir/no/where.dot"

# A file that should be some binary's code and cannot be read is told of once.
run 0 --db "$db" paths --file "$dir/nothere"
[ "$(grep -c -- '--file is left out: .*nothere: .*No such file' "$dir/said")" = 1 ] || {
	cat "$dir/said"
	fail "not said that --file cannot be read"
}

# Failures.
says 1 'not in what is selected' --db "$db" show 4711
says 1 'not in what is selected' --db "$db" show 1 --pid 5555
says 1 'one host' --db "$db" paths --host elsewhere
says 1 'no such database' --db "$dir/none.db" paths
says 1 'no such database' --db "$dir/none.db" status
[ ! -e "$dir/none.db" ] || fail "a missing database was made"
says 1 'not a database' --db "$dir" paths
says 1 'not a database' --db /dev/null paths
head -c 20000 /dev/urandom >"$dir/random.db"
head -c 5000 "$db" >"$dir/short.db"
head -c 50 "$db" >"$dir/shorter.db"
: >"$dir/empty.db"
for verb in paths edges windows processes binaries status 'show 1' 'db check' 'top'; do
	read -ra words <<<"$verb"
	for file in random shorter empty; do
		says 1 "$file.db" --db "$dir/$file.db" "${words[@]}"
	done
done
says 1 'short.db' --db "$dir/short.db" db check
says 1 'cannot be added to.*no pathprof store' record -o "$dir/random.db" -- true
cmp -s <(head -c 20000 "$dir/random.db") "$dir/random.db" || fail "record wrote into a foreign file"
says 1 'not a regular file' record -o /dev/null -- true

# A database of an older pathprof is read, one of a newer pathprof is not, and neither is added to.
cp "$db" "$dir/old.db" && cp "$db" "$dir/new.db"
sqlite3 "$dir/old.db" 'DROP TABLE segment_samples; DROP TABLE segmented_windows; DROP TABLE pieces; DROP TABLE context_counts; DROP TABLE contexts; DROP TABLE range_counts; DROP TABLE ranged_windows; DROP TABLE segment_counts; DROP TABLE piece_counts; DROP TABLE window_notes; DROP TABLE parcel_windows; DROP TABLE parcels; PRAGMA user_version = 7'
sqlite3 "$dir/new.db" 'PRAGMA user_version = 999'
cp "$dir/old.db" "$dir/kept.db"
for verb in paths edges windows processes binaries 'show 1' 'compare window:1 window:2'; do
	read -ra words <<<"$verb"
	run 0 --db "$db" "${words[@]}"
	cp "$dir/got" "$dir/expected"
	run 0 --db "$dir/old.db" "${words[@]}"
	cmp -s "$dir/got" "$dir/expected" || fail "$verb: an older schema is read otherwise"
	says 1 'newer pathprof' --db "$dir/new.db" "${words[@]}"
done
run 0 --db "$dir/old.db" db check
grep -q 'sound.*older pathprof (schema 7, ' "$dir/got" || fail "db check: not said that the schema is older"
run 3 --db "$dir/old.db" status
says 1 'older pathprof (schema 7, .* choose another with -o' record -o "$dir/old.db" -- true
says 1 'newer pathprof (schema 999, ' record -o "$dir/new.db" -- true
cmp -s "$dir/old.db" "$dir/kept.db" || fail "a verb that reads changed a database of an older schema"

# The default is the user's own database, or the system's; $PATHPROF_DB and --db come first.
PATHPROF_DB=$dir/none.db says 1 "$dir/none.db" paths
PATHPROF_DB=$dir/none.db run 0 --db "$db" paths
PATHPROF_DB=$db run 0 paths

# A damaged database: any page overwritten gives an answer or one line, never a crash. The damage
# is the same in each run.
for ((i = 0; i < 40; i++)); do
	cp "$db" "$dir/bad.db"
	python3 - "$dir/bad.db" $i <<-'END'
		import os, random, sys
		chance = random.Random(int(sys.argv[2]))
		with open(sys.argv[1], "r+b") as file:
		    file.seek(chance.randrange(100, os.path.getsize(sys.argv[1]) - 512))
		    file.write(chance.randbytes(512))
	END
	for verb in paths windows 'show 1' 'db check' 'edges --json' status; do
		read -ra words <<<"$verb"
		status=0
		timeout 120 "$ctl" --db "$dir/bad.db" "${words[@]}" >"$dir/got" 2>"$dir/said" || status=$?
		case $status in
		0 | 1 | 3) ;;
		*)
			cp "$dir/bad.db" "/tmp/$name.bad.db"
			fail "damaged database: $verb: status $status"
			;;
		esac
		[ "$(wc -l <"$dir/said")" -le 1 ] || fail "damaged database: $verb: more than one line"
	done
done

# A process that may open no more files is told that, and not that it has no rights. The loader takes
# some, so the limit rises until pathprofctl itself speaks.
for ((files = 3; files < 40; files++)); do
	status=0
	(ulimit -n $files && exec "$ctl" --db "$db" windows) >"$dir/got" 2>"$dir/said" || status=$?
	! grep -q '^pathprofctl: ' "$dir/said" || break
done
[ $status = 1 ] && grep -q "^pathprofctl: $db: .*open no more files: raise the limit" "$dir/said" ||
	fail "$files open files: status $status, $(cat "$dir/said")"

# A parent that ignores SIGCHLD, which is inherited, changes nothing. Who waits in vain survives SIGTERM.
ignoring=(timeout -s KILL 120 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$ctl")
"${ignoring[@]}" --db "$db" paths >"$dir/got" 2>"$dir/said" || fail "paths while SIGCHLD is ignored: status $?"
status=0
"${ignoring[@]}" record --no-report -o "$dir/ignored.db" -- "$dir/no/program" >"$dir/got" 2>"$dir/said" || status=$?
! grep -q 'wait: ' "$dir/said" || fail "record while SIGCHLD is ignored: status $status, $(cat "$dir/said")"

# Results that cannot be written are a failure.
status=0
"$ctl" --db "$db" paths >/dev/full 2>"$dir/said" || status=$?
[ $status = 1 ] || fail "a full disk: status $status"
grep -q 'No space left' "$dir/said" || fail "a full disk was not said"

# status: up, silent, dead, missing or odd members.
run 3 --db "$db" status
grep -q 'no daemon ever wrote' "$dir/got" || fail "status without a daemon"
now=$(date +%s)000000000
cp "$(command -v sleep)" "$dir/pathprofd"
"$dir/pathprofd" 600 &
daemon=$!
trap 'kill $daemon 2>/dev/null || true; cleanup' EXIT
for _ in $(seq 1200); do
	! grep -qx pathprofd "/proc/$daemon/comm" || break
	sleep 0.05
done
"$known" "$db" status "{\"pid\":$daemon,\"updated_ns\":$now,\"window_s\":60,\"budget_ratio\":0.005,
	\"overhead_ratio\":0.0042,\"busy_cpus\":0.2,\"cpus\":2,\"drops\":{\"budget\":7},\"version\":\"\\u001b[2Jx\"}"
run 0 --db "$db" status
grep -q 'x1b\[2Jx: running, process' "$dir/got" || fail "status: not running"
grep -q '0.420% of CPU time in the last window.*budget 0.500%' "$dir/got" || fail "status: overhead"
grep -q '0.20 CPUs counted as busy (0.20 at least)' "$dir/got" || fail "status: busy CPUs"
grep -q 'drops  *budget 7' "$dir/got" || fail "status: drops"
run 0 --db "$db" status --json
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["state"] == "running"' "$dir/got" ||
	fail "status --json"
"$known" "$db" status "{\"pid\":$daemon,\"updated_ns\":1,\"window_s\":60}"
run 3 --db "$db" status
grep -q 'silent' "$dir/got" || fail "status: silent"
"$known" "$db" status "{\"pid\":$$,\"updated_ns\":$now}"
run 3 --db "$db" status
grep -q 'has ended' "$dir/got" || fail "status: another process"
for odd in '{}' '{"pid":"x","drops":[],"rates":7,"tracker":null,"memory_bytes":-1}' \
	'{"pid":1e300,"updated_ns":-1e300,"window_s":1e300,"db_bytes":1e300}'; do
	"$known" "$db" status "$odd"
	run 3 --db "$db" status
	run 3 --db "$db" status --json
done

# vacuum.
# The same units as in settings.
for good in 512MiB 0.5g '4096 K' 9T; do
	run 0 --db "$db" vacuum --max-size "$good"
done
run 0 --db "$db" vacuum --max-age 1d
grep -q '^3 windows removed' "$dir/got" || fail "vacuum --max-age"
run 0 --db "$db" vacuum --max-size 512M
grep -q '^0 windows removed' "$dir/got" || fail "vacuum --max-size"
# One is one.
"$known" "$dir/one.db" now
run 0 --db "$dir/one.db" paths --comm nobody-is-called-so
grep -q ' taken in 1 window of that time' "$dir/said" || fail "one window: $(cat "$dir/said")"
sqlite3 "$dir/one.db" 'UPDATE windows SET begin_ns = 1, end_ns = 2'
run 0 --db "$dir/one.db" vacuum --max-age 1d
grep -q '^1 window removed, ' "$dir/got" || fail "one window: $(cat "$dir/got")"
# One database has one size, whoever tells it: that of its files now, not of what the daemon said a while ago.
"$known" "$db" status '{"pid": 1, "updated_ns": 1, "window_s": 10, "memory_bytes": 4096, "db_bytes": 1, "db": "p.db"}'
run 0 --db "$db" db check
size=$(sed -n 's/.*: sound, \(.* with its write-ahead log\)$/\1/p' "$dir/got")
run 3 --db "$db" status
[ -n "$size" ] && grep -q "; database $size, p.db$" "$dir/got" || fail "db check has '$size', status: $(grep memory "$dir/got")"
member() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$dir/got" "$1"; }
run 0 --db "$db" db check --json
bytes=$(member bytes)
run 3 --db "$db" status --json
[ "$(member db_bytes)" = "$bytes" ] || fail "db check --json has $bytes bytes, status $(member db_bytes)"
run 0 doctor --json
python3 -c 'import json, sys; assert all(f["state"] in ("ok", "no", "warn") for f in json.load(open(sys.argv[1])))' "$dir/got" ||
	fail "doctor --json"
# Help begins with a sentence and an example that the program takes, and fits a screen.
verbs=$("$ctl" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$verbs")" -ge 23 ] || fail "verbs in --help: $verbs"
for verb in $verbs; do
	run 0 "$verb" --help
	head -n 1 "$dir/got" | grep -qE '^[A-Z].*\.$' || fail "$verb --help begins with no sentence"
	grep -q "^Usage:   pathprofctl $verb" "$dir/got" || fail "$verb --help has no usage"
	[ "$(wc -l <"$dir/got")" -le 50 ] && [ "$(wc -L <"$dir/got")" -le 80 ] || fail "$verb --help is too large for a screen"
	example=$(sed -n 's/^Example: pathprofctl //p' "$dir/got")
	read -ra words <<<"$example"
	[ "${words[0]:-}" = "$verb" ] || fail "$verb --help has no example of it: $example"
	status=0
	(cd "$dir" && PATHPROF_DB=$db timeout 60 "$ctl" "${words[@]}" >example 2>&1 </dev/null) || status=$?
	[ $status -ne 2 ] || fail "the example of $verb is refused: $(cat "$dir/example")"
done
finish
