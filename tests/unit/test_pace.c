// SPDX-License-Identifier: GPL-2.0-or-later
/* The tracker's account of CPU time: how it fills, what it allows, when it is full again. */
#include "../../daemon/shared/pace.h"
#include "base/clock.h"
#include "unit.h"

#define SECOND_NS 1000000000ull

static void test_share(void)
{
	struct pp_pace pace;

	/* a twentieth of one CPU, a hundredth of all, half of one at most */
	pp_pace_init(&pace, 1, 0);
	CU_ASSERT_EQUAL(pace.share_ppm, 50000);
	pp_pace_init(&pace, 20, 0);
	CU_ASSERT_EQUAL(pace.share_ppm, 200000);
	pp_pace_init(&pace, 1000, 0);
	CU_ASSERT_EQUAL(pace.share_ppm, 500000);
}

static void test_fills_and_is_full(void)
{
	struct pp_pace pace;

	pp_pace_init(&pace, 1, SECOND_NS);
	CU_ASSERT_EQUAL(pp_pace_left(&pace, SECOND_NS), PP_PACE_SAVED_NS);
	CU_ASSERT_EQUAL(pp_pace_left(&pace, 100 * SECOND_NS), PP_PACE_SAVED_NS);
	/* overdrawn by as much as was saved: eight seconds until it is full again */
	pp_pace_pay(&pace, 2 * (uint64_t)PP_PACE_SAVED_NS);
	CU_ASSERT_EQUAL(pp_pace_left(&pace, 100 * SECOND_NS), -PP_PACE_SAVED_NS);
	CU_ASSERT_EQUAL(pp_pace_due(&pace, 0), 104 * SECOND_NS);
	CU_ASSERT_EQUAL(pp_pace_left(&pace, 104 * SECOND_NS), 0);
	CU_ASSERT_EQUAL(pp_pace_left(&pace, 106 * SECOND_NS), PP_PACE_SAVED_NS / 2);
	CU_ASSERT_EQUAL(pp_pace_left(&pace, 200 * SECOND_NS), PP_PACE_SAVED_NS);
	CU_ASSERT_EQUAL(pp_pace_due(&pace, 1), 200 * SECOND_NS);
	CU_ASSERT_EQUAL(pace.spent_ns, 2 * (uint64_t)PP_PACE_SAVED_NS);
	/* a clock that goes back, or far ahead */
	CU_ASSERT_EQUAL(pp_pace_left(&pace, 0), PP_PACE_SAVED_NS);
	pp_pace_pay(&pace, (uint64_t)PP_PACE_SAVED_NS);
	CU_ASSERT_EQUAL(pp_pace_left(&pace, UINT64_MAX), PP_PACE_SAVED_NS);
}

/* The balance of an empty account after a million questions, so far from each other. */
static int64_t gained_by(uint64_t step_ns)
{
	struct pp_pace pace;
	uint64_t now_ns = 0;

	pp_pace_init(&pace, 1, 0);
	pp_pace_pay(&pace, (uint64_t)PP_PACE_SAVED_NS);
	for (int i = 0; i < 1000000; i++)
		pp_pace_left(&pace, now_ns += step_ns);
	return pace.left_ns;
}

/* Asked every microsecond or two it gains the same as asked once. */
static void test_small_steps(void)
{
	int64_t gained_ns = gained_by(1000);

	CU_ASSERT(gained_ns >= 49000000 && gained_ns <= 50000000);
	gained_ns = gained_by(1900);
	CU_ASSERT(gained_ns >= 94000000 && gained_ns <= 95000000);
}

static void test_measures(void)
{
	struct pp_pace pace;
	volatile uint64_t sum = 0;
	uint64_t begin_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID), started_ns;

	pp_pace_init(&pace, 1, 0);
	CU_ASSERT(pp_pace_start(&pace));
	CU_ASSERT(!pp_pace_start(&pace));
	started_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	while (pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - started_ns < 2000000)
		sum = sum + 1;
	pp_pace_stop(&pace);
	CU_ASSERT(pace.spent_ns >= 2000000 &&
		  pace.spent_ns <= pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
	CU_ASSERT_EQUAL(pace.left_ns, PP_PACE_SAVED_NS - (int64_t)pace.spent_ns);
	CU_ASSERT(pp_pace_start(&pace));
}

static const struct unit_test tests[] = {
	{"the share grows with the CPUs, within bounds", test_share},
	{"it fills with time, and is full at some point", test_fills_and_is_full},
	{"nothing is lost to rounding", test_small_steps},
	{"what is done between start and stop is paid for", test_measures},
};
UNIT_SUITE(pace, tests)
