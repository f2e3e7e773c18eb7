/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The paths of a function that are worth counting, by what an edge profile says: those that run
 * over no cold edge. They are few, so an array of counters takes them, and are numbered by
 * themselves from 0 to cnt - 1. Increments say where code is to go, as for all paths; and
 *
 *   - an edge from which a cold path comes back to where warm ones run sets the register to what
 *     makes it count in [cnt, counter_cnt), whatever way it goes on: no check, and no warm path is
 *     counted wrongly;
 *   - where no warm path runs there is no code, but for where paths end: they count in `cnt`.
 *
 * The counters from cnt on therefore add up to the number of runs of cold paths.
 *
 * An edge is cold when it has less than a tenth of what it would have if all ways out of its node
 * ran alike (a twentieth of two, as in the source; a switch of an interpreter has sixty), or less
 * than a thousandth of all paths of the program that ran. The second bound is raised by half until
 * the function has no more warm paths than an array takes.
 *
 * On request what the profile tells is left out as well. A function is told of which each warm path
 * is obvious: it has an edge that no other one runs over. An edge where paths end is told when
 * three quarters of the branch flow that ends there are definite, whatever branches know of each
 * other: such an edge is silent, and no path that ends there is counted.
 *
 * Targeted profiles are the older of both: an edge is cold when it has less than a twentieth of its
 * node's flow, and by nothing else, so that a function may keep more warm paths than an array
 * takes; additions are placed by loops, not by the profile; and an edge where paths end is silent
 * when each warm path that ends there is obvious.
 *
 * Source: Bond and McKinley, Practical Path Profiling for Dynamic Optimizers (2005), 3 and 4;
 * Joshi, Bond and Zilles, Targeted Path Profiling (2004). They add to the register of a cold path
 * to have it count beyond, where this sets it; their numbers start from the hottest edge, and these
 * take the hottest edges for a spanning tree, which have no additions either. Workload: every
 * function of a translation unit once; some tens of numberings each.
 */
#ifndef PATHPROF_WARM_H
#define PATHPROF_WARM_H

#include "pathprof/increments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An edge is cold with less than one in this many of what its node's ways out have on average, */
#define PATHPROF_WARM_LOCAL 10
/* or with less than one in this many of the paths that the program ran. */
#define PATHPROF_WARM_GLOBAL 1000
/* In targeted profiles: less than one in this many of what its node's ways out have together. */
#define PATHPROF_WARM_LOCAL_TARGETED 20
/* Loops that go round so often are left out by themselves, and what leaves them is counted. */
#define PATHPROF_WARM_ROUNDS 10

struct pathprof_edge_profile {
	const uint64_t *edges; /* by edge of the flow: how often it ran */
	uint64_t entries;      /* of the function */
	uint64_t total;        /* paths of all the program that ran */
};

/* How warm paths are chosen, and what of them is left out. */
enum pathprof_warm_rules {
	PATHPROF_WARM_PRACTICAL, /* nothing is */
	PATHPROF_WARM_OBVIOUS,   /* what the profile tells is */
	PATHPROF_WARM_TARGETED,
};

/* A path that is left out, and how often it is to be expected by the profile. */
struct pathprof_told {
	uint64_t id, count;
};

struct pathprof_warm {
	struct pathprof_increments increments;
	uint64_t cnt, counter_cnt;
	uint64_t *ids; /* by warm path that is counted: its number among all paths */
	struct pathprof_told *told;
	size_t told_cnt;
};

/*
 * The function's warm paths, at most `most`. No code can be put on edges with is_fixed (NULL: there
 * are none): these are never cold, and paths that would need code there are left out. With
 * counter_cnt 0 nothing is to be put in: no path is warm, or all are told.
 * -EOVERFLOW: no bound leaves as few as `most`, or a targeted profile has more. -ELOOP, -ENOMEM as
 * in pathprof_increments_init().
 */
int pathprof_warm_init(struct pathprof_warm *ret_warm, const struct pathprof_function_paths *paths,
		       const struct pathprof_edge_profile *profile, uint64_t most,
		       const bool *is_fixed, enum pathprof_warm_rules rules);
void pathprof_warm_release(struct pathprof_warm *warm);

#ifdef __cplusplus
}
#endif

#endif
