// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Smoothing, and the term of relative entropy that does not cancel. */
#include "pp_smooth.h"

#include <errno.h>
#include <math.h>

#include "pp_merge.h"

long double pp_smooth_epsilon(long double total, long double unseen_cnt)
{
	long double by_total = 1 / (2 * (total + 1));

	return 4 * unseen_cnt * by_total > 1 ? 1 / (4 * unseen_cnt) : by_total;
}

int pp_smooth_init(struct pp_smooth *ret_smooth, long double total, size_t unseen_cnt,
		   double epsilon)
{
	long double e = epsilon;

	if (epsilon == 0)
		e = pp_smooth_epsilon(total, (long double)unseen_cnt);
	else if (!(epsilon > 0) || e * total >= 1 || e * (long double)unseen_cnt >= 1)
		return -ERANGE;
	*ret_smooth = (struct pp_smooth){.epsilon = e,
					 .divisor = total / (1 - (long double)unseen_cnt * e),
					 .unseen_cnt = unseen_cnt};
	return 0;
}

size_t pp_smooth_unseen_cnt(const struct pathprof_distribution *of,
			    const struct pathprof_distribution *in)
{
	struct pp_merge merge;
	struct pp_pair pair;
	size_t cnt = 0;

	pp_merge_init(&merge, of, in);
	while (pp_merge_next(&merge, &pair))
		cnt += pair.a > 0 && !(pair.b > 0);
	return cnt;
}

/* x - ln(1 + x) of a small x, by its series: the difference would leave too few digits. */
static long double above_log(long double x)
{
	long double power = x, sum = 0;

	for (int n = 2; n < 12; n++) {
		power *= -x;
		sum -= power / n;
	}
	return sum;
}

long double pp_divergence_term(long double p, long double q)
{
	long double term;

	if (!(p > 0))
		return q;
	if (fabsl(q - p) < 0.01L * p)
		term = p * above_log((q - p) / p);
	else if (fabsl(q - p) < 0.1L * p)
		term = p * logl(p / q) - (p - q);
	else /* little cancels: a double's logarithm leaves 13 digits, in a tenth of the time */
		term = p * log((double)(p / q)) - (p - q);
	return term > 0 ? term : 0;
}
