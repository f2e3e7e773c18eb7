/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exact path profile of a stream, and the one estimated from windows out of it.
 *
 * Workload: each branch of some hundred million is seen once by the truth and once by the cutter of
 * every estimate; the paths of 100,000 windows are added up. One owner.
 */
#ifndef LAB_COLLECT_ESTIMATE_H
#define LAB_COLLECT_ESTIMATE_H

#include "cutter.h"
#include "finder.h"
#include "pathprof/estimate.h"
#include "profile.h"
#include "whole.h"

/* How many windows were taken: powers of ten and three times these, 10 to 100,000. */
#define LAB_LEVEL_CNT 9
extern const uint32_t lab_levels[LAB_LEVEL_CNT];

#define LAB_WINDOW_CNT 4
extern const uint32_t lab_windows[LAB_WINDOW_CNT]; /* taken branches: 16 to 128 */

/* Columns of the truth. */
enum lab_truth_column {
	LAB_TRUTH_COUNT,
	LAB_TRUTH_INSNS,
	LAB_TRUTH_WHOLE, /* how often, those too that fall off a path stack of 32 */
	LAB_TRUTH_CNT
};

struct lab_truth {
	struct lab_finder finder;
	struct lab_profile profile; /* columns: enum lab_truth_column */
	uint64_t taken_cnt, insn_cnt, branch_cnt;
	uint64_t path_cnt;
	uint64_t unseen_cnt[LAB_WINDOW_CNT]; /* of path_cnt, too long for this window */
	struct lab_whole whole;
	uint64_t whole_cnt; /* those too that fall off a path stack of 32 */
};

void lab_truth_init(struct lab_truth *t);
void lab_truth_release(struct lab_truth *t);
/* insn_cnt: since the branch before, this one included. */
void lab_truth_step(struct lab_truth *t, const struct pathprof_branch *branch, uint32_t insn_cnt);
/* The stream is torn here. */
void lab_truth_tear(struct lab_truth *t);
/* The share (0..1) of the paths begun that no window of lab_windows[window] can show. It includes
 * paths in deep recursion, which the path stack forgets. */
double lab_truth_unobservable(const struct lab_truth *t, size_t window);

/* The weight of a path that was seen. */
enum lab_weighting {
	LAB_WEIGHT_PLAIN,   /* once */
	LAB_WEIGHT_SPAN,    /* n / (n - span), as pathprof_paths_of_burst() says */
	LAB_WEIGHT_REFINED, /* n / places, as lab_found_places() says */
	LAB_WEIGHTING_CNT,
};

/* The clock over which the places of windows are drawn. */
enum lab_clock { LAB_CLOCK_TAKEN, LAB_CLOCK_INSNS };

/* Orders of pathprof/estimate.h that stitch: 1 and 2. */
#define LAB_ORDER_CNT 2

struct lab_estimate {
	struct lab_cutter cutter;
	struct lab_finder finder;
	/* LAB_LEVEL_CNT columns a weighting; sums once lab_estimate_finish() was called. */
	struct lab_profile profile;
	enum lab_clock clock;
	uint64_t clock_now;
	uint32_t taken_wanted;
	size_t level; /* of the window in hand */
	/* Each sees the windows of its level and below; NULL unless lab_estimate_stitch(). */
	struct pathprof_estimator *stitched[LAB_ORDER_CNT][LAB_LEVEL_CNT];
};

/* window_cnt windows over a stream that the truth has seen; at most the highest level. */
void lab_estimate_init(struct lab_estimate *e, enum lab_clock clock, uint32_t taken_wanted,
		       uint32_t window_cnt, const struct lab_truth *truth, uint64_t seed);
/* Also stitches windows. To be called before the first step. */
void lab_estimate_stitch(struct lab_estimate *e);
void lab_estimate_release(struct lab_estimate *e);
void lab_estimate_step(struct lab_estimate *e, const struct pathprof_branch *branch,
		       uint32_t insn_cnt);
void lab_estimate_tear(struct lab_estimate *e);
void lab_estimate_finish(struct lab_estimate *e);
/* Overlap with the truth, 0..1, of the first lab_levels[level] windows. */
double lab_estimate_overlap(const struct lab_estimate *e, enum lab_weighting weighting,
			    size_t level, const struct lab_profile *truth,
			    enum lab_truth_column column);
/* The same for the profile stitched with this order, and the share that windows are estimated not
 * to show. */
double lab_estimate_stitched_overlap(const struct lab_estimate *e, uint32_t order, size_t level,
				     const struct lab_profile *truth, enum lab_truth_column column,
				     double *ret_unobservable);

#endif
