#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A file server stops answering, and takes requests all the same, so that who asks cannot even be
# killed. On it lie: the source of a program, the program itself, its names of generated code. The
# daemon's windows close in time; pathprofctl says within seconds which file does not answer. The server and
# the program are a user's without rights.
. "$(dirname "$0")/hostile_common.bash"
ctl=$BUILD/bin/pathprofctl
command -v gcc >/dev/null || { echo "skip silent-files: no gcc"; exit 0; }
mount=$tmp/mount
mkdir "$mount"
server=
# The server first: who waits for it cannot end.
end_server() {
	[ -z "$server" ] || { kill -KILL "$server" && wait "$server"; } 2>/dev/null || true
	umount -l "$mount" 2>/dev/null || true
	server=
}
trap 'end_server; stop_others; cleanup' EXIT

serve() { # FILE
	end_server
	: >"$tmp/served" # or what the one before said is read
	"$hostile/silent" "$mount" "$1" ${neighbour:+65534} >"$tmp/served" 2>&1 &
	server=$!
	wait_for 5 grep -q 'serving\|refused' "$tmp/served"
	grep -q serving "$tmp/served"
}
be_silent() { kill -USR1 "$server"; }
speak() { kill -USR2 "$server"; }

# The loop's source lies on the mount, as does the program where that is wanted.
cat >"$tmp/source.c" <<-'END'
	__attribute__((noinline)) int hot(int n) { int s = 0; for (int i = 0; i < n; i++) s += i & 3 ? i : s >> 1; return s; }
	int main(int argc, char **argv) { int s = 0; for (int i = 0; i < (argc > 1 ? 2000000000 : 4000); i++) s += hot(10000 + i); return s == 42; }
END
(cd "$tmp" && sed "1i #line 1 \"$mount/source.c\"" source.c >moved.c && gcc -O1 -g -o program moved.c)
if ! serve "$tmp/source.c"; then
	echo "skip silent-files: $(head -n 1 "$tmp/served")"
	exit 0
fi

# ---------------------------------------------------------------- pathprofctl
export PATHPROF_DB=$tmp/recorded.db
"$ctl" record --no-report --overhead 60 -o "$PATHPROF_DB" -- "$tmp/program" >"$tmp/out" 2>&1 ||
	not_ok record "$(tail -n 3 "$tmp/out")"
# asks NAME FILE COMMAND...: who does not answer is told, in time.
asks() {
	local name=$1 file=$2 status=0 begin=$EPOCHSECONDS
	shift 2
	timeout 120 "$@" >"$tmp/out" 2>"$tmp/said" || status=$?
	check "$name-ends" "status $status after $((EPOCHSECONDS - begin)) s" \
		test "$status" -eq 1 -a $((EPOCHSECONDS - begin)) -le 60
	check "$name-told" "$(cat "$tmp/said")" grep -q "$file: does not answer" "$tmp/said"
}
answers() { # NAME WORD COMMAND...
	local name=$1 word=$2
	shift 2
	timeout 120 "$@" >"$tmp/out" 2>"$tmp/said" || true
	check "$name" "$(cat "$tmp/said")" grep -q "$word" "$tmp/out"
}
answers source-answers 'int s = 0' "$ctl" cfg hot
be_silent
asks source "$mount/source.c" "$ctl" cfg hot
speak
answers source-answers-again 'int s = 0' "$ctl" cfg hot

serve "$tmp/program" || not_ok serve "$(cat "$tmp/served")"
PATHPROF_DB=$tmp/served.db
"$ctl" record --no-report --overhead 60 -o "$PATHPROF_DB" -- "$mount/program" >"$tmp/out" 2>&1 ||
	not_ok record-served "$(tail -n 3 "$tmp/out")"
answers program-answers hot "$ctl" paths
be_silent
asks program "$mount/program" "$ctl" paths
# The child that reads names for the daemon: nobody waits for it for ever, the event loop not at all.
id=$(readelf -n "$tmp/program" | awk '/Build ID/ { print $3 }')
timeout 200 "$tools/names_of" "$mount/program" "$id" 0x1000 >"$tmp/out" 2>&1 || true
check names-given-up "$(cat "$tmp/out")" grep -qx -- -110 "$tmp/out"
check names-hold-nothing "$(cat "$tmp/out")" \
	true_that "$(sed -n 's/^held //p' "$tmp/out") < 5000"
speak

# ---------------------------------------------------------------- the daemon
# Looks at a program whose file server is silent from before the first look on, and at another.
start_busy
window_s=2
begin() {
	db=$tmp/$1.db
	start --db "$db" --source step --window "$window_s" --overhead 5 || not_ok "$1-starts" "not in time"
	watch_machine
	wait_for 15 eval '[ "$(windows)" -ge 2 ]' || true
}
# Kinds of identity that the program on the mount has: 1 is a build-id, 2 a device and inode.
kinds() { sql "SELECT group_concat(DISTINCT kind) FROM binaries WHERE name = '$mount/program'"; }
others_in() { sql "SELECT count(DISTINCT w.id) FROM windows w JOIN path_counts c ON c.window = w.id
	JOIN paths p ON p.id = c.path JOIN binaries b ON b.id = p.binary WHERE b.name LIKE '%/flow_loops'"; }
run_served() { "${neighbour[@]}" "$mount/program" for-ever & others+=("$!"); sleep 0.5; }
serve "$tmp/program" || not_ok serve "$(cat "$tmp/served")"
run_served
be_silent
begin silent
check asked "nobody asked the server" grep -q silent "$tmp/served"
what_must_hold silent 1
check others-profiled "flow_loops in $(others_in) windows" test "$(others_in)" -ge 1
stop
check ends-while-silent "exit status $stop_status after $stop_ms ms" \
	test "$stop_status" -eq 0 -a "$stop_ms" -lt 30000
check known-by-inode "kinds $(kinds)" test "$(kinds)" = 2
speak
begin speaking
what_must_hold speaking 1
stop
check known-by-build-id "kinds $(kinds)" test "$(kinds)" = 1

# A program that has unmapped its own file: only the link of /proc leads to that.
stop_others
cat >"$tmp/unmapped.c" <<-'END'
	#include <stdio.h>
	#include <string.h>
	#include <sys/mman.h>
	#include <sys/syscall.h>
	/* syscall; again: inc eax; jmp again */
	static const unsigned char code[] = {0x0f, 0x05, 0xff, 0xc0, 0xeb, 0xfc};
	int main(void)
	{
		unsigned char *copy = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		unsigned long start = 0, end = 0;
		FILE *maps = fopen("/proc/self/maps", "r");
		char line[4096], rights[8];
		memcpy(copy, code, sizeof(code));
		while (fgets(line, sizeof(line), maps))
			if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && rights[2] == 'x')
				break;
		asm volatile("jmp *%0" ::"r"(copy), "D"(start), "S"(end - start), "a"(SYS_munmap));
	}
END
gcc -O1 -o "$tmp/unmapped" "$tmp/unmapped.c"
serve "$tmp/unmapped" || not_ok serve "$(cat "$tmp/served")"
run_served
be_silent
begin unmapped
what_must_hold unmapped 1
check unmapped-is-profiled "not in the windows" test "$(sql "SELECT count(*) FROM path_counts c JOIN
	processes p ON p.id = c.process WHERE p.pid = ${others[0]}")" -ge 1
stop
check unmapped-ends "exit status $stop_status after $stop_ms ms" \
	test "$stop_status" -eq 0 -a "$stop_ms" -lt 30000
speak
finish
