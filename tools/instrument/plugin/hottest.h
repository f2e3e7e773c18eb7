/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which path of a table most often ends at a place: code looks for that one before it looks into
 * the table. Only where it is three of four that end there.
 */
#ifndef HOTTEST_H
#define HOTTEST_H

#include "pathprof/function_paths.h"
#include "pathprof/increments.h"
#include "pathprof/preferential.h"

/* A slot of the table and 1; 0: none stands out. */
struct hottest {
	uint32_t *of_edge;    /* of paths that a cut edge ends */
	uint32_t *of_leaving; /* by node: of those that leave the function there */
};

/* ids[cnt]: paths that ran, hottest first, and how often they did. */
void hottest_init(struct hottest *hottest, const struct pathprof_function_paths *paths,
		  const struct pathprof_flow *flow, const struct pathprof_preferential *table,
		  const uint64_t *ids, const uint64_t *counts, size_t cnt);
void hottest_release(struct hottest *hottest);

#endif
