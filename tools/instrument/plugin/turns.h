/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns of loops with one way, counted when the loop ends.
 *
 * An innermost loop that calls nothing, and in which only the way out branches, runs the same path
 * at each turn but for the first, which began before the loop. On request such a loop counts in a
 * variable how often its header runs, once more than it turns. The optimiser computes that from the
 * loop's bounds where it can, and at each way out the turns are added to their counters: the loop
 * keeps its shape, is free of memory accesses, and may become vector code. A loop that an earlier
 * run shows to end after a few turns counts each as ever. Whatever ends the program within the
 * loop, a signal or a fault, loses the turns of that one loop so far. In functions whose paths are
 * looked for in a cache or a table each turn is counted as ever.
 *
 * Source: the promotion of counters in LLVM's PGO instrumentation, for paths.
 */
#ifndef TURNS_H
#define TURNS_H

#include "insert.h"

struct turns {
	uint32_t *closing;      /* by loop: the edge that closes it; PATHPROF_GRAPH_NONE */
	LLVMValueRef *variable; /* by edge that closes a loop: how often its header has run */
};

/* Finds the loops; there are none unless the unit defers turns. */
void turns_init(struct turns *turns, const struct insertion *in);
void turns_release(struct turns *turns);
/*
 * Puts a variable for each loop, of 0, where the builder stands, in the function's entry, and at
 * each header the addition to it.
 */
void turns_put_variables(const struct turns *turns, const struct insertion *in);
/* The edge that closes the loop, if the edge closes or leaves one; PATHPROF_GRAPH_NONE. */
uint32_t turns_of_edge(const struct turns *turns, const struct insertion *in, uint32_t edge);
/*
 * Counts the turns that a variable tells and sets it to 0: the first one in one counter, the others
 * in another. Returns whether there was any.
 */
LLVMValueRef turns_put_counts(const struct insertion *in, LLVMValueRef variable, LLVMValueRef first,
			      LLVMValueRef others);

#endif
