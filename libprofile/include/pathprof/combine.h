/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Combining several profiles of a program into one to rely on (CCP 2.3 and 3; the first three
 * methods from Fisher and Freudenberger, 1992).
 *
 *     unscaled   weights added: a longer run counts for more
 *     scaled     weights normalised, then added: each run counts the same; sums to their number
 *     polling    a run has one vote a branch, for its majority direction (a tie: half each); in a
 *                profile that is not of branches, one vote for each event it touched
 *     KL         the profile from which no input is farther than it must be: it makes the greatest
 *                D(r || p_i) least; sums to 1
 *
 * KL: by duality r is a geometric mean, r = prod p_i^lambda_i / Z(lambda), with the lambda (>= 0,
 * sum 1) where log Z is least; log Z is convex. Of two profiles that is the Chernoff point, at
 * which D(r || p) = D(r || q) = -log Z, the Chernoff information (Cover and Thomas, 11.9). It is
 * found by moving weight between two inputs at a time, from the nearest to the farthest, with a
 * bracketed Newton search for how much; it ends when the greatest and the weighted mean distance
 * differ by less than 10^-12 bits, or cannot be told apart. Inputs are smoothed over the union of
 * their events, as in pathprof_relative_entropy().
 *
 * Workload: a handful of profiles of up to a million events. KL holds a logarithm an event a
 * profile. Ownership: the result is the caller's, to be freed with free().
 */
#ifndef PATHPROF_COMBINE_H
#define PATHPROF_COMBINE_H

#include <stdbool.h>
#include <stddef.h>

#include "pathprof/distribution.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pathprof_combine_method {
	PATHPROF_COMBINE_UNSCALED,
	PATHPROF_COMBINE_SCALED,
	PATHPROF_COMBINE_POLLING,
	PATHPROF_COMBINE_KL,
	PATHPROF_COMBINE_CNT,
};
/* "unscaled", "scaled", "polling", "kl"; NULL when out of range. */
const char *pathprof_combine_name(enum pathprof_combine_method method);
/* -EINVAL: no such method. */
int pathprof_combine_method(const char *name, enum pathprof_combine_method *ret_method);

#define PATHPROF_COMBINE_MAX 64

struct pathprof_combined {
	struct pathprof_event *events; /* in order; freed by the caller */
	size_t cnt;
	/* Only for the method KL, else zero: */
	double lambda[PATHPROF_COMBINE_MAX]; /* of each input */
	double distance_bits;                /* the greatest D(r || p_i) */
	double gap_bits; /* how far that may lie above the least possible, at most */
};

/*
 * branches: the inputs are branch profiles (polling asks). -EINVAL: none, or more than
 * PATHPROF_COMBINE_MAX inputs; -ENODATA: an empty one, which could neither be scaled nor be near
 * to anything (unscaled and polling take it: it adds nothing); -ERANGE: a sum above
 * PATHPROF_WEIGHT_MAX; -ENOMEM.
 */
int pathprof_combine(struct pathprof_combined *ret_combined, enum pathprof_combine_method method,
		     const struct pathprof_distribution *const *inputs, size_t input_cnt,
		     bool branches);

#ifdef __cplusplus
}
#endif

#endif
