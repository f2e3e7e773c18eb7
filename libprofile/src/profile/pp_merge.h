/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Two profiles side by side: the union of their events in order, one pair at a time. Events of
 * weight 0 in both are skipped. Linear; nothing is allocated. The cursor is the caller's.
 */
#ifndef PP_MERGE_H
#define PP_MERGE_H

#include <stdbool.h>

#include "pathprof/distribution.h"

struct pp_merge {
	const struct pathprof_event *a, *a_end, *b, *b_end;
};

/* One event of the union; at least one weight is above 0. */
struct pp_pair {
	const struct pathprof_event *event; /* for its key */
	double a, b;
	double a_squares, b_squares;
};

static inline void pp_merge_init(struct pp_merge *merge, const struct pathprof_distribution *a,
				 const struct pathprof_distribution *b)
{
	*merge = (struct pp_merge){a->events, a->events + a->cnt, b->events, b->events + b->cnt};
}

static inline bool pp_event_before(const struct pathprof_event *a, const struct pathprof_event *b)
{
	return a->key_hi < b->key_hi || (a->key_hi == b->key_hi && a->key_lo < b->key_lo);
}

static inline void pp_merge_step(struct pp_merge *merge, struct pp_pair *ret_pair)
{
	bool a_left = merge->a != merge->a_end, b_left = merge->b != merge->b_end;
	bool a = a_left && (!b_left || !pp_event_before(merge->b, merge->a));
	bool b = b_left && (!a_left || !pp_event_before(merge->a, merge->b));

	ret_pair->event = a ? merge->a : merge->b;
	ret_pair->a = a ? merge->a->weight : 0;
	ret_pair->b = b ? merge->b->weight : 0;
	ret_pair->a_squares = a ? merge->a->squares : 0;
	ret_pair->b_squares = b ? merge->b->squares : 0;
	merge->a += a;
	merge->b += b;
}

/* false: no event is left. */
static inline bool pp_merge_next(struct pp_merge *merge, struct pp_pair *ret_pair)
{
	while (merge->a != merge->a_end || merge->b != merge->b_end) {
		pp_merge_step(merge, ret_pair);
		if (ret_pair->a > 0 || ret_pair->b > 0)
			return true;
	}
	return false;
}

#endif
