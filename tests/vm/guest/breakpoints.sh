# SPDX-License-Identifier: GPL-2.0-or-later
# The stepper's unit tests that want breakpoints and 32-bit programs. Some hypervisors have neither;
# the emulated processor has both, so nothing is skipped here.
. ./common.sh

whole_suite() { # NAME
	if ./unit-san "$1" >/tmp/suite 2>&1 && ! grep '^skipped: ' /tmp/suite; then
		tail -1 /tmp/suite
		return
	fi
	grep -A 4 'had failures' /tmp/suite
	tail -1 /tmp/suite
	return 1
}

for suite in step_break step_burst step_opener step_refused; do
	run_check "breakpoints_$suite" whole_suite $suite
done
exit $failed
