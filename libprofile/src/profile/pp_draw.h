/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Random draws for resampling, the same on every machine of this architecture. Not for secrets. One
 * state an owner.
 */
#ifndef PP_DRAW_H
#define PP_DRAW_H

#include <stdint.h>

#include "../../core/pp_random.h"

/* In (0, 1). */
static inline double pp_draw_uniform(struct pp_random *random)
{
	return ((double)(pp_random_next(random) >> 11) + 0.5) * 0x1p-53;
}

/* A sampler of the Poisson distribution of one mean, for many draws. */
struct pp_poisson {
	double mean, root;
	double none; /* exp(-mean); used for small means */
};

void pp_poisson_init(struct pp_poisson *ret_poisson, double mean);
/*
 * Exact for means below 16; above by a normal variable corrected for skewness, whose error is far
 * below what the counts themselves are uncertain by.
 */
double pp_poisson_draw(const struct pp_poisson *poisson, struct pp_random *random);

/* The standard normal quantile of a probability in (0, 1), to 10^-9. */
double pp_normal_quantile(double probability);

#endif
