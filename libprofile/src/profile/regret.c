// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Regret: what each of several methods loses on average to the best one of each test (CCP 4.2). */
#include "pathprof/compare.h"

#include <errno.h>
#include <math.h>

/* NaN when a score is. */
static double best(const double *scores, size_t cnt)
{
	double best = scores[0];

	for (size_t i = 0; i < cnt; i++) {
		if (isnan(scores[i]))
			return NAN;
		best = scores[i] > best ? scores[i] : best;
	}
	return best;
}

static long double lost(const double *scores, size_t test_cnt, size_t method_cnt, size_t method)
{
	long double sum = 0;

	for (size_t t = 0; t < test_cnt; t++) {
		const double *row = scores + t * method_cnt;

		if (!isnan(best(row, method_cnt)))
			sum += (long double)best(row, method_cnt) - row[method];
	}
	return sum;
}

int pathprof_regret(const double *scores, size_t test_cnt, size_t method_cnt, double *ret_regret)
{
	size_t tests = 0;

	for (size_t t = 0; t < test_cnt && method_cnt; t++)
		tests += !isnan(best(scores + t * method_cnt, method_cnt));
	if (!tests)
		return -ENODATA;
	for (size_t m = 0; m < method_cnt; m++)
		ret_regret[m] =
			(double)(lost(scores, test_cnt, method_cnt, m) / (long double)tests);
	return 0;
}
