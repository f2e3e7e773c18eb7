/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Ranges out of BOLT's fdata, which has none: it says how often each block ran on into the next,
 * and which branches led where. Runs that branches led to a place go on from there as often as the
 * blocks say; pp_falls_find() of the ranges made finds each fall-through with its count again.
 *
 * Workload: once a profile, over all blocks of its graph. Locking: none.
 */
#ifndef PP_FALL_RANGES_H
#define PP_FALL_RANGES_H

#include "pp_branch_profile.h"

/* Adds ranges to p for entries falls, which are summed up and sorted. -ENOMEM, -E2BIG. */
int pp_fall_ranges_add(struct pathprof_branch_profile *p, const struct pathprof_graph *graph,
		       const struct pp_branch_entries *falls);

#endif
