#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every path that programs really run, by exact traces, has its number in the graph of its file, or
# runs on into another function. Programs that use longjmp leave stale paths and are not among them.
set -u
. "$(dirname "$0")/trace_common.bash"
tool=$build/tests/tools/number_trace
trace_needs "$tracer" "$tool"
trace_needs_qemu

# program NAME COMMAND...: one line.
program() {
	local name=$1 figures
	shift
	if [ ! -x "$1" ]; then
		echo "skip number-trace-$name: no $1"
		return
	fi
	"$tracer" -o "$work/$name.trace" -- "$@" >/dev/null 2>&1
	if figures=$("$tool" "$work/$name.trace" 2>"$work/err"); then
		ok "number-trace-$name # $figures"
	else
		not_ok "number-trace-$name" "$figures; $(head -n 1 "$work/err")"
	fi
}

head -c 100000 "$tests_dir"/unit/*.c | head -c 300000 >"$work/text"
cat >"$work/rows.sql" <<'SQL'
create table t(a, b);
insert into t values (1, 2), (3, 4), (5, 6);
select a, sum(b) from t group by a order by b desc;
select * from t x, t y where x.a < y.b;
SQL
cat >"$work/loop.c" <<'C'
int f(int x)
{
	int s = 0;

	for (int i = 0; i < x; i++)
		s += i % 7 ? i * i : -i;
	return s;
}
C
echo 'local t = {} for i = 1, 5000 do t[i] = i * 7919 % 997 end table.sort(t) print(#t)' >"$work/sort.lua"

program gzip /bin/gzip -c "$work/text"
program bzip2 /bin/bzip2 -c "$work/text"
program xz /usr/bin/xz -1 -c "$work/text"
program lua /usr/bin/lua5.4 "$work/sort.lua"
program sqlite3 /usr/bin/sqlite3 :memory: ".read $work/rows.sql"
program cc1 "$(gcc -print-prog-name=cc1)" -quiet -O1 "$work/loop.c" -o /dev/null

if "$tool" "$work/gzip.trace" plant >"$work/out" 2>&1; then
	not_ok number-trace-planted "paths with another outcome have numbers all the same"
else
	ok number-trace-planted
fi
exit $failed
