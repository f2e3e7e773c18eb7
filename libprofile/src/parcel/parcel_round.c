// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Weights that are estimates, rounded to what they can tell: digits below a twentieth of a weight's
 * own error are noise, which zstd cannot pack. Half of a parcel was such digits.
 */
#include "pp_parcel.h"

#include <math.h>

/* Binary digits of a weight of one look, and of a number of looks. */
#define WEIGHT_BITS 4
#define LOOKS_BITS  5
#define FLOAT_BITS  24

uint32_t pp_parcel_round_looks(uint32_t units)
{
	int exponent;
	double scaled = round(ldexp(frexp(units, &exponent), LOOKS_BITS));
	double rounded = ldexp(scaled, exponent - LOOKS_BITS);

	return rounded < UINT32_MAX ? (uint32_t)rounded : UINT32_MAX;
}

/*
 * The error of a weight is itself by the square root of its looks, so four times the looks earn one
 * digit more.
 */
int pp_parcel_weight_bits(uint64_t looks_256)
{
	int bits = WEIGHT_BITS;

	for (uint64_t enough = 256; bits < FLOAT_BITS && enough < looks_256; enough *= 4)
		bits++;
	return bits;
}

static int bits_of(double looks)
{
	double units = ceil(looks * 256);

	return pp_parcel_weight_bits(units < 1e18 ? (uint64_t)units : UINT64_MAX);
}

/*
 * Whether a row is rounded up follows the golden ratio's multiples, which spread evenly: equal
 * weights are rounded up as often as it takes for their sum to stay the same.
 */
static double dither(size_t row)
{
	return ldexp((uint32_t)((row + 1) * 0x9e3779b9u), -32);
}

float pp_parcel_round(double weight, double looks, size_t row)
{
	int bits = bits_of(looks), exponent;
	double scaled = ldexp(frexp(weight, &exponent), bits);
	double rounded = ldexp(floor(scaled + dither(row)), exponent - bits);

	return rounded < (double)__FLT_MAX__ ? (float)rounded : __FLT_MAX__;
}
