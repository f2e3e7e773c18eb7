// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The angle of two profiles as vectors (Kistler and Franz). The arc cosine of the normalised
 * product has no digits left where the angle is small; Kahan's 2 atan2(|u - v|, |u + v|) over unit
 * vectors has.
 */
#include "pathprof/compare.h"

#include <errno.h>
#include <math.h>

#include "pp_merge.h"

/* The length of the vector of weights, whose squares are far below what a long double holds. */
static long double length(const struct pathprof_distribution *d)
{
	long double sum = 0;

	for (size_t i = 0; i < d->cnt; i++)
		sum += (long double)d->events[i].weight * d->events[i].weight;
	return sqrtl(sum);
}

int pathprof_angle_degrees(const struct pathprof_distribution *a,
			   const struct pathprof_distribution *b, double *ret_degrees)
{
	long double scale_a, scale_b, apart = 0, along = 0;
	struct pp_merge merge;
	struct pp_pair pair;

	if (!(a->total > 0) || !(b->total > 0))
		return -ENODATA;
	scale_a = 1 / length(a);
	scale_b = 1 / length(b);
	pp_merge_init(&merge, a, b);
	while (pp_merge_next(&merge, &pair)) {
		long double u = pair.a * scale_a, v = pair.b * scale_b;

		apart += (u - v) * (u - v);
		along += (u + v) * (u + v);
	}
	*ret_degrees = (double)(2 * atan2l(sqrtl(apart), sqrtl(along)) * (180 / M_PIl));
	return 0;
}
