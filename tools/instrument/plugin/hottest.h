/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of a table that most often ends at a place, if it is at least three quarters of the
 * paths that end there: code compares with it before it looks into the table.
 */
#ifndef HOTTEST_H
#define HOTTEST_H

#include "pathprof/function_paths.h"
#include "pathprof/increments.h"
#include "pathprof/preferential.h"

/* A slot of the table, plus 1; 0: no path stands out. */
struct hottest {
	uint32_t *of_edge;    /* the hottest path that ends with a cut edge */
	uint32_t *of_leaving; /* by node: the hottest path that leaves the function there */
};

/* ids[cnt]: the paths that ran, hottest first; counts: how often each ran. */
void hottest_init(struct hottest *hottest, const struct pathprof_function_paths *paths,
		  const struct pathprof_flow *flow, const struct pathprof_preferential *table,
		  const uint64_t *ids, const uint64_t *counts, size_t cnt);
void hottest_release(struct hottest *hottest);

#endif
