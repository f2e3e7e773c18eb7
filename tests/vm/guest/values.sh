# SPDX-License-Identifier: GPL-2.0-or-later
# Values of parameters, on a program that says what they were: by whichever probes this kernel has,
# with threads and for a descendant. Executions to the last one; the top values, every execution
# looked at. Sourced, or a part of its own.
. ./common.sh

# values_of HOW WAY: pushed's second parameter has two values, half of the executions each.
values_of() {
	local name=values_${1:-plain} n=20000 half=10000 status=0 row
	rm -f /tmp/values.db*
	./pathprofd --record --db /tmp/values.db --overhead 0.1% --value-sampler P1 --value pushed:2 \
		-- ./values $n $1 >/tmp/out 2>/tmp/daemon || status=$?
	row=$(./pathprofctl --db /tmp/values.db values --json 2>&1 | tr -d '\n')
	case $row in
	*"\"executed\": $n,"*"\"profiled\": $n,"*"\"count\": $half,"*"\"count\": $half,"*)
		ok "$name ($(sed -n 's/.*\(by .*\)/\1/p' /tmp/daemon))"
		;;
	*) not_ok "$name" "status $status: $(tail -2 /tmp/daemon | tr '\n' ';') $row" ;;
	esac
}

values_of
values_of threads
values_of fork
if [ "$vm_part" = values ]; then
	exit $failed
fi
