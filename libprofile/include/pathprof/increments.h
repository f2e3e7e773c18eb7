/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The additions to the path register in code that counts its own paths: the register holds the
 * path's number when the path ends, and the edges that run most are free of additions.
 *
 *     register = start[w]                  where a path begins at node w
 *     register += edge[e]                  on an edge that is not cut, unless 0
 *     count(register + edge[e])            on a cut edge
 *     count(register + leave[v])           where the function is left at node v
 *
 * If edge_sets or leave_sets is true the register takes that value instead of adding it. If
 * edge_silent is true nothing is counted; on an edge that is not cut, the path so far is forgotten.
 *
 * All modulo 2^64. The edges without an addition are a spanning tree of the paths' DAG (its end
 * joined to its start) that is as heavy as there is one. Where a path begins or ends an increment
 * costs nothing: these edges weigh least.
 *
 * Source: Ball and Larus, Efficient Path Profiling (1996), 3.3 and 4; Knuth's event counting there.
 * Workload: every function of a translation unit once. Linear but for sorting the edges.
 */
#ifndef PATHPROF_INCREMENTS_H
#define PATHPROF_INCREMENTS_H

#include "pathprof/function_paths.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_increments {
	uint64_t *start;                            /* by node: of those that paths begin at */
	uint64_t *edge;                             /* by edge of the flow */
	uint64_t *leave;                            /* by node: of those that leave the function */
	bool *edge_sets, *edge_silent, *leave_sets; /* NULL: nowhere (pathprof/warm.h) */
};

/*
 * frequency[edge] says how often an edge runs; NULL: it is guessed by the depth of loops. No code
 * can be put on edges with is_fixed (NULL: there are none): they get 0. -ELOOP: one of these is
 * cut, or there is more than one way over such edges alone, so their numbers cannot be told apart.
 * -ENOMEM. *ret_increments is the caller's.
 */
int pathprof_increments_init(struct pathprof_increments *ret_increments,
			     const struct pathprof_function_paths *paths, const uint64_t *frequency,
			     const bool *is_fixed);
void pathprof_increments_release(struct pathprof_increments *increments);

/* Whether an edge of the flow is cut. */
bool pathprof_function_paths_cut_at(const struct pathprof_function_paths *paths, uint32_t edge);

#ifdef __cplusplus
}
#endif

#endif
