/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Ranges of code that were run between two branches, into a branch profile: each is checked against
 * the code, which must not leave it on the way, and one that a call returned to is kept apart.
 *
 * Workload: some 10^6 that differ, each once with its count. Ownership: graph and profile are the
 * caller's. One owner.
 */
#ifndef PP_CODE_RANGES_H
#define PP_CODE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/branch_profile.h"

struct pp_code_ranges {
	const struct pathprof_graph *graph;
	struct pathprof_branch_profile *profile;
	uint8_t *pads;    /* a byte a block: an exception may land there */
	uint64_t misfits; /* counts of ranges left out: no code runs on there */
};

/* -ENOMEM. */
int pp_code_ranges_init(struct pp_code_ranges *r, const struct pathprof_graph *graph,
			struct pathprof_branch_profile *profile);
/* r may be all zero. */
void pp_code_ranges_release(struct pp_code_ranges *r);
/* File offsets; from: the branch that led to start, or PATHPROF_OUTSIDE. -ENOMEM, -E2BIG. */
int pp_code_ranges_add(struct pp_code_ranges *r, uint64_t from, uint64_t start, uint64_t last,
		       uint64_t count);
/* Does code run from start to last, an instruction's, without leaving on the way? */
bool pp_range_runs(const struct pathprof_graph *graph, uint64_t start, uint64_t last);

#endif
