// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Counts of one binary's paths: see tally.h. */
#include "pathprof/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pathprof/events.h"

#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

int pathprof_tally_append(struct pathprof_tally *to, const struct pathprof_event *key,
			  const struct pathprof_worth *seen, bool weighed)
{
	struct pathprof_event event = *key;

	event.weight = weighed ? seen->weight : seen->samples;
	event.squares = weighed ? seen->weight_squares : seen->squares;
	if (!(event.weight > 0))
		return 0;
	if (pp_grow(&to->events, to->cnt, &to->room) < 0)
		return -ENOMEM;
	to->events[to->cnt++] = event;
	to->samples += seen->samples;
	to->sample_squares += seen->squares;
	return 0;
}

int pathprof_tally_append_row(struct pathprof_tally *to, uint64_t group,
			      const struct pathprof_container_path_row *row, bool weighed)
{
	const struct pathprof_worth seen = {(double)row->samples, row->squares, row->weight,
					    row->weight_squares};
	uint64_t program =
		row->program.kind == PATHPROF_ID_NONE ? 0 : pathprof_event_group(&row->program);
	struct pathprof_event key;

	group = pathprof_event_group_in(group, program);
	pathprof_event_of_path(&key, group, row->start, row->length, row->outcomes, 0);
	return pathprof_tally_append(to, &key, &seen, weighed);
}

void pathprof_tally_release(struct pathprof_tally *counts)
{
	free(counts->events);
	*counts = (struct pathprof_tally){0};
}

void pathprof_tally_clear(struct pathprof_tally *counts)
{
	*counts = (struct pathprof_tally){.events = counts->events, .room = counts->room};
}

static bool before(const struct pathprof_event *a, const struct pathprof_event *b)
{
	return a->key_hi < b->key_hi || (a->key_hi == b->key_hi && a->key_lo < b->key_lo);
}

static bool is_plain(double weight)
{
	return weight > 0 && weight < WHOLE_MAX;
}

/* How many of the events are not there yet. -EINVAL: they are not in order. */
static int count_new(const struct pathprof_tally *to, const struct pathprof_event *events,
		     size_t cnt, size_t *ret_fresh)
{
	const struct pathprof_event *at = to->events, *end = to->events + to->cnt;
	size_t fresh = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (i && !before(&events[i - 1], &events[i]))
			return -EINVAL;
		while (at != end && before(at, &events[i]))
			at++;
		fresh += at == end || before(&events[i], at);
	}
	*ret_fresh = fresh;
	return 0;
}

/* An eighth more than is needed, for what comes next. */
static int make_room(struct pathprof_tally *counts, size_t cnt)
{
	size_t room = counts->room ? cnt + cnt / 8 : cnt;

	if (cnt <= counts->room)
		return 0;
	if (pp_resize(&counts->events, room) < 0)
		return -ENOMEM;
	counts->room = room;
	return 0;
}

/* From the back, so that nothing is overwritten that is still to be moved. */
static void merge(struct pathprof_tally *to, const struct pathprof_event *events, size_t cnt,
		  size_t fresh)
{
	struct pathprof_event *from = to->events + to->cnt, *at = from + fresh;

	if (!to->cnt) {
		memcpy(to->events, events, cnt * sizeof(*events));
		cnt = 0;
	}
	while (cnt) {
		struct pathprof_event event = events[--cnt];

		while (from != to->events && before(&event, from - 1))
			*--at = *--from;
		if (from != to->events && !before(from - 1, &event))
			pathprof_event_add(&event, --from);
		*--at = event;
	}
	to->cnt += fresh;
}

static void sum_up(struct pathprof_tally *counts, const struct pathprof_event *events, size_t cnt)
{
	double total = counts->total, squares = counts->squares;
	bool loose = counts->loose, odd = counts->odd;

	for (size_t i = 0; i < cnt; i++) {
		total += events[i].weight;
		squares += events[i].squares;
		loose |= !(events[i].squares > 0);
		odd |= !is_plain(events[i].weight);
	}
	counts->total = total;
	counts->squares = squares;
	counts->loose = loose;
	counts->odd = odd;
}

/* Nothing is new: only weights change. */
static void add_in_place(struct pathprof_tally *to, const struct pathprof_event *events, size_t cnt)
{
	struct pathprof_event *at = to->events;

	for (size_t i = 0; i < cnt; i++) {
		while (before(at, &events[i]))
			at++;
		pathprof_event_add(at, &events[i]);
	}
}

int pathprof_tally_sort(struct pathprof_tally *counts)
{
	int r = pathprof_events_sort(counts->events, &counts->cnt);

	if (r < 0)
		pathprof_tally_clear(counts);
	sum_up(counts, counts->events, counts->cnt);
	return r;
}

static int add(struct pathprof_tally *to, const struct pathprof_event *events, size_t cnt)
{
	size_t fresh = 0;
	int r = cnt ? count_new(to, events, cnt, &fresh) : 0;

	if (r == 0)
		r = make_room(to, to->cnt + fresh);
	if (r < 0)
		return r;
	if (!fresh)
		add_in_place(to, events, cnt);
	else
		merge(to, events, cnt, fresh);
	sum_up(to, events, cnt);
	return 0;
}

int pathprof_tally_add(struct pathprof_tally *to, const struct pathprof_event *events, size_t cnt)
{
	int r = add(to, events, cnt);

	for (size_t i = 0; r == 0 && i < cnt; i++) {
		to->samples += events[i].weight;
		to->sample_squares += events[i].squares;
	}
	return r;
}

int pathprof_tally_join(struct pathprof_tally *to, const struct pathprof_tally *from)
{
	int r = add(to, from->events, from->cnt);

	if (r == 0) {
		to->samples += from->samples;
		to->sample_squares += from->sample_squares;
	}
	return r;
}

void pathprof_tally_weigh(struct pathprof_tally *counts)
{
	const struct pathprof_worth worth = {counts->samples, counts->sample_squares, counts->total,
					     counts->loose ? 0 : counts->squares};
	double factor = counts->total > 0
				? pathprof_worth_of_sample(&worth) * counts->samples / counts->total
				: 1;

	/* sums of counts are exact, so of those it is 1 */
	if (factor == 1)
		return;
	for (size_t i = 0; i < counts->cnt; i++) {
		counts->events[i].weight *= factor;
		counts->events[i].squares *= factor * factor;
	}
	counts->total *= factor;
	counts->squares *= factor * factor;
}

void pathprof_tally_move(struct pathprof_tally *to, struct pathprof_tally *from)
{
	pathprof_tally_release(to);
	*to = *from;
	*from = (struct pathprof_tally){0};
}

size_t pathprof_tally_bytes(const struct pathprof_tally *counts)
{
	return counts->room * sizeof(*counts->events);
}

/* Weights above 0 that are in order need no second look. */
struct pathprof_distribution pathprof_tally_distribution(const struct pathprof_tally *counts)
{
	struct pathprof_distribution distribution = {.events = counts->events,
						     .cnt = counts->cnt,
						     .touched_cnt = counts->cnt,
						     .total = counts->total,
						     .counted = true,
						     .clustered = counts->cnt && !counts->loose};

	if (distribution.clustered)
		distribution.squares = counts->squares;
	if (!counts->cnt || counts->odd || counts->total >= WHOLE_MAX)
		if (pathprof_distribution_init(&distribution, counts->events, counts->cnt) < 0)
			distribution = (struct pathprof_distribution){0};
	return distribution;
}
