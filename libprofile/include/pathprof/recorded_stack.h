/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What an entry of a recorded branch stack is, and where a program goes on that the kernel had: the
 * rules by which `import` (oldest entry first, to paths) and `export --recording` (newest first, to
 * ranges) walk a stack. docs/formats.md says who else has which rule.
 *
 * Workload: once for each entry, some 10^9. Pure; any thread.
 */
#ifndef PATHPROF_RECORDED_STACK_H
#define PATHPROF_RECORDED_STACK_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "pathprof/ledger.h"
#include "pathprof/recording.h"

/* A program resumes at most so far after a system call or an interrupted instruction. */
#define PATHPROF_RESUME_BYTES 15

static inline bool pathprof_recorded_in_kernel(uint64_t address)
{
	return address >> 63;
}

/* Why an entry is no branch of the program, whatever is mapped; PATHPROF_LEDGER_CNT: it is one. */
static inline enum pathprof_ledger_reason
pathprof_recorded_reason(const struct pathprof_recorded_branch *b)
{
	if (b->flags & PATHPROF_RECORDED_NOT_TAKEN || b->spec == PERF_BR_SPEC_WRONG_PATH)
		return PATHPROF_LEDGER_UNTAKEN;
	if (pathprof_recorded_in_kernel(b->from | b->to))
		return PATHPROF_LEDGER_KERNEL;
	if (!b->from || !b->to)
		return PATHPROF_LEDGER_EMPTY;
	return b->flags & PATHPROF_RECORDED_ABORT ? PATHPROF_LEDGER_ABORTED : PATHPROF_LEDGER_CNT;
}

/* It left for the kernel at one address and came back at another: does it go on as it was? */
static inline bool pathprof_recorded_resumes(uint64_t left, uint64_t back)
{
	return back >= left && back - left <= PATHPROF_RESUME_BYTES;
}

#endif
