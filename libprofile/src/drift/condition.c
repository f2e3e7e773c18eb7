// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Conditional relative entropy (Cover and Thomas, 2.5): a library's paths, given the program that
 * runs them. See pathprof_tally_condition() in tally.h.
 *
 * Events of a program have one key_hi and stand together, so both sides are walked at once.
 */
#include "pathprof/tally.h"

#include <errno.h>
#include <stdlib.h>

/* The events of one program on one side. */
struct span {
	const struct pathprof_event *events;
	size_t cnt;
	double total;
};

/* One program on both sides; cnt 0: that side has it not. */
struct pair {
	struct span window, base;
};

static struct span take_span(const struct pathprof_tally *tally, size_t *at, uint64_t key_hi)
{
	struct span span = {.events = tally->events + *at};

	for (; *at < tally->cnt && tally->events[*at].key_hi == key_hi; (*at)++) {
		span.total += tally->events[*at].weight;
		span.cnt++;
	}
	return span;
}

/* false: there is no other. */
static bool next_pair(struct pair *ret_pair, const struct pathprof_tally *window, size_t *window_at,
		      const struct pathprof_tally *base, size_t *base_at)
{
	bool of_window = *window_at < window->cnt, of_base = *base_at < base->cnt;
	uint64_t key_hi = of_window ? window->events[*window_at].key_hi : UINT64_MAX;

	if (!of_window && !of_base)
		return false;
	if (of_base && base->events[*base_at].key_hi < key_hi)
		key_hi = base->events[*base_at].key_hi;
	ret_pair->window = take_span(window, window_at, key_hi);
	ret_pair->base = take_span(base, base_at, key_hi);
	return true;
}

static bool is_in_both(const struct pair *pair, double least)
{
	return pair->window.total > 0 && pair->base.total > 0 && pair->base.total >= least;
}

static int add_scaled(struct pathprof_tally *to, const struct span *span, double factor)
{
	struct pathprof_event *events = malloc(span->cnt * sizeof(*events));
	int r;

	if (!events)
		return -ENOMEM;
	for (size_t i = 0; i < span->cnt; i++) {
		events[i] = span->events[i];
		events[i].weight *= factor;
		events[i].squares *= factor * factor;
	}
	r = pathprof_tally_add(to, events, span->cnt);
	free(events);
	return r;
}

static bool is_one_program(const struct pathprof_tally *window, const struct pathprof_tally *base)
{
	uint64_t key_hi = window->cnt ? window->events[0].key_hi : 0;

	return window->cnt && base->cnt && window->events[window->cnt - 1].key_hi == key_hi &&
	       base->events[0].key_hi == key_hi && base->events[base->cnt - 1].key_hi == key_hi;
}

/* Sums over the programs that both sides have: of window, and of what is kept of base. */
static struct pair sum_both(const struct pathprof_tally *window, const struct pathprof_tally *base,
			    double least)
{
	size_t window_at = 0, base_at = 0;
	struct pair sums = {.window.total = 0}, pair;

	while (next_pair(&pair, window, &window_at, base, &base_at))
		if (is_in_both(&pair, least)) {
			sums.window.total += pair.window.total;
			sums.base.total += pair.base.total;
		}
	return sums;
}

/* Rebuilds both sides from the programs that both have: base in the window's proportions, with as
 * many samples as it had of all these programs together. */
static int keep_both(struct pathprof_tally *ret_window, struct pathprof_tally *ret_base,
		     const struct pathprof_tally *window, const struct pathprof_tally *base,
		     double least, const struct pair *sums)
{
	size_t window_at = 0, base_at = 0;
	struct pair pair;
	int r = 0;

	while (r == 0 && next_pair(&pair, window, &window_at, base, &base_at)) {
		double wanted = pair.window.total / sums->window.total * sums->base.total;

		if (!is_in_both(&pair, least))
			continue;
		r = pathprof_tally_add(ret_window, pair.window.events, pair.window.cnt);
		if (r == 0)
			r = add_scaled(ret_base, &pair.base, wanted / pair.base.total);
	}
	return r;
}

int pathprof_tally_condition(struct pathprof_tally *window, struct pathprof_tally *base,
			     double least, double *ret_share)
{
	struct pathprof_tally of_window = {0}, of_base = {0};
	double whole = window->total;
	struct pair sums;
	int r;

	*ret_share = 1;
	if (is_one_program(window, base))
		return 0;
	sums = sum_both(window, base, least);
	r = keep_both(&of_window, &of_base, window, base, least, &sums);
	if (r < 0) {
		pathprof_tally_release(&of_window);
		pathprof_tally_release(&of_base);
		return r;
	}
	*ret_share = whole > 0 ? sums.window.total / whole : 0;
	pathprof_tally_move(window, &of_window);
	pathprof_tally_move(base, &of_base);
	return 0;
}
