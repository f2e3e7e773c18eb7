/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A function's paths with what an edge profile says of them.
 *
 * Definite flow is how often a path ran at least: what ran over it and left it nowhere (Ball,
 * Mataga and Sagiv, Edge Profiling versus Path Profiling, 1998). Expected flow is how often it ran
 * if branches knew nothing of each other: what began, times each edge's share of its node.
 *
 * Workload: every function of a unit, a few times. Both only become less along a path and add up to
 * no more than what ran, so a walk that goes no lower than a part of that ends soon, whatever the
 * number of paths.
 */
#ifndef PP_WAYS_H
#define PP_WAYS_H

#include "pathprof/warm.h"
#include "pp_function_paths.h"

struct pp_profiled {
	const struct pathprof_function_paths *paths;
	const uint64_t *edges;               /* how often each ran */
	const uint64_t *nodes;               /* how often paths came to it, or began there */
	const uint64_t *starts;              /* how often paths began there */
	const bool *is_cold, *start_is_cold; /* NULL: nothing is left out */
	double least;                        /* less is not of interest */
};

struct pp_ways_end {
	const struct pathprof_flow_path *path;
	uint32_t branch_cnt; /* nodes on it with more than one way out */
	double flow;
};

/* Paths from one start of the index whose definite flow, or else expected, is `least` or more. */
typedef int (*pp_ways_take)(void *user, const struct pp_ways_end *end);
int pp_ways_walk(const struct pp_profiled *profiled, uint32_t start, bool definite,
		 pp_ways_take take, void *user); /* -ENOMEM, or what `take` returned below 0 */

/*
 * Nodes that paths run over, each behind those that lead to it; how many there are. wanted: room by
 * node.
 */
uint32_t pp_ways_order(const struct pathprof_function_paths *paths, uint32_t *ret_order,
		       uint32_t *wanted);
/* A path goes on over the edge. */
static inline bool pp_ways_go_on(const struct pathprof_function_paths *paths, uint32_t edge)
{
	return !paths->cuts[edge] && pp_paths_behind(paths, edge);
}
static inline bool pp_ways_branch(const struct pathprof_function_paths *paths, uint32_t node)
{
	return paths->flow->nodes[node + 1].first_edge - paths->flow->nodes[node].first_edge > 1;
}

#endif
