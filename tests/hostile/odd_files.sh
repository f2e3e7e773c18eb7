#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Files of every kind where a regular one is expected: as the source that a program's debug
# information names, as the program itself, as the names of generated code. None is opened that is
# no regular file, nothing waits for one, and what is a regular file is read as ever.
. "$(dirname "$0")/hostile_common.bash"
ctl=$BUILD/bin/pathprofctl
opened=$tools/opened
command -v gcc >/dev/null || { echo "skip odd-files: no gcc"; exit 0; }

odd=$tmp/odd
mkdir "$odd"
mkfifo "$odd/fifo"
mkdir "$odd/directory"
ln -s fifo "$odd/link"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$odd/socket"
truncate -s 1T "$odd/terabyte"
printf '%s\n' 'this line is shown' 'and this' >"$odd/regular"
kinds="fifo directory link socket terabyte regular"
# A device that does nothing, which ours are not allowed to know.
if mknod "$odd/device" c 1 3 2>/dev/null && : <"$odd/device" 2>/dev/null; then
	kinds="$kinds device"
else
	echo "skip odd-files-device: no device can be made here"
fi

# One function a kind, each of which says that its source is that file.
{
	echo '#include <stdlib.h>'
	for kind in $kinds mem; do
		file=$odd/$kind
		[ "$kind" != mem ] || file=/proc/self/mem
		printf '#line 1 "%s"\n__attribute__((noinline)) int hot_%s(int n) { int s = 0; for (int i = 0; i < n; i++) s += i & 3 ? i : s >> 1; return s; }\n' "$file" "$kind"
	done
	echo 'int main(int argc, char **argv) { int s = 0; for (long i = atol(argv[1]); i > 0; i--) {'
	for kind in $kinds mem; do echo "s += hot_$kind(10000 + i % 3000);"; done
	echo '} return s == 42; }'
} >"$tmp/odd.c"
gcc -O1 -g -o "$odd/program" "$tmp/odd.c"
export PATHPROF_DB=$tmp/odd.db
# Longer each time, until each function was seen: a busy machine gives few bursts.
for rounds in 3000 12000 48000 192000; do
	"$ctl" record --no-report --overhead 60 -o "$PATHPROF_DB" -- "$odd/program" $rounds >"$tmp/out" 2>&1 ||
		not_ok record "$(tail -n 3 "$tmp/out")"
	"$ctl" top --by functions --since @0 -n 0 >"$tmp/out" 2>&1 || true
	[ "$(grep -o ' hot_[a-z]*' "$tmp/out" | sort -u | wc -l)" -le "$(wc -w <<<"$kinds")" ] || break
done

# open_by_cfg KIND: what was opened meanwhile; its output in $tmp/out.
open_by_cfg() {
	local kind
	timeout 600 "$opened" $(for kind in $kinds; do echo "$odd/$kind"; done) -- \
		"$ctl" cfg "hot_$1" 3>&1 >"$tmp/out" 2>"$tmp/said"
}
for kind in $kinds mem; do
	status=0
	what=$(open_by_cfg "$kind") || status=$?
	check "source-$kind-ends" "status $status: $(cat "$tmp/said")" test "$status" -eq 0
	case $kind in
	regular)
		check source-regular-opened "not opened" grep -qx "$odd/regular" <<<"$what"
		check source-regular-shown "$(cat "$tmp/out")" grep -q 'this line is shown' "$tmp/out"
		;;
	# a regular file, too long to be source
	terabyte) check source-terabyte-alone "$what" test "$what" = "$odd/terabyte" ;;
	*) check "source-$kind-not-opened" "$what" test -z "$what" ;;
	esac
done
# The watch sees what the shell opens.
what=$(cd "$odd" && "$opened" fifo -- bash -c ': <>fifo' 3>&1)
check would-be-noticed "$what" test "$what" = fifo

# The program itself is gone, and something else has its name.
for kind in fifo device directory; do
	[[ " $kinds " == *" $kind "* ]] || continue
	rm -rf "$odd/program"
	cp -a "$odd/$kind" "$odd/program"
	status=0
	what=$(timeout 600 "$opened" "$odd/program" -- "$ctl" paths 3>&1 >"$tmp/out" 2>"$tmp/said") ||
		status=$?
	check "program-$kind-ends" "status $status: $(cat "$tmp/said")" test "$status" -eq 0
	check "program-$kind-not-opened" "$what" test -z "$what"
done

# Names of generated code: beside the daemon, for a process that runs some. What is opened is
# watched until two windows are written that have samples in that code: its names are looked for as
# such a window ends.
program=$(for_neighbour "$hostile/jit_flood")
start_beside
seen_in="SELECT count(DISTINCT c.window) FROM clock_counts c JOIN processes p ON p.id = c.process
	JOIN binaries b ON b.id = c.binary WHERE b.kind = 3 AND b.name <> '[kernel]' AND p.pid ="
watched() { # FILE PID: what was opened meanwhile
	# shellcheck disable=SC2016 # for the inner shell
	timeout 600 "$opened" "$1" -- bash -c 'until [ "$(sqlite3 -cmd ".timeout 60000" -readonly "$0" "$1")" -ge 2 ]
		do sleep 0.2; done' "$db" "$seen_in $2" 3>&1
}
for kind in regular fifo device; do
	[[ " $kinds " == *" $kind "* ]] || continue
	"$program" 1 1 1000 keep >"$tmp/offered" 2>&1 &
	neighbour=$!
	others+=("$neighbour")
	wait_for 10 eval 'pid=$(pgrep -P "$neighbour") && [ -n "$pid" ]'
	rm -f "/tmp/perf-$pid.map"
	cp -a "$odd/$kind" "/tmp/perf-$pid.map"
	others+=("$pid")
	before=$(windows)
	what=$(watched "/tmp/perf-$pid.map" "$pid") || true
	if [ "$kind" = regular ]; then
		check names-regular-opened "not opened" test -n "$what"
	else
		check "names-$kind-not-opened" "$what" test -z "$what"
	fi
	wait_for 60 eval '[ "$(windows)" -gt "$before" ]' || true
	check "names-$kind-windows" "none since" test "$(windows)" -gt "$before"
	kill -9 "$neighbour" "$pid" 2>/dev/null || true
	wait "$neighbour" 2>/dev/null || true
	rm -f "/tmp/perf-$pid.map" "/tmp/jit_flood.$neighbour".*
done
what_must_hold odd-files 0
stop
check ends-well "$stop_status" test "$stop_status" -eq 0
finish
