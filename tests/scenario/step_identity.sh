#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Real programs under heavy sampling: output and exit status as without, to the byte.
set -eu
. "$(dirname "$0")/step_common.bash"
. "$(dirname "$0")/../rounds.bash"
step_needs "$truth_dir/bursts" "$workload_dir"/{threads_sum,exec_storm,filtered}

seq 1 400000 >"$work/input"
cat >"$work/sum.pl" <<'PERL'
my %seen; for my $i (1..400000) { $seen{($i * 7919) % 1009} += $i } print map { "$_ $seen{$_}\n" } sort keys %seen;
PERL
cat >"$work/sum.py" <<'PYTHON'
d = {}
for i in range(600000):
    d[i * 7919 % 1009] = d.get(i * 7919 % 1009, 0) + i
print(sorted(d.items()))
PYTHON
cat >"$work/sum.sql" <<'SQL'
CREATE TABLE t(a, b);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
INSERT INTO t SELECT i, i * 7919 % 1009 FROM n;
SELECT b, count(*), sum(a) FROM t GROUP BY b ORDER BY b;
SQL
{
	echo '#include <stdio.h>'
	for i in $(seq 1 400); do
		echo "int f$i(int x) { int s = 0; for (int i = 0; i < x; i++) switch (i % 5) {" \
			"case 0: s += i * $i; break; case 1: s ^= i; break; default: s -= $i; }" \
			"return s; }"
	done
} >"$work/big.c"

same() { # NAME COMMAND...
	local name=step_identity_$1 bare=0 watched bursts end=$((SECONDS + 600))
	shift
	if ! command -v "$1" >/dev/null; then
		skip "$name" "$1 is not installed"
		return
	fi
	"$@" >"$work/bare" 2>"$work/bare.err" <"$work/input" || bare=$?
	# On a busy machine a short run may end before it was stepped once: then it runs again.
	while :; do
		watched=0
		timeout 1800 "$truth_dir/bursts" -t 16 -b 600000 -f 2000 ${holder:+"$holder"} "$work/bursts" "$@" \
			>"$work/watched" 2>"$work/watched.err" <"$work/input" || watched=$?
		grep '^bursts:' "$work/watched.err" >"$work/figures" || true
		# the stepper's own word on a process that does not let itself be seized
		sed -i '/^bursts:/d; /^pathprofd: step: process/d' "$work/watched.err"
		bursts=$(figure "$work/figures" bursts)
		[ "$bursts" = 0 ] && [ $SECONDS -lt $end ] || break
	done
	if [ $bare != $watched ]; then
		not_ok "$name$holder" "exit status $watched, not $bare"
	elif ! cmp -s "$work/bare" "$work/watched" || ! cmp -s "$work/bare.err" "$work/watched.err"; then
		not_ok "$name$holder" "output differs: $({ diff "$work/bare" "$work/watched"
			diff "$work/bare.err" "$work/watched.err"; } | head -5 | cut -c1-200 | tr '\n' ';')"
	elif [ "$bursts" -eq 0 ]; then
		not_ok "$name$holder" "no bursts"
	else
		ok "$name$holder ($bursts bursts)"
	fi
}

# By perf's breakpoints, and by debug registers; in short the latter with some of them.
for holder in "" -d; do
	same gzip gzip -9 -c -n
	same threads "$workload_dir/threads_sum" 1500000
	same forks "$workload_dir/exec_storm" 150
	[ -z "$holder" ] || [ "$(rounds few all)" = all ] || continue
	same bzip2 bzip2 -c
	same perl perl "$work/sum.pl"
	same python3 python3 "$work/sum.py"
	same sqlite3 sqlite3 -init "$work/sum.sql" :memory: .quit
	same cc1 gcc -O2 -S -o - "$work/big.c"
	same pipeline bash -c 'sort -r | gzip -c -n | gunzip | tail -5; exit 3'
done

# Under a seccomp filter, as containers and hardened services run.
holder=
filtered=$workload_dir/filtered
same docker_gzip "$filtered" docker gzip -9 -c -n
same docker_python3 "$filtered" docker python3 "$work/sum.py"
same docker_pipeline "$filtered" docker bash -c 'sort -r | gzip -c -n | gunzip | tail -5; exit 3'
same docker_forks "$filtered" docker "$workload_dir/exec_storm" 100
same listed_gzip "$filtered" listed gzip -9 -c -n
same listed_bzip2 "$filtered" listed bzip2 -c
same listed_threads "$filtered" listed "$workload_dir/threads_sum" 1500000
exit $failed
