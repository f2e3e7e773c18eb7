// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Combining profiles: the union of all events with each input's weight in a row, then one weight a
 * row by the method. KL has a file of its own (chernoff.c).
 */
#include "pathprof/combine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pp_chernoff.h"
#include "pp_merge.h"

static const char *const names[PATHPROF_COMBINE_CNT] = {"unscaled", "scaled", "polling", "kl"};

const char *pathprof_combine_name(enum pathprof_combine_method method)
{
	return (unsigned int)method < PATHPROF_COMBINE_CNT ? names[method] : NULL;
}

int pathprof_combine_method(const char *name, enum pathprof_combine_method *ret_method)
{
	for (unsigned int i = 0; i < PATHPROF_COMBINE_CNT; i++)
		if (strcmp(names[i], name) == 0) {
			*ret_method = (enum pathprof_combine_method)i;
			return 0;
		}
	return -EINVAL;
}

/* The union, and rows of weights: weights[event * input_cnt + input]. */
struct rows {
	struct pathprof_event *events;
	double *weights;
	size_t cnt, input_cnt;
};

/* The least key that is left; NULL at the end. */
static const struct pathprof_event *least(const struct pathprof_distribution *const *inputs,
					  const size_t *at, size_t input_cnt)
{
	const struct pathprof_event *first = NULL;

	for (size_t i = 0; i < input_cnt; i++) {
		const struct pathprof_event *event = inputs[i]->events + at[i];

		if (at[i] < inputs[i]->cnt && (!first || pp_event_before(event, first)))
			first = event;
	}
	return first;
}

/* Takes the inputs' weights of that key. Returns false when all are 0. */
static bool take(const struct pathprof_distribution *const *inputs, size_t *at, size_t input_cnt,
		 const struct pathprof_event *key, double *ret_row)
{
	bool touched = false;

	for (size_t i = 0; i < input_cnt; i++) {
		const struct pathprof_event *event = inputs[i]->events + at[i];
		bool has = at[i] < inputs[i]->cnt && pathprof_event_order(event, key) == 0;

		ret_row[i] = has ? event->weight : 0;
		at[i] += has;
		touched = touched || ret_row[i] > 0;
	}
	return touched;
}

static void fill(struct rows *rows, const struct pathprof_distribution *const *inputs)
{
	size_t at[PATHPROF_COMBINE_MAX] = {0};
	const struct pathprof_event *key;

	while ((key = least(inputs, at, rows->input_cnt))) {
		/* The squares of a combined weight are not known. */
		rows->events[rows->cnt] = *key;
		rows->events[rows->cnt].squares = 0;
		rows->cnt += take(inputs, at, rows->input_cnt, key,
				  rows->weights + rows->cnt * rows->input_cnt);
	}
}

/* Room for as many events as there can be. */
static int rows_init(struct rows *ret_rows, const struct pathprof_distribution *const *inputs,
		     size_t input_cnt)
{
	struct rows rows = {.input_cnt = input_cnt};
	size_t most = 1;

	for (size_t i = 0; i < input_cnt; i++)
		if (__builtin_add_overflow(most, inputs[i]->cnt, &most))
			return -ENOMEM;
	rows.events = calloc(most, sizeof(*rows.events));
	/* reallocarray() checks the product for overflow, as calloc() would, but does not clear. */
	rows.weights = reallocarray(NULL, most, input_cnt * sizeof(*rows.weights));
	if (!rows.events || !rows.weights) {
		free(rows.events);
		free(rows.weights);
		return -ENOMEM;
	}
	fill(&rows, inputs);
	*ret_rows = rows;
	return 0;
}

/* scale[i] is 1, or what normalises input i. */
static int add_up(struct rows *rows, const long double *scale)
{
	for (size_t e = 0; e < rows->cnt; e++) {
		long double sum = 0;

		for (size_t i = 0; i < rows->input_cnt; i++)
			sum += rows->weights[e * rows->input_cnt + i] * scale[i];
		if (sum > PATHPROF_WEIGHT_MAX)
			return -ERANGE;
		rows->events[e].weight = (double)sum;
	}
	return 0;
}

static int combine_sums(struct rows *rows, const struct pathprof_distribution *const *inputs,
			bool scaled)
{
	long double scale[PATHPROF_COMBINE_MAX];

	for (size_t i = 0; i < rows->input_cnt; i++)
		scale[i] = scaled ? 1 / inputs[i]->total : 1;
	return add_up(rows, scale);
}

/* ---------------------------------------------------------------- polling */

static void poll_events(struct rows *rows)
{
	for (size_t e = 0; e < rows->cnt; e++) {
		rows->events[e].weight = 0;
		for (size_t i = 0; i < rows->input_cnt; i++)
			rows->events[e].weight += rows->weights[e * rows->input_cnt + i] > 0;
	}
}

/* A profile's vote on a branch; none when it did not touch it. */
static void vote(double not_taken, double taken, double *ret_not_taken, double *ret_taken)
{
	if (taken > not_taken)
		*ret_taken += 1;
	else if (not_taken > taken)
		*ret_not_taken += 1;
	else if (taken > 0) {
		*ret_taken += 0.5;
		*ret_not_taken += 0.5;
	}
}

/* cnt: 1 or 2 neighbouring rows, the directions of one branch. */
static void poll_branch(struct rows *rows, size_t at, size_t cnt)
{
	struct pathprof_event *first = &rows->events[at];
	const double *weights = rows->weights + at * rows->input_cnt;
	double none = 0;

	for (size_t e = 0; e < cnt; e++)
		first[e].weight = 0;
	for (size_t i = 0; i < rows->input_cnt; i++) {
		if (cnt == 2)
			vote(weights[i], weights[rows->input_cnt + i], &first[0].weight,
			     &first[1].weight);
		else
			vote(0, weights[i], &none, &first[0].weight);
	}
}

static bool same_branch(const struct pathprof_event *a, const struct pathprof_event *b)
{
	return a->key_hi == b->key_hi && a->key_lo >> 1 == b->key_lo >> 1;
}

static void poll_branches(struct rows *rows)
{
	for (size_t e = 0, cnt; e < rows->cnt; e += cnt) {
		cnt = e + 1 < rows->cnt && same_branch(&rows->events[e], &rows->events[e + 1]) ? 2
											       : 1;
		poll_branch(rows, e, cnt);
	}
}

/* ---------------------------------------------------------------- all of them */

static int weigh(struct rows *rows, enum pathprof_combine_method method,
		 const struct pathprof_distribution *const *inputs, bool branches,
		 struct pathprof_combined *combined)
{
	switch (method) {
	case PATHPROF_COMBINE_UNSCALED:
		return combine_sums(rows, inputs, false);
	case PATHPROF_COMBINE_SCALED:
		return combine_sums(rows, inputs, true);
	case PATHPROF_COMBINE_POLLING:
		if (branches)
			poll_branches(rows);
		else
			poll_events(rows);
		return 0;
	default:
		return pp_chernoff(rows->events, rows->weights, rows->cnt, inputs, rows->input_cnt,
				   combined);
	}
}

static int check(enum pathprof_combine_method method,
		 const struct pathprof_distribution *const *inputs, size_t input_cnt)
{
	if (!input_cnt || input_cnt > PATHPROF_COMBINE_MAX || !pathprof_combine_name(method))
		return -EINVAL;
	if (method == PATHPROF_COMBINE_UNSCALED || method == PATHPROF_COMBINE_POLLING)
		return 0;
	for (size_t i = 0; i < input_cnt; i++)
		if (!(inputs[i]->total > 0))
			return -ENODATA;
	return 0;
}

int pathprof_combine(struct pathprof_combined *ret_combined, enum pathprof_combine_method method,
		     const struct pathprof_distribution *const *inputs, size_t input_cnt,
		     bool branches)
{
	struct pathprof_combined combined = {0};
	struct rows rows = {0};
	int r = check(method, inputs, input_cnt);

	if (r == 0)
		r = rows_init(&rows, inputs, input_cnt);
	if (r < 0)
		return r;
	r = weigh(&rows, method, inputs, branches, &combined);
	free(rows.weights);
	if (r < 0) {
		free(rows.events);
		return r;
	}
	combined.events = rows.events;
	combined.cnt = rows.cnt;
	*ret_combined = combined;
	return 0;
}
