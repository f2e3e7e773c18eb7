// SPDX-License-Identifier: GPL-2.0-or-later
/* The source's part of the budget, against simulated daemons: what both take adds up. */
#include <stdlib.h>

#include "../../daemon/allowance.h"
#include "unit.h"

#define LOOK_NS    2000000000u
#define CPU_CNT    2
#define BUDGET_PPM 5000
/* The budget of the time between two looks: LOOK_NS * BUDGET_PPM * CPU_CNT. */
#define BUDGET_NS 20000000u

struct outcome {
	double both, source; /* parts of the budget, over the second half of the time */
	double least;        /* the source's least part at any time */
	unsigned int change_cnt;
};

/* CPU time of a daemon between two looks, the source having had this part of the budget. */
typedef double daemon_fn(unsigned int look, double source_part);

static struct outcome simulate(daemon_fn *daemon, unsigned int look_cnt)
{
	struct outcome outcome = {.least = 1};
	const unsigned int settled = look_cnt / 2;
	uint64_t now_ns = 1000000000, cpu_ns = 77000000;
	struct pp_allowance allowance;

	pp_allowance_init(&allowance, BUDGET_PPM, CPU_CNT, now_ns, cpu_ns);
	for (unsigned int i = 0; i < look_cnt; i++) {
		const double part = (double)allowance.source_ppm / BUDGET_PPM;
		const double daemon_part = daemon(i, part);

		now_ns += LOOK_NS;
		cpu_ns += (uint64_t)(daemon_part * BUDGET_NS);
		outcome.change_cnt += pp_allowance_look(&allowance, now_ns, cpu_ns);
		if (part < outcome.least)
			outcome.least = part;
		if (i < settled)
			continue;
		outcome.source += part / (look_cnt - settled);
		outcome.both += (part + daemon_part) / (look_cnt - settled);
	}
	return outcome;
}

static double idle(unsigned int look, double source_part)
{
	return 0;
}

static double steady(unsigned int look, double source_part)
{
	return 0.3;
}

/* Smaller than a step: savings add up until they are worth a change. */
static double small(unsigned int look, double source_part)
{
	return 0.04;
}

/* A window's end each minute. */
static double spiky(unsigned int look, double source_part)
{
	return look % 30 == 29 ? 3 : 0.02;
}

/* The work is in proportion to the part that the source used. */
static double fed(unsigned int look, double source_part)
{
	return 2 * source_part;
}

static double flooded(unsigned int look, double source_part)
{
	return 5;
}

static void test_sum(void)
{
	static daemon_fn *const daemons[] = {idle, steady, small, spiky, fed};

	for (unsigned int i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++) {
		struct outcome outcome = simulate(daemons[i], 3000);

		CU_ASSERT(outcome.both > 0.98 && outcome.both < 1.02);
		CU_ASSERT(outcome.least >= 0.25);
	}
}

static void test_few_changes(void)
{
	CU_ASSERT(simulate(idle, 3000).change_cnt < 5);
	/* one in ten looks at most */
	CU_ASSERT(simulate(steady, 3000).change_cnt < 300);
	CU_ASSERT(simulate(small, 3000).change_cnt < 300);
	CU_ASSERT(simulate(fed, 3000).change_cnt < 300);
}

static void test_floor(void)
{
	struct outcome outcome = simulate(flooded, 100);

	CU_ASSERT_DOUBLE_EQUAL(outcome.source, 0.25, 1e-3);
}

static double flooded_once(unsigned int look, double source_part)
{
	return look < 500 ? 5 : 0;
}

/* A flood of a quarter of an hour is not paid for until the next day. */
static void test_forgets(void)
{
	struct outcome outcome = simulate(flooded_once, 1000);

	CU_ASSERT(outcome.source > 0.9);
}

static void test_new_budget(void)
{
	struct pp_allowance allowance;

	pp_allowance_init(&allowance, BUDGET_PPM, CPU_CNT, 0, 0);
	CU_ASSERT_TRUE(pp_allowance_look(&allowance, LOOK_NS, 3 * BUDGET_NS));
	CU_ASSERT(allowance.source_ppm < BUDGET_PPM);
	pp_allowance_set_budget(&allowance, 10 * BUDGET_PPM);
	CU_ASSERT(allowance.source_ppm > 9 * BUDGET_PPM);
	CU_ASSERT(allowance.source_ppm <= 10 * BUDGET_PPM);
	/* the daemon's CPU time seems to fall while a child is between two accounts */
	CU_ASSERT_FALSE(pp_allowance_look(&allowance, LOOK_NS + 1, BUDGET_NS));
}

static const struct unit_test tests[] = {
	{"source and daemon together take the budget", test_sum},
	{"changes are few", test_few_changes},
	{"a busy daemon leaves the source a quarter", test_floor},
	{"a flood is paid for a minute only", test_forgets},
	{"another budget counts at once", test_new_budget},
};

UNIT_SUITE(allowance, tests)
