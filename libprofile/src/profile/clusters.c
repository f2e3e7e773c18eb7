// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Shares over hosts: see clusters.h. */
#include "pathprof/clusters.h"

#include <math.h>

#include "pp_student.h"

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
	half = pp_student_95(clusters->cnt - 1) * sqrt(variance_of(clusters));
	share->low = fmax(fmin(share->low, share->value - half), 0);
	share->high = fmin(fmax(share->high, share->value + half), 1);
}
