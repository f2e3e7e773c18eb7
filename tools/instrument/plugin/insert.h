/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is put into a function: its path register, additions to it, counts of paths; and where.
 */
#ifndef INSERT_H
#define INSERT_H

#include "pathprof/instrument_abi.h"
#include "pathprof/preferential.h"
#include "pathprof/warm.h"
#include "hottest.h"
#include "shape.h"

struct insertion {
	struct unit *unit;
	const struct shape *shape;
	const struct pathprof_flow *flow;
	const struct pathprof_function_paths *paths;
	const struct pathprof_increments *increments;
	LLVMValueRef path_register;
	uint64_t first_counter;
	enum pathprof_counting counting;
	const struct pathprof_preferential *table; /* of a TABLE */
	const struct pathprof_warm *warm;          /* of WARM */
	const struct hottest *hottest;             /* of a TABLE */
	LLVMValueRef keys; /* the constants that a TABLE's code compares with */
};

void insert_all(struct insertion *in, LLVMValueRef function);

/* Adds 1 to a counter, in the way that insert.c explains. */
void put_increment(struct unit *unit, LLVMValueRef counter);

/* Returns behind a branch that is hardly ever false. */
void put_likely_branch(struct unit *unit, LLVMValueRef condition, LLVMBasicBlockRef likely,
		       LLVMBasicBlockRef unlikely);
/* Calls one of the runtime's functions that preserve most registers, for path `id`. */
void put_runtime_call(struct unit *unit, const char *name, LLVMValueRef counter, LLVMValueRef id);
/* A new function of the module that is inlined wherever it is called. */
LLVMValueRef make_inlined(struct unit *unit, const char *name, LLVMTypeRef type);

/*
 * Counts the path that the register and step stand for in a function with a table of interesting
 * paths; counters and counter as below. hot: the slot, and 1, of a path that it mostly is; 0: of
 * none.
 */
void put_in_table(struct insertion *in, LLVMValueRef counters, LLVMValueRef counter,
		  LLVMValueRef path_register, uint64_t step, uint32_t hot);

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
