/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Fall-throughs: how often one block ran on into the next without a branch, out of the ranges and
 * the graph. Only between blocks as BOLT cuts them: a call ends none, even if it may throw; where
 * code leads to a block begins.
 *
 * Workload: once an export; the sum of the ranges' blocks. Ownership: the caller frees the array.
 */
#ifndef PP_FALLS_H
#define PP_FALLS_H

#include "pathprof/branch_profile.h"

struct pp_fall {
	uint64_t from, to; /* last instruction of the block, first of the next */
	uint64_t count;
};

/* Sorted by from. -ENOMEM. */
int pp_falls_find(const struct pathprof_branch_profile *p, const struct pathprof_graph *graph,
		  struct pp_fall **ret_falls, uint32_t *ret_cnt);
/* Marks, by block, where something leads to other than from the block before. */
void pp_falls_heads(const struct pathprof_graph *graph, uint8_t *heads);
/* Is it a return? perf2bolt leaves these out of what it counts as branches. */
bool pp_is_return(const struct pathprof_graph *graph, uint64_t offset);

#endif
