/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The Hot Path Table (EOPP 5.4): a set-associative table of paths and accumulators, least
 * frequently used replaced first. The thesis' table loses what it replaces; with `spill` the home
 * passes the replaced entry on, so that nothing is lost at the price of messages.
 *
 * Workload: once for each path that ends. Default 512 entries, 4 ways. Any context; the caller
 * owns the table.
 */
#ifndef PP_HPT_H
#define PP_HPT_H

#include "pp_hash.h"
#include "pp_types.h"

#define PP_HPT_WAYS_MAX 16
#define PP_HPT_VALID    ((__u64)1 << 63) /* in pp_hpt_entry.desc */

struct pp_hpt_config {
	__u32 bits; /* log2 of sets */
	__u32 ways; /* 1..PP_HPT_WAYS_MAX; sets * ways <= PP_HPT_MAX */
};

struct pp_hpt_entry {
	__u64 start;
	__u64 desc; /* PP_DESC(), and PP_HPT_VALID when in use */
	__u64 count;
};

struct pp_hpt {
	__u32 scratch, pad;                                      /* for PP_LAUNDER */
	struct pp_hpt_entry entry[PP_HPT_MAX + PP_HPT_WAYS_MAX]; /* masked set + way */
};

/* Xor of the folds of start, length and outcomes: folding is linear, so one fold does it. */
PP_INLINE __u32 pp_hpt_set(__u64 start, __u64 desc, __u32 bits)
{
	return (__u32)pp_fold(start ^ PP_DESC_LENGTH(desc) ^ PP_DESC_OUTCOMES(desc), bits);
}

/* The way that holds the path, else PP_HPT_WAYS_MAX. */
PP_INLINE __u32 pp_hpt_find(const struct pp_hpt_entry *set, __u32 ways, __u64 start, __u64 desc)
{
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < PP_HPT_WAYS_MAX; i++) {
		if (i >= ways)
			break;
		if (set[i].desc == desc && set[i].start == start)
			return i;
	}
	return PP_HPT_WAYS_MAX;
}

/* The way that makes room: free, or the one with the least count. */
PP_INLINE __u32 pp_hpt_victim(struct pp_hpt *h, const struct pp_hpt_entry *set, __u32 ways)
{
	__u64 best = ~(__u64)0;
	__u32 i, least = 0;

	PP_NO_UNROLL
	for (i = 0; i < PP_HPT_WAYS_MAX; i++) {
		if (i >= ways)
			break;
		if (!(set[i].desc & PP_HPT_VALID)) {
			least = PP_LAUNDER(i, &h->scratch);
			break;
		}
		if (set[i].count < best) {
			best = set[i].count;
			least = PP_LAUNDER(i, &h->scratch);
		}
	}
	return least;
}

/* Adds count to a path. 1: an entry was replaced and *ret_replaced holds it. */
PP_INLINE __u32 pp_hpt_step(struct pp_hpt *h, const struct pp_hpt_config *config, __u64 start,
			    __u64 desc, __u64 count, struct pp_hpt_entry *ret_replaced)
{
	__u32 base = pp_hpt_set(start, desc, config->bits) * config->ways, way;
	struct pp_hpt_entry *e = &h->entry[PP_MASK(base, PP_HPT_MAX - 1)];

	way = pp_hpt_find(e, config->ways, start, desc | PP_HPT_VALID);
	way = PP_LAUNDER(way, &h->scratch);
	if (PP_LIKELY(way < PP_HPT_WAYS_MAX)) {
		e[PP_MASK(way, PP_HPT_WAYS_MAX - 1)].count += count;
		return 0;
	}
	/* Laundered: what the search above taught the verifier about ways would fork the next. */
	way = pp_hpt_victim(h, e, PP_LAUNDER(config->ways, &h->scratch));
	way = PP_LAUNDER(way, &h->scratch);
	e += PP_MASK(way, PP_HPT_WAYS_MAX - 1);
	*ret_replaced = *e;
	e->start = start;
	e->desc = desc | PP_HPT_VALID;
	e->count = count;
	return (ret_replaced->desc & PP_HPT_VALID) != 0;
}

#endif
