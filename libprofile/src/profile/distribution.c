// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Events in order, checked once so that everything behind may trust them. */
#include "pathprof/distribution.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pp_merge.h"

#define WHOLE_MAX 9007199254740992.0 /* 2^53: the last one of which every neighbour is exact */

double pathprof_worth_of_sample(const struct pathprof_worth *worth)
{
	double by_number = worth->samples * worth->samples * worth->weight_squares;
	double by_weight = worth->weight * worth->weight * worth->squares;

	return by_number > 0 && by_weight > 0 && isfinite(by_weight / by_number)
		       ? by_weight / by_number
		       : 1;
}

int pathprof_event_order(const struct pathprof_event *a, const struct pathprof_event *b)
{
	return pp_event_before(b, a) - pp_event_before(a, b);
}

static int check_weight(double weight)
{
	if (!(weight >= 0))
		return -EDOM;
	return weight > PATHPROF_WEIGHT_MAX ? -ERANGE : 0;
}

static int by_key(const void *a, const void *b)
{
	return pathprof_event_order(a, b);
}

static bool in_order(const struct pathprof_event *events, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++)
		if (pp_event_before(&events[i], &events[i - 1]))
			return false;
	return true;
}

int pathprof_events_sort(struct pathprof_event *events, size_t *cnt)
{
	size_t kept = 0;
	int r;

	for (size_t i = 0; i < *cnt; i++)
		if ((r = check_weight(events[i].weight)) < 0)
			return r;
	if (!in_order(events, *cnt))
		qsort(events, *cnt, sizeof(*events), by_key);
	for (size_t i = 0; i < *cnt; i++) {
		if (!kept || pathprof_event_order(&events[kept - 1], &events[i]) != 0) {
			events[kept++] = events[i];
			continue;
		}
		pathprof_event_add(&events[kept - 1], &events[i]);
		if (events[kept - 1].weight > PATHPROF_WEIGHT_MAX)
			return -ERANGE;
	}
	*cnt = kept;
	return 0;
}

static int check_order(const struct pathprof_event *before, const struct pathprof_event *event)
{
	int order = pathprof_event_order(before, event);

	if (order == 0)
		return -EEXIST;
	return order > 0 ? -EINVAL : 0;
}

static bool is_whole(double weight)
{
	return weight < WHOLE_MAX && weight == floor(weight);
}

int pathprof_distribution_init(struct pathprof_distribution *ret_distribution,
			       const struct pathprof_event *events, size_t cnt)
{
	/* With no events the array may be NULL, and NULL + 0 is undefined. */
	static const struct pathprof_event none;
	struct pathprof_distribution d = {
		.events = cnt ? events : &none, .cnt = cnt, .counted = true, .clustered = cnt > 0};
	int r;

	for (size_t i = 0; i < cnt; i++) {
		r = check_weight(events[i].weight);
		if (r == 0 && i)
			r = check_order(&events[i - 1], &events[i]);
		if (r < 0)
			return r;
		d.total += events[i].weight;
		d.touched_cnt += events[i].weight > 0;
		d.counted = d.counted && is_whole(events[i].weight);
		d.clustered = d.clustered && (events[i].squares > 0 || !(events[i].weight > 0));
		d.squares += events[i].squares;
	}
	if (!d.clustered)
		d.squares = 0;
	*ret_distribution = d;
	return 0;
}

double pathprof_independent_samples(const struct pathprof_distribution *distribution)
{
	long double together =
		distribution->clustered ? distribution->squares / distribution->total : 1;

	return (double)(distribution->total / (together > 1 ? together : 1));
}
