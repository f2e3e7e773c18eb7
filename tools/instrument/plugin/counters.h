/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters that clang's own instrumentation (-fprofile-generate) put into functions: which
 * profile they belong to, and in which blocks they stand. They are taken out again, since how often
 * a block ran follows from paths.
 *
 * A counter of selects counts how often a condition was true. It becomes a branch around a block
 * that stands for it, so paths tell that as well.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "pathprof/instrument_abi.h"
#include "shape.h"

struct counters_place {
	uint32_t counter;
	LLVMBasicBlockRef block; /* each time it runs, the counter goes up by one */
};

struct counters_function {
	LLVMValueRef function;
	const char *name; /* by which the profile knows it; not ended by 0 */
	size_t name_bytes;
	uint64_t hash; /* of its graph, as LLVM has it */
	uint32_t cnt;
	uint32_t site_cnt[PATHPROF_VALUE_KINDS]; /* places whose values clang counts */
	struct counters_place *places;
	uint32_t place_cnt, place_room;
};

struct counters {
	struct counters_function *functions; /* by address */
	uint32_t cnt, room;
	char **missing; /* names of functions with counters whose paths are not counted */
	uint32_t missing_cnt, missing_room;
};

/* Before paths are numbered; into unit->counters. */
void counters_take(struct unit *unit);
/* NULL: clang has none in this function, or counters were not asked for. */
const struct counters_function *counters_of(const struct unit *unit, LLVMValueRef function);
/* The function's paths are not counted. */
void counters_miss(struct unit *unit, LLVMValueRef function);
void counters_release(struct unit *unit);

#endif
