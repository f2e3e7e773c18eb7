/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Quantiles for a variance that was measured itself, with so many degrees of freedom. Pure.
 */
#ifndef PP_STUDENT_H
#define PP_STUDENT_H

#include <stdint.h>

#define PP_NORMAL_95 1.959963984540054 /* two-sided 95 % quantile of the normal distribution */

/* Two-sided 95 % quantile of Student's distribution, 1 degree or more; from 10 on by Cornish and
 * Fisher's expansion, which is within 0.001 there. */
static inline double pp_student_95(uint64_t degrees)
{
	static const double few[] = {0,     12.706, 4.303, 3.182, 2.776,
				     2.571, 2.447,  2.365, 2.306, 2.262};
	const double n = (double)degrees, z = PP_NORMAL_95;
	const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	if (degrees < sizeof(few) / sizeof(few[0]))
		return few[degrees];
	return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

#endif
