// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Entropy (CCP 2.1): -sum p log2 p = log2 T - sum w log2 w / T. The first form is used: in the
 * second two large numbers nearly cancel when locality is good.
 */
#include "pathprof/distribution.h"

#include <math.h>

#include "pp_logs.h"

/* In nats. Terms are of one sign: where they do not cancel in themselves a table's digits do. */
static double term(const struct pp_logs *logs, double weight, double share, double log_total)
{
	if (share > 0.5 || weight >= PP_LOGS || weight != (double)(uint32_t)weight)
		return -share * log(share);
	return share * (log_total - logs->of[(uint32_t)weight]);
}

double pathprof_entropy_bits(const struct pathprof_distribution *distribution)
{
	const struct pp_logs *logs = pp_logs();
	double log_total = (double)logl(distribution->total), total = (double)distribution->total;
	double one = 1 / total;
	long double nats = 0;

	for (size_t i = 0; i < distribution->cnt; i++) {
		double weight = distribution->events[i].weight;

		if (weight > 0)
			nats += term(logs, weight, weight * one, log_total);
	}
	return nats > 0 ? (double)(nats / M_LN2l) : 0;
}
