// SPDX-License-Identifier: GPL-2.0-or-later
/* The convergent profiler: when it stops, for how long, and what of the full profile it keeps. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "../../libprofile/core/pp_convergent.h"
#include "pathprof/convergent.h"

#define PERCENT (PP_CONVERGENT_ONE / 100)

static const struct pp_convergent_config increasing = {
	.tnv = {.size = 10, .clear = 2000},
	.interval = 100,
	.decrease = PP_CONVERGENT_ONE,
	.backoff = PP_CONVERGENT_ONE,
};
static const struct pp_convergent_config bounds = {
	.tnv = {.size = 10, .clear = 2000},
	.interval = 100,
	.increase = 2 * PERCENT,
	.decrease = 4 * PERCENT,
	.backoff = PP_CONVERGENT_ONE,
};

/* Executes one value cnt times, and returns how many of them were profiled. */
static uint64_t repeat(struct pp_convergent *c, const struct pp_convergent_config *config,
		       uint64_t value, uint64_t cnt)
{
	uint64_t profiled = 0;

	while (cnt--)
		profiled += pp_convergent_step(c, config, value);
	return profiled;
}

/* Executes values that none has seen before. */
static uint64_t new_values(struct pp_convergent *c, const struct pp_convergent_config *config,
			   uint64_t cnt)
{
	uint64_t profiled = 0;

	while (cnt--)
		profiled += pp_convergent_step(c, config, 1000000 + c->executed);
	return profiled;
}

/* Two intervals, a back-off of as many executions, an interval, a back-off of as many again. */
static void test_constant(void)
{
	const struct pp_convergent_config *configs[] = {&increasing, &bounds};

	for (size_t i = 0; i < 2; i++) {
		struct pp_convergent c = {.executed = 0};

		CU_ASSERT_EQUAL(repeat(&c, configs[i], 7, 200), 200);
		CU_ASSERT_EQUAL(c.pause, 200);
		CU_ASSERT_EQUAL(repeat(&c, configs[i], 7, 200), 0);
		CU_ASSERT_EQUAL(repeat(&c, configs[i], 7, 100), 100);
		CU_ASSERT_EQUAL(c.pause, 500);
		CU_ASSERT_EQUAL(repeat(&c, configs[i], 7, 500), 0);
		CU_ASSERT_EQUAL(repeat(&c, configs[i], 7, 1), 1);
		CU_ASSERT_EQUAL(c.executed, 1001);
		CU_ASSERT_EQUAL(c.tnv.profiled, 301);
		CU_ASSERT_EQUAL(c.tnv.entry[0].count, 301);
	}
}

/* A rise goes on under both heuristics, until it is less than the bound. */
static void test_rising(void)
{
	struct pp_convergent a = {.executed = 0}, b = {.executed = 0};

	new_values(&a, &increasing, 100);
	new_values(&b, &bounds, 100);
	CU_ASSERT_EQUAL(repeat(&a, &increasing, 7, 5000), 5000);
	/* The share after k intervals is nearly 1 - 1/k: the first growth of at most 2 % is that
	 * from k = 7 to 8. */
	CU_ASSERT_EQUAL(repeat(&b, &bounds, 7, 1500 - 1), 700);
}

/* A fall ends the first heuristic at once, the second when it is slow. */
static void test_falling(void)
{
	struct pp_convergent a = {.executed = 0}, b = {.executed = 0};

	repeat(&a, &increasing, 7, 100);
	repeat(&b, &bounds, 7, 100);
	CU_ASSERT_EQUAL(new_values(&a, &increasing, 200), 100);
	CU_ASSERT_EQUAL(new_values(&b, &bounds, 200), 200);
	CU_ASSERT(new_values(&b, &bounds, 1000) < 1000);
}

/* The bounds themselves are inside: a change of exactly 2 % up or 4 % down has converged. */
static void test_bound_is_inside(void)
{
	struct pp_convergent c = {.share = 50 * PERCENT, .is_tested = 1};

	c.tnv.profiled = 100;
	c.tnv.entry[0].count = 52;
	c.executed = 100;
	pp_convergent_test(&c, &bounds);
	CU_ASSERT_EQUAL(c.pause, 100);
	c.pause = 0;
	c.tnv.entry[0].count = 48;
	pp_convergent_test(&c, &bounds);
	CU_ASSERT_EQUAL(c.pause, 100);
	c.pause = 0;
	c.tnv.entry[0].count = 43;
	pp_convergent_test(&c, &bounds);
	CU_ASSERT_EQUAL(c.pause, 0);
	c.tnv.entry[0].count = 46;
	pp_convergent_test(&c, &bounds);
	CU_ASSERT_EQUAL(c.pause, 0);
}

/* The lower half of the table does not count. */
static void test_top_half(void)
{
	static const struct pp_tnv_config two = {.size = 2, .clear = 2000};
	struct pp_tnv t = {.profiled = 0};

	pp_tnv_add(&t, &two, 1, 60);
	pp_tnv_add(&t, &two, 2, 40);
	CU_ASSERT_EQUAL(pp_convergent_share(&t, &two), 60 * PERCENT);
}

static void test_large_counts(void)
{
	static const struct pp_tnv_config config = {.size = 2, .clear = 2000};
	struct pp_tnv t = {.profiled = UINT64_MAX};

	t.entry[0].count = UINT64_MAX;
	CU_ASSERT_EQUAL(pp_convergent_share(&t, &config), PP_CONVERGENT_ONE);
	t.entry[0].count = UINT64_C(1) << 63;
	CU_ASSERT_EQUAL(pp_convergent_share(&t, &config), 50 * PERCENT);
	t.profiled = (UINT64_C(1) << 40) - 1;
	t.entry[0].count = t.profiled;
	CU_ASSERT_EQUAL(pp_convergent_share(&t, &config), PP_CONVERGENT_ONE);
}

/* The longest back-off there is, of as many executions as are promised. */
static void test_large_backoff(void)
{
	struct pp_convergent_config config = increasing;
	struct pp_convergent c = {.executed = UINT64_C(1) << 53};

	config.backoff = PP_CONVERGENT_BACKOFF_MAX;
	CU_ASSERT_EQUAL(pp_convergent_backoff(&c, &config), (UINT64_C(1) << 53) * 1000);
	config.backoff = PP_CONVERGENT_ONE / 2;
	c.executed = 3000001;
	CU_ASSERT_EQUAL(pp_convergent_backoff(&c, &config), 1500000);
}

static void test_no_backoff(void)
{
	struct pp_convergent_config config = increasing;
	struct pp_convergent c = {.executed = 0};

	config.backoff = 0;
	CU_ASSERT_EQUAL(repeat(&c, &config, 7, 5000), 5000);
}

static void test_random_backoff(void)
{
	struct pp_convergent_config config = increasing;
	struct pp_convergent c = {.executed = 1000};
	uint64_t sum = 0, most = 0, least = UINT64_MAX;

	config.random = 1;
	pp_convergent_init(&c, 42);
	for (int i = 0; i < 10000; i++) {
		uint64_t pause = pp_convergent_backoff(&c, &config);

		sum += pause;
		most = pause > most ? pause : most;
		least = pause < least ? pause : least;
	}
	CU_ASSERT(most < 2000 && most > 1900);
	CU_ASSERT(least < 100);
	CU_ASSERT(sum > 9500000 && sum < 10500000);
}

/* A change in a back-off goes unseen; one that lasts is seen behind it, and profiled. */
static void test_phase_change(void)
{
	struct pp_convergent c = {.executed = 0};

	repeat(&c, &bounds, 7, 200);
	CU_ASSERT_EQUAL(repeat(&c, &bounds, 8, 200), 0);
	CU_ASSERT_EQUAL(new_values(&c, &bounds, 300), 300);
}

/* ---------------------------------------------------------------- many sites */

static const struct pathprof_convergent_rules rules = {
	.entries = 10,
	.clear = 2000,
	.interval = 100,
	.decrease = 100,
	.backoff = 100,
};

static int refused(const struct pathprof_convergent_rules *wrong)
{
	struct pathprof_convergent *p = NULL;
	struct pathprof_error error;
	int r = pathprof_convergent_new(&p, wrong, &error);

	pathprof_convergent_free(p);
	return r;
}

#define REFUSED(member, value)                                                                     \
	({                                                                                         \
		struct pathprof_convergent_rules wrong_ = rules;                                   \
		wrong_.member = (value);                                                           \
		refused(&wrong_);                                                                  \
	})

static void test_rules(void)
{
	CU_ASSERT_EQUAL(REFUSED(entries, 16), 0);
	CU_ASSERT_EQUAL(REFUSED(entries, 2), 0);
	CU_ASSERT_EQUAL(REFUSED(entries, 0), -EINVAL);
	CU_ASSERT_EQUAL(REFUSED(entries, 7), -EINVAL);
	CU_ASSERT_EQUAL(REFUSED(entries, 18), -EINVAL);
	CU_ASSERT_EQUAL(REFUSED(clear, 0), -EINVAL);
	CU_ASSERT_EQUAL(REFUSED(interval, 0), -EINVAL);
	CU_ASSERT_EQUAL(REFUSED(increase, 101), -EINVAL);
	CU_ASSERT_EQUAL(REFUSED(decrease, 101), -EINVAL);
	CU_ASSERT_EQUAL(REFUSED(backoff, 100000), 0);
	CU_ASSERT_EQUAL(REFUSED(backoff, 100001), -EINVAL);
}

/* One site whose value changes while it is not looked at, one that is seen whole. */
static void test_cost(void)
{
	struct pathprof_convergent *p;
	struct pathprof_convergent_site site;
	struct pathprof_convergent_cost cost;

	CU_ASSERT_EQUAL_FATAL(pathprof_convergent_new(&p, &rules, NULL), 0);
	for (int i = 0; i < 400; i++)
		CU_ASSERT_EQUAL(pathprof_convergent_add(p, 0xb, i < 190 ? 7 : 8), 0);
	for (int i = 0; i < 100; i++)
		CU_ASSERT_EQUAL(pathprof_convergent_add(p, 0xa, 5), 0);
	CU_ASSERT_EQUAL(pathprof_convergent_cnt(p), 2);
	pathprof_convergent_read(p, 0, &site);
	CU_ASSERT_EQUAL(site.site, 0xb);
	CU_ASSERT_EQUAL(site.executed, 400);
	CU_ASSERT_EQUAL(site.same, 398);
	CU_ASSERT_EQUAL(site.convergent.profiled, 200);
	CU_ASSERT_EQUAL(site.full.profiled, 400);
	CU_ASSERT_EQUAL(site.full.values[0].value, 8);
	cost = pathprof_convergent_cost(p);
	CU_ASSERT_EQUAL(cost.executed, 500);
	CU_ASSERT_EQUAL(cost.profiled, 300);
	/* Of 8: 210 of 400; of 7 in the convergent profile: 190 of 200. */
	CU_ASSERT_DOUBLE_EQUAL(cost.diff_1, (0.95 - 0.525) * 400 / 500, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(cost.diff_n, 0, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(cost.find_1, 1, 1e-12);
	for (int i = 0; i < 100; i++) /* site 0xb is in its back-off no more: a new value is seen */
		pathprof_convergent_add(p, 0xb, 9);
	cost = pathprof_convergent_cost(p);
	CU_ASSERT_DOUBLE_EQUAL(cost.find_n, 1, 1e-12);
	pathprof_convergent_free(p);
}

/* The top value came in the back-off alone: it is not found. */
static void test_not_found(void)
{
	struct pathprof_convergent *p;
	struct pathprof_convergent_cost cost;

	CU_ASSERT_EQUAL_FATAL(pathprof_convergent_new(&p, &rules, NULL), 0);
	cost = pathprof_convergent_cost(p);
	CU_ASSERT_EQUAL(cost.executed, 0);
	CU_ASSERT(isnan(cost.find_1) && isnan(cost.find_n));
	for (int i = 0; i < 500; i++)
		pathprof_convergent_add(p, 1, i < 200 || i >= 400 ? (uint64_t)i % 2 : 8);
	cost = pathprof_convergent_cost(p);
	CU_ASSERT_EQUAL(cost.profiled, 300);
	CU_ASSERT_DOUBLE_EQUAL(cost.find_1, 0, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(cost.find_n, 0.6, 1e-12);
	pathprof_convergent_free(p);
}

static const struct unit_test tests[] = {
	{"a constant converges, wakes, and converges again", test_constant},
	{"a rise goes on", test_rising},
	{"a fall stops the one heuristic and not the other", test_falling},
	{"a change as large as the bound has converged", test_bound_is_inside},
	{"the invariance is that of the top half", test_top_half},
	{"the invariance is right for counts of 64 bits", test_large_counts},
	{"the longest back-off does not overflow", test_large_backoff},
	{"without back-off every execution is profiled", test_no_backoff},
	{"random back-offs lie between 0 and twice the constant", test_random_backoff},
	{"a change in a back-off is seen behind it", test_phase_change},
	{"rules out of range are refused", test_rules},
	{"the cost is that of what was left out", test_cost},
	{"a top value that was left out is not found", test_not_found},
};
UNIT_SUITE(convergent, tests)
