/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The Hot Path Table (EOPP 5.4): a set-associative table of paths and accumulators. What it
 * replaces goes out as a message, by one of two policies:
 *
 *   LFU   the least frequently used is replaced, and goes out as it is. The thesis' home loses it;
 *         one that keeps it loses nothing, at the price of messages.
 *   TAIL  the same, but every 16th time the way whose turn it is, so that what was hot once leaves.
 *         A count of 16 or more goes out as it is; a smaller one is added to one of 128 strata, and
 *         goes out as 16 when it carries its stratum over that (a stratified sampler by weight, RPS
 *         3.2). Strata begin at random phases: the expected sum of table and messages is the true
 *         count of every path.
 *
 * Workload: once for each path that ends. Default 512 entries, 4 ways. Any context; the caller
 * owns the table.
 */
#ifndef PP_HPT_H
#define PP_HPT_H

#include "pp_hash.h"
#include "pp_random.h"
#include "pp_types.h"

#define PP_HPT_WAYS_MAX 16
#define PP_HPT_VALID    ((__u64)1 << 63) /* in pp_hpt_entry.desc */

enum pp_hpt_policy {
	PP_HPT_LFU = 0,
	PP_HPT_TAIL = 1,
};
#define PP_HPT_RATE   16  /* counts that a sampled message stands for */
#define PP_HPT_STRATA 128 /* a power of two; four bits each would do */
#define PP_HPT_TURN   16  /* misses in full sets from one turn to the next; a power of two */

struct pp_hpt_config {
	__u32 bits;   /* log2 of sets */
	__u32 ways;   /* 1..PP_HPT_WAYS_MAX; sets * ways <= PP_HPT_MAX */
	__u32 policy; /* enum pp_hpt_policy */
	__u32 pad;
};

struct pp_hpt_entry {
	__u64 start;
	__u64 desc; /* PP_DESC(), and PP_HPT_VALID when in use */
	__u64 count;
};

struct pp_hpt {
	__u32 scratch;                                           /* for PP_LAUNDER */
	__u32 misses;                                            /* in full sets, under TAIL */
	__u32 stratum[PP_HPT_STRATA];                            /* below PP_HPT_RATE */
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

/* Begins the strata at random phases; all zeroes work too, a little low. Not needed for LFU. */
PP_INLINE void pp_hpt_init(struct pp_hpt *h, __u64 seed)
{
	struct pp_random random;
	__u32 i;

	pp_random_init(&random, seed);
	PP_NO_UNROLL
	for (i = 0; i < PP_HPT_STRATA; i++)
		h->stratum[i] = (__u32)(pp_random_next(&random) >> 32) % PP_HPT_RATE;
}

/* TAIL: the way whose turn it is; `way` while it is no way's turn. The set is full. */
PP_INLINE __u32 pp_hpt_turn(struct pp_hpt *h, __u32 way, __u32 ways)
{
	__u32 misses = ++h->misses;

	if (misses % PP_HPT_TURN || !ways)
		return way;
	return misses / PP_HPT_TURN % ways;
}

/* TAIL: an entry leaves. 1: it becomes a message, with the count that the message stands for. */
PP_INLINE __u32 pp_hpt_leave(struct pp_hpt *h, struct pp_hpt_entry *e)
{
	__u64 mixed = (e->start ^ e->desc) * 0x9E3779B97F4A7C15ULL;
	__u32 *stratum = &h->stratum[PP_MASK(mixed >> 57, PP_HPT_STRATA - 1)];
	__u32 sum;

	if (e->count >= PP_HPT_RATE)
		return 1;
	sum = *stratum + (__u32)e->count;
	*stratum = sum % PP_HPT_RATE;
	e->count = PP_HPT_RATE;
	return sum >= PP_HPT_RATE;
}

/* Adds count to a path. 1: *ret_message goes out; else *ret_message is undefined. */
PP_INLINE __u32 pp_hpt_step(struct pp_hpt *h, const struct pp_hpt_config *config, __u64 start,
			    __u64 desc, __u64 count, struct pp_hpt_entry *ret_message)
{
	__u32 base = pp_hpt_set(start, desc, config->bits) * config->ways, way, valid;
	struct pp_hpt_entry *e = &h->entry[PP_MASK(base, PP_HPT_MAX - 1)];

	way = pp_hpt_find(e, config->ways, start, desc | PP_HPT_VALID);
	way = PP_LAUNDER(way, &h->scratch);
	if (PP_LIKELY(way < PP_HPT_WAYS_MAX)) {
		e[PP_MASK(way, PP_HPT_WAYS_MAX - 1)].count += count;
		return 0;
	}
	/* Laundered: else the verifier would analyse what follows once for each way that may be
	 * found. */
	way = pp_hpt_victim(h, e, PP_LAUNDER(config->ways, &h->scratch));
	way = PP_LAUNDER(way, &h->scratch);
	valid = (e[PP_MASK(way, PP_HPT_WAYS_MAX - 1)].desc & PP_HPT_VALID) != 0;
	if (valid && config->policy == PP_HPT_TAIL)
		way = PP_LAUNDER(pp_hpt_turn(h, way, config->ways), &h->scratch);
	e += PP_MASK(way, PP_HPT_WAYS_MAX - 1);
	*ret_message = *e;
	e->start = start;
	e->desc = desc | PP_HPT_VALID;
	e->count = count;
	if (valid && config->policy == PP_HPT_TAIL)
		return pp_hpt_leave(h, ret_message);
	return valid;
}

#endif
