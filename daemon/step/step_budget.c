/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stepper's part of the overhead budget: a token bucket of nanoseconds that fills with the
 * granted share of all CPUs' time and is emptied by what was measured: targets held and CPU time
 * used. A burst may start when the bucket holds what bursts cost of late, so it overdraws by one
 * burst at most, and what is overdrawn is waited for, however long that takes. The bucket holds no
 * more than a quarter second's worth or two bursts: an idle hour must not buy a second of stopping.
 * A stepper that has to wait does so a little longer than needed: waking up costs as well, and at a
 * small rate one wake-up too early would put off the next for ever.
 *
 * Called once a burst and once a wake-up; pure arithmetic; the stepper's one thread owns it.
 */
#include "step_engine.h"

#define PPM           1000000ull
#define RATE_MAX_PPM  (PPM * 8192)
#define COST_START_NS (2 * PP_NSEC_PER_MSEC)
#define COST_MIN_NS   1000
#define SLACK_MIN_NS  200000
/* Longer than the stepper sleeps; the bucket's size, not this, keeps savings small. */
#define ELAPSED_MAX_NS (120 * PP_NSEC_PER_SEC)

void pp_step_budget_configure(struct pp_step_budget *budget, uint32_t overhead_ppm,
			      uint32_t cpu_cnt)
{
	uint64_t rate_ppm = (uint64_t)overhead_ppm * (cpu_cnt ? cpu_cnt : 1);

	budget->rate_ppm = rate_ppm > RATE_MAX_PPM ? RATE_MAX_PPM : rate_ppm;
}

void pp_step_budget_init(struct pp_step_budget *budget, uint32_t overhead_ppm, uint32_t cpu_cnt,
			 uint64_t now_ns)
{
	*budget = (struct pp_step_budget){.refilled_ns = now_ns, .cost_ns = COST_START_NS};
	pp_step_budget_configure(budget, overhead_ppm, cpu_cnt);
}

/* Far more than a wake-up costs. */
static uint64_t slack_ns(const struct pp_step_budget *budget)
{
	return budget->cost_ns / 4 > SLACK_MIN_NS ? budget->cost_ns / 4 : SLACK_MIN_NS;
}

static int64_t capacity_ns(const struct pp_step_budget *budget)
{
	uint64_t quarter_ns = PP_NSEC_PER_SEC / 4 * budget->rate_ppm / PPM;
	uint64_t two_ns = 2 * budget->cost_ns;

	return (int64_t)((quarter_ns > two_ns ? quarter_ns : two_ns) + slack_ns(budget));
}

static void refill(struct pp_step_budget *budget, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - budget->refilled_ns;

	/* A clock that went backward or stood still earns nothing. */
	if (now_ns < budget->refilled_ns)
		elapsed_ns = 0;
	if (elapsed_ns > ELAPSED_MAX_NS)
		elapsed_ns = ELAPSED_MAX_NS;
	budget->refilled_ns = now_ns;
	budget->tokens_ns += (int64_t)(elapsed_ns * budget->rate_ppm / PPM);
	if (budget->tokens_ns > capacity_ns(budget))
		budget->tokens_ns = capacity_ns(budget);
}

void pp_step_budget_charge(struct pp_step_budget *budget, uint64_t spent_ns)
{
	budget->tokens_ns -= (int64_t)spent_ns;
}

void pp_step_budget_learn(struct pp_step_budget *budget, uint64_t burst_ns)
{
	budget->cost_ns = (7 * budget->cost_ns + burst_ns) / 8;
	if (budget->cost_ns < COST_MIN_NS)
		budget->cost_ns = COST_MIN_NS;
}

uint64_t pp_step_budget_wait(struct pp_step_budget *budget, uint64_t now_ns)
{
	int64_t missing_ns;

	if (!budget->rate_ppm)
		return UINT64_MAX;
	refill(budget, now_ns);
	missing_ns = (int64_t)budget->cost_ns - budget->tokens_ns;
	if (missing_ns <= 0)
		return 0;
	return ((uint64_t)missing_ns + slack_ns(budget)) * PPM / budget->rate_ppm + 1;
}
