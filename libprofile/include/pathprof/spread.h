/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * How often the edges of a function ran, from how often it was entered and the share that each edge
 * has of its node's executions: what compilers keep of a profile.
 *
 * A loop multiplies what comes into it by 1 / (1 - what goes back of one round). Inner loops come
 * first. Executions over an edge into the middle of a loop (irreducible regions) are counted, those
 * back over it are not.
 *
 * Source: Wu and Larus, Static Branch Frequency and Program Profile Analysis (1994), algorithm 2.
 * Workload: every function of a translation unit once; each loop walks its own nodes.
 */
#ifndef PATHPROF_SPREAD_H
#define PATHPROF_SPREAD_H

#include "pathprof/flow.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A loop that never ends by its shares goes round so often. */
#define PATHPROF_SPREAD_ROUNDS 1e9

/* share: by edge, those of a node add up to 1 at most. ret_counts: by edge. -ENOMEM. */
int pathprof_spread(const struct pathprof_flow *flow, const double *share, uint64_t entries,
		    uint64_t *ret_counts);

#ifdef __cplusplus
}
#endif

#endif
