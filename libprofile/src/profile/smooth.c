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
					 .one = (1 - (long double)unseen_cnt * e) / total,
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

/*
 * x - ln(1 + x) of |x| < 0.01, by its series, x^2/2 - x^3/3 + ...: the difference would leave too
 * few digits.
 */
static long double above_log(long double x)
{
	double y = (double)x, sum = 1.0 / 10;

	sum = 1.0 / 9 - y * sum;
	sum = 1.0 / 8 - y * sum;
	sum = 1.0 / 7 - y * sum;
	sum = 1.0 / 6 - y * sum;
	sum = 1.0 / 5 - y * sum;
	sum = 1.0 / 4 - y * sum;
	sum = 1.0 / 3 - y * sum;
	return x * x * (0.5L - y * sum);
}

long double pp_divergence_term(long double p, long double q)
{
	long double term, off = q - p;

	if (!(p > 0))
		return q;
	/* the less cancels, the fewer digits a logarithm must have: a double's are soon had */
	if (fabsl(off) < 0.01L * p)
		term = p * above_log(off / p);
	else if (fabsl(off) < 0.1L * p)
		term = off - p * log1p((double)(off / p));
	else
		term = off - p * log((double)(q / p));
	return term > 0 ? term : 0;
}
