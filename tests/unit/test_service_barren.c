// SPDX-License-Identifier: GPL-2.0-or-later
/* When a source that brings nothing is at fault. */
#include "unit.h"

#include "../../daemon/service_state.h"

#define SEC UINT64_C(1000000000)

static bool barren(double wall_s, double user_s, double every_s)
{
	struct pp_mark since = {.time_ns = 5 * SEC, .user_ns = 10 * SEC};
	struct pp_mark now = {.time_ns = since.time_ns + (uint64_t)(wall_s * 1e9),
			      .user_ns = since.user_ns + (uint64_t)(user_s * 1e9)};

	return pp_mark_is_barren(&since, &now, every_s);
}

/* A minute in which one CPU ran user code for 3 s. */
static void test_barren(void)
{
	CU_ASSERT(barren(60, 3.001, 0.3));
	CU_ASSERT(!barren(59, 60, 0.3));
	CU_ASSERT(!barren(60, 2.99, 0.3));
	CU_ASSERT(!barren(60, 60, 7));
	CU_ASSERT(barren(71, 60, 7));
}

static void test_unknown(void)
{
	struct pp_mark since = {.time_ns = SEC}, now = {.time_ns = 900 * SEC};

	CU_ASSERT(!pp_mark_is_barren(&since, &now, 0));
}

static const struct unit_test tests[] = {
	{"no burst in a busy minute is a fault, in an idle one not", test_barren},
	{"no judgement where user time is not known", test_unknown},
};

UNIT_SUITE(service_barren, tests)
