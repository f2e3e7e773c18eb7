#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recording one program: its streams and exit status are its own, signals reach it, a running
# process can be recorded, and all of it works without root.
. "$(dirname "$0")/daemon_common.bash"
late_tracer=$BUILD/tests/tools/late_tracer

record() { "$pathprofd" --record --db "$db" "$@"; }

status=0
printf 'one\ntwo\n' | record --quiet -- sh -c 'cat; echo three; echo four >&2; exit 7' \
	>"$tmp/out" 2>"$tmp/err" || status=$?
check exit-status "$status" test "$status" -eq 7
check standard-output "$(cat "$tmp/out")" test "$(tr '\n' , <"$tmp/out")" = one,two,three,
check standard-error "$(cat "$tmp/err")" test "$(cat "$tmp/err")" = four
status=0
record -- sh -c 'kill -SEGV $$' 2>"$tmp/err" || status=$?
check signalled "$status" test "$status" -eq 139
check notice "$(cat "$tmp/err")" grep -q 'bursts*, .* paths* recorded in' "$tmp/err"
status=0
perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$pathprofd" --record --quiet --db "$db" -- \
	sh -c 'exit 7' || status=$?
check children-ignored "$status" test "$status" -eq 7
status=0
record -- "$tmp/none" 2>"$tmp/err" || status=$?
check not-found "$status" test "$status" -eq 127
status=0
record -- "$tmp" 2>"$tmp/err" || status=$?
check not-executable "$status" test "$status" -eq 126

rm -f "$db"*
head -c 60000000 /dev/urandom >"$tmp/data"
gzip_paths() { sql "SELECT count(*) FROM paths p JOIN binaries b ON b.id = p.binary WHERE b.name LIKE '%/gzip'"; }
# more_than CNT COMMAND...: compresses until as many paths of gzip were seen; a busy machine gives
# few a time, and where each instruction is a stop of its own, 2 ms hold few.
# Sets $paths and $status.
more_than() {
	local cnt=$1 end=$((SECONDS + 300))
	shift
	paths=0 status=0
	while [ "${paths:-0}" -le "$cnt" ] && [ $status -eq 0 ] && [ $SECONDS -lt $end ]; do
		"$@" -- gzip -c "$tmp/data" >"$tmp/data.gz" 2>"$tmp/err" || status=$?
		paths=$(gzip_paths)
	done
}
more_than 5 record --quiet --overhead 50 --hold 20ms
check output-intact "differs" eval 'gzip -dc "$tmp/data.gz" | cmp -s - "$tmp/data"'
check paths-of-command "$paths" test "$paths" -gt 5
others=$(sql "SELECT count(*) FROM processes WHERE comm NOT IN ('gzip', 'pathprofd')")
check nothing-else "$others other processes" test "$others" -eq 0

"$pathprofd" --record --db "$db" -- sleep 1000 2>/dev/null &
daemon=$!
wait_for 5 pgrep -P "$daemon" sleep >"$tmp/out" || true
status=0
kill -TERM "$daemon"
wait "$daemon" || status=$?
daemon=
check signal-passed-on "$status" test "$status" -eq 143

# The command ends while another process holds it by ptrace, as the stepper does: its end shows at
# once, its status only when the tracer has let go. In between the daemon has to sleep.
ticks_of() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
command_of() { pid=$(pgrep -P "$1" -x sh); }
held_end() {
	local pid tracer status=0 before begin used passed
	mkfifo "$tmp/in" "$tmp/hold"
	"$pathprofd" --record --quiet --db "$db" -- sh -c "read -r line <'$tmp/in'; exit 9" &
	daemon=$!
	wait_for 10 command_of "$daemon" || { not_ok held-end "the command did not start"; return; }
	"$late_tracer" "$pid" <"$tmp/hold" >"$tmp/held" &
	tracer=$!
	exec 5>"$tmp/hold"
	wait_for 10 eval 'grep -qs held "$tmp/held" || ended "$tracer"' || true
	if ! grep -qs held "$tmp/held"; then
		wait "$tracer" || status=$?
		[ "$status" -eq 77 ] && echo "skip held-end: only ancestors may trace here" ||
			not_ok held-end "the tracer: $status"
		return
	fi
	echo >"$tmp/in"
	wait_for 10 grep -q ended "$tmp/held"
	begin=${EPOCHREALTIME/./} before=$(ticks_of "$daemon")
	sleep 1
	used=$(($(ticks_of "$daemon") - before)) passed=$(((${EPOCHREALTIME/./} - begin) * $(getconf CLK_TCK) / 1000000))
	check held-end-waits-asleep "$used of $passed ticks" test $((4 * used)) -lt "$passed"
	exec 5>&-
	wait "$tracer"
	if ! wait_for 10 ended "$daemon"; then
		not_ok held-end-seen "the recording did not end with its command"
		return
	fi
	wait "$daemon" || status=$?
	daemon=
	check held-end-status "$status" test "$status" -eq 9
}
ended() { [[ $(cat "/proc/$1/stat" 2>/dev/null) != *") "[!Z]* ]]; }
if [ -x "$late_tracer" ]; then
	held_end
else
	not_ok held-end "$late_tracer was not built"
fi

rm -f "$db"*
start_busy
# More than once where two seconds are few: the machine may be busy.
paths=0 end=$((SECONDS + 300))
while [ "$paths" -le 10 ] && [ $SECONDS -lt $end ]; do
	status=0
	record --quiet --hold 20ms -p "$busy" --duration 2 || status=$?
	[ "$status" -eq 0 ] || break
	paths=$(sql "SELECT count(*) FROM paths")
done
check record-pid "$status" test "$status" -eq 0
check record-pid-goes-on "it is gone" kill -0 "$busy"
check paths-of-pid "$paths" test "$paths" -gt 10
status=0
record --quiet -p 999999999 2>"$tmp/err" || status=$?
check no-such-pid "$status" test "$status" -eq 1
check no-such-pid-is-named "$(cat "$tmp/err")" grep -q -e '-p 999999999: No such process' "$tmp/err"
# A thread's number, and a process that has ended and is not waited for.
python3 - >"$tmp/pids" <<'END' &
import os, threading, time
ended = os.fork()
if ended == 0:
    os._exit(0)
os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
def rest():
    print(threading.get_native_id(), os.getpid(), ended, flush=True)
    time.sleep(100)
threading.Thread(target=rest).start()
END
holder=$!
wait_for 60 test -s "$tmp/pids"
read -r thread process dead <"$tmp/pids"
for pid in $thread $dead; do
	status=0
	record --quiet --duration 10ms -p "$pid" 2>"$tmp/err.$pid" || status=$?
	check "unfit-pid-$((pid == dead))" "$status" test "$status" -eq 1
done
check thread-is-named "$(cat "$tmp/err.$thread")" grep -q -e "-p $thread: .* thread of process $process," "$tmp/err.$thread"
check dead-is-named "$(cat "$tmp/err.$dead")" grep -q -e "-p $dead: it has ended" "$tmp/err.$dead"
kill -KILL "$holder"

mkdir -m 777 "$tmp/user"
db=$tmp/user/p.db
if [ "$(id -u)" -eq 0 ]; then
	more_than 20 setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$pathprofd" --record --quiet --hold 20ms --db "$db"
	check user-records "$status: $(cat "$tmp/err")" test "$status" -eq 0
	check user-sees-paths "$paths" test "${paths:-0}" -gt 20
else
	echo "skip user-records: this run is not root's to give away"
fi
finish
