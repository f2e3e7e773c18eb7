/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A_k (RPS 3.4): a small fully associative table behind a sampler that adds up messages of the
 * same tuple, losslessly. When it is full a new tuple evicts the entry with the smallest count
 * (lowest slot on a tie), which goes out as one message.
 *
 * Workload: called for messages only, 1/r of the tuples, so a linear search will do. Any context;
 * the caller owns the table.
 */
#ifndef PP_ASSOC_H
#define PP_ASSOC_H

#include "pp_types.h"

struct pp_assoc {
	__u32 used;
	__u32 scratch, scratch2, pad; /* for PP_LAUNDER */
	struct pp_message entry[PP_ASSOC_MAX];
};

/* The slot that holds the tuple, else PP_ASSOC_MAX + the slot with the smallest count. */
PP_INLINE __u32 pp_assoc_find(struct pp_assoc *a, const struct pp_tuple *tuple)
{
	__u64 best = ~(__u64)0;
	__u32 i, least = 0;

	PP_NO_UNROLL
	for (i = 0; i < PP_ASSOC_MAX; i++) {
		const struct pp_message *e = &a->entry[i];

		if (i >= a->used)
			break;
		if (e->tuple.pc == tuple->pc && e->tuple.word == tuple->word)
			return i;
		if (e->count < best) {
			best = e->count;
			least = PP_LAUNDER(i, &a->scratch);
		}
	}
	return PP_ASSOC_MAX + least;
}

/* Adds count of tuple to a table of `size` entries (1..PP_ASSOC_MAX). 1: *ret_evicted is filled. */
PP_INLINE __u32 pp_assoc_step(struct pp_assoc *a, __u32 size, const struct pp_tuple *tuple,
			      __u64 count, struct pp_message *ret_evicted)
{
	__u32 slot = pp_assoc_find(a, tuple), used, full;
	struct pp_message *e;

	slot = PP_LAUNDER(slot, &a->scratch);
	if (slot < PP_ASSOC_MAX) {
		a->entry[PP_MASK(slot, PP_ASSOC_MAX - 1)].count += count;
		return 0;
	}
	used = PP_LAUNDER(a->used, &a->scratch2);
	full = used >= size;
	e = &a->entry[PP_MASK(full ? slot : used, PP_ASSOC_MAX - 1)];
	if (full)
		*ret_evicted = *e;
	else
		a->used = used + 1;
	e->tuple = *tuple;
	e->count = count;
	return full;
}

#endif
