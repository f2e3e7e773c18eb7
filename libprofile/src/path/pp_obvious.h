/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Obvious paths: those with an edge that no other one runs over, so that an edge profile has their
 * counts. Of a loop that goes round often, only what goes round is looked at: paths that begin in
 * it and end at an edge back to its header. The few that come into it from before end there as
 * well.
 *
 * Source: Joshi, Bond and Zilles, Targeted Path Profiling (2004), 3.
 */
#ifndef PP_OBVIOUS_H
#define PP_OBVIOUS_H

#include "pathprof/warm.h"
#include "pp_function_paths.h"

/* A loop is left out that goes round so many times each time it is entered. */
#define PP_OBVIOUS_ROUNDS 10

struct pp_obvious {
	bool *is_silent;            /* by edge: paths that end there need not be counted */
	bool *is_told;              /* by edge: paths that need not be counted run over it */
	bool *begins;               /* by node: such paths begin there */
	bool all;                   /* no other path of the function needs to be counted either */
	struct pathprof_told *told; /* free() it */
	size_t told_cnt, told_room;
};

int pp_obvious_init(struct pp_obvious *obvious, const struct pathprof_flow *flow); /* -ENOMEM */
void pp_obvious_release(struct pp_obvious *obvious);
/*
 * Adds what is obvious among the warm paths. start_flow: by start of the whole how often paths
 * began there. 1: edges became silent, number the warm paths again without those that end there; 0:
 * none did; -ENOMEM.
 */
int pp_obvious_find(struct pp_obvious *obvious, const struct pathprof_function_paths *whole,
		    const struct pathprof_function_paths *warm,
		    const struct pathprof_edge_profile *profile, const uint64_t *start_flow);

#endif
