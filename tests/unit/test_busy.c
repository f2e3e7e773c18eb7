// SPDX-License-Identifier: GPL-2.0-or-later
/* How many CPUs are busy, against simulated clocks. */
#include "../../daemon/busy.h"
#include "unit.h"

#define LOOK_NS 2000000000ull

/* After so many looks at a load of so many CPUs. */
static struct pp_busy after(struct pp_busy busy, unsigned int look_cnt, double cpus)
{
	for (unsigned int i = 0; i < look_cnt; i++)
		pp_busy_look(&busy, busy.seen_ns + LOOK_NS,
			     busy.user_ns + (uint64_t)(cpus * LOOK_NS));
	return busy;
}

static struct pp_busy begin(unsigned int cpu_cnt)
{
	struct pp_busy busy;

	pp_busy_init(&busy, cpu_cnt, 5000);
	return busy;
}

static void test_one_of_many(void)
{
	struct pp_busy busy = after(begin(64), 10, 1);

	CU_ASSERT_DOUBLE_EQUAL(busy.cpus, 1, 0.01);
	/* half a percent of one CPU, as a share of 64 */
	CU_ASSERT_EQUAL(pp_busy_share(&busy, 5000), 78);
	busy = after(busy, 12, 64);
	CU_ASSERT_DOUBLE_EQUAL(busy.cpus, 64, 0.1);
	CU_ASSERT(pp_busy_share(&busy, 5000) >= 4990 && pp_busy_share(&busy, 5000) <= 5000);
}

static void test_bounds(void)
{
	struct pp_busy busy = after(begin(2), 20, 0);

	CU_ASSERT_DOUBLE_EQUAL(busy.cpus, 0.2, 1e-9);
	CU_ASSERT_EQUAL(pp_busy_share(&busy, 5000), 500);
	/* samples of threads that were held come late, and in heaps */
	busy = after(busy, 20, 5);
	CU_ASSERT_DOUBLE_EQUAL(busy.cpus, 2, 1e-9);
	CU_ASSERT_EQUAL(pp_busy_share(&busy, 5000), 5000);
}

static void test_follows_in_seconds(void)
{
	struct pp_busy busy = after(after(begin(8), 20, 0), 4, 4);

	CU_ASSERT(busy.cpus > 3.5 && busy.cpus < 4.01);
}

static void test_tells_changes_only(void)
{
	struct pp_busy busy = after(begin(4), 20, 2);

	CU_ASSERT_FALSE(
		pp_busy_look(&busy, busy.seen_ns + LOOK_NS, busy.user_ns + 21 * LOOK_NS / 10));
	CU_ASSERT_TRUE(pp_busy_look(&busy, busy.seen_ns + LOOK_NS, busy.user_ns + 4 * LOOK_NS));
}

/* A load that grows by 6 % at a time doubles in the end. */
static void test_small_changes_add_up(void)
{
	struct pp_busy busy = after(begin(64), 20, 8);
	double told = busy.cpus;

	for (int i = 0; i < 20; i++)
		if (pp_busy_look(&busy, busy.seen_ns + LOOK_NS,
				 busy.user_ns + (uint64_t)(1.12 * busy.cpus * LOOK_NS)))
			told = busy.cpus;
	CU_ASSERT(busy.cpus > 20);
	CU_ASSERT(busy.cpus < 1.11 * told);
}

static void test_time_that_stands_still(void)
{
	struct pp_busy busy = begin(4);

	CU_ASSERT_EQUAL(pp_busy_share(&busy, 4000), 1000);
	CU_ASSERT_FALSE(pp_busy_look(&busy, busy.seen_ns, LOOK_NS));
	/* user time that falls back */
	busy.user_ns = LOOK_NS;
	pp_busy_look(&busy, busy.seen_ns + LOOK_NS, LOOK_NS / 2);
	CU_ASSERT_DOUBLE_EQUAL(busy.cpus, 0.5, 1e-9);
}

static const struct unit_test tests[] = {
	{"a share of the CPUs that are busy", test_one_of_many},
	{"a fifth of a CPU at least, all at most", test_bounds},
	{"follows a load in seconds", test_follows_in_seconds},
	{"tells what is worth telling", test_tells_changes_only},
	{"tells of small changes that add up", test_small_changes_add_up},
	{"one CPU at first; times that stand still or fall back", test_time_that_stands_still},
};
UNIT_SUITE(busy, tests)
