/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A recorded branch stack, walked from its oldest entry to its newest: what each entry is, and
 * whether code ran straight on from one branch's target to the next branch. docs/formats.md says
 * who else has which rule.
 *
 *     struct pathprof_recorded_walk walk = PATHPROF_RECORDED_WALK;
 *     for each entry, from the oldest on:
 *             reason = pathprof_recorded_reason(entry);
 *             if (reason != PATHPROF_LEDGER_CNT)
 *                     pathprof_recorded_pass(&walk, entry, reason);
 *             else
 *                     straight = pathprof_recorded_reach(&walk, entry);
 *
 * Workload: once for each entry, some 10^9. No allocation; any thread.
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
	if (!b->from)
		return PATHPROF_LEDGER_EMPTY;
	if (!b->to)
		return PATHPROF_LEDGER_EMPTY;
	return b->flags & PATHPROF_RECORDED_ABORT ? PATHPROF_LEDGER_ABORTED : PATHPROF_LEDGER_CNT;
}

struct pathprof_recorded_walk {
	bool plain;       /* it was a branch just now, and what follows `at` is 0 */
	uint64_t at;      /* code ran on from here: a branch's target, or where the kernel led */
	uint64_t left;    /* where the kernel was entered and has not come back; 0: nowhere */
	bool interrupted; /* the kernel was entered since the last branch */
	bool away;        /* and the program went on elsewhere: a signal, an exec */
	bool cut;         /* how it went on is not known */
};

/* Before the oldest entry. */
#define PATHPROF_RECORDED_WALK                                                                     \
	(struct pathprof_recorded_walk)                                                            \
	{                                                                                          \
		.cut = true                                                                        \
	}

/*
 * One end or both are in the kernel. The program goes on where it was interrupted, or behind what
 * it called the kernel by. If only the way back was recorded, that may be anywhere from here on.
 */
static inline void pathprof_recorded_pass_kernel(struct pathprof_recorded_walk *walk,
						 const struct pathprof_recorded_branch *b)
{
	walk->interrupted = true;
	if (!pathprof_recorded_in_kernel(b->from)) {
		walk->away |= b->from < walk->at;
		walk->at = walk->left = b->from;
	}
	if (pathprof_recorded_in_kernel(b->to))
		return;
	walk->away |=
		b->to < walk->at || (walk->left && b->to - walk->left > PATHPROF_RESUME_BYTES);
	walk->at = b->to;
	walk->left = 0;
}

/* Passes an entry that is no branch of the program. The ones around one not taken are neighbours.
 */
static inline void pathprof_recorded_pass(struct pathprof_recorded_walk *walk,
					  const struct pathprof_recorded_branch *b,
					  enum pathprof_ledger_reason reason)
{
	if (reason == PATHPROF_LEDGER_UNTAKEN)
		return;
	walk->plain = false;
	if (reason == PATHPROF_LEDGER_KERNEL)
		pathprof_recorded_pass_kernel(walk, b);
	else
		walk->cut = true;
}

/* Reaches a branch of the program: did code run straight on to it from the one before? */
static inline bool pathprof_recorded_reach(struct pathprof_recorded_walk *walk,
					   const struct pathprof_recorded_branch *b)
{
	bool straight;

	if (__builtin_expect(walk->plain, 1)) {
		walk->at = b->to;
		return true;
	}
	walk->away |= walk->interrupted && b->from < walk->at;
	straight = !walk->cut && !walk->away;
	*walk = (struct pathprof_recorded_walk){.plain = true, .at = b->to};
	return straight;
}

#endif
