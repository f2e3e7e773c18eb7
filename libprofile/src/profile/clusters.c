// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Shares over hosts: see clusters.h. */
#include "pathprof/clusters.h"

#include <math.h>

#define Z_95 1.959963984540054 /* two-sided 95 % quantile of the normal distribution */

/* Two-sided 95 % quantile of Student's distribution; from 10 degrees on by Cornish and Fisher's
 * expansion, which is within 0.001 there. */
static double student(uint64_t degrees)
{
	static const double few[] = {0,     12.706, 4.303, 3.182, 2.776,
				     2.571, 2.447,  2.365, 2.306, 2.262};
	const double n = (double)degrees, z = Z_95;
	const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	if (degrees < sizeof(few) / sizeof(few[0]))
		return few[degrees];
	return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

/* The variance of the ratio, from the scatter of the clusters' own ratios. */
static double variance_of(const struct pathprof_clusters *c)
{
	double ratio = c->part / c->whole, n = (double)c->cnt;
	double squares =
		c->part_squares - 2 * ratio * c->product + ratio * ratio * c->whole_squares;

	return fmax(squares, 0) * n / (n - 1) / (c->whole * c->whole);
}

void pathprof_clusters_widen(const struct pathprof_clusters *clusters, struct pathprof_share *share)
{
	double half;

	if (clusters->cnt < 2 || !(clusters->whole > 0) || isnan(share->low))
		return;
	half = student(clusters->cnt - 1) * sqrt(variance_of(clusters));
	share->low = fmax(fmin(share->low, share->value - half), 0);
	share->high = fmin(fmax(share->high, share->value + half), 1);
}
