/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A path profile estimated from windows, the paths that no window can hold included.
 *
 * A window of n taken branches sees a path of span t whole in n - t of its places, so what is seen
 * counts n / (n - t) (Horvitz-Thompson). A path whose calls take n branches or more is never seen;
 * no weight mends that. Such paths are stitched: windows are cut at calls and returns too (EOPP
 * table 5.2), each piece is counted with its own weight, and a path is the product of the shares
 * with which its pieces follow one another behind each call: a Markov chain, of first order or over
 * the piece before as well. Paths that windows can show are left as they show them. The derivation
 * stands in docs/reconstruction.md.
 *
 * Workload: 10^5 windows, 10^4 paths; bounded by max_paths. One object, one thread.
 */
#ifndef PATHPROF_ESTIMATE_H
#define PATHPROF_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_estimator;

struct pathprof_estimator_settings {
	bool weighted;  /* Horvitz-Thompson; false: each counts once */
	uint32_t order; /* 0: seen paths only; 1, 2: stitch unseen ones with that much context */
	uint32_t max_paths; /* and pieces, and calls; 0: 1,000,000; beyond it new ones are counted
			       as dropped; at most 2^28 */
};

struct pathprof_estimated_path {
	uint64_t start;
	uint32_t length, outcomes;
	double weight;   /* estimated executions in the windows' span, up to a common factor */
	double stitched; /* the part of it that was not seen whole */
};

struct pathprof_estimate_summary {
	uint64_t window_cnt, path_cnt, dropped_cnt;
	double seen_weight, stitched_weight;
	double lost_weight; /* begun, too long for a window, and no window shows how they end */
	/* The share of the flow (paths begun) on paths that windows of this length cannot hold,
	   for any order. */
	double unobservable_share;
};

/* -EINVAL, -ENOMEM. */
int pathprof_estimator_new(struct pathprof_estimator **ret_e,
			   const struct pathprof_estimator_settings *settings);
void pathprof_estimator_free(struct pathprof_estimator *e);
/* -EINVAL when a record's kind or count is out of range. */
int pathprof_estimator_add(struct pathprof_estimator *e, const struct pathprof_branch *branches,
			   uint32_t branch_cnt);
/* Sorted by weight, greatest first; *ret_paths is to be freed by the caller. -ENOMEM. */
int pathprof_estimator_read(struct pathprof_estimator *e,
			    struct pathprof_estimated_path **ret_paths, size_t *ret_cnt,
			    struct pathprof_estimate_summary *ret_summary);

#ifdef __cplusplus
}
#endif

#endif
