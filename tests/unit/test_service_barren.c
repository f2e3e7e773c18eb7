// SPDX-License-Identifier: GPL-2.0-or-later
/* When a source that brings nothing is at fault. */
#include "unit.h"

#include "../../daemon/service_state.h"

#define SEC UINT64_C(1000000000)

static bool barren(double wall_s, uint64_t samples, double every_s)
{
	struct pp_mark since = {.time_ns = 5 * SEC, .user_samples = 1000};
	struct pp_mark now = {.time_ns = since.time_ns + (uint64_t)(wall_s * 1e9),
			      .user_samples = since.user_samples + samples};

	return pp_mark_is_barren(&since, &now, 100, every_s);
}

/* A minute in which one CPU ran user code for 3 s: 300 samples at 100 a second. */
static void test_barren(void)
{
	CU_ASSERT(barren(60, 300, 0.3));
	CU_ASSERT(!barren(59, 6000, 0.3));
	CU_ASSERT(!barren(60, 299, 0.3));
	CU_ASSERT(!barren(60, 6000, 7));
	CU_ASSERT(barren(71, 6000, 7));
}

static void test_no_clock(void)
{
	struct pp_mark since = {.time_ns = SEC}, now = {.time_ns = 900 * SEC};

	CU_ASSERT(!pp_mark_is_barren(&since, &now, 0, 0));
}

static const struct unit_test tests[] = {
	{"no burst in a busy minute is a fault, in an idle one not", test_barren},
	{"without a clock nothing is known", test_no_clock},
};

UNIT_SUITE(service_barren, tests)
