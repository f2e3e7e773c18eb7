# SPDX-License-Identifier: GPL-2.0-or-later
# What runs in the guest on a distribution's kernel.
. ./common.sh

if ! load; then
	not_ok load "$(dmesg | tail -3)"
	exit 1
fi
ok load
insmod /modules/testpmu.ko || not_ok load_testpmu "insmod"
./vmhold &

# No digit above 5, the last of the largest number: strtol compares again for those.
few=0000000003
endless=0555555555

# The truth of each workload, single-stepped here, two at a time: one to a CPU.
take_truths() {
	local workload pids=
	for workload in $vm_flows; do
		taskset $(((${#pids} > 0) + 1)) ./truth "/tmp/$workload.truth" "./$workload" $few \
			>/tmp/$workload.out 2>&1 &
		pids="$pids $!"
	done
	wait $pids
}

# windows WORKLOAD TAKEN COUNT: every one must stand in the truth, without a gap.
windows() {
	local name=windows_$1_$2 status
	./vmread -k -t "$2" -n "$3" -s $vm_window_s /tmp/windows "./$1" $endless \
		>/tmp/out 2>/tmp/figures
	status=$?
	if [ $status -ne 0 ]; then
		not_ok "$name" "status $status: $(tail -2 /tmp/figures | tr '\n' ';') $(cat /tmp/out)"
		return
	fi
	sed 's/^/#   /' /tmp/figures
	run_check "$name" ./check "/tmp/$1.truth" /tmp/windows
	with_branches=$((with_branches + $(figure /tmp/figures windows) - $(figure /tmp/figures empty)))
}

all_windows() {
	local workload cnt=0
	with_branches=0
	take_truths
	for workload in $vm_flows; do cnt=$((cnt + 1)); done
	for workload in $vm_flows; do
		if ! [ -s "/tmp/$workload.truth" ]; then
			not_ok "truth_$workload" "$(tail -1 /tmp/$workload.out)"
			continue
		fi
		sed 's/^/#   /' /tmp/$workload.out
		windows "$workload" 32 $((vm_windows / cnt / 4 + 1))
		windows "$workload" 4 $((vm_windows * 3 / cnt / 4 + 1))
		run_check "falsified_$workload" ./check -c "/tmp/$workload.truth" /tmp/windows
	done
	if [ $with_branches -ge "$vm_windows" ]; then
		ok "windows_count ($with_branches with branches)"
	else
		not_ok windows_count "$with_branches of $vm_windows"
	fi
}

# What each instruction of the two programs is, single-stepped here; one to a CPU.
take_steps() {
	local workload pids=
	for workload in vmflow vmrounds; do
		taskset $(((${#pids} > 0) + 1)) ./vmsteps "/tmp/$workload.steps" "./$workload" $few \
			>/tmp/$workload.out 2>&1 &
		pids="$pids $!"
	done
	wait $pids
}

# horizons WORKLOAD HORIZON COUNT: every window must lie in the truth, instruction by instruction.
horizons() {
	local name=horizon_$1_$2 status
	./vmread -k -h "$2" -n "$3" -s $vm_window_s /tmp/windows "./$1" $endless \
		>/tmp/out 2>/tmp/figures
	status=$?
	if [ $status -ne 0 ]; then
		not_ok "$name" "status $status: $(tail -2 /tmp/figures | tr '\n' ';') $(cat /tmp/out)"
		return
	fi
	sed 's/^/#   /' /tmp/figures
	run_check "$name" ./vmhorizon "$2" "/tmp/$1.steps" /tmp/windows
	run_check "${name}_falsified" ./vmhorizon -c "$2" "/tmp/$1.steps" /tmp/windows
}

horizon() {
	local workload
	take_steps
	for workload in vmflow vmrounds; do
		if ! [ -s "/tmp/$workload.steps" ]; then
			not_ok "steps_$workload" "$(tail -1 /tmp/$workload.out)"
			continue
		fi
		sed 's/^/#   /' /tmp/$workload.out
		horizons $workload 512 $((vm_windows / 4 + 1))
		horizons $workload 60 $((vm_windows / 8 + 1))
		horizons $workload 1024 $((vm_windows / 16 + 1))
	done
}

# Programs that would notice, with every process watched as hard as the module will.
stress() {
	local status
	./vmpester "$vm_stress_s" >/tmp/pester 2>&1 &
	pester=$!
	./vmread -a -p 100000 -s 600 /dev/null ./tf_watch "$vm_stress_s" 3 io >/tmp/out 2>/tmp/figures
	status=$?
	sed 's/^/#   /' /tmp/figures
	if [ $status -eq 0 ] && [ "$(figure /tmp/figures windows)" -gt 30 ]; then
		ok "stress_tf_watch ($(figure /tmp/figures windows) windows)"
	else
		not_ok stress_tf_watch "status $status: $(tail -3 /tmp/out | tr '\n' ';')"
	fi
	if wait $pester; then
		ok "stress_pester ($(tail -1 /tmp/pester))"
	else
		not_ok stress_pester "$(tail -3 /tmp/pester | tr '\n' ';')"
	fi
	if [ "$(figure /tmp/figures switched)" -gt 0 ]; then
		ok "stress_switched ($(figure /tmp/figures switched) windows)"
	else
		not_ok stress_switched "no thread was switched away in mid-burst"
	fi
}

# Two seconds of stress on every process; 0: something was noticed.
complaints() {
	./vmpester 2 >/tmp/pester 2>&1 &
	pester=$!
	timeout -s KILL 20 ./vmread -a -p 100000 -s 600 /dev/null ./tf_watch 2 3 >/tmp/out 2>/tmp/figures
	status=$?
	wait $pester
	# A run that was merely too slow has seen nothing.
	grep -h -E '^(tf_watch|vmpester): ' /tmp/out /tmp/pester >/tmp/complaints
}

# A guard removed: the same stress must then fail, or it would prove nothing. A signal in mid-burst is
# rare on a busy host, so it gets some time.
control() { # VARIANT
	local status tries
	unload
	load "$1" || {
		not_ok "control_$1" "cannot be loaded"
		return
	}
	for tries in $(seq 15); do complaints && break; done
	if [ -s /tmp/complaints ]; then
		ok "control_$1 ($(wc -l </tmp/complaints) complaints at attempt $tries: $(head -1 /tmp/complaints))"
	else
		not_ok "control_$1" "the guard is gone and nothing was noticed (status $status)"
	fi
	killall -9 tf_watch flow_loops 2>/dev/null
	unload
	load
}

# A string instruction counted once a round: windows must then not fit the truth.
control_rounds() {
	unload
	load rounds || {
		not_ok control_rounds "cannot be loaded"
		return
	}
	[ -s /tmp/vmrounds.steps ] ||
		taskset 1 ./vmsteps /tmp/vmrounds.steps ./vmrounds $few >/tmp/vmrounds.out 2>&1
	./vmread -k -h 512 -n 30 -s $vm_window_s /tmp/windows ./vmrounds $endless >/tmp/out 2>/tmp/figures
	./vmhorizon 512 /tmp/vmrounds.steps /tmp/windows >/tmp/check 2>&1
	case $? in
	1) ok "control_rounds ($(tail -1 /tmp/check))" ;;
	*) not_ok control_rounds "rounds are counted and nothing was noticed: $(tail -1 /tmp/check)" ;;
	esac
	unload
	load
}

# Uprobes that hear of their breakpoints first must kill who is stepped. PREEMPT_RT makes that rarer.
control_breakpoint() {
	local tries
	unload
	load nobreakpoint || {
		not_ok control_breakpoint "cannot be loaded"
		return
	}
	for tries in $(seq 5); do
		./vmneighbour uprobes 1000 >/tmp/out 2>&1 || break
	done
	if grep -q 'the program ended' /tmp/out; then
		ok "control_breakpoint ($(grep 'the program ended' /tmp/out), attempt $tries)"
	else
		not_ok control_breakpoint "the guard is gone and nothing was noticed: $(tail -1 /tmp/out)"
	fi
	unload
	load
}

run_part() {
	case " $vm_only " in "  " | *" $1 "*) ;; *) return ;; esac
	local start=$(date +%s)
	"$@"
	echo "# $1 took $(($(date +%s) - start)) s"
}

lbr() {
	run_check lbr_timer ./vmlbr 32 timer
	run_check lbr_short ./vmlbr 5 timer
	run_check lbr_nmi ./vmlbr 32 nmi
	run_check lbr_dirty ./vmlbr 32 dirty
}
rings() { for t in one_reader overflow wakeup full killed tail; do run_check "ring_$t" ./vmring $t; done; }
hostile() { run_check hostile ./vmfuzz "$vm_fuzz_cnt"; }
chain() { for s in default random tagged whole-program short; do run_check "chain_$s" ./vmchain $s 700; done; }

# The chain on branch stacks of real programs: the same bits as in user space, and how few bytes.
# What the profiles have in common at the least lies below what a thousand seeds made of these
# windows on another machine (docs/kmod-testing.md).
segments() {
	local s least program
	[ -s perl.win ] || {
		echo "skip segments: no windows of perl"
		return
	}
	while read -r s least; do
		run_check "segments_$s" ./vmsegments check perl.win "$s" 600 "$least"
	done <<-END
		default 0.80
		small 0.68
		lfu 1
		tagged 0.68
		cycles 0.65
		mispredict 0.69
		calls 0.80
		dirty 0.70
		nmi 0.80
	END
	run_check segments_drain ./vmsegments drain perl.win 1500
	run_check segments_offline ./vmsegments offline perl.win 400
	[ "$vm_samples" -gt 0 ] || return
	for program in *.win; do
		run_check "segments_bytes_${program%.win}" ./vmsegments bytes "$program" "$vm_samples" 50
	done
	run_check segments_profile ./vmsegments check perl.win default "$vm_samples" 0.98
}
bpf() {
	. ./bpf.sh
	verify_bpf
	conform_bpf
}
# The others last: without its guards the module may lose threads in mid-burst, and stay.
controls() {
	[ -z "$vm_controls" ] || { control_rounds; control_breakpoint; }
	for variant in $vm_controls; do
		case $variant in rounds | nobreakpoint) ;; *) control "$variant" ;; esac
	done
}
corners() { . ./corners.sh; }
neighbours() { . ./neighbours.sh; }

service() { . ./service.sh; }
bpf_service() { . ./bpf_service.sh; }
values() { . ./values.sh; }
# When asked for by its name only: it takes more than a minute, and most of that it waits.
clocks() { [ -z "$vm_only" ] || . ./clocks.sh; }
# When asked for by its name only: how late windows are says much of an emulated machine's host.
floods() { [ -z "$vm_only" ] || . ./floods.sh; }
# Of all events of the parts before, none was for virtual machines.
guests() {
	local parameters=/sys/module/testpmu/parameters opened
	[ -z "$vm_only" ] || run_check guests_lbr ./vmlbr 32 timer
	opened=$(cat $parameters/opened)
	if [ "$opened" -gt 0 ] && [ "$(cat $parameters/opened_guest)" -eq 0 ]; then
		ok "guests ($opened events)"
	else
		not_ok guests "$(cat $parameters/opened_guest) of $opened events count in virtual machines, too"
	fi
}
# While the kernel does not ask for signatures, one that it does not know is as good as none.
signed() {
	[ -e /modules/pathprof-signed.ko ] || return 0
	if load signed && unload; then
		ok signing_not_asked
	else
		not_ok signing_not_asked "$(dmesg | tail -1)"
	fi
}
signing() { . ./signing.sh; }

run_part lbr
run_part rings
run_part hostile
run_part chain
run_part segments
run_part bpf
run_part all_windows
run_part horizon
run_part stress
run_part service
run_part bpf_service
run_part values
run_part clocks
run_part floods
run_part corners
run_part neighbours

run_part guests
rmmod testpmu
if unload; then ok unload_last; else not_ok unload_last "rmmod"; fi
run_part signed
load
run_part controls
run_part signing
exit $failed
