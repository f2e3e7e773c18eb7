#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The exact trace against single-stepping: every transfer of every thread that touches the program
# (or one of its libraries) must be the same, with the same number of instructions in between.
# Controls: each kind of falsified field, and another input, must be found to differ.
set -eu
. "$(dirname "$0")/trace_common.bash"
trace_needs "$tracer" "$dump" "$truth" "$workload_dir"/{flow_loops,flow_signal} \
	"$workload_dir"/trace_{signals,threads,forks}
trace_needs_qemu
cd "$work"

# The same for both: the length of the environment moves the stack.
clean=(env -i PATH=/usr/bin:/bin)

gcc -nostdlib -static -no-pie -o branch_kinds "$tests_dir/workloads/branch_kinds.S"
seq -f '%g apples and pears' 1 200 >text
sed 's/^77 apples/77 oranges/' text >other_text
echo "create table t(a integer primary key, b text); insert into t values(1,'x'),(2,'y'),(3,'z');
select b, a*2 from t where a > 1 order by b desc;" >script.sql

# Sets command, module (empty: the program itself) and the least number of transfers.
describe() { # NAME
	module=
	case $1 in
	kinds) least=30000 command=("$work/branch_kinds") ;;
	loops) least=5000 command=("$workload_dir/flow_loops" 0000001) ;;
	breakpoints) least=1000 command=("$workload_dir/flow_signal" 0000002) ;;
	signals) least=15000 command=("$workload_dir/trace_signals") ;;
	threads) least=50000 command=("$workload_dir/trace_threads") ;;
	forks) least=8000 command=("$workload_dir/trace_forks") ;;
	gzip) least=30000 command=(/usr/bin/gzip -6 -n -c text) ;;
	bzip2) least=50000 module=libbz2.so command=(/usr/bin/bzip2 -1 -c text) ;;
	sqlite3) least=50000 module=libsqlite3.so
		command=(/usr/bin/sqlite3 -batch :memory: '.read script.sql') ;;
	esac
	command[0]=$(realpath "${command[0]}")
}

# Single-steps one after the other; two lanes side by side take half the time.
lane() { # NAME...
	local name
	for name; do
		describe "$name"
		"${clean[@]}" "$truth" ${module:+-m "$module"} "$name.truth" "${command[@]}" \
			>"$name.said" 2>"$name.figures" </dev/null
		echo $? >"$name.status"
	done
}

# Traces a command into NAME.events; false when that failed.
trace_events() { # NAME MODULE COMMAND...
	local name=$1 module=$2 status=0
	shift 2
	"${clean[@]}" "$tracer" -q -o "$name.trace" -- "$@" >"$name.out" 2>"$name.err" \
		</dev/null || status=$?
	echo $status >"$name.traced"
	"$dump" ${module:+-m "$module"} "$name.trace" "$name.events" 2>>"$name.err"
}

compare() { # NAME
	local name=$1 cnt
	describe "$name"
	if ! trace_events "$name" "$module" "${command[@]}"; then
		not_ok "trace_truth_$name" "$(tail -1 "$name.err")"
		return
	fi
	cnt=$(grep -cvE '^stream|signal|sigreturn|jump' "$name.truth")
	if ! cmp -s "$name.status" "$name.traced" || ! cmp -s "$name.said" "$name.out"; then
		not_ok "trace_truth_$name" "exit status or output differ: $(tail -1 "$name.err")"
	elif ! cmp -s "$name.truth" "$name.events"; then
		diff "$name.truth" "$name.events" | head -12
		not_ok "trace_truth_$name" \
			"$cnt transfers, $(diff "$name.truth" "$name.events" | grep -c '^[<>]') lines differ"
	elif [ "$cnt" -lt "$least" ]; then
		not_ok "trace_truth_$name" "only $cnt transfers, which proves nothing"
	else
		ok "trace_truth_$name ($cnt transfers, 0 differences)"
	fi
}

control_fields() {
	local seed differ=0
	for seed in 0 1 2 3 4; do
		"$dump" -f $seed kinds.trace falsified
		[ "$(diff kinds.truth falsified | grep -c '^[<>]')" -eq 2 ] && differ=$((differ + 1))
	done
	if [ $differ -eq 5 ]; then
		ok "trace_truth_falsified (5 fields)"
	else
		not_ok trace_truth_falsified "$differ of 5 falsified fields found"
	fi
}

control_input() {
	trace_events other "" /usr/bin/gzip -6 -n -c other_text
	if [ -s gzip.truth ] && [ -s other.events ] && ! cmp -s gzip.truth other.events; then
		ok trace_truth_other_input
	else
		not_ok trace_truth_other_input "gzip of another text has the same trace"
	fi
}

set +e
lane kinds loops breakpoints signals threads forks gzip bzip2 &
lane sqlite3 &
wait
for name in kinds loops breakpoints signals threads forks gzip bzip2 sqlite3; do
	compare $name
done
control_fields
control_input
exit $failed
