#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs that are not under their names: deleted, replaced and in-memory ones, and one that only
# another mount namespace has. While one lives its functions have the names that nm knows, and a
# graph; what lies under the name now is never taken for it.
set -eu
name=live_code
. "$(dirname "$0")/ctl_common.bash"

"$ctl" doctor >"$dir/doctor" || {
	echo "skip $name: no source can run here: $(grep '^no .*single steps' "$dir/doctor")"
	exit 0
}
cd "$dir"
cat >spin.c <<'END_OF_SOURCE'
unsigned int total;
__attribute__((noinline)) void spinning(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		total += total & 1 ? i : 3;
}
int main(void)
{
	for (;;)
		spinning(100000);
}
END_OF_SOURCE
gcc -O1 -o spin spin.c
sed 's/spinning/replaced/' spin.c >other.c
gcc -O1 -o other other.c
nm spin | grep -q ' T spinning$' || fail "the program has no such function"

pid=
trap '[ -z "$pid" ] || kill $pid 2>/dev/null; cleanup' EXIT
end() { kill $pid; wait $pid 2>/dev/null || true; pid=; }
# runs PATTERN: the process pid has come to run such a program.
runs() {
	for _ in $(seq 1200); do
		[[ $(readlink "/proc/$pid/exe") == $1 ]] && return
		sleep 0.1
	done
	fail "no program $1 runs"
}
# named WHAT: the process pid, recorded, has its function by name, and the function its graph. It is
# recorded for longer where a busy machine gave it few samples, or names late.
named() {
	local seconds
	for seconds in 2 8 32; do
		rm -f db*
		run 0 record -p $pid --duration ${seconds}s --no-report -o db
		"$ctl" --db db top --by functions --since -1h -n 0 >got 2>&1 || true
		grep -q ' spinning ' got && "$ctl" --db db cfg spinning >graph 2>&1 && break
	done
	grep -q ' spinning ' got || { cat got; fail "$1: its function has no name while it runs"; }
	run 0 --db db cfg spinning
	grep -q '^spinning$' got || fail "$1: its function has no graph"
}
# nameless WHAT: it is gone, and no other file is taken for it.
nameless() {
	end
	run 0 --db db top --by functions --since -1h -n 0
	! grep -qE ' (spinning|replaced) ' got || { cat got; fail "$1: it has a name out of nowhere"; }
}

cp spin deleted
./deleted &
pid=$!
runs '*/deleted'
rm deleted
named deleted
nameless deleted

# More processes of that name, all of another build, than are looked into: that is said.
crowd=()
trap '[ -z "$pid" ] || kill $pid 2>/dev/null; [ ${#crowd[@]} = 0 ] || kill "${crowd[@]}" 2>/dev/null; cleanup' EXIT
mkdir crowd
printf '#include <unistd.h>\nint main(void) { return pause(); }\n' >pause.c
gcc -o crowd/deleted pause.c
for _ in $(seq 33); do
	crowd/deleted &
	pid=$!
	crowd+=("$pid")
	runs '*/crowd/deleted'
	ticks=$(sed 's/.*) //' /proc/$pid/stat | cut -d ' ' -f 20)
	sqlite3 db "INSERT INTO processes(boot, pid, start_time, exec_cnt, comm, container, binary, last_window)
		SELECT boot, $pid, $ticks, 0, 'crowd', '', binary, last_window FROM processes LIMIT 1;
		CREATE TEMP TABLE one AS SELECT * FROM path_counts LIMIT 1;
		UPDATE one SET process = (SELECT max(id) FROM processes);
		INSERT INTO path_counts SELECT * FROM one;"
done
pid=
run 0 --db db top --by functions --since -1h -n 0
grep -q '/deleted: .*not found in 32 processes' said || { cat said; fail "more processes than are tried: nothing is said"; }
kill "${crowd[@]}"
wait "${crowd[@]}" 2>/dev/null || true
crowd=()

cp spin changed
./changed &
pid=$!
runs '*/changed'
mv other changed
named replaced
nameless replaced

python3 -c 'import os
fd = os.memfd_create("program", 0)
os.write(fd, open("spin", "rb").read())
os.execve("/proc/self/fd/%d" % fd, ["program"], {})' &
pid=$!
runs '/memfd:*'
named memfd
nameless memfd

mkdir only
if unshare --mount true 2>/dev/null; then
	unshare --mount sh -c 'mount -t tmpfs none only && cp spin only/inner && exec ./only/inner' &
	pid=$!
	runs '*/only/inner'
	[ ! -e only/inner ] || fail "the program is in this namespace, too"
	named namespace
	nameless namespace
else
	echo "skip $name/namespace: no mount namespace can be made here"
fi
finish
