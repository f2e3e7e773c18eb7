/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters that clang's own instrumentation (-fprofile-generate) put into functions: the
 * profile record they belong to and the blocks they stand in. They are removed again, since paths
 * tell how often each block ran.
 *
 * The counter of a select counts how often its condition was true. It becomes a branch around a
 * block of its own, so that paths tell this as well.
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
	const char *name; /* its name in the profile; not terminated by 0 */
	size_t name_bytes;
	uint64_t hash; /* of the function's graph, as LLVM computes it */
	uint32_t cnt;
	uint32_t site_cnt[PATHPROF_VALUE_KINDS]; /* places whose values clang counts */
	struct counters_place *places;
	uint32_t place_cnt, place_room;
};

struct counters {
	struct counters_function *functions; /* sorted by address */
	uint32_t cnt, room;
	char **missing; /* names of functions with counters whose paths are not counted */
	uint32_t missing_cnt, missing_room;
};

/* Moves clang's counters to unit->counters. Call before paths are numbered. */
void counters_take(struct unit *unit);
/* The function's counters. NULL: it has none, or counters were not asked for. */
const struct counters_function *counters_of(const struct unit *unit, LLVMValueRef function);
/* Notes a function whose paths are not counted. */
void counters_miss(struct unit *unit, LLVMValueRef function);
void counters_release(struct unit *unit);

#endif
