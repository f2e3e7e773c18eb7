#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Windows of taken branches, cut out of exact traces of real programs and of workloads, come back
# with the paths they had; spoilt ones are refused where the code tells; a file that is another one
# now is not believed.
set -u
. "$(dirname "$0")/../own_processes.bash"
. "$(dirname "$0")/trace_common.bash"
lab=$build/bin/pathprof-lab
trace_needs "$lab" "$tracer" "$workload_dir/flow_loops" "$workload_dir/flow_signal" \
	"$workload_dir/trace_threads" "$workload_dir/trace_forks" \
	"$build/tests/truth/bursts" "$build/tests/truth/retaken"
trace_needs_qemu
cd "$work" || exit 1

value() { awk -v name="$1" '$1 == name { print $2 }' "$2"; }

# equal NAME TRACE: both lengths, nothing refused, every branch and path the same.
equal() {
	local n out=$work/$1.windows
	for n in 16 32; do
		if ! "$lab" windows --taken $n --windows 4000 --seed $n "$2" >"$out" 2>"$out.err"; then
			not_ok "$1, windows of $n: paths" "$(tr '\n' ' ' <"$out") $(cat "$out.err")"
			return
		fi
		if [ "$(value windows "$out")" -eq "$(value same_windows "$out")" ] &&
			[ "$(value paths "$out")" -eq "$(value same_paths "$out")" ] &&
			[ "$(value refused "$out")" -eq 0 ] && [ "$(value paths "$out")" -gt 5000 ]; then
			ok "$1, windows of $n: $(value paths "$out") paths are the same"
		else
			not_ok "$1, windows of $n" "$(tr '\n' ' ' <"$out")"
		fi
	done
}

# real NAME COMMAND...: a million blocks from the middle of a program.
real() {
	local name=$1
	shift
	if ! command -v "$1" >/dev/null; then
		echo "skip reconstruct $name: no $1"
		return
	fi
	"$tracer" -q --skip 200000 --limit 1000000 -o "$name.trace" -- "$@" >/dev/null 2>&1
	equal "$name" "$name.trace"
}

head -c 300000 "$build/bin/pathprof-lab" >input
real gzip gzip -6 -c input
real bzip2 bzip2 -c input
real perl perl -e 'my %h; for my $i (1 .. 99999) { $h{$i % 77} .= chr(65 + $i % 26); } print %h'
real sqlite3 sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n
	where i < 9999) select sum(i), count(distinct i % 7) from n where i % 3'
for workload in flow_loops flow_signal trace_threads trace_forks; do
	"$tracer" -q -o $workload.trace -- "$workload_dir/$workload" >/dev/null 2>&1
	equal $workload $workload.trace
done

# A changed entry that does not contradict the code is a way that the program might have gone. A
# branch one byte on, or one that leads a byte on, is hardly ever such.
"$lab" windows --falsify --taken 32 --windows 4000 perl.trace >falsified 2>err
for how in from_plus_1 to_plus_1 dropped repeated swapped; do
	tried=$(value ${how}_tried falsified)
	refused=$(value ${how}_refused falsified)
	others=$(($(value ${how}_passed_same falsified) + $(value ${how}_passed_different falsified)))
	case $how in from_plus_1) least=99 ;; to_plus_1) least=60 ;; *) least=40 ;; esac
	if [ "$tried" -gt 1000 ] && [ $((refused + others)) -eq "$tried" ] &&
		[ $((100 * refused)) -ge $((least * tried)) ]; then
		ok "$how: $refused of $tried refused"
	else
		not_ok "$how" "$refused of $tried refused, $others passed"
	fi
done

# The same of what the processor itself executes, which may be other variants of the libraries: a
# running program is stepped, and its bursts are held against what its mappings give.
native() { # NAME COMMAND...
	local name=$1 pid
	shift
	command -v "$1" >/dev/null || return
	"$@" >/dev/null 2>&1 &
	pid=$!
	until [ "/proc/$pid/exe" -ef "$(command -v "$1")" ] || ! kill -0 $pid; do sleep 0.02; done
	sleep 0.2
	"$build/tests/truth/bursts" -m -p $pid -t 32 -n 60 -s 120 -b 900000 $name.bursts 2>err
	cat /proc/$pid/maps >$name.maps
	kill -KILL $pid
	wait $pid 2>/dev/null
	"$build/tests/truth/retaken" $name.bursts $name.maps >out 2>>err
	if read -r _ windows _ same _ refused <out && [ "$windows" -ge 10 ] &&
		[ "$same" -eq "$windows" ] && [ "$refused" -eq 0 ]; then
		ok "$name on the processor: $windows windows are the same"
	else
		not_ok "$name on the processor" "$(cat out err)"
	fi
}
native perl perl -e 'for (;;) { $h{$i++ % 999} .= "x$i"; $h{3} = ""; $n += () = "a,b,$i" =~ /,/g }'
native sqlite3 sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n)
	select count(*), max(hex(i)), sum(i % 7) from n where i like "%3%"'

# Another program under the old name: its windows are refused for want of code, and nothing else is.
cp "$workload_dir/flow_loops" replaced
"$tracer" -q -o replaced.trace -- ./replaced >/dev/null 2>&1
cp "$workload_dir/flow_signal" replaced.new
mv replaced.new replaced
"$lab" windows --windows 1000 replaced.trace >out 2>err
status=$?
unknown=$(value refused_unknown_code out)
if [ $status -eq 0 ] && [ "$unknown" -gt 0 ] && [ "$unknown" -eq "$(value refused out)" ] &&
	[ "$(value reconstructed out)" -eq "$(value same_windows out)" ] &&
	grep -q '^# .*replaced: is another file' err; then
	ok "a replaced file is not believed: $unknown of 1000 windows refused"
else
	not_ok "a replaced file" "status $status, $(tr '\n' ' ' <out) $(cat err)"
fi
rm replaced
"$lab" windows --windows 1000 replaced.trace >out 2>err
if [ "$(value refused_unknown_code out)" -eq "$unknown" ]; then
	ok "nor is one that is gone"
else
	not_ok "a file that is gone" "$(tr '\n' ' ' <out)"
fi
exit $failed
