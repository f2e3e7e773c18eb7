/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The TNV table of one instruction (VP 3): the values it produced most often.
 *
 * Entries are kept in the order of their counts. The top half is steady; the bottom half is
 * emptied every clear interval, or a hot newcomer could never climb past old entries. Replacement
 * is LFU: a new value takes the last slot. The interval is never less than twice the count of the
 * last entry of the top half, so that a newcomer can reach the top within one interval.
 *
 * Workload: the messages of a sampler (RPS 2). Any context; the caller owns the table.
 */
#ifndef PP_TNV_H
#define PP_TNV_H

#include "pp_types.h"

#define PP_TNV_MAX 16

struct pp_tnv_config {
	__u32 size;  /* N: entries, even, 2..PP_TNV_MAX */
	__u32 clear; /* clear interval, executions */
};

struct pp_tnv_entry {
	__u64 value;
	__u64 count;
};

/* All zeroes: empty. */
struct pp_tnv {
	__u64 profiled;    /* executions */
	__u64 since_clear; /* executions */
	__u32 used;
	__u32 scratch; /* for PP_LAUNDER */
	struct pp_tnv_entry entry[PP_TNV_MAX];
};

PP_INLINE __u32 pp_tnv_find(const struct pp_tnv *t, __u64 value)
{
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < PP_TNV_MAX; i++) {
		if (i >= t->used)
			break;
		if (t->entry[i].value == value)
			return i;
	}
	return PP_TNV_MAX;
}

/* Entry i grew: moves it before all entries with smaller counts. */
PP_INLINE void pp_tnv_rise(struct pp_tnv *t, __u32 i)
{
	struct pp_tnv_entry swap;
	__u32 step;

	PP_NO_UNROLL
	for (step = 0; step < PP_TNV_MAX; step++) {
		struct pp_tnv_entry *e = &t->entry[PP_MASK(i, PP_TNV_MAX - 1)];
		struct pp_tnv_entry *above = &t->entry[PP_MASK(i - 1, PP_TNV_MAX - 1)];

		if (i == 0 || above->count >= e->count)
			break;
		swap = *above;
		*above = *e;
		*e = swap;
		i--;
	}
}

/* value came count times, 1 or more. */
PP_INLINE void pp_tnv_insert(struct pp_tnv *t, const struct pp_tnv_config *config, __u64 value,
			     __u64 count)
{
	__u32 i = pp_tnv_find(t, value);
	struct pp_tnv_entry *e;

	i = PP_LAUNDER(i, &t->scratch);
	if (i < PP_TNV_MAX) {
		t->entry[PP_MASK(i, PP_TNV_MAX - 1)].count += count;
	} else {
		if (t->used < config->size)
			t->used++;
		i = t->used - 1;
		e = &t->entry[PP_MASK(i, PP_TNV_MAX - 1)];
		e->value = value;
		e->count = count;
	}
	pp_tnv_rise(t, PP_LAUNDER(i, &t->scratch));
}

PP_INLINE void pp_tnv_clear_bottom(struct pp_tnv *t, const struct pp_tnv_config *config)
{
	__u32 half = config->size / 2;
	__u64 middle = t->entry[PP_MASK(half - 1, PP_TNV_MAX - 1)].count;

	if (t->since_clear < config->clear || t->since_clear < 2 * middle)
		return;
	t->since_clear = 0;
	if (t->used > half)
		t->used = half;
}

/* The instruction produced value, count times (1 or more). */
PP_INLINE void pp_tnv_add(struct pp_tnv *t, const struct pp_tnv_config *config, __u64 value,
			  __u64 count)
{
	t->profiled += count;
	t->since_clear += count;
	pp_tnv_insert(t, config, value, count);
	pp_tnv_clear_bottom(t, config);
}

#endif
