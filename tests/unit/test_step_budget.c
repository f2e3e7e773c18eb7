// SPDX-License-Identifier: GPL-2.0-or-later
/* The token bucket, against a naive ledger over simulated time. */
#include "unit.h"

#include "../../daemon/step/step_engine.h"

#define PPM      1000000ull
#define CHEAP_NS (PP_NSEC_PER_MSEC / 2)
#define DEAR_NS  (9 * PP_NSEC_PER_MSEC)

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/*
 * Spends whenever the bucket allows, bursts of 1 to 5 ms, for a simulated length. Returns what was
 * spent; *ret_over is by how much the spending ever exceeded the earnings.
 */
static uint64_t simulate(struct pp_step_budget *budget, uint64_t length_ns, uint64_t rate_ppm,
			 int64_t *ret_over)
{
	uint64_t now_ns = budget->refilled_ns;
	uint64_t begin_ns = now_ns;
	uint64_t spent_ns = 0;

	*ret_over = INT64_MIN;
	while (now_ns - begin_ns < length_ns) {
		uint64_t wait_ns = pp_step_budget_wait(budget, now_ns);
		uint64_t burst_ns = PP_NSEC_PER_MSEC + next_random() % (4 * PP_NSEC_PER_MSEC);
		int64_t over;

		if (wait_ns) {
			now_ns += wait_ns;
			continue;
		}
		pp_step_budget_charge(budget, burst_ns);
		pp_step_budget_learn(budget, burst_ns);
		spent_ns += burst_ns;
		over = (int64_t)spent_ns - (int64_t)((now_ns - begin_ns) * rate_ppm / PPM);
		if (over > *ret_over)
			*ret_over = over;
		now_ns += burst_ns;
	}
	return spent_ns;
}

static void test_share(void)
{
	struct pp_step_budget budget;
	int64_t over;
	uint64_t spent_ns;

	pp_step_budget_init(&budget, 5000, 2, 1000);
	spent_ns = simulate(&budget, 100 * PP_NSEC_PER_SEC, 10000, &over);
	CU_ASSERT(spent_ns > 990 * PP_NSEC_PER_MSEC);
	CU_ASSERT(spent_ns <= 1000 * PP_NSEC_PER_MSEC + 5 * PP_NSEC_PER_MSEC);
	CU_ASSERT(over <= (int64_t)(5 * PP_NSEC_PER_MSEC));
}

static void test_idle_buys_little(void)
{
	struct pp_step_budget budget;
	uint64_t now_ns = 3600 * PP_NSEC_PER_SEC;
	uint64_t bursts = 0;

	pp_step_budget_init(&budget, 5000, 2, 0);
	for (uint64_t at_ns = 0; at_ns < now_ns; at_ns += PP_NSEC_PER_SEC)
		pp_step_budget_wait(&budget, at_ns);
	while (!pp_step_budget_wait(&budget, now_ns) && bursts < 1000) {
		pp_step_budget_charge(&budget, budget.cost_ns);
		bursts++;
	}
	CU_ASSERT(bursts >= 1 && bursts <= 8);
}

static void test_overdraft_is_waited_for(void)
{
	struct pp_step_budget budget;
	uint64_t wait_ns;

	pp_step_budget_init(&budget, 10000, 1, 0);
	pp_step_budget_charge(&budget, 100 * PP_NSEC_PER_MSEC);
	wait_ns = pp_step_budget_wait(&budget, 0);
	CU_ASSERT(wait_ns >= 10 * PP_NSEC_PER_SEC);
	CU_ASSERT(wait_ns <= 10 * PP_NSEC_PER_SEC + PP_NSEC_PER_SEC / 2);
}

static void test_waking_up_costs_little(void)
{
	static const uint64_t costs_ns[] = {100000, PP_NSEC_PER_MSEC, 10 * PP_NSEC_PER_MSEC};

	for (size_t i = 0; i < 3; i++) {
		struct pp_step_budget budget;
		uint64_t now_ns = 0;
		uint64_t spent_ns = 0;

		pp_step_budget_init(&budget, 5000, 2, 0);
		while (now_ns < 100 * PP_NSEC_PER_SEC) {
			uint64_t wait_ns = pp_step_budget_wait(&budget, now_ns);

			pp_step_budget_charge(&budget, 40000);
			now_ns += wait_ns ? wait_ns : costs_ns[i];
			if (wait_ns)
				continue;
			pp_step_budget_charge(&budget, costs_ns[i]);
			pp_step_budget_learn(&budget, costs_ns[i]);
			spent_ns += costs_ns[i];
		}
		CU_ASSERT(spent_ns > 400 * PP_NSEC_PER_MSEC);
	}
}

static void test_zero(void)
{
	struct pp_step_budget budget;

	pp_step_budget_init(&budget, 0, 8, 0);
	CU_ASSERT_EQUAL(pp_step_budget_wait(&budget, PP_NSEC_PER_SEC), UINT64_MAX);
	pp_step_budget_configure(&budget, 500000, 8, PP_NSEC_PER_SEC);
	pp_step_budget_wait(&budget, 2 * PP_NSEC_PER_SEC);
	CU_ASSERT_EQUAL(pp_step_budget_wait(&budget, 3 * PP_NSEC_PER_SEC), 0);
}

/* A pause of a thousandth's budget, of which some is left: at a hundred times the rate that is a
 * hundredth, and without a rate it stands. */
static void test_pause_follows_the_rate(void)
{
	struct pp_step_budget budget;
	uint64_t now_ns = 5 * PP_NSEC_PER_SEC;

	pp_step_budget_init(&budget, 100, 10, 0);
	budget.due_ns = now_ns + 300 * PP_NSEC_PER_SEC;
	pp_step_budget_configure(&budget, 100, 10, now_ns);
	CU_ASSERT_EQUAL(budget.due_ns, now_ns + 300 * PP_NSEC_PER_SEC);
	pp_step_budget_configure(&budget, 10000, 10, now_ns);
	CU_ASSERT_EQUAL(budget.due_ns, now_ns + 3 * PP_NSEC_PER_SEC);
	pp_step_budget_configure(&budget, 0, 10, now_ns);
	CU_ASSERT_EQUAL(budget.due_ns, now_ns + 3 * PP_NSEC_PER_SEC);
	/* one that is over stays so */
	pp_step_budget_configure(&budget, 100, 10, now_ns + 4 * PP_NSEC_PER_SEC);
	CU_ASSERT_EQUAL(budget.due_ns, now_ns + 3 * PP_NSEC_PER_SEC);
}

/* Time slept until then earns at the rate that it had. */
static void test_new_rate_from_now_on(void)
{
	struct pp_step_budget budget;

	pp_step_budget_init(&budget, 1000, 1, 0);
	pp_step_budget_charge(&budget, 100 * PP_NSEC_PER_MSEC);
	pp_step_budget_configure(&budget, 100000, 1, 10 * PP_NSEC_PER_SEC);
	CU_ASSERT_EQUAL(budget.tokens_ns, -(int64_t)(90 * PP_NSEC_PER_MSEC));
	CU_ASSERT(pp_step_budget_wait(&budget, 10 * PP_NSEC_PER_SEC) > 0);
}

static void test_backward_clock(void)
{
	struct pp_step_budget budget;
	int64_t tokens_ns;

	pp_step_budget_init(&budget, 5000, 2, 10 * PP_NSEC_PER_SEC);
	tokens_ns = budget.tokens_ns;
	pp_step_budget_wait(&budget, 9 * PP_NSEC_PER_SEC);
	CU_ASSERT_EQUAL(budget.tokens_ns, tokens_ns);
}

/*
 * A program that is cheap to follow for 8 ms, then dear for 6 ms, and so on; sampled each ms of its
 * own time. The share of its bursts that met the cheap part.
 */
static double share_of_cheap(bool pauses, uint64_t *ret_spent_ns, uint64_t *ret_length_ns)
{
	struct pp_step_budget budget;
	uint64_t now_ns = PP_NSEC_PER_SEC, ran_ns = 0;
	uint32_t cheap = 0, cnt = 20000;

	*ret_spent_ns = 0;
	pp_step_budget_init(&budget, 100000, 2, now_ns);
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t before_ns = now_ns, begin_ns, cost_ns, wait_ns;

		while ((wait_ns = pp_step_budget_wait(&budget, now_ns)))
			now_ns += wait_ns;
		now_ns += PP_NSEC_PER_MSEC + next_random() % (PP_NSEC_PER_MSEC / 4);
		ran_ns += now_ns - before_ns;
		begin_ns = now_ns;
		cost_ns = ran_ns % 14000000 < 8000000 ? CHEAP_NS : DEAR_NS;
		cheap += cost_ns == CHEAP_NS;
		now_ns += cost_ns;
		pp_step_budget_charge(&budget, cost_ns);
		pp_step_budget_learn(&budget, cost_ns);
		if (pauses)
			pp_step_budget_pause(&budget, begin_ns, now_ns);
		*ret_spent_ns += cost_ns;
	}
	*ret_length_ns = now_ns - PP_NSEC_PER_SEC;
	return (double)cheap / cnt;
}

/* The cheap part takes 8 of 14 ms. Without the pause, the planted fault, it is met more often. */
static void test_cheap_code_is_met_by_its_time(void)
{
	uint64_t spent_ns, length_ns;
	double share = share_of_cheap(true, &spent_ns, &length_ns);

	CU_ASSERT_DOUBLE_EQUAL(share, 4.0 / 7, 0.03);
	CU_ASSERT((double)spent_ns > 0.9 * 0.2 * (double)length_ns);
	CU_ASSERT(share_of_cheap(false, &spent_ns, &length_ns) > 4.0 / 7 + 0.1);
}

/* The planted fault: a bucket that forgets its charges must fail the check of test_share. */
static void test_check_has_teeth(void)
{
	struct pp_step_budget budget;
	uint64_t now_ns = 0;
	uint64_t spent_ns = 0;

	pp_step_budget_init(&budget, 5000, 2, 0);
	while (now_ns < PP_NSEC_PER_SEC) {
		uint64_t wait_ns = pp_step_budget_wait(&budget, now_ns);

		now_ns += wait_ns ? wait_ns : PP_NSEC_PER_MSEC;
		if (!wait_ns) {
			pp_step_budget_charge(&budget, PP_NSEC_PER_MSEC);
			budget.tokens_ns += (int64_t)PP_NSEC_PER_MSEC;
			spent_ns += PP_NSEC_PER_MSEC;
		}
	}
	CU_ASSERT(spent_ns > 2 * PP_NSEC_PER_SEC * 10000 / PPM);
}

/* Bursts in a thousand seconds, where each burst and each wake-up costs so much. */
static int bursts_saved_for(uint32_t rate_ppm, uint64_t burst_ns, uint64_t wake_ns,
			    int *ret_wakeups)
{
	struct pp_step_budget budget;
	uint64_t now_ns = 0;
	int bursts = 0;

	*ret_wakeups = 0;
	pp_step_budget_init(&budget, rate_ppm, 1, 0);
	budget.cost_ns = burst_ns;
	while (now_ns < 1000 * PP_NSEC_PER_SEC) {
		uint64_t wait_ns = pp_step_budget_wait(&budget, now_ns);

		now_ns += wait_ns;
		++*ret_wakeups;
		pp_step_budget_charge_wake(&budget, wake_ns);
		if (wait_ns)
			continue;
		bursts++;
		pp_step_budget_charge(&budget, burst_ns);
	}
	return bursts;
}

/* Each wake-up earns what was slept, however long. */
static void test_saves_for_long(void)
{
	int wakeups, bursts = bursts_saved_for(100, 5 * PP_NSEC_PER_MSEC, 150000, &wakeups);

	/* 100 ms earned: 5 ms a burst, and what it takes to wake up */
	CU_ASSERT(bursts >= 15 && bursts <= 20);
	CU_ASSERT(wakeups <= 5 * bursts);
}

/* A wake-up that costs as much as a second earns is slept for a few seconds longer. */
static void test_slow_wakeups(void)
{
	int wakeups, bursts = bursts_saved_for(1250, 2 * PP_NSEC_PER_MSEC, 1250000, &wakeups);

	/* 1250 ms earned: 2 ms a burst, and two wake-ups or three */
	CU_ASSERT(bursts >= 200 && bursts <= 400);
}

static const struct unit_test tests[] = {
	{"code that is cheap to follow is met by its time", test_cheap_code_is_met_by_its_time},
	{"spends its share and no more than a burst beyond", test_share},
	{"an idle hour buys two bursts", test_idle_buys_little},
	{"what is overdrawn is waited for", test_overdraft_is_waited_for},
	{"waking up leaves most of the budget to bursts", test_waking_up_costs_little},
	{"a small budget saves for a burst", test_saves_for_long},
	{"... also where waking up costs what a second earns", test_slow_wakeups},
	{"zero never, until it is configured", test_zero},
	{"a pause becomes shorter as the rate grows", test_pause_follows_the_rate},
	{"a new rate earns from now on", test_new_rate_from_now_on},
	{"a clock that runs backward earns nothing", test_backward_clock},
	{"a bucket that forgets charges is caught", test_check_has_teeth},
};
UNIT_SUITE(step_budget, tests)
