/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Comparing two profiles: how different is what ran from what was assumed? First those that are
 * plain lists of (key, count), then those that are distributions (pathprof/distribution.h).
 *
 * `actual` is the profile that tells the truth (CCP: testing), p; `assumed` the one that was relied
 * on (CCP: training), q. Most figures differ when the two change places, and should: a profile that
 * covers more than it is asked for does no harm.
 *
 * Functions on distributions allocate nothing and have no state. If both profiles must have events,
 * an empty one is -ENODATA and nothing is returned.
 */
#ifndef PATHPROF_COMPARE_H
#define PATHPROF_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/distribution.h"
#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_count {
	char *key;
	uint64_t count;
};

/* Keys ascending (bytewise), each once. */
struct pathprof_counts {
	struct pathprof_count *entries;
	size_t cnt;
};

/*
 * Reads lines KEY<TAB>COUNT; a key that comes again adds up. "-": standard input. -EINVAL names
 * file and line; -EOVERFLOW when a sum leaves 64 bits.
 */
int pathprof_counts_read(struct pathprof_counts *ret_counts, const char *file,
			 struct pathprof_error *error);
void pathprof_counts_release(struct pathprof_counts *counts);

/*
 * Overlap: sum over keys of min(p_i, q_i) of the normalised counts, 0..1 (EOPP 5.5). Two empty
 * profiles overlap by 1, an empty and another by 0.
 */
double pathprof_overlap(const struct pathprof_counts *a, const struct pathprof_counts *b);

/* ---------------------------------------------------------------- distributions */

/*
 * Relative entropy (Kullback-Leibler) D(p||q) = sum p log2(p / q) in bits: what an event costs more
 * when it is coded for q and p is true (CCP 2.2). q is smoothed: each of the z events that p has
 * and q lacks gets epsilon, the others are scaled by (1 - z epsilon). Never negative; 0 when p = q;
 * finite always.
 *
 * epsilon 0: the default, min(1 / (2 (total + 1)), 1 / (4 z)) with q's total. Another one must be
 * below 1 / total, as an event that was seen once must be more likely than one that never was, and
 * below 1 / z: else -ERANGE. -ENODATA.
 *
 * Summed as p log(p/q) - p + q, whose terms are never negative and add up to the same: what first
 * orders would cancel is never there, so the figure keeps its digits where the two are close.
 */
struct pathprof_relative_entropy {
	double bits;
	double epsilon;    /* the one in use */
	size_t unseen_cnt; /* z */
};
int pathprof_relative_entropy(const struct pathprof_distribution *actual,
			      const struct pathprof_distribution *assumed, double epsilon,
			      struct pathprof_relative_entropy *ret_entropy);

/*
 * Coverage (CCP table 1), 0..1. static_share: of the events that the actual profile touched those
 * that the assumed one touched as well; dynamic_share: the actual profile's weight on these.
 * -ENODATA only when the actual profile is empty.
 */
struct pathprof_coverage {
	double static_share, dynamic_share;
};
int pathprof_coverage(const struct pathprof_distribution *actual,
		      const struct pathprof_distribution *assumed,
		      struct pathprof_coverage *ret_coverage);

/*
 * Compares branch profiles: coverage by branch; conflict, the branches (static) or their weight in
 * the actual profile (dynamic) whose majority direction differs in the assumed profile; and the
 * accuracy of static prediction. A branch is predicted taken when more than half of its weight in
 * the profile at hand is taken, else (a tie, a branch never seen) not taken. A branch that the
 * assumed profile does not touch conflicts with nothing. All 0..1. -ENODATA as above.
 */
struct pathprof_branch_comparison {
	struct pathprof_coverage coverage;
	struct pathprof_coverage conflict;
	double accuracy;     /* predicted from the assumed profile (cross-validation) */
	double accuracy_own; /* from the actual one itself (resubstitution): the best there is */
	size_t branch_cnt;   /* touched by the actual profile */
};
int pathprof_compare_branches(const struct pathprof_distribution *actual,
			      const struct pathprof_distribution *assumed,
			      struct pathprof_branch_comparison *ret_comparison);

/*
 * The angle between the two vectors of weights in degrees, 0..90 (Kistler and Franz 1998). From
 * normalised weights by Kahan's formula, so small angles are right as well. -ENODATA.
 */
int pathprof_angle_degrees(const struct pathprof_distribution *a,
			   const struct pathprof_distribution *b, double *ret_degrees);

/*
 * Overlap: sum of min(p_i, q_i), 0..1. The same is `llvm-profdata overlap` for edge profiles. Two
 * empty profiles overlap by 1, an empty and another by 0.
 */
double pathprof_distribution_overlap(const struct pathprof_distribution *a,
				     const struct pathprof_distribution *b);

/*
 * Compares grouped profiles: the similarity of `llvm-profdata overlap --sample`, 0..1. A function's
 * similarity is the overlap of its events normalised within it, times 1 - |w_a - w_b|, where w are
 * the function's shares of both profiles; the profile's is the sum over functions of (w_a + w_b) /
 * 2 times that. Not 1 minus any metric, but the figure that LLVM's users know. -ENODATA.
 */
int pathprof_similarity(const struct pathprof_distribution *a,
			const struct pathprof_distribution *b, double *ret_similarity);

/*
 * Regret (CCP 4.2): scores[test * method_cnt + method], the more the better. ret_regret[method]:
 * the mean over tests of the best score less this method's. A NaN score leaves its test out.
 * -ENODATA when no test is left.
 */
int pathprof_regret(const double *scores, size_t test_cnt, size_t method_cnt, double *ret_regret);

#ifdef __cplusplus
}
#endif

#endif
