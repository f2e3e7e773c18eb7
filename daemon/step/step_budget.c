/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stepper's part of the overhead budget: a token bucket of nanoseconds that fills with the
 * granted share of all CPUs' time and is emptied by what was measured: targets held and CPU time
 * used. A burst may start when the bucket holds what bursts cost of late, so it overdraws by one
 * burst at most, and what is overdrawn is waited for, however long that takes. The bucket holds no
 * more than a quarter second's worth or eight bursts: an idle hour must not buy a second of
 * stopping. A stepper that has to wait does so a little longer than needed: waking up costs as
 * well, and at a small rate one wake-up too early would put off the next for ever. On a slow
 * machine a wake-up costs as much as is earned in a second, so what it costs is measured.
 *
 * After a burst comes a pause, drawn from an exponential distribution. If the next burst came as
 * soon as it is earned, it would come sooner after a cheap one: code that is cheap to follow, or
 * what runs a moment after it, would be met more often than its time says. The pause has no memory,
 * so wherever the program was before, it is met in proportion to its time. What is earned in a long
 * pause pays for the bursts behind short ones.
 *
 * Called once a burst and once a wake-up; pure arithmetic; the stepper's one thread owns it.
 */
#include "step_engine.h"

#include <math.h>

#include "sampler.h"

#define PPM           1000000ull
#define RATE_MAX_PPM  (PPM * 8192)
#define COST_START_NS (2 * PP_NSEC_PER_MSEC)
#define COST_MIN_NS   1000
#define SLACK_MIN_NS  200000
#define SAVED_BURSTS  8
/* The part of the budget to plan with: with all of it the bucket would be empty half the time. */
#define PAUSE_SHARE 0.95
/* More than the stepper ever sleeps; the bucket's size, not this, keeps savings small. */
#define ELAPSED_MAX_NS (120 * PP_NSEC_PER_SEC)

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Far more than a wake-up costs. */
static uint64_t slack_ns(const struct pp_step_budget *budget)
{
	return max_u64(max_u64(budget->cost_ns / 4, SLACK_MIN_NS), 2 * budget->wake_ns);
}

static int64_t capacity_ns(const struct pp_step_budget *budget)
{
	uint64_t quarter_ns = PP_NSEC_PER_SEC / 4 * budget->rate_ppm / PPM;
	uint64_t some_ns = SAVED_BURSTS * budget->cost_ns;

	return (int64_t)((quarter_ns > some_ns ? quarter_ns : some_ns) + slack_ns(budget));
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

/* The pause has no memory: what is left of it is as long as a new one, and scales with the rate. */
static void scale_pause(struct pp_step_budget *budget, uint64_t before_ppm, uint64_t now_ns)
{
	uint64_t left_ns = budget->due_ns > now_ns ? budget->due_ns - now_ns : 0;

	if (budget->rate_ppm && left_ns)
		budget->due_ns = now_ns + (uint64_t)((double)left_ns * (double)before_ppm /
						     (double)budget->rate_ppm);
}

void pp_step_budget_configure(struct pp_step_budget *budget, uint32_t overhead_ppm,
			      uint32_t cpu_cnt, uint64_t now_ns)
{
	uint64_t rate_ppm = (uint64_t)overhead_ppm * (cpu_cnt ? cpu_cnt : 1);
	uint64_t before_ppm = budget->rate_ppm;

	refill(budget, now_ns);
	budget->rate_ppm = rate_ppm > RATE_MAX_PPM ? RATE_MAX_PPM : rate_ppm;
	scale_pause(budget, before_ppm, now_ns);
}

void pp_step_budget_init(struct pp_step_budget *budget, uint32_t overhead_ppm, uint32_t cpu_cnt,
			 uint64_t now_ns)
{
	*budget = (struct pp_step_budget){
		.refilled_ns = now_ns, .cost_ns = COST_START_NS, .random = now_ns | 1};
	pp_step_budget_configure(budget, overhead_ppm, cpu_cnt, now_ns);
}

void pp_step_budget_charge(struct pp_step_budget *budget, uint64_t spent_ns)
{
	budget->tokens_ns -= (int64_t)spent_ns;
}

void pp_step_budget_charge_wake(struct pp_step_budget *budget, uint64_t spent_ns)
{
	budget->wake_ns = (7 * budget->wake_ns + spent_ns) / 8;
	pp_step_budget_charge(budget, spent_ns);
}

void pp_step_budget_learn(struct pp_step_budget *budget, uint64_t burst_ns)
{
	budget->cost_ns = (7 * budget->cost_ns + burst_ns) / 8;
	if (budget->cost_ns < COST_MIN_NS)
		budget->cost_ns = COST_MIN_NS;
}

/*
 * The mean pause that spends the whole budget: the time between two bursts, less the wait for a
 * sample behind the pause. The wait takes half of it at most, for on an idle machine it would take
 * all.
 */
static double pause_mean_ns(const struct pp_step_budget *budget)
{
	double cost_ns = (double)budget->cost_ns;
	double run_ns = fmax(0, PAUSE_SHARE * cost_ns * PPM / (double)budget->rate_ppm - cost_ns);

	return fmax(run_ns - (double)budget->late_ns, run_ns / 2);
}

static void learn_lateness(struct pp_step_budget *budget, uint64_t begin_ns)
{
	uint64_t late_ns = begin_ns > budget->ready_ns ? begin_ns - budget->ready_ns : 0;

	if (budget->ready_ns)
		budget->late_ns = (7 * budget->late_ns + late_ns) / 8;
	budget->ready_ns = 0;
}

void pp_step_budget_pause(struct pp_step_budget *budget, uint64_t begin_ns, uint64_t now_ns)
{
	double chance = (double)(pp_sampler_random(&budget->random) >> 11) + 1;

	learn_lateness(budget, begin_ns);
	if (budget->rate_ppm)
		budget->due_ns =
			now_ns + (uint64_t)(-log(chance * 0x1p-53) * pause_mean_ns(budget));
}

/* The time until the bucket holds a burst. */
static uint64_t earning_ns(const struct pp_step_budget *budget)
{
	int64_t missing_ns = (int64_t)budget->cost_ns - budget->tokens_ns;

	if (missing_ns <= 0)
		return 0;
	return ((uint64_t)missing_ns + slack_ns(budget)) * PPM / budget->rate_ppm + 1;
}

uint64_t pp_step_budget_wait(struct pp_step_budget *budget, uint64_t now_ns)
{
	uint64_t wait_ns, pause_ns = budget->due_ns > now_ns ? budget->due_ns - now_ns : 0;

	if (!budget->rate_ppm)
		return UINT64_MAX;
	refill(budget, now_ns);
	wait_ns = earning_ns(budget);
	if (pause_ns > wait_ns)
		wait_ns = pause_ns;
	if (!wait_ns && !budget->ready_ns)
		budget->ready_ns = now_ns;
	return wait_ns;
}
