#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pathprof-trace --paths counts what pathprof-lab finds in the trace of the same run, to the count;
# whoever is killed loses nothing; as a wrapper of tests it is silent and gives their status.
set -u
. "$(dirname "$0")/trace_common.bash"
lab=$build/bin/pathprof-lab
ctl=$build/bin/pathprofctl
trace_needs "$tracer" "$lab" "$ctl"
trace_needs_qemu
cd "$work" || exit 1

number() { sqlite3 "$1" "$2"; }

# equal NAME COMMAND...: two runs of one program, at the same addresses. Process ids and random bytes
# from the kernel can still lead them apart by a branch: two runs of a few must be alike.
equal() {
	local name=$1 try
	shift
	for try in {1..12}; do
		setarch -R timeout 600 "$tracer" -q -o t.trace -- "$@" >/dev/null 2>err </dev/null
		setarch -R timeout 600 "$tracer" --paths t.paths -- "$@" >/dev/null 2>err </dev/null
		"$lab" paths t.trace >paths 2>err
		"$lab" paths --map wpp t.trace >pieces 2>err
		python3 "$tests_dir/scenario/trace_paths.py" t.paths paths pieces >out 2>&1 || continue
		ok "trace_paths_$name ($(tail -1 out))"
		return
	done
	not_ok "trace_paths_$name" "$(head -c 600 out)"
}

head -c 30000 "$lab" >input
equal calls "$workload_dir/flow_calls"
equal corners "$workload_dir/flow_corners"
equal faults "$workload_dir/flow_faults"
equal loops "$workload_dir/flow_loops"
equal signals "$workload_dir/trace_signals"
equal forks "$workload_dir/trace_forks"
equal gzip gzip -c input
timeout 600 "$tracer" -o one.trace -- "$workload_dir/flow_calls" >/dev/null 2>err </dev/null
grep -q ', 1 thread in 1 process, 0 programs executed out of sight$' err && ok trace_paths_one || not_ok trace_paths_one "$(tail -1 err)"

# Threads take locks in another order each time; what each of them computes is the same.
cat >sums.py <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("SELECT sum(c.samples) FROM path_counts c JOIN paths p ON p.id = c.path JOIN binaries b"
                 " ON b.id = p.binary WHERE b.name = ?", [sys.argv[2]]).fetchone()[0])
END
for i in 1 2 3; do
	timeout 600 "$tracer" --paths t$i.paths -- "$workload_dir/trace_threads" >/dev/null 2>err </dev/null
	python3 sums.py t$i.paths "$workload_dir/trace_threads" >sum$i
done
if [ "$(cat sum1)" -gt 1000 ] && cmp -s sum1 sum2 && cmp -s sum2 sum3; then
	ok "trace_paths_threads ($(cat sum1) runs of paths)"
else
	not_ok trace_paths_threads "$(cat sum1 sum2 sum3 | tr '\n' ' ')"
fi

# A process that kills itself, or is replaced by exec, has counted everything before.
cat >ends.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int sum;
static __attribute__((noinline)) void work(int i) { if (i % 3) sum += i; }
int main(int argc, char **argv)
{
	for (int i = 0; i < 3000; i++)
		work(i);
	if (argv[1][0] == 'k')
		kill(getpid(), SIGKILL);
	if (argv[1][0] == 'x')
		execl("/bin/true", "true", (char *)NULL);
	return atoi(argv[1]);
}
END
${CC:-gcc} -O1 -g -o ends ends.c
for how in 7 kill x; do
	status=0
	timeout 600 "$tracer" --paths "$how.paths" -- ./ends $how >out 2>err </dev/null || status=$?
	echo $status >"$how.status"
	number "$how.paths" "SELECT sum(c.samples) FROM path_counts c JOIN paths p ON p.id = c.path JOIN
		binaries b ON b.id = p.binary WHERE b.name LIKE '%/ends'" >"$how.sum"
done
if [ "$(cat 7.status kill.status x.status | tr '\n' ' ')" = "7 137 0 " ]; then
	ok trace_paths_status
else
	not_ok trace_paths_status "$(cat 7.status kill.status x.status | tr '\n' ' ')"
fi
# A whole program runs a few paths more behind its main.
if [ "$(cat kill.sum)" -gt 6000 ] && [ "$(cat x.sum)" -gt 6000 ] &&
	[ $(($(cat 7.sum) - $(cat kill.sum))) -lt 20 ] && [ $(($(cat 7.sum) - $(cat x.sum))) -lt 20 ]; then
	ok "trace_paths_killed ($(cat kill.sum) of $(cat 7.sum))"
else
	not_ok trace_paths_killed "$(cat 7.sum kill.sum x.sum | tr '\n' ' ')"
fi
if [ ! -s err ] && [ "$(number 7.paths 'SELECT note FROM window_notes')" = "./ends 7" ] &&
	[ "$(number 7.paths 'SELECT source FROM windows')" = 5 ] && "$ctl" --db 7.paths db check >out; then
	ok trace_paths_profile
else
	not_ok trace_paths_profile "$(head -c 300 err)"
fi

# Recursion deeper than 32: the paths below are no counts, but they ran.
cat >deep.c <<'END'
#include <stdlib.h>
static volatile int sum;
static __attribute__((noinline)) int down(int n) { int r = n ? down(n - 1) + 1 : 0; if (n % 50 == 49) sum++; return r; }
int main(int argc, char **argv) { return down(atoi(argv[1])) != atoi(argv[1]); }
END
${CC:-gcc} -O1 -g -o deep deep.c
equal deep ./deep 200
timeout 600 "$tracer" --paths deep.paths -- ./deep 200 >out 2>err </dev/null
if [ "$(number deep.paths 'SELECT count(*) FROM path_counts WHERE samples = 0')" -gt 0 ]; then
	ok "trace_paths_below ($(number deep.paths 'SELECT count(*) FROM path_counts WHERE samples = 0') paths)"
else
	not_ok trace_paths_below "no path of depth 33 and more"
fi

# Programs of a directory, run by name by a script and by one another.
mkdir bin && cp ends deep bin
cat >script <<'END'
#!/bin/sh
ends 0 && deep 40 && ends 3
END
chmod +x script
status=0
timeout 600 "$tracer" --paths 'follow-%p.paths' --follow bin -- ./script >out 2>err </dev/null || status=$?
if [ $status -eq 3 ] && [ "$(ls follow-*.paths | wc -l)" -eq 3 ] && [ ! -s err ]; then
	ok trace_paths_follow
else
	not_ok trace_paths_follow "exit $status, $(ls follow-*.paths | wc -l) files: $(head -c 300 err)"
fi
# A directory with %p in its name keeps it.
mkdir 'a%pb' && status=0
(cd 'a%pb' && PATH=$PWD/..:$PATH timeout 600 "$tracer" --paths 'follow-%p.paths' --follow ../bin -- script) >out 2>err </dev/null || status=$?
if [ $status -eq 3 ] && [ "$(find 'a%pb' -name 'follow-[0-9]*.paths' | wc -l)" -eq 3 ]; then
	ok trace_paths_follow_directory
else
	not_ok trace_paths_follow_directory "exit $status, $(find . -name '*.paths' -newer script | head -3 | paste -sd ' '): $(head -c 300 err)"
fi
# On a terminal each program has a closing line, unless -q.
on_terminal() { python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$@"; }
loud=$(on_terminal timeout 600 "$tracer" --paths 'loud-%p.paths' --follow bin -- ./script </dev/null | grep -c 'pathprof-trace: .* paths* of')
quiet=$(on_terminal timeout 600 "$tracer" -q --paths 'quiet-%p.paths' --follow bin -- ./script </dev/null | grep -c 'pathprof-trace: ')
if [ "$loud" -eq 3 ] && [ "$quiet" -eq 0 ] && [ "$(ls quiet-*.paths | wc -l)" -eq 3 ]; then
	ok trace_paths_follow_quiet
else
	not_ok trace_paths_follow_quiet "$loud closing lines, with -q $quiet"
fi

refuses() { # NAME TEXT ARGUMENTS...
	local name=$1 text=$2
	shift 2
	status=0
	"$tracer" "$@" >out 2>err </dev/null || status=$?
	if [ $status -eq 125 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q -- "$text" err; then
		ok "trace_paths_$name"
	else
		not_ok "trace_paths_$name" "exit $status: $(head -c 300 err)"
	fi
}
refuses both 'not both' -o t --paths p -- true
refuses limit 'a whole run' --paths p --limit 5 -- true
refuses one_file '%p' --paths p --follow bin -- true
refuses follow_alone '--paths' -o t --follow bin -- true
refuses nowhere 'No such file' --paths nowhere/p -- true
exit $failed
