/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A profile by source positions, as compilers key it: functions, in them lines counted from where
 * the function is declared, calls that were inlined there, and whom the others called.
 *
 * The counting is llvm-profgen's, so that its profile of the same raw counts is the same:
 *
 *     body   of a position: the most that an instruction of it ran, times its copies
 *     calls  branches to the start of a function, at the position of the branch
 *     total  of a function: bytes of code run, those inlined into it included
 *     head   branches to its start
 *
 * Workload: 10^4 to 10^6 instructions; trees of nodes, a search for each. Ownership: the tree's;
 * names are those of the inlines, which must outlive it.
 *
 * Source: LLVM, llvm/tools/llvm-profgen/ProfileGenerator.cpp; clang's user manual, "Sample
 * Profile Text Format".
 */
#ifndef PP_SOURCE_PROFILE_H
#define PP_SOURCE_PROFILE_H

#include <stddef.h>

#include "pathprof/inlines.h"
#include "pp_export.h"

struct pp_position {
	uint32_t line; /* from the function's, 16 bits, wrapped */
	uint32_t discriminator;
};

struct pp_call_count {
	const char *callee;
	size_t callee_len;
	uint64_t count;
};

struct pp_body_count {
	struct pp_position at;
	uint64_t count;
	struct pp_call_count *calls;
	uint32_t call_cnt;
};

struct pp_source_function {
	const char *name; /* without what compilers append; not terminated */
	size_t name_len;
	struct pp_position at; /* inlined: where; else 0 */
	uint64_t total, head;
	struct pp_body_count *body;          /* by position */
	struct pp_source_function **inlined; /* by position, then name */
	uint32_t body_cnt, inlined_cnt;
};

struct pp_source_profile {
	struct pp_source_function root; /* its inlined ones are the functions, by name */
};

/* -ENOENT: no debug information; -ENOMEM. */
int pp_source_profile_make(struct pp_source_profile *ret_profile, const struct pp_export *x,
			   struct pathprof_inlines *inlines);
void pp_source_profile_release(struct pp_source_profile *profile);

#endif
