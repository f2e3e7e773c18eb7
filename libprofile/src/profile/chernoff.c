// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Search for the weights lambda of the geometric mean r = prod p_i^lambda_i / Z at which log Z is
 * least.
 *
 * With F_i = E_r[log p_i], the gradient of log Z is F, and D(r || p_i) = -H(r) - F_i. So the
 * farthest input is the one with the least F_i, and weight moves to it from the nearest that has
 * any. Along that line, lambda_to + t, lambda_from - t, the slope of log Z is F_to - F_from and its
 * curvature Var_r(log p_to - log p_from) >= 0: Newton's step, or bisection where that leaves the
 * bracket. The weighted mean of the distances never exceeds the least possible greatest distance
 * (weak duality), so its distance from the greatest bounds the error.
 *
 * Workload: some passes of one exponential an event over the union; two profiles take one line and
 * some eight passes. All in the caller's memory but one logarithm an event.
 */
#include "pp_chernoff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pp_smooth.h"

#define GAP_NATS   (1e-12L * M_LN2l)
#define NEWTON_MAX 100
#define LINES_MAX  20000

struct search {
	const double *logs; /* [cnt * input_cnt]: ln p, smoothed */
	double *mean;       /* [cnt]: ln of the unnormalised mean at lambda */
	size_t cnt, input_cnt;
	long double *lambda; /* [input_cnt] */
};

static int take_logs(double *weights, size_t cnt, const struct pathprof_distribution *input,
		     size_t input_cnt)
{
	struct pp_smooth smooth;
	size_t unseen = 0;
	int r;

	for (size_t e = 0; e < cnt; e++)
		unseen += !(weights[e * input_cnt] > 0);
	r = pp_smooth_init(&smooth, input->total, unseen, 0);
	for (size_t e = 0; e < cnt && r == 0; e++)
		weights[e * input_cnt] =
			(double)logl(pp_smooth_probability(&smooth, weights[e * input_cnt]));
	return r;
}

/* From lambda alone, so that no error piles up over many moves. */
static void set_mean(struct search *s)
{
	for (size_t e = 0; e < s->cnt; e++) {
		long double sum = 0;

		for (size_t i = 0; i < s->input_cnt; i++)
			sum += s->lambda[i] * s->logs[e * s->input_cnt + i];
		s->mean[e] = (double)sum;
	}
}

/* ret_distance[i] = D(r || p_i) in nats. */
static void distances(const struct search *s, long double *ret_distance)
{
	long double z = 0, own = 0;

	for (size_t i = 0; i < s->input_cnt; i++)
		ret_distance[i] = 0;
	for (size_t e = 0; e < s->cnt; e++) {
		long double r = expl(s->mean[e]);

		z += r;
		own += r * s->mean[e];
		for (size_t i = 0; i < s->input_cnt; i++)
			ret_distance[i] -= r * s->logs[e * s->input_cnt + i];
	}
	for (size_t i = 0; i < s->input_cnt; i++)
		ret_distance[i] = (ret_distance[i] + own) / z - logl(z);
}

/* Slope and curvature of log Z after moving t from one input to another. */
static void bend(const struct search *s, size_t to, size_t from, double t, long double *ret_slope,
		 long double *ret_curvature)
{
	long double z = 0, first = 0, second = 0;

	for (size_t e = 0; e < s->cnt; e++) {
		const double *logs = s->logs + e * s->input_cnt;
		double apart = logs[to] - logs[from];
		long double r = exp(s->mean[e] + t * apart);

		z += r;
		first += r * apart;
		second += r * apart * apart;
	}
	*ret_slope = first / z;
	*ret_curvature = second / z - *ret_slope * *ret_slope;
}

/* How much to move: where the slope is 0, or all of it. */
static long double move(const struct search *s, size_t to, size_t from)
{
	double low = 0, high = (double)s->lambda[from], t = high / 2;
	long double slope, curvature;

	bend(s, to, from, high, &slope, &curvature);
	if (slope <= 0)
		return s->lambda[from];
	for (int i = 0; i < NEWTON_MAX && high - low > 1e-16; i++) {
		double next;

		bend(s, to, from, t, &slope, &curvature);
		if (slope < 0)
			low = t;
		else
			high = t;
		next = curvature > 0 ? (double)(t - slope / curvature) : low;
		if (!(next > low && next < high))
			next = (low + high) / 2;
		if (fabs(next - t) <= 1e-17)
			break;
		t = next;
	}
	return t;
}

/* The farthest input, and the nearest of those that have weight. */
static void choose(const struct search *s, const long double *distance, size_t *ret_far,
		   size_t *ret_near)
{
	*ret_far = 0;
	*ret_near = SIZE_MAX;
	for (size_t i = 0; i < s->input_cnt; i++) {
		if (distance[i] > distance[*ret_far])
			*ret_far = i;
		if (s->lambda[i] > 0 &&
		    (*ret_near == SIZE_MAX || distance[i] < distance[*ret_near]))
			*ret_near = i;
	}
}

/* Weighted mean of the distances: -log Z, which each move of weight raises. */
static long double mean_distance(const struct search *s, const long double *distance)
{
	long double mean = 0;

	for (size_t i = 0; i < s->input_cnt; i++)
		mean += s->lambda[i] * distance[i];
	return mean;
}

/*
 * The gap goes up and down on its way: a line is stale when neither that is the least so far nor
 * the mean the greatest. Near the end the mean is too flat to tell, and far from it the gap is.
 */
struct progress {
	long double least_gap, greatest_mean;
	size_t stale;
};

static void note_progress(struct progress *p, long double gap, long double mean)
{
	p->stale = gap < p->least_gap || mean > p->greatest_mean ? 0 : p->stale + 1;
	p->least_gap = fminl(p->least_gap, gap);
	p->greatest_mean = fmaxl(p->greatest_mean, mean);
}

static void find_lambda(struct search *s, struct pathprof_combined *combined)
{
	long double distance[PATHPROF_COMBINE_MAX] = {0};
	struct progress progress = {.least_gap = INFINITY, .greatest_mean = -INFINITY};
	size_t far, near;

	for (int line = 0;; line++) {
		long double mean, gap, moved;

		set_mean(s);
		distances(s, distance);
		choose(s, distance, &far, &near);
		mean = mean_distance(s, distance);
		gap = fmaxl(distance[far] - mean, 0);
		combined->distance_bits = (double)(distance[far] / M_LN2l);
		combined->gap_bits = (double)(gap / M_LN2l);
		note_progress(&progress, gap, mean);
		if (gap <= GAP_NATS || far == near || line == LINES_MAX ||
		    progress.stale > 2 * s->input_cnt)
			return;
		moved = move(s, far, near);
		s->lambda[far] += moved;
		s->lambda[near] -= moved;
	}
}

static void set_weights(const struct search *s, struct pathprof_event *events)
{
	long double z = 0;

	for (size_t e = 0; e < s->cnt; e++)
		z += expl(s->mean[e]);
	for (size_t e = 0; e < s->cnt; e++)
		events[e].weight = (double)(expl(s->mean[e]) / z);
}

int pp_chernoff(struct pathprof_event *events, double *weights, size_t cnt,
		const struct pathprof_distribution *const *inputs, size_t input_cnt,
		struct pathprof_combined *combined)
{
	long double lambda[PATHPROF_COMBINE_MAX] = {0};
	struct search s = {.logs = weights, .cnt = cnt, .input_cnt = input_cnt, .lambda = lambda};
	int r = 0;

	s.mean = calloc(cnt, sizeof(*s.mean));
	if (!s.mean)
		return -ENOMEM;
	for (size_t i = 0; i < input_cnt && r == 0; i++) {
		r = take_logs(weights + i, cnt, inputs[i], input_cnt);
		lambda[i] = 1.0L / (long double)input_cnt;
	}
	if (r == 0) {
		find_lambda(&s, combined);
		set_weights(&s, events);
		for (size_t i = 0; i < input_cnt; i++)
			combined->lambda[i] = (double)lambda[i];
	}
	free(s.mean);
	return r;
}
