#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pathprof-trace with programs that cannot be traced, and traces whose program or tracer failed: one
# line that says why, an exit status that tells, a file that reads.
set -u
. "$(dirname "$0")/trace_common.bash"
trace_needs "$tracer" "$dump"
trace_needs_qemu
cd "$work" || exit 1

# run ARGUMENTS...: status in $status, complaint in err.
run() {
	status=0
	timeout 600 "$tracer" -q "$@" >out 2>err </dev/null || status=$?
}

# The status wanted, and one line of complaint with this in it.
complains() { # NAME STATUS TEXT
	if [ "$status" -ne "$2" ]; then
		not_ok "trace_errors_$1" "exit $status, not $2: $(head -c 200 err)"
	elif [ "$(wc -l <err)" -ne 1 ] || ! grep -qiF -- "$3" err; then
		not_ok "trace_errors_$1" "says '$(head -c 200 err)', not '$3'"
	else
		ok "trace_errors_$1"
	fi
}

# The status wanted, and a trace with at least so many branches.
traces() { # NAME STATUS BRANCHES WHOLE
	local branches='' whole=''
	read -r _ branches _ _ _ _ _ whole < <("$dump" -c trace 2>dump.err)
	if [ "$status" -ne "$2" ]; then
		not_ok "trace_errors_$1" "exit $status, not $2: $(head -c 200 err)"
	elif [ -z "$branches" ]; then
		not_ok "trace_errors_$1" "the trace does not read: $(head -c 200 dump.err)"
	elif [ "$branches" -lt "$3" ] || [ "$whole" != "$4" ]; then
		not_ok "trace_errors_$1" "$branches branches, whole $whole"
	else
		ok "trace_errors_$1 ($branches branches)"
	fi
}

run -o trace -- /nowhere/program
complains missing 127 'no such'
run -o trace -- no_such_program_in_path
complains missing_in_path 127 'no such'
# An empty entry of PATH is the current directory.
PATH=:$PATH run -o trace -- no_such_program_in_path
complains missing_behind_colon 127 'no such'
echo text >text
run -o trace -- ./text
complains not_executable 126 denied
chmod +x text
run -o trace -- ./text
complains no_program 126 x86-64
# The head of a 32-bit program is enough.
printf '\177ELF\001\001\001\0\0\0\0\0\0\0\0\0\002\0\003\0\001\0\0\0' >narrow
head -c 100 /dev/zero >>narrow
chmod +x narrow
run -o trace -- ./narrow
complains narrow 126 x86-64
run -o trace -- .
complains folder 126 ''
run -o /nowhere/trace -- /bin/true
complains output 125 /nowhere/trace
# A profile is written when the program has ended: that it cannot be is told before it runs.
run --paths '/nowhere/%p.paths' -- touch ran
complains directory 125 'see that the directory is there'
[ ! -e ran ] || not_ok trace_errors_directory_first 'the program ran before'
status=0
env PATH=/nowhere "$tracer" -q -o trace -- /bin/true >out 2>err </dev/null || status=$?
complains emulator 126 qemu-user
# The emulator's own line goes first.
run --cpu nonsense -o trace -- /bin/true
sed -i '/^qemu-x86_64:/d' err
complains processor 125 'cpu help'

run -o trace -- /bin/true
traces true 0 500 1
run -o trace -- sh -c 'exit 7'
traces status 7 500 1
run -o trace -- sh -c 'kill -SEGV $$'
traces crash 139 500 1
run -o trace -- sh -c 'kill -KILL $$'
traces killed_program 137 500 1
printf '#!/bin/sh\n[ "$1" = word ] && exit 3\n' >script
chmod +x script
run -o trace -- ./script word
traces script 3 500 1

# A trace that got the number of a closed descriptor would take in what is said there. The program
# finds the descriptor closed, as it would by itself.
status=0
timeout 600 "$tracer" -o trace -- sh -c 'echo >&2 || exit 9' >&- 2>&- </dev/null || status=$?
traces closed_descriptors 9 500 1

seq 1 2000000 >numbers
run --limit 200000 -o trace -- gzip -c numbers
traces limit 0 100000 1
grep -qi limit err || not_ok trace_errors_limit_said "says '$(head -c 200 err)'"

# Many processes that run next to nothing leave the limit to others.
# shellcheck disable=SC2016 # the shell that is traced expands it
run --limit 10000000 -o trace -- sh -c 'i=0; while [ $i -lt 200 ]; do (:); i=$((i + 1)); done; exit 7'
traces limit_of_many 7 500 1
! grep -qi limit err || not_ok trace_errors_limit_of_many "says '$(head -c 200 err)'"

# The emulator numbers threads ever higher while each begins before the last one has ended.
run -o trace -- "$workload_dir/trace_threads" 1100
traces threads_in_a_row 0 100000 1
read -r _ _ _ _ _ cnt _ < <("$dump" -c trace)
if [ "$cnt" -eq 1101 ] && [ ! -s err ]; then
	ok trace_errors_each_thread
else
	not_ok trace_errors_each_thread "$cnt threads of 1101, and says '$(head -c 200 err)'"
fi

# The tracer goes by SIGKILL: what it wrote reads, and the program, which would never end, does not
# stay behind.
rm -f trace
while cat numbers 2>/dev/null; do :; done | "$tracer" -q -o trace -- gzip -c >out 2>err &
victim=$!
for _ in $(seq 2400); do
	[ -s trace ] && [ "$(stat -c %s trace)" -gt 200000 ] && break
	sleep 0.05
done
child=$(pgrep -P $victim | head -1)
kill -KILL $victim
wait $victim 2>/dev/null
status=0
traces killed_tracer 0 10000 0
for _ in $(seq 1200); do
	[ -z "$child" ] || [ ! -e "/proc/$child/exe" ] && break
	sleep 0.05
done
if [ -n "$child" ] && [ ! -e "/proc/$child/exe" ]; then
	ok trace_errors_nothing_left
else
	not_ok trace_errors_nothing_left "process ${child:-unknown} is still there"
fi

# What the program forked ends when nobody can take what it does.
"$tracer" -q -o trace -- sh -c '(echo $$ >left; while :; do :; done) & wait' >out 2>err &
victim=$!
for _ in $(seq 2400); do
	[ -s left ] && [ -s trace ] && [ "$(stat -c %s trace)" -gt 20000 ] && break
	sleep 0.05
done
child=$(pgrep -P $victim | head -1)
left=$(pgrep -P "${child:-none}" | head -1)
kill -KILL $victim
wait $victim 2>/dev/null
for _ in $(seq 2400); do
	[ -z "$left" ] || [ ! -e "/proc/$left/exe" ] && break
	sleep 0.05
done
if [ -n "$left" ] && [ ! -e "/proc/$left/exe" ]; then
	ok trace_errors_none_left
else
	not_ok trace_errors_none_left "process ${left:-unknown} is still there"
	[ -z "$left" ] || kill -KILL "$left"
fi

# A signal goes to those that the program left behind when it ended.
"$tracer" -q -o trace -- sh -c '(while sleep 0.2; do :; done) & exit 4' >out 2>err &
victim=$!
for _ in $(seq 2400); do
	child=$(pgrep -P $victim)
	[ -n "$child" ] && break
	sleep 0.05
done
for _ in $(seq 2400); do
	[ -e "/proc/$child" ] || break
	sleep 0.05
done
for _ in $(seq 1200); do
	kill -TERM $victim
	sleep 0.05
	[ -e "/proc/$victim/exe" ] || break
done
kill -KILL $victim 2>/dev/null
wait $victim 2>/dev/null
status=$?
traces signal_for_the_rest 4 500 1

# The first process of another pid namespace is number 1 there, which is somebody else's here.
if unshare --pid --fork true 2>/dev/null; then
	status=0
	timeout -k 5 200 "$tracer" -q -o apart.trace -- unshare --pid --fork true >out 2>err </dev/null || status=$?
	complains pid_namespace 0 "in another pid namespace, not recorded"
else
	echo "skip trace_errors_pid_namespace: none may be made here"
fi
exit $failed
