// SPDX-License-Identifier: GPL-2.0-or-later
/* Trials of watching a made-up program. */
#include "calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POOLED_MAX       3
#define BASELINE_WINDOWS 10 /* that the baseline is made of, and dispersion is seen in */

struct watch {
	const struct lab_calibration_plan *plan;
	struct lab_world calm, moved;
	uint64_t random;
	size_t event_cnt; /* of the larger world */
	struct pathprof_event *baseline, *pooled;
	struct pathprof_event *past;                /* [BASELINE_WINDOWS][calm.cnt] */
	double seen;                                /* dispersion of those; 0: nothing */
	struct pathprof_event *windows[POOLED_MAX]; /* the last ones, newest first */
	uint32_t window_cnt;                        /* of this trial */
	struct pathprof_alert_state fast, slow;
	double truth_bits;
	/* sums */
	double plain, corrected, covered, measured;
};

static int watch_init(struct watch *w)
{
	const struct lab_calibration_plan *plan = w->plan;
	int r = lab_world_init(&w->calm, plan->kind, plan->event_cnt);

	if (r == 0)
		r = lab_world_init_moved(&w->moved, &w->calm, plan->move, plan->flow);
	if (r < 0)
		return r;
	w->event_cnt = w->moved.cnt;
	w->baseline = calloc(w->event_cnt, sizeof(*w->baseline));
	w->pooled = calloc(w->event_cnt, sizeof(*w->pooled));
	w->past = calloc(BASELINE_WINDOWS * w->calm.cnt, sizeof(*w->past));
	if (!w->baseline || !w->pooled || !w->past)
		return -ENOMEM;
	for (size_t i = 0; i < POOLED_MAX; i++) {
		w->windows[i] = calloc(w->event_cnt, sizeof(*w->windows[i]));
		if (!w->windows[i])
			return -ENOMEM;
	}
	return 0;
}

static void watch_release(struct watch *w)
{
	lab_world_release(&w->calm);
	lab_world_release(&w->moved);
	free(w->baseline);
	free(w->pooled);
	free(w->past);
	for (size_t i = 0; i < POOLED_MAX; i++)
		free(w->windows[i]);
}

static double true_bits(const struct watch *w)
{
	double bits = 0;

	for (size_t i = 0; i < w->event_cnt; i++) {
		double p = w->moved.share[i], q = i < w->calm.cnt ? w->calm.share[i] : 0;

		if (p > 0 && !(q > 0))
			return NAN;
		bits += p > 0 ? p * log2(p / q) : 0;
	}
	return bits;
}

static int measure(const struct watch *w, const struct pathprof_event *events,
		   struct pathprof_drift *ret_drift)
{
	struct pathprof_drift_settings settings = w->plan->settings;
	struct pathprof_distribution window, baseline;
	int r = pathprof_distribution_init(&window, events, w->event_cnt);

	if (r == 0)
		r = pathprof_distribution_init(&baseline, w->baseline, w->calm.cnt);
	if (r < 0)
		return r;
	if (w->plan->told)
		pathprof_drift_set_bursts(&settings, &window, &baseline, w->plan->bursts.samples,
					  w->seen);
	return pathprof_drift_measure(ret_drift, &window, &baseline, &settings);
}

/* Draws the baseline as consecutive windows, and measures their dispersion. */
static int draw_baseline(struct watch *w)
{
	struct pathprof_distribution windows[BASELINE_WINDOWS];
	const struct pathprof_distribution *each[BASELINE_WINDOWS];
	uint64_t left = w->plan->baseline_samples;
	int r = 0;

	for (size_t e = 0; e < w->calm.cnt; e++)
		w->baseline[e] = (struct pathprof_event){.key_lo = e};
	for (uint32_t i = 0; i < BASELINE_WINDOWS && r == 0; i++) {
		struct pathprof_event *events = w->past + i * w->calm.cnt;
		uint64_t samples = left / (BASELINE_WINDOWS - i);

		left -= samples;
		lab_world_draw_bursts(&w->calm, samples, &w->plan->bursts, &w->random, events);
		for (size_t e = 0; e < w->calm.cnt; e++)
			pathprof_event_add(&w->baseline[e], &events[e]);
		each[i] = &windows[i];
		r = pathprof_distribution_init(&windows[i], events, w->calm.cnt);
	}
	if (r == 0 && pathprof_drift_dispersion(each, BASELINE_WINDOWS, &w->seen) < 0)
		w->seen = 0;
	return r;
}

/* The newest window goes in front; the oldest one's memory is used again. */
static void draw_window(struct watch *w, bool moved)
{
	const struct lab_world *world = moved ? &w->moved : &w->calm;
	struct pathprof_event *oldest = w->windows[POOLED_MAX - 1];

	memmove(w->windows + 1, w->windows, (POOLED_MAX - 1) * sizeof(w->windows[0]));
	w->windows[0] = oldest;
	for (size_t i = 0; i < w->event_cnt; i++)
		oldest[i] = (struct pathprof_event){.key_lo = i};
	lab_world_draw_bursts(world, w->plan->window_samples, &w->plan->bursts, &w->random, oldest);
	w->window_cnt++;
}

static void pool(struct watch *w, uint32_t cnt)
{
	memcpy(w->pooled, w->windows[0], w->event_cnt * sizeof(*w->pooled));
	for (uint32_t i = 1; i < cnt && i < w->window_cnt; i++)
		for (size_t e = 0; e < w->event_cnt; e++)
			pathprof_event_add(&w->pooled[e], &w->windows[i][e]);
}

static bool over(const struct pathprof_alert_rule *rule, const struct pathprof_drift *drift)
{
	return drift->window_samples >= rule->samples_min &&
	       drift->kl_corrected_bits > rule->threshold && drift->kl_low_bits > rule->threshold;
}

/* ret_fired: bit 0 fast, bit 1 slow. */
static int watch_window(struct watch *w, bool moved, struct lab_calibration *c, bool *ret_over,
			unsigned int *ret_fired)
{
	const struct lab_calibration_plan *plan = w->plan;
	struct pathprof_drift alone = {0}, pooled = {0};
	struct pathprof_alert_input input;
	int64_t time_ns = (int64_t)w->window_cnt * 60000000000;
	int r;

	draw_window(w, moved);
	pool(w, plan->slow.windows_pooled);
	r = measure(w, w->windows[0], &alone);
	if (r == 0)
		r = measure(w, w->pooled, &pooled);
	if (r < 0)
		return r;
	input = pathprof_alert_input_of(plan->fast.metric, &alone, time_ns + 1);
	*ret_fired = pathprof_alert_take(&w->fast, &plan->fast, &input) == PATHPROF_ALERT_FIRED;
	input = pathprof_alert_input_of(plan->slow.metric, &pooled, time_ns + 1);
	*ret_fired |=
		pathprof_alert_take(&w->slow, &plan->slow, &input) == PATHPROF_ALERT_FIRED ? 2 : 0;
	*ret_over = over(&plan->fast, &alone) || over(&plan->slow, &pooled);
	if (!moved)
		c->plain_over += alone.kl_bits > plan->fast.threshold;
	if (moved || !plan->moved_windows) {
		w->plain += alone.kl_bits;
		w->corrected += alone.kl_corrected_bits;
		w->covered +=
			alone.kl_low_bits <= w->truth_bits && w->truth_bits <= alone.kl_high_bits;
		w->measured++;
	}
	return 0;
}

static int run_trial(struct watch *w, struct lab_calibration *c)
{
	const struct lab_calibration_plan *plan = w->plan;
	unsigned int fired = 0, caught = 0;
	bool is_over = false;
	int r;

	w->fast = w->slow = (struct pathprof_alert_state){0};
	w->window_cnt = 0;
	r = draw_baseline(w);
	for (uint32_t i = 0; i < plan->calm_windows && r == 0; i++) {
		r = watch_window(w, false, c, &is_over, &fired);
		c->calm_windows++;
		c->over += is_over;
		c->fired += fired != 0;
	}
	for (uint32_t i = 0; i < plan->moved_windows && r == 0; i++) {
		r = watch_window(w, true, c, &is_over, &fired);
		caught |= fired;
	}
	c->trials += plan->moved_windows != 0;
	c->caught_fast += caught & 1;
	c->caught += caught != 0;
	return r;
}

int lab_calibrate(struct lab_calibration *ret_calibration, const struct lab_calibration_plan *plan)
{
	struct lab_calibration c = {0};
	struct watch w = {.plan = plan, .random = plan->seed};
	int r = plan->slow.windows_pooled > POOLED_MAX || !plan->bursts.samples ? -EINVAL
										: watch_init(&w);

	if (r == 0)
		w.truth_bits = true_bits(&w);
	for (uint32_t i = 0; i < plan->trials && r == 0; i++)
		r = run_trial(&w, &c);
	if (r == 0) {
		c.plain_bits = w.plain / w.measured;
		c.corrected_bits = w.corrected / w.measured;
		c.covered = w.covered / w.measured;
		c.truth_bits = w.truth_bits;
		*ret_calibration = c;
	}
	watch_release(&w);
	return r;
}
