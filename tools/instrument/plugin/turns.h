/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns of loops with one way, counted when the loop ends.
 *
 * An innermost loop that calls nothing, and in which only the way out branches, runs the same path
 * at each turn but for the first, which began before the loop. On request such a loop adds up its
 * turns in a variable, which the optimiser computes from the loop's bounds where it can, and counts
 * them at each way out: the loop stays free of memory accesses and fit for vector code. Whatever
 * ends the program within the loop, a signal or a fault, loses the turns of that one loop so far.
 * In functions whose paths are looked for in a cache or a table each turn is counted as ever.
 *
 * Source: the promotion of counters in LLVM's PGO instrumentation, for paths.
 */
#ifndef TURNS_H
#define TURNS_H

#include "insert.h"

struct turns {
	uint32_t *closing;      /* by loop: the edge that closes it; PATHPROF_GRAPH_NONE */
	LLVMValueRef *variable; /* by edge that closes a loop: its turns so far */
};

/* Finds the loops; there are none unless the unit defers turns. */
void turns_init(struct turns *turns, const struct insertion *in);
void turns_release(struct turns *turns);
/* Puts a variable for each loop, of 0, where the builder stands, in the function's entry. */
void turns_put_variables(const struct turns *turns, const struct insertion *in);
/* The edge that closes the loop, if the edge closes or leaves one; PATHPROF_GRAPH_NONE. */
uint32_t turns_of_edge(const struct turns *turns, const struct insertion *in, uint32_t edge);
/* Adds one to a variable. */
void turns_put_one(const struct insertion *in, LLVMValueRef variable);
/*
 * Counts what a variable says and sets it to 0: the first turn in one counter, the others in
 * another. Returns whether there was any.
 */
LLVMValueRef turns_put_counts(const struct insertion *in, LLVMValueRef variable, LLVMValueRef first,
			      LLVMValueRef others);

#endif
