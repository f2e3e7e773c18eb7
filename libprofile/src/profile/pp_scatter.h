/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * How uncertain plain relative entropy between two samples is when they do differ: its variance
 * over samples drawn from what was seen. By the infinitesimal jackknife (the linear part alone, one
 * merge), or by a bootstrap in which every count is a Poisson variable (everything, replicates
 * times the work). docs/drift.md, "The interval".
 */
#ifndef PP_SCATTER_H
#define PP_SCATTER_H

#include "pathprof/distribution.h"

struct pp_scatter {
	double variance; /* square nats */
	double skewness;
};

/* Both are counts and not empty. */
void pp_scatter_linear(struct pp_scatter *ret_scatter, const struct pathprof_distribution *window,
		       const struct pathprof_distribution *baseline);
/* replicates >= 2. epsilon as of pathprof_relative_entropy(). -ENOMEM. */
int pp_scatter_bootstrap(struct pp_scatter *ret_scatter, const struct pathprof_distribution *window,
			 const struct pathprof_distribution *baseline, double epsilon,
			 uint32_t replicates, uint64_t seed);

#endif
