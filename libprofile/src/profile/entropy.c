// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Entropy (CCP 2.1): -sum p log2 p = log2 T - sum w log2 w / T. The first form is used: in the
 * second two large numbers nearly cancel when locality is good.
 */
#include "pathprof/distribution.h"

#include <math.h>

double pathprof_entropy_bits(const struct pathprof_distribution *distribution)
{
	long double sum = 0;

	for (size_t i = 0; i < distribution->cnt; i++) {
		long double p = distribution->events[i].weight;

		/* all terms are of one sign: a double's logarithm is enough */
		if (p > 0) {
			p /= distribution->total;
			sum -= p * log2((double)p);
		}
	}
	return sum > 0 ? (double)sum : 0;
}
