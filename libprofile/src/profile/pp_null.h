/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Plain relative entropy between two samples when nothing changed: its mean, variance and a limit,
 * from the samples themselves. docs/drift.md, "When nothing changed", has the derivation.
 *
 * Workload: one merge to count how many events were seen how often in both together, then some
 * arithmetic for each different count: at most the root of twice the samples are different.
 */
#ifndef PP_NULL_H
#define PP_NULL_H

#include "pathprof/distribution.h"

/* In nats, over all ways to split the pooled samples into ones of these sizes. */
struct pp_null {
	double mean;
	double variance;
};

/*
 * Both are counts and not empty. epsilon as of pathprof_relative_entropy(); dispersion as of
 * drift.h: counts are taken to be of so many fewer independent samples. -ENOMEM, -ERANGE.
 */
int pp_null_init(struct pp_null *ret_null, const struct pathprof_distribution *window,
		 const struct pathprof_distribution *baseline, double epsilon, double dispersion);

/*
 * The value exceeded with the probability that a standard normal variable exceeds z, z > 0: the
 * quantile of the gamma distribution of this mean and variance, by Wilson and Hilferty.
 */
double pp_null_limit(const struct pp_null *null, double z);

#endif
