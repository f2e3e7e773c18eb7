/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Straight runs: code between two taken branches, put together from the paths of a store.
 *
 * A path gives its runs, cut at its taken branches and at its calls. One that ends with a backward
 * branch that was not taken is open: what ran on is the beginning of another path, and of those
 * that begin there nobody knows which. So each gets its share: with a weight of A open at a place
 * and B of paths that begin there, run a goes on as path b with a*b/max(A, B); what is over on one
 * side stays as it is. Places are taken in order of offset, since a run only leads forward.
 *
 * Paths of whole programs end at calls and begin again where these return; a store does not say
 * which kind it has, and a walk that reads one for the other runs on behind its call. So where
 * paths begin behind a call, what others ran there is not taken: it would be told twice. Missing
 * ranges are then filled in from the branches (pp_fill.h).
 *
 * Workload: 10^3 to 10^6 paths, a few open runs for each loop. Ownership: the caller's arrays.
 */
#ifndef PP_STRAIGHT_H
#define PP_STRAIGHT_H

#include "pp_branch_profile.h"

/* In place of the branch that led to a run. */
#define PP_FROM_START (UINT64_MAX - 1) /* the path began here; how it came is not known */
#define PP_FROM_CALL  (UINT64_MAX - 2) /* a call returned here */

struct pp_run {
	uint64_t from; /* branch, or PP_FROM_* */
	uint64_t start, last;
	uint64_t open; /* goes on there; 0: it ended with a taken branch or a call */
	double weight;
};

struct pp_runs_of_paths {
	struct pp_run *runs;
	size_t cnt, room;
};

/* -ENOMEM. */
int pp_straight_add(struct pp_runs_of_paths *runs, const struct pp_run *run);
/* Joins what is open and adds everything to the profile. -ENOMEM, -E2BIG. */
int pp_straight_emit(struct pp_runs_of_paths *runs, struct pathprof_branch_profile *p);
void pp_straight_release(struct pp_runs_of_paths *runs);

#endif
