/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The assumed profile without zeroes, where the actual one has events that it lacks (CCP 2.2): each
 * of these gets epsilon, the rest is scaled to make room. What relative entropy, its terms, its
 * bias and the combining of profiles share. Plain values, no memory.
 */
#ifndef PP_SMOOTH_H
#define PP_SMOOTH_H

#include <stddef.h>

#include "pathprof/distribution.h"

struct pp_smooth {
	long double epsilon;
	long double one; /* the share of an event of weight 1: 1 / total when none is unseen */
	size_t unseen_cnt;
};

/* The default for a profile of this total that lacks so many. */
long double pp_smooth_epsilon(long double total, long double unseen_cnt);

/* epsilon 0: the default. -ERANGE: no epsilon for this profile. total > 0. */
int pp_smooth_init(struct pp_smooth *ret_smooth, long double total, size_t unseen_cnt,
		   double epsilon);

static inline long double pp_smooth_probability(const struct pp_smooth *smooth, double weight)
{
	return weight > 0 ? weight * smooth->one : smooth->epsilon;
}

/* Events that `of` has and `in` lacks. */
size_t pp_smooth_unseen_cnt(const struct pathprof_distribution *of,
			    const struct pathprof_distribution *in);

/* p ln(p / q) - p + q in nats, p >= 0, q > 0: never negative, exact also where p and q are close.
 */
long double pp_divergence_term(long double p, long double q);

#endif
