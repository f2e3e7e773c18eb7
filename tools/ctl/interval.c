// SPDX-License-Identifier: GPL-2.0-or-later
/* Wilson's interval: see interval.h. */
#include "interval.h"

#include <math.h>

#define Z_95 1.959963984540054 /* two-sided 95 % quantile of the normal distribution */

struct interval interval_of_share(double share, uint64_t observations)
{
	double n = (double)observations, z2 = Z_95 * Z_95;
	double middle, half;

	if (observations == 0)
		return (struct interval){0, 1};
	share = fmin(fmax(share, 0), 1);
	middle = (share + z2 / (2 * n)) / (1 + z2 / n);
	half = Z_95 / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
	return (struct interval){fmax(middle - half, 0), fmin(middle + half, 1)};
}
