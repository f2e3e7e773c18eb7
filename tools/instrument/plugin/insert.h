/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Insertion of counting into a function: its path register, additions to it, counts of paths. */
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
	const struct pathprof_preferential *table; /* for a TABLE */
	const struct pathprof_warm *warm;          /* for WARM */
	const struct hottest *hottest;             /* for a TABLE */
	const uint64_t *frequency; /* by edge, of an earlier run; NULL: it is not known */
	const struct turns *turns; /* while code is inserted */
	LLVMValueRef keys;         /* the constants that a TABLE's code compares paths with */
};

void insert_all(struct insertion *in, LLVMValueRef function);

/* Adds 1 to a counter, in the way that insert.c explains. */
void put_increment(struct unit *unit, LLVMValueRef counter);
/* Adds an amount to it. */
void put_addition(struct unit *unit, LLVMValueRef counter, LLVMValueRef amount);

/* Branches on a condition that is hardly ever false. */
void put_likely_branch(struct unit *unit, LLVMValueRef condition, LLVMBasicBlockRef likely,
		       LLVMBasicBlockRef unlikely);
/* Calls one of the runtime's functions (preserve_most) for path `id`. */
void put_runtime_call(struct unit *unit, const char *name, LLVMValueRef counter, LLVMValueRef id);
/* Makes a function of the module that is inlined wherever it is called; fill() writes its code. */
LLVMValueRef make_inlined(struct unit *unit, const char *name, LLVMTypeRef type,
			  void (*fill)(struct unit *unit, LLVMValueRef function));

/*
 * Counts the path that the register and step stand for in a function with a table of interesting
 * paths; counters and counter as below. hot: the slot, plus 1, of the path that is the most
 * frequent here; 0: none.
 */
void put_in_table(struct insertion *in, LLVMValueRef counters, LLVMValueRef counter,
		  LLVMValueRef path_register, uint64_t step, uint32_t hot);

/*
 * Counts path id of a function with a cache: `cache` is this thread's copy, `counter` the first
 * counter in the unit's own table. Inserts a call that is always inlined.
 */
void put_cached(struct unit *unit, LLVMValueRef cache, LLVMValueRef counter, LLVMValueRef id);

/*
 * For tests: instead of counting, inserts a call of a function of the test's at each node, before
 * each call that cuts, and at each exit. From these calls the test derives the paths that ran.
 */
void insert_oracle(struct insertion *in, LLVMValueRef function);

#endif
