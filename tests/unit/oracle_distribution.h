/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Comparing and combining profiles straight from the formulas: every key is searched for
 * everywhere, every sum is one long double, and nothing of the library is used.
 */
#ifndef ORACLE_DISTRIBUTION_H
#define ORACLE_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/distribution.h"

#define ORACLE_EVENTS_MAX 512

/* Events in any order, each key once. */
struct oracle_profile {
	struct pathprof_event events[ORACLE_EVENTS_MAX];
	size_t cnt;
};

/* Keys of a population drawn at random, weights of many magnitudes, some of them 0. In order. */
void oracle_profile_draw(struct oracle_profile *ret_profile, size_t cnt, uint64_t population,
			 uint64_t seed);

long double oracle_weight(const struct oracle_profile *p, uint64_t hi, uint64_t lo);
long double oracle_total(const struct oracle_profile *p);
long double oracle_entropy(const struct oracle_profile *p);
/* epsilon 0: the default. */
long double oracle_kl(const struct oracle_profile *p, const struct oracle_profile *q,
		      long double epsilon);
long double oracle_overlap(const struct oracle_profile *p, const struct oracle_profile *q);
long double oracle_angle(const struct oracle_profile *p, const struct oracle_profile *q);
long double oracle_similarity(const struct oracle_profile *p, const struct oracle_profile *q);
void oracle_coverage(const struct oracle_profile *p, const struct oracle_profile *q,
		     long double *ret_static, long double *ret_dynamic);

struct oracle_branches {
	long double static_coverage, dynamic_coverage, static_conflict, dynamic_conflict, accuracy,
		accuracy_own;
};
struct oracle_branches oracle_branches(const struct oracle_profile *p,
				       const struct oracle_profile *q);

/* The weight of an event in the geometric mean of two profiles, each smoothed for the other. */
long double oracle_geometric(const struct oracle_profile *p, const struct oracle_profile *q,
			     long double lambda, uint64_t hi, uint64_t lo);
/* log2 of its normalising constant. */
long double oracle_log_z(const struct oracle_profile *p, const struct oracle_profile *q,
			 long double lambda);

#endif
