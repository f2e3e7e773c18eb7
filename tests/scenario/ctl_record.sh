#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pathprofctl record runs a real program under a private pathprofd: bzip2 over some megabytes is
# found in libbz2, its output is untouched, its exit status passed on, a second recording is
# appended, and every path that is listed can be shown.
set -eu
name=ctl_record
. "$(dirname "$0")/ctl_common.bash"
. "$(dirname "$0")/../await.bash"

[ -x "$BUILD/bin/pathprofd" ] || fail "pathprofd is not built"
"$ctl" doctor >"$dir/doctor" || {
	echo "skip $name: no source can run here: $(grep '^no .*single steps' "$dir/doctor")"
	exit 0
}
command -v bzip2 >/dev/null || {
	echo "skip $name: bzip2 is not installed"
	exit 0
}

cd "$dir"
run 127 record -o unmade.db -- ./nothing-of-that-name
[ ! -e unmade.db ] || fail "a command that is not there makes a database"
run 127 record -o unmade.db -- ''
grep -q "'': No such file" said || fail "an empty command is not shown: $(cat said)"
run 2 record --hold 1s -- true
grep -qx "Try .pathprofctl record --help'\." said || fail "another command's help is named: $(cat said)"
# Text of sorts: enough repetition to keep the sorting busy.
seq 1 900000 | sed 's/7/ seven /g' >text
bzip2 -kc text >expected.bz2

# perf, where it may, watches the same runs: where bzip2's own code spends its time is not assumed.
watch=()
if perf record -q -B -e cpu-clock:u -o perf.data -- true 2>perf.log; then
	watch=(perf record -q -B -e cpu-clock:u -F 997 -o perf.data --)
else
	echo "skip $name/perf: perf does not record here: $(tail -n 1 perf.log)"
fi
: >seen
# record ARGUMENTS...: bzip2, and a line in the file `seen` for each of perf's samples of it.
record() {
	"${watch[@]}" "$ctl" record --overhead 60 "$@" -- bzip2 -kc text >got 2>said || fail "record: $(cat said)"
	[ -z "${watch[*]}" ] || perf script -i perf.data -F comm,ip,dso 2>perf.log | grep '^ *bzip2 ' >>seen ||
		fail "perf: $(cat perf.log)"
}
record
cmp -s got expected.bz2 || fail "the program's output was changed"
grep -q 'Hottest functions' said || fail "no report on standard error"
[ -e pathprof.db ] || fail "no pathprof.db"
# Jobs in the background of a script ignore interrupts, services of systemd SIGPIPE, and so does what they run.
for ignored in 0 1; do
	python3 -c 'import os, signal, sys
for number in signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD:
    signal.signal(number, signal.SIG_IGN if sys.argv[1] == "1" else signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])' $ignored "$ctl" record --no-report -o signals.db -- grep SigIgn /proc/self/status >signals 2>said ||
		fail "record of a program that tells its signals: $(cat said)"
	for number in 2 13 17; do
		[ $(($((0x$(cut -f 2 signals))) >> (number - 1) & 1)) = $ignored ] ||
			fail "signal $number ignored before: $ignored; in the program: $(cat signals)"
	done
done
run 0 --db pathprof.db db check

# The exported functions take about a tenth of the time, the rest is static and has no symbol: what
# a recording or two may miss by chance is there after some more.
end=$((SECONDS + 200))
while :; do
	run 0 --db pathprof.db top --by functions --since -1h -n 0 --json
	sqlite3 pathprof.db 'SELECT sum(clock_samples) FROM windows' >clock
	status=0
	python3 - >list <<'END' || status=$?
import json, math, re, sys
functions = json.load(open("got"))
own = lambda file: "libbz2" in file or file.endswith("/bzip2")
# perf looks at user time only.
user = [f for f in functions if f["binary"]["name"] != "[kernel]" and f["time"]]
time = sum(f["time"] for f in user)
share = sum(f["time"] for f in user if own(f["binary"]["name"])) / time if time else 0
samples = sum(f["samples"] for f in functions)
names = {f["function"] for f in functions if f["function"]}
print(f"# {samples} paths, {share:.1%} in libbz2, functions {sorted(names)}")
files = re.findall(r"\((\S+)\)$", open("seen").read(), re.M)
clock = int(open("clock").read())
if files and clock >= 50:
    # Samples of both, pooled, and one more on either side: a share of all is none without chance.
    cnts = round(clock * time), len(files)
    theirs = sum(map(own, files)) / len(files)
    pooled = (share * cnts[0] + theirs * cnts[1] + 2) / (sum(cnts) + 4)
    chance = 5 * math.sqrt(pooled * (1 - pooled) * sum(1 / (cnt + 2) for cnt in cnts))
    print(f"# by perf {theirs:.1%} of {cnts[1]} samples, ours {cnts[0]}, {chance:.1%} by chance")
    if abs(share - theirs) > 0.03 + chance:
        sys.exit("the shares differ")
sys.exit(2 * (not (clock >= 50 and samples >= 100 and names & {
    "BZ2_blockSort", "BZ2_compressBlock", "BZ2_bzCompress", "BZ2_hbMakeCodeLengths"})))
END
	[ "$status" -eq 2 ] && [ $SECONDS -lt $end ] || break
	record --no-report
done
cat list
[ "$status" -eq 0 ] || fail "libbz2 is not what was found"

# Each path's code is there and has as many ways as the path says.
run 0 --db pathprof.db paths --json -n 25
cp got paths.json
for id in $(python3 -c 'import json; print(*[p["id"] for p in json.load(open("paths.json"))])'); do
	run 0 --db pathprof.db show "$id" --json
	python3 - <<'END' || fail "show $id"
import json
path = json.load(open("got"))
ways = "".join({"taken": "T", "not taken": "N", "jump": "T", "indirect jump": "T"}
               .get(b["way"], "") for b in path["blocks"])
assert ways == path["outcomes"], (ways, path["outcomes"])
assert path["blocks"][0]["start"] == path["start"]
for block in path["blocks"]:
    assert block["instructions"][0]["offset"] == block["start"]
    assert all("text" in i for i in block["instructions"])
END
	run 0 --db pathprof.db show "$id"
	grep -q 'the path ends' got || fail "show $id: no end"
done

before=$("$ctl" --db pathprof.db windows --json | grep -c '"id"')
run 7 record --no-report -- sh -c 'exit 7'
[ ! -s said ] || ! grep -q Hottest said || fail "--no-report reported"
after=$("$ctl" --db pathprof.db windows --json | grep -c '"id"')
[ "$after" -gt "$before" ] || fail "the second recording was not appended"
run 143 record --no-report -o other.db -- sh -c 'kill -TERM $$'

# Windows that have clock samples and no path, as the first ones of a service may.
cp pathprof.db pathless.db
sqlite3 pathless.db 'DELETE FROM path_counts'
run 0 --db pathless.db top --by functions --since @0
if [ "$(sqlite3 pathless.db 'SELECT count(*) FROM clock_counts WHERE binary != 0')" -gt 0 ]; then
	grep -q -- ' -  *0 ' got || fail "functions without paths are not shown: $(cat got said)"
fi
# The message when nothing was seen gives the reason, and does not suggest a longer recording. The
# program has no loader and no library, which would compute before it sleeps. What little it does
# may be seen by chance: then it is asked again.
cat >asleep.c <<'END'
static long call(long number, const void *a, long b)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return r;
}
void _start(void)
{
	const long second[2] = {1, 0};

	call(35, second, 0); /* nanosleep */
	call(60, 0, 0);	     /* exit */
	__builtin_unreachable();
}
END
gcc -O1 -nostdlib -static -fno-stack-protector -o asleep asleep.c || fail "the program that sleeps does not compile"
for ((i = 0; i < 20; i++)); do
	rm -f asleep.db*
	run 0 record -o asleep.db -- ./asleep
	[ "$(sqlite3 asleep.db 'SELECT sum(bursts) FROM windows')" != 0 ] || break
done
! grep -qE 'idle|run it longer' said || { cat said; fail "a program that slept is told to be idle or too short"; }
grep -qE 'over .* \(held .*, [0-9]+ % of one CPU\)' said || fail "the report does not say what recording cost"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir bin other
	cp "$ctl" "$(dirname "$ctl")/pathprofd" bin
	chmod 755 "$dir" bin
	chmod 777 other
	sh -c 'while :; do :; done' &
	busy=$!
	# On a busy machine the program may hardly run in three seconds.
	end=$((SECONDS + 120))
	while :; do
		(cd other && setpriv --reuid 65534 --regid 65534 --clear-groups ../bin/pathprofctl \
			record -p $busy --duration 3 2>../said) || fail "$(cat said)"
		! grep -q 'left out as denied' said && [ $SECONDS -lt $end ] || break
	done
	kill $busy
	grep -q 'left out as denied' said || { cat said; fail "another user's process is not told to be denied"; }
	! grep -q 'run it longer' said || fail "longer would not help against a missing right"
else
	echo "skip $name/denied: only root can be another user"
fi

# A length of many days is the daemon's as well as it is given here: the recording begins.
sh -c 'while :; do :; done' &
busy=$!
"$ctl" record -p $busy --duration 12d --no-report -o long.db 2>said &
recorder=$!
await 600 0.1 test -e long.db || fail "record --duration 12d: $(cat said)"
kill $busy
wait $recorder || true
! grep -q -e --duration said || fail "record --duration 12d: $(cat said)"

# A signal to pathprofctl alone ends the recording, and its report comes.
"$ctl" record -o ended.db -- sh -c 'while :; do :; done' 2>said &
recorder=$!
await 600 0.1 test -e ended.db || fail "record did not begin: $(cat said)"
kill $recorder
status=0
wait $recorder || status=$?
[ $status = 143 ] || fail "record that SIGTERM ended: status $status"
daemons=$(grep -alz -e '^ended\.db$' /proc/[0-9]*/cmdline || true)
[ -z "$daemons" ] || fail "pathprofd goes on behind a recording that was ended: $daemons"
grep -q 'in ended\.db' said || fail "a recording that was ended has no report: $(cat said)"

# So does an interrupt that somebody sends to it; one that is typed goes to its program as well.
sh -c 'while :; do :; done' &
busy=$!
env --default-signal=INT "$ctl" record -p $busy -o interrupted.db 2>said &
recorder=$!
await 600 0.1 test -e interrupted.db || fail "record -p did not begin: $(cat said)"
kill -INT $recorder
timeout 60 tail --pid=$recorder -f /dev/null || fail "record -p goes on behind an interrupt"
kill $busy
wait $recorder || true
grep -q 'in interrupted\.db' said || fail "a recording that was interrupted has no report: $(cat said)"

# A command that a signal ends before it begins has that signal's status.
"$BUILD/bin/pathprofd" --record --db early.db -- sleep 100 2>said &
recorder=$!
await 6000 0.01 pgrep -P $recorder >child || fail "pathprofd starts no command: $(cat said)"
kill "$(head -n 1 child)"
status=0
wait $recorder || status=$?
[ $status = 143 ] || fail "a command that was ended before it began: status $status: $(cat said)"

finish
