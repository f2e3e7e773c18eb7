/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting paths while the program runs (pathprof-trace --paths), instead of writing down blocks.
 *
 * Counts are those that pathprof-lab paths finds in the trace of the same run: paths cut by a
 * stack of 32 entries (EOPP table 5.1) for each thread, and for each signal handler while it is
 * active. Beside them pieces (table 5.2), and segments: a piece and the one that followed it over a
 * call or a return (EOPP 3.4, depth 1).
 *
 * The stack here goes deeper than 32. A path that ends below the last 32 entries is no count, since
 * no window could show it, but it ran: its node says `deep`.
 *
 * Workload: a hundred million blocks a second. Locking: a counter is its thread's; see ../share.h
 * for what it counts into. Ownership: count_begin() to count_end(), or the end of the process.
 */
#ifndef TRACE_COUNT_H
#define TRACE_COUNT_H

#include "plugin.h"

/* The effect of a block's last instruction on a path: pp_path_stack.h's classes. */
enum count_step {
	COUNT_STEP_NONE,
	COUNT_STEP_FORWARD,
	COUNT_STEP_TURN, /* backward or indirect: a path ends, another begins */
	COUNT_STEP_CALL,
	COUNT_STEP_RETURN,
};

struct counter;

/* Fills in what counting asks of a block; id and root are not looked at. */
void count_describe(struct block *block);

/* Counts go to this slot's arena from now on. No memory: nothing is counted. Under plugin_lock().
 */
void count_open(uint32_t slot);
/* NULL: no memory, or no arena. Under plugin_lock(). */
struct counter *count_begin(void);
/* NULL-safe. */
void count_end(struct counter *counter);
void count_sigreturn(struct counter *counter);

/* Callbacks, as in record.h. */
void count_block(unsigned vcpu, void *block);
void count_block_threads(unsigned vcpu, void *block);

#endif
