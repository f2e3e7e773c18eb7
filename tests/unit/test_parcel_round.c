// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Weights that a parcel rounds: none is off by more than an eighth of its own error, sums over many
 * rows stay, and what needs no rounding is left alone.
 */
#include "unit.h"

#include <float.h>
#include <math.h>

#include "../../libprofile/src/parcel/pp_parcel.h"

#define ROWS 5000

static void test_error_of_one(void)
{
	for (size_t row = 0; row < ROWS; row++) {
		double weight = exp(sin((double)row) * 60), looks = 1 + (double)(row % 700);
		double off = fabs((double)pp_parcel_round(weight, looks, row) - weight) / weight;

		CU_ASSERT(off <= 0.125 / sqrt(looks));
	}
}

/* Equal weights would all be rounded the same way. */
static void test_sum_of_equals(void)
{
	const double weights[] = {1.0 / 3, 0.52, 1.03, 1.9, 12345.678};

	for (size_t i = 0; i < sizeof(weights) / sizeof(*weights); i++) {
		double sum = 0;

		for (size_t row = 1000 * i; row < 1000 * i + ROWS; row++)
			sum += (double)pp_parcel_round(weights[i], 1, row);
		CU_ASSERT_DOUBLE_EQUAL(sum / ROWS / weights[i], 1, 2e-4);
	}
}

static void test_sum_of_any(void)
{
	double sum = 0, rounded = 0;

	for (size_t row = 0; row < ROWS; row++) {
		double weight = 1 + fabs(sin((double)row)) * 1000;

		sum += weight;
		rounded += (double)pp_parcel_round(weight, 1, row);
	}
	CU_ASSERT_DOUBLE_EQUAL(rounded / sum, 1, 1e-3);
}

/* Small counts have no more digits than one look is worth. */
static void test_left_alone(void)
{
	for (size_t row = 0; row < ROWS; row++) {
		float once = pp_parcel_round(exp(sin((double)row)), 3, row);

		CU_ASSERT((double)pp_parcel_round((double)(row % 17), 1, row) ==
			  (double)(row % 17));
		CU_ASSERT(pp_parcel_round((double)once, 3, row + 1) == once);
	}
}

/* A weight that is not 0 does not become 0, and the greatest stays a number. */
static void test_extremes(void)
{
	CU_ASSERT(pp_parcel_round(0, 1, 7) == 0);
	CU_ASSERT(pp_parcel_round(FLT_MIN, 1, 7) > 0);
	for (size_t row = 0; row < 100; row++) {
		CU_ASSERT(pp_parcel_round(FLT_MAX, 1, row) <= FLT_MAX);
		CU_ASSERT(pp_parcel_round(1.0 / 3, 1e30, row) == 1.0f / 3 ||
			  pp_parcel_round(1.0 / 3, 1e30, row) == nextafterf(1.0f / 3, 0));
	}
}

static void test_looks(void)
{
	CU_ASSERT_EQUAL(pp_parcel_round_looks(0), 0);
	CU_ASSERT_EQUAL(pp_parcel_round_looks(1), 1);
	CU_ASSERT_EQUAL(pp_parcel_round_looks(256), 256);
	CU_ASSERT_EQUAL(pp_parcel_round_looks(UINT32_MAX), UINT32_MAX);
	for (uint32_t looks = 1; looks < 1u << 30; looks += 1 + looks / 50) {
		uint32_t rounded = pp_parcel_round_looks(looks);

		CU_ASSERT(fabs((double)rounded - looks) <= looks / 32.0);
		CU_ASSERT_EQUAL(pp_parcel_round_looks(rounded), rounded);
	}
}

static const struct unit_test tests[] = {
	{"no weight is off by more than an eighth of its error", test_error_of_one},
	{"a sum of equal weights stays", test_sum_of_equals},
	{"a sum of unequal weights stays", test_sum_of_any},
	{"what has few digits is left alone", test_left_alone},
	{"extremes", test_extremes},
	{"looks", test_looks},
};

UNIT_SUITE(parcel_round, tests)
