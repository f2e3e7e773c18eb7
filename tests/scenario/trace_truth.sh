#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The exact trace against single-stepping: every transfer of every thread that touches the program
# (or one of its libraries) must be the same, with the same number of instructions in between.
# For some programs, every load and store of their own code as well: the address, and a load's
# value.
# Controls: each kind of falsified field, and another input, must be found to differ.
set -eu
. "$(dirname "$0")/trace_common.bash"
. "$(dirname "$0")/../rounds.bash"
accesses=$build/tests/truth/trace_accesses
trace_needs "$tracer" "$dump" "$truth" "$accesses" "$workload_dir"/{flow_loops,flow_signal} \
	"$workload_dir"/trace_{signals,threads,forks,values}
trace_needs_qemu
cd "$work"

# The same for both: the length of the environment moves the stack. Bound at once, since the lazy
# binder is chosen by the processor, whose address the program then loads.
clean=(env -i PATH=/usr/bin:/bin)
# And so are the functions of the C library, by what the processor has and what suits its model:
# without any of it, the same are chosen on each machine and by the emulator.
plain=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-RTM,-FMA,-BMI2,-BMI1,-LZCNT,-MOVBE,-POPCNT
plain+=,-SSE4_2,-SSE4_1,-SSSE3,-ERMS,-FSRM,-Prefer_ERMS,-Prefer_FSRM,-Fast_Unaligned_Load
plain+=,-Fast_Unaligned_Copy,-AVX_Fast_Unaligned_Load,-Fast_Copy_Backward,-Slow_BSF
bound=("${clean[@]}" LD_BIND_NOW=1 GLIBC_TUNABLES=glibc.cpu.hwcaps=$plain)

gcc -nostdlib -static -no-pie -o branch_kinds "$tests_dir/workloads/branch_kinds.S"
seq -f '%g apples and pears' 1 200 >text
head -n "$(rounds 30 200)" text >to_sort
sed 's/^77 apples/77 oranges/' text >other_text
echo "create table t(a integer primary key, b text); insert into t values(1,'x'),(2,'y'),(3,'z');
select b, a*2 from t where a > 1 order by b desc;" >script.sql

script='$h{"k$_"} = $_ * $_ % 97 for 1..20; /7/ and $s += $h{$_} for sort keys %h; print "$s\n"'

# Sets command, module (empty: the program itself) and the least number of transfers.
describe() { # NAME
	module=
	case $1 in
	kinds) least=30000 command=("$work/branch_kinds") ;;
	loops) least=5000 command=("$workload_dir/flow_loops" 0000001) ;;
	breakpoints) least=1000 command=("$workload_dir/flow_signal" 0000002) ;;
	signals) least=15000 command=("$workload_dir/trace_signals") ;;
	values) least=12000 command=("$workload_dir/trace_values") ;;
	locked) least=12000 command=("$workload_dir/trace_values" thread) ;;
	threads) least=50000 command=("$workload_dir/trace_threads") ;;
	forks) least=8000 command=("$workload_dir/trace_forks") ;;
	gzip) least=30000 command=(/usr/bin/gzip -6 -n -c text) ;;
	bzip2) least=50000 module=libbz2.so command=(/usr/bin/bzip2 -1 -c to_sort) ;;
	sqlite3) least=50000 module=libsqlite3.so
		command=(/usr/bin/sqlite3 -batch :memory: '.read script.sql') ;;
	perl) least=100000 command=(/usr/bin/perl -e "$script") ;;
	esac
	command[0]=$(realpath "${command[0]}")
}

# Lua is not among them: the seed of its hash tables is made of addresses and the time, so it takes
# other ways under an emulator than natively.

# Those whose loads and stores are compared.
takes_accesses() { # NAME
	case $1 in
	signals | values | locked | threads | gzip | perl) return 0 ;;
	*) return 1 ;;
	esac
}

environment_of() { # NAME
	environment=("${clean[@]}")
	takes_accesses "$1" && environment=("${bound[@]}")
	# One variable only: the emulator turns their order, and perl walks over them.
	[ "$1" = perl ] && environment=(env -i PERL_HASH_SEED=0)
	return 0
}

# Single-steps one after the other; two lanes side by side take half the time.
lane() { # NAME...
	local name wish
	for name; do
		describe "$name"
		environment_of "$name"
		wish=()
		takes_accesses "$name" && wish=(-a "$name.accesses")
		"${environment[@]}" "$truth" ${module:+-m "$module"} "${wish[@]}" "$name.truth" \
			"${command[@]}" >"$name.said" 2>"$name.figures" </dev/null
		echo $? >"$name.status"
	done
}

# Traces a command into NAME.events; false when that failed.
trace_events() { # NAME MODULE COMMAND...
	local name=$1 module=$2 status=0
	shift 2
	environment_of "$name"
	"${environment[@]}" "$tracer" -q -o "$name.trace" -- "$@" >"$name.out" 2>"$name.err" \
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

# Loads with their values, then loads and stores: a trace each.
compare_accesses() { # NAME KIND...
	local name=$1 kind said
	shift
	describe "$name"
	environment_of "$name"
	for kind; do
		"${environment[@]}" "$tracer" -q --$kind -o "$name.$kind" -- "${command[@]}" \
			>/dev/null 2>"$name.err" </dev/null
		said=$("$accesses" "$name.accesses" "$name.$kind" 2>"$name.differ")
		if [ $? -eq 0 ] && enough "$name" $said; then
			ok "trace_truth_${name}_$kind ($said)"
		else
			tail -qn 8 "$name.err" "$name.differ"
			not_ok "trace_truth_${name}_$kind" "${said:-no answer}"
		fi
	done
}

# One access in ten at most may be one that tells where things lie.
enough() { # NAME accesses N learned N locked N wrong N
	[ "$3" -ge 300 ] && [ "$5" -lt $(($3 / 10)) ] && [ "$9" -eq 0 ] &&
		[ "$7" -eq 0 -o "$1" = locked ]
}

control_accesses() {
	local seed found=0
	for seed in 0 1 2 3; do
		"$accesses" -f $seed values.accesses values.loads >/dev/null 2>&1
		[ $? -eq 1 ] && found=$((found + 1))
	done
	if [ $found -eq 4 ]; then
		ok "trace_truth_falsified_access (4 fields)"
	else
		not_ok trace_truth_falsified_access "$found of 4 falsified fields found"
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
# In full another program and another library.
more_program=$(rounds "" perl)
more_library=$(rounds "" sqlite3)
lane kinds loops breakpoints signals threads forks gzip bzip2 &
lane $more_library values locked $more_program &
wait
for name in kinds loops breakpoints signals values locked threads forks gzip bzip2 $more_library $more_program; do
	compare $name
done
for name in signals values locked threads gzip; do
	compare_accesses $name loads memory
done
# Addresses only: it loads halves of pointers, random numbers and what the C library left on the
# stack, which no distance explains.
[ -z "$more_program" ] || compare_accesses perl memory
control_fields
control_accesses
control_input
exit $failed
