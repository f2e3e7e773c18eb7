/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up programs whose path profile is known without running them, and a sampler that runs them.
 *
 * A function is a row of steps that ends with a return; a step is a conditional branch, a call, or
 * both. The first function is called in an endless loop; calls lead to later functions only. Each
 * branch is decided by its own chance, or as the one before it was (tied), so that a path's share
 * is a product, and how often each function runs a sum over its callers.
 */
#ifndef ORACLE_ESTIMATE_H
#define ORACLE_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/abi.h"

#define ORACLE_STEPS     40
#define ORACLE_FUNCTIONS 12
#define ORACLE_NO_CALL   UINT32_MAX

struct oracle_step {
	bool branches, tied;
	bool guards; /* taken, the branch leads past the step's call */
	double chance;
	uint32_t callee;
};

struct oracle_graph {
	struct oracle_step steps[ORACLE_FUNCTIONS][ORACLE_STEPS];
	uint32_t step_cnt[ORACLE_FUNCTIONS], cnt;
};

struct oracle_share {
	uint64_t start;
	uint32_t length, outcomes;
	double share;
};

void oracle_graph_random(struct oracle_graph *ret_graph, uint64_t seed);
/* Runs it for cnt branches. */
void oracle_graph_run(const struct oracle_graph *graph, struct pathprof_branch *branches,
		      size_t cnt, uint64_t seed);
/* All paths with a chance, shares that sum to 1; at most 12 branches a function. Returns the number
 * written, at most max. */
size_t oracle_graph_truth(const struct oracle_graph *graph, struct oracle_share *ret_shares,
			  size_t max);

#endif
