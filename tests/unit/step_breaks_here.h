/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a test can have breakpoints: some hypervisors give debug registers that never strike. */
#ifndef STEP_BREAKS_HERE_H
#define STEP_BREAKS_HERE_H

#include "../../daemon/step/step_break.h"
#include "unit.h"

/* Skips the test where this holder of breakpoints does not work. tests/run knows the first reason.
 */
static inline bool breaks_are_here(enum pp_step_break_kind kind)
{
	static int works[PP_STEP_BREAK_PTRACE + 1]; /* 0: not tried yet, 1, -1 */

	for (enum pp_step_break_kind k = kind; k <= PP_STEP_BREAK_PTRACE; k++)
		if (!works[k])
			works[k] = pp_step_break_probe(k) == k ? 1 : -1;
	if (works[PP_STEP_BREAK_PTRACE] < 0)
		unit_skip("no breakpoints here");
	else if (works[kind] < 0)
		unit_skip("perf's breakpoints are refused");
	return works[kind] > 0;
}

#endif
