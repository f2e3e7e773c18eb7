# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh: values of parameters, by whichever probes this kernel has, on a program that
# says what they were. Executions to the last one; every execution looked at, two values, half of
# them each. Of threads one may come upon another in a probe, which is counted and not profiled.

values_of() { # HOW
	local name=values_${1:-plain} n=20000 half=10000 status=0 row wanted
	wanted="*\"executed\": $n,*\"profiled\": $n,*\"count\": $half,*\"count\": $half,*"
	[ "$1" != threads ] || wanted="*\"executed\": $n,*"
	rm -f /tmp/values.db*
	./pathprofd --record --source step --overhead 0.1% --db /tmp/values.db --value-sampler P1 \
		--value pushed:2 -- ./values $n $1 >/tmp/out 2>/tmp/daemon || status=$?
	row=$(./pathprofctl --db /tmp/values.db values --json 2>&1 | tr -d '\n')
	# shellcheck disable=SC2254 # a pattern
	case $row in
	$wanted) ok "$name ($(sed -n 's/.*\(by .*\)/\1/p' /tmp/daemon))" ;;
	*) not_ok "$name" "status $status: $(tail -2 /tmp/daemon | tr '\n' ';') $row" ;;
	esac
}

values_of
values_of threads
values_of fork
