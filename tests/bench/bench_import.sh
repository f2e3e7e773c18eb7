#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How fast a recording becomes windows, beside `perf script` and perf2bolt reading the same file in
# the same run: a perf.data of 214 MB (260,000 stacks of 32) cut out of the exact trace of a real
# program. Ours and perf's are the best of three, in turns, perf2bolt's is one.
#
#     BUILD=build tests/bench/bench_import.sh [COMMAND ARGUMENTS...]
#
# Without a command: gzip, perl and sqlite3, a minute each. Needs pathprof's programs and
# tests/tools, qemu-user, python3, readelf; tells of perf and perf2bolt only where they are.
set -u
build=$(realpath "${BUILD:-build}")
stacks=${STACKS:-260000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME=$work

fail() {
	echo "bench_import: $1" >&2
	exit 1
}

# measure COMMAND...: seconds of wall clock, of all its processors, and the most kB that were resident.
measure() {
	python3 -c '
import resource, subprocess, sys, time
begin = time.monotonic()
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open("err", "w"))
wall = time.monotonic() - begin
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.3f %.3f %d" % (wall, used.ru_utime + used.ru_stime, used.ru_maxrss))
sys.exit(done.returncode)' "$@" || { head -n 3 err >&2; return 1; }
}

# The code of the program alone, as a loader maps it and perf2bolt wants it; the tracer has one
# mapping for all of the file.
map_code() {
	local offset bytes from to
	read -r offset bytes < <(readelf -lW "$binary" |
		awk '$1 == "LOAD" && / R E / { print $2, $5 }')
	from=$((offset & ~4095)) to=$(((offset + bytes + 4095) & ~4095))
	while read -r verb pid time start rest; do
		case "$verb $rest" in
		"mmap2 "*" 0x0 5 "*" $binary")
			printf 'mmap2 %s %s 0x%x 0x%x 0x%x 5 %s\n' "$pid" "$time" \
				$((start + from)) $((to - from)) $from "${rest#* 0x0 5 }"
			;;
		*) echo "$verb $pid $time $start $rest" ;;
		esac
		[ "$verb" = mmap2 ] || [ "$verb" = exec ] || [ "$verb" != sample ] || break
	done
	cat
}

make_recording() {
	"$build/bin/pathprof-trace" -o trace -- "$@" >/dev/null 2>err || fail "$(head -n 1 err)"
	"$build/tests/tools/trace_recording" trace "$stacks" 32 /dev/stdout /dev/null | map_code |
		"$build/tests/tools/perf_data_write" recorded || fail "no recording"
}

import() {
	rm -f db*
	measure "$build/bin/pathprofctl" import -j -o db recorded
}

best() { sort -g "$1" | head -n 1; }

# said NAME FILE: a program's figures, and how many times as long as ours.
said() {
	[ -s "$2" ] && echo "$(best "$2") $(best ours)" | awk -v name="$name.$1" '{
		printf "import.%s %.2f s, %.2f s of processor; ours is %.1f times as fast, of processor %.1f\n",
			name, $1, $2, $1 / $4, $2 / $5 }' || echo "import.$name.$1 - (not here)"
}

bench() {
	local name=${1##*/}
	binary=$(realpath "$(command -v "$1")")
	make_recording "$@"
	rm -f ours perfs bolts
	for _ in 1 2 3; do
		import >>ours || fail "import"
		command -v perf >/dev/null && measure perf script -i recorded \
			-F pid,tid,time,ip,brstack >>perfs
	done
	command -v perf2bolt-22 >/dev/null && command -v perf >/dev/null &&
		measure perf2bolt-22 --allow-stripped -p recorded -o out.fdata "$binary" >bolts
	best ours | awk -v name="$name" -v bytes="$(stat -c %s recorded)" '{
		printf "import.%s %.0f MB/s (%.0f MB in %.2f s, %.2f s of processor)\n", name,
			bytes / 1e6 / $1, bytes / 1e6, $1, $2
		printf "import.%s.memory %.1f MB\n", name, $3 / 1024 }'
	said perf_script perfs
	said perf2bolt bolts
}

for program in bin/pathprof-trace bin/pathprofctl tests/tools/trace_recording tests/tools/perf_data_write; do
	[ -x "$build/$program" ] || fail "$build/$program is not built"
done
if [ $# -gt 0 ]; then
	bench "$@"
	exit
fi
printf 'hello world %s\n' {1..30000} >text
bench gzip -c text
bench perl -e 'my %h; $h{$_ % 77} .= $_ for 1..9000; print join ",", sort keys %h'
bench sqlite3 :memory: "create table t(a,b,c);
	with recursive n(i) as (select 1 union all select i+1 from n where i<3000)
	insert into t select i, i*7919%1000, 'x'||i from n; create index x on t(b);
	select count(*), sum(a) from t group by b%10;
	select a.a,b.c from t a join t b on a.b=b.a order by b.c limit 10;"
