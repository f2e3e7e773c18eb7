/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is put into a function: its path register, additions to it, counts of paths; and where.
 */
#ifndef INSERT_H
#define INSERT_H

#include "pathprof/increments.h"
#include "shape.h"

struct insertion {
	struct unit *unit;
	const struct shape *shape;
	const struct pathprof_flow *flow;
	const struct pathprof_function_paths *paths;
	const struct pathprof_increments *increments;
	LLVMValueRef path_register;
	uint64_t first_counter;
	bool hashed;
};

void insert_all(struct insertion *in, LLVMValueRef function);

/* Adds 1 to a counter, in the way that insert.c explains. */
void put_increment(struct unit *unit, LLVMValueRef counter);

/*
 * Counts path id of a function with a cache, of which `cache` is this thread's and `counter` the
 * first counter in the unit's own table. Puts in a call that is to be inlined (always-inline).
 */
void put_cached(struct unit *unit, LLVMValueRef cache, LLVMValueRef counter, LLVMValueRef id);

/*
 * For tests: instead of counting, a call to a function of the test's at each node, before each call
 * that cuts, and where the function is left. What paths ran follows from that by the definition.
 */
void insert_oracle(struct insertion *in, LLVMValueRef function);

#endif
