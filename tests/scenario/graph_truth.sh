#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Graphs against what ran: every transfer and every straight run of an exact trace that lies in a
# function must be in the function's graph. Programs of every awkward shape, by two compilers at
# three levels and in the ways programs are linked; then Debian's own, with their libraries. A table
# of all of them is printed. Control: edges that are left out must be missed.
set -eu
. "$(dirname "$0")/trace_common.bash"
lab=$build/bin/pathprof-lab
trace_needs "$tracer" "$lab"
trace_needs_qemu
cd "$work"
mkdir cache
clang=$(command -v clang || true)

# ---------------------------------------------------------------- what is compiled
# NAME WORKLOAD COMPILER FLAGS...; static programs bring the C library's own assembly along.
matrix() {
	local compiler level program
	for compiler in gcc clang; do
		for level in 0 2 3; do
			for program in switch goto labels calls throw; do
				echo "$program-$compiler-O$level $program $compiler -O$level"
			done
		done
		for program in switch goto calls; do
			echo "$program-$compiler-nopie $program $compiler -O2 -no-pie -fno-pie"
			echo "$program-$compiler-cet $program $compiler -O2 -fcf-protection=full -s"
			echo "$program-$compiler-size $program $compiler -Os -fcf-protection=none"
			echo "$program-$compiler-noplt $program $compiler -O3 -fno-plt -s"
			echo "$program-$compiler-noframe $program $compiler -O2 -s" \
				"-fno-asynchronous-unwind-tables -fno-unwind-tables"
		done
		echo "switch-$compiler-static switch $compiler -O2 -static -no-pie -s"
		echo "calls-$compiler-static calls $compiler -O2 -static-pie"
		echo "throw-$compiler-stripped throw $compiler -O2 -s"
		echo "throw-$compiler-static throw $compiler -O1 -static -no-pie"
		echo "calls-$compiler-cleanup calls $compiler -O2 -fexceptions -fno-omit-frame-pointer"
		echo "calls-$compiler-lazy calls $compiler -O1 -Wl,-z,lazy -fcf-protection=full"
	done
	echo "switch-gcc-flat switch gcc -O2 -fno-jump-tables"
	echo "switch-gcc-native switch gcc -O3 -march=haswell -s"
	echo "calls-gcc-parts calls gcc -O2 -s -freorder-blocks-and-partition"
	echo "goto-gcc-large goto gcc -O2 -mcmodel=large -fno-pie -no-pie"
	echo "switch-gcc-large switch gcc -O2 -mcmodel=large -fno-pie -no-pie -s"
	echo "switch-clang-table switch clang -O2 -mno-red-zone -fno-pie -no-pie -s"
}

compile() { # NAME WORKLOAD COMPILER FLAGS...
	local name=$1 source=$tests_dir/workloads/graph_$2 compiler=$3
	shift 3
	if [ -e "$source.cpp" ]; then
		[ "$compiler" = gcc ] && compiler=g++ || compiler=clang++
		"$compiler" -Wl,--build-id "$@" -o "$name" "$source.cpp"
	else
		"$compiler" -std=gnu11 -D_GNU_SOURCE -Wl,--build-id "$@" -o "$name" "$source.c"
	fi
}

# Sets command; its input lies in the work directory.
describe() { # NAME
	case $1 in
	gzip) command=(/usr/bin/gzip -6 -n -c text) ;;
	bzip2) command=(/usr/bin/bzip2 -9 -c text) ;;
	bunzip2) command=(/usr/bin/bzip2 -dc text.bz2) ;;
	xz) command=(/usr/bin/xz -3 -T1 -c text) ;;
	lua) command=(/usr/bin/lua5.4 script.lua) ;;
	sqlite3) command=(/usr/bin/sqlite3 -batch :memory: '.read script.sql') ;;
	perl) command=(/usr/bin/perl script.pl) ;;
	python3) command=(/usr/bin/python3 -I script.py) ;;
	cc1) command=("$(gcc -print-prog-name=cc1)" -quiet -O2 program.i -o program.s) ;;
	*) command=("./$1") ;;
	esac
}
debian=(gzip bzip2 bunzip2 xz lua sqlite3 perl python3 cc1)

make_inputs() {
	seq -f '%g apples and pears, plums' 1 3000 >text
	bzip2 -c text >text.bz2
	cat >script.lua <<-'END'
		local t = {}
		for i = 1, 300 do t[#t + 1] = string.format("%d:%s", i, ("x"):rep(i % 7)) end
		table.sort(t, function(a, b) return a > b end)
		local ok, why = pcall(function() error({code = #t}) end)
		local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
		print(#table.concat(t), ok, why.code, co(), co(), ("a1b2"):gsub("%d", "#"), 7 // 2, 2^0.5)
	END
	cat >script.sql <<-'END'
		create table t(a integer primary key, b text, c real);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 200)
		insert into t select i, printf('%05d', i * 7919 % 1009), i / 3.0 from n;
		create index tb on t(b);
		select b, count(*), sum(c), group_concat(a) from t where b like '%3%' group by substr(b, 4) order by 2 desc;
		update t set c = abs(c - 20) where a in (select a from t order by b limit 40);
		delete from t where a % 3 = 0; select json_group_array(b) from t where a < 9; pragma integrity_check;
	END
	cat >script.pl <<-'END'
		my %h; $h{"k" . $_ % 17} .= chr(65 + $_ % 26) for 1 .. 400;
		for (sort keys %h) { $n++ if $h{$_} =~ /([A-M]+)[^N]*?(Z|Q)/; ($t = $h{$_}) =~ tr/A-Z/a-z/; }
		eval { die { code => 7 } }; local $_ = join ",", map { $_ * 2 } grep { $_ & 1 } 1 .. 50;
		my @p = unpack("A2 n C*", "ab\x01\x02xyz"); printf "%s %d %d %s\n", $n, $@->{code}, length, "@p[0,1]";
	END
	cat >script.py <<-'END'
		import json, re
		class A:
		    def __init__(self, n): self.n = n
		    def __lt__(self, other): return self.n < other.n
		def g(n):
		    try:
		        for i in range(n): yield i * i
		    finally: pass
		t = sorted(A(i * 7919 % 101) for i in range(60))
		s = json.dumps({"a": [x.n for x in t], "b": {"c": 1.5, "d": None}})
		try: {}["x"]
		except KeyError as e: s += repr(e)
		print(len(s), sum(g(20)), re.sub(r"(\d)\1", "#", s)[:20], f"{3.14159:.2f}", 7 ** 77 % 13)
	END
	gcc -E -P -O1 "$tests_dir/workloads/graph_calls.c" -o program.i
}

# ---------------------------------------------------------------- one program
check() { # NAME [DESCRIPTION...]
	local name=$1 status=0
	if [ $# -gt 1 ] && ! compile "$@" >"$name.said" 2>&1; then
		echo "not ok graph_truth_$name: $(head -1 "$name.said")"
		return
	fi
	describe "$name"
	env -i PATH=/usr/bin:/bin PERL_HASH_SEED=0 PYTHONHASHSEED=0 "$tracer" -q --limit 6000000 \
		-o "$name.trace" -- "${command[@]}" >"$name.out" 2>"$name.err" </dev/null || status=$?
	if [ $status -ne 0 ] || ! [ -s "$name.trace" ]; then
		echo "not ok graph_truth_$name: status $status: $(tail -1 "$name.err")"
		return
	fi
	"$lab" graph --cache cache --top 8 --trace "$name.trace" >"$name.table" 2>"$name.err" ||
		status=$?
	judge "$name" $status
	[ "$name" = switch-gcc-O2 ] || rm -f "$name.trace"
}

# Known misses, with their limits and reasons: these tests report the misses, and pass.
known() { # NAME MISSING
	local most why
	case $1 in
	labels-clang-*) most=1500 why="labels in no constant table" ;;
	switch-clang-noframe) most=200 why="neither symbols nor frames: functions are known by calls alone" ;;
	*) return 1 ;;
	esac
	echo "$why"
	[ "$2" -le $most ]
}

# One of 10,000 executions may be missing for a program of Debian's, none for ours; all of it must
# lie in functions.
judge() { # NAME STATUS
	local transfers inside missing why most=0
	read -r _ transfers inside missing _ < <(grep '^total ' "$1.table" || echo total 0 0.0 none)
	[[ " ${debian[*]} " == *" $1 "* ]] && most=$((transfers / 10000))
	if [ "$2" -gt 1 ] || [[ $missing != [0-9]* ]]; then
		echo "not ok graph_truth_$1: status $2: $(tail -1 "$1.err")"
	elif [ "$transfers" -lt 2000 ]; then
		echo "not ok graph_truth_$1: only $transfers transfers, which proves nothing"
	elif [ "$missing" -le "$most" ] && [ "${inside%.*}" -ge 99 ]; then
		echo "ok graph_truth_$1 ($transfers transfers, $missing missing)"
	elif why=$(known "$1" "$missing"); then
		echo "ok graph_truth_$1 ($transfers transfers, $missing missing," \
			"$inside % in functions: $why)"
	else
		cat "$1.table"
		echo "not ok graph_truth_$1: $missing executions missing, $inside % in functions"
	fi
}

lane() { # descriptions on standard input
	local line
	while read -r line; do
		check $line
	done
}

# ---------------------------------------------------------------- control
# The same trace with edges left out: of every class that the program has.
control() {
	local trace=switch-gcc-O2.trace class
	[ -e $trace ] || return 0
	if "$lab" graph --forget 7 --top 0 --trace $trace >forgotten; then
		not_ok graph_truth_control "every seventh edge is left out and nothing is missed"
		return
	fi
	for class in target switch call noreturn fall; do
		if grep -q "^  # $class:" forgotten; then
			ok "graph_truth_control_$class (left out, missed)"
		else
			not_ok "graph_truth_control_$class" "left out, not missed"
		fi
	done
	if "$lab" graph --forget 7 --allow 1000000000 --trace $trace >/dev/null; then
		ok "graph_truth_control_allow"
	else
		not_ok "graph_truth_control_allow" "allowed misses count"
	fi
}

figures() {
	"$lab" graph --json "$(command -v gzip)" >gzip.json
	"$lab" graph "$(command -v gzip)" >gzip.lines
	if python3 -c 'import json; f = json.load(open("gzip.json"))
assert f["functions"] > 50 and f["switches"] > 0 and f["edges"] == sum(
    v for k, v in f.items() if k.startswith("edges_"))' &&
		[ "$(grep -c . gzip.lines)" -eq "$(python3 -c 'import json
print(len(json.load(open("gzip.json"))))')" ]; then
		ok graph_truth_figures
	else
		not_ok graph_truth_figures "$(head -3 gzip.json)"
	fi
	if "$lab" graph "$tests_dir/run" >/dev/null 2>err || ! [ -s err ]; then
		not_ok graph_truth_no_elf "a script has a graph"
	else
		ok graph_truth_no_elf
	fi
}

make_inputs
{
	echo cc1
	matrix
	printf '%s\n' "${debian[@]}" | grep -v cc1
} >all
[ -n "$clang" ] || sed -i '/clang/d' all
# cc1's graph takes as long as many others: one lane begins with it.
lane < <(sed -n '1~2p' all) >lane1 &
lane < <(sed -n '2~2p' all) >lane2
wait
cat lane1 lane2
grep -q '^not ok' lane1 lane2 && failed=1
control
figures
# A row a file: of the same file in several traces the one with most transfers.
echo "# file, transfers, % in functions, missing, %, edges, guessed, seconds"
grep -h '^/' ./*.table | grep -v "^$work" | sort -k1,1 -k2,2nr | awk '!seen[$1]++'
exit $failed
