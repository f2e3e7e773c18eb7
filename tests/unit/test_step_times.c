// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU times that a scan of /proc remembers for the next. */
#include "unit.h"

#include "../../daemon/step/step_times.h"

static struct pp_step_times times;

static void test_growth(void)
{
	pp_step_times_begin(&times);
	CU_ASSERT_EQUAL(pp_step_times_growth(&times, 7, 70, 5), PP_STEP_TIMES_NEW);
	/* a process and its first thread have one number */
	CU_ASSERT_EQUAL(pp_step_times_growth(&times, -7, 70, 9), PP_STEP_TIMES_NEW);
	pp_step_times_begin(&times);
	CU_ASSERT_EQUAL(pp_step_times_growth(&times, 7, 70, 8), 3);
	CU_ASSERT_EQUAL(pp_step_times_growth(&times, -7, 70, 9), 0);
	/* another thread with that number, and a time that went back */
	CU_ASSERT_EQUAL(pp_step_times_growth(&times, 7, 71, 9), PP_STEP_TIMES_NEW);
	CU_ASSERT_EQUAL(pp_step_times_growth(&times, 7, 71, 8), PP_STEP_TIMES_NEW);
	CU_ASSERT_EQUAL(pp_step_times_growth(&times, 7, 71, 8), 0);
	pp_step_times_release(&times);
}

/* How many of cnt processes with a thread each grew by one tick since the last scan. */
static uint32_t scan(uint32_t cnt, uint64_t ticks)
{
	uint32_t grown = 0;

	pp_step_times_begin(&times);
	for (int64_t i = 1; i <= cnt; i++) {
		grown += pp_step_times_growth(&times, -i, 1, ticks) == 1;
		grown += pp_step_times_growth(&times, i, 1, ticks) == 1;
	}
	return grown;
}

/* However many there are, each is remembered. */
static void test_many(void)
{
	CU_ASSERT_EQUAL(scan(50000, 1), 0);
	CU_ASSERT_EQUAL(scan(50000, 2), 100000);
	CU_ASSERT_EQUAL(scan(50000, 3), 100000);
	pp_step_times_release(&times);
}

/* Memory follows what lives, not what ever lived. */
static void test_gone(void)
{
	for (int64_t i = 0; i < 1000; i++) {
		pp_step_times_begin(&times);
		for (int64_t j = 1; j <= 100; j++)
			CU_ASSERT_EQUAL(pp_step_times_growth(&times, 100 * i + j, 1, 1),
					PP_STEP_TIMES_NEW);
		CU_ASSERT_EQUAL(pp_step_times_growth(&times, 1000000, 1, 1),
				i ? 0 : PP_STEP_TIMES_NEW);
	}
	CU_ASSERT(times.table.cnt <= 2048);
	pp_step_times_release(&times);
}

static const struct unit_test tests[] = {
	{"a time grows since the last scan", test_growth},
	{"a hundred thousand times are remembered", test_many},
	{"what is gone takes no memory", test_gone},
};
UNIT_SUITE(step_times, tests)
