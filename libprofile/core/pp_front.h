/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * F_k: a small set-associative table in front of a sampler, F64H[P192]1024. Tuples in it are
 * counted exactly and cost no message until they leave; only the rest of the stream is sampled. The
 * sampler decides who enters: a tuple it picks brings the count of its message along, and what is
 * replaced goes out with all it has gathered. So there are never more messages than the sampler
 * would have sent alone, and no count is lost.
 *
 * A table behind the sampler (pp_assoc.h) saves messages of hot tuples but leaves them in the
 * strata, where they blur the others; in front they leave the strata too.
 *
 * Replaced is the way used least of late: uses fade by half whenever the set is contended, so that
 * what was hot in an earlier phase of the program goes.
 *
 * Workload: every tuple, so four compares at most. Any context; the caller owns the table. The
 * table is ours; the sampler and the idea of composing them are RPS 3.
 */
#ifndef PP_FRONT_H
#define PP_FRONT_H

#include "pp_compress.h"

#define PP_FRONT_WAYS     4
#define PP_FRONT_MAX      256
#define PP_FRONT_USES_MAX 255

struct pp_front_entry {
	struct pp_tuple tuple;
	__u64 count; /* 0: empty */
	__u64 uses;  /* of late, at most PP_FRONT_USES_MAX */
};

struct pp_front {
	__u32 scratch, pad; /* for PP_LAUNDER */
	struct pp_front_entry entry[PP_FRONT_MAX];
};

/* The way that holds tuple, else PP_FRONT_WAYS + the way to take: an empty one or the least used,
 * the lowest of equals. */
PP_INLINE __u32 pp_front_find(const struct pp_front_entry *set, const struct pp_tuple *tuple)
{
	__u32 i, least = 0;
	__u64 best = ~(__u64)0;

	PP_NO_UNROLL
	for (i = 0; i < PP_FRONT_WAYS; i++) {
		__u64 rank = set[i].count ? set[i].uses + 1 : 0;

		if (set[i].count && set[i].tuple.pc == tuple->pc &&
		    set[i].tuple.word == tuple->word)
			return i;
		if (rank < best) {
			best = rank;
			least = i;
		}
	}
	return PP_FRONT_WAYS + least;
}

/* Puts tuple with count into way `way`. 1: *ret_replaced is what was there. */
PP_INLINE __u32 pp_front_replace(struct pp_front_entry *set, __u32 way,
				 const struct pp_tuple *tuple, __u64 count,
				 struct pp_message *ret_replaced)
{
	struct pp_front_entry *e = &set[PP_MASK(way, PP_FRONT_WAYS - 1)];
	__u32 i, full = e->count != 0;

	if (full) {
		ret_replaced->tuple = e->tuple;
		ret_replaced->count = e->count;
		PP_NO_UNROLL
		for (i = 0; i < PP_FRONT_WAYS; i++)
			set[i].uses >>= 1;
	}
	e->tuple = *tuple;
	e->count = count;
	e->uses = 1;
	return full;
}

/*
 * One tuple through a table of `size` entries (a power of two, PP_FRONT_WAYS..PP_FRONT_MAX) and the
 * first level of c. 1: *ret_message goes out. config has no table behind.
 */
PP_INLINE __u32 pp_front_step(struct pp_front *f, __u32 size, struct pp_compress *c,
			      const struct pp_compress_config *config, const struct pp_tuple *tuple,
			      struct pp_message *ret_message)
{
	__u64 hash = (tuple->pc ^ tuple->word * 0xC2B2AE3D27D4EB4FULL) * 0x9E3779B97F4A7C15ULL;
	__u32 base = (__u32)(hash >> 32) & (size - 1) & ~(__u32)(PP_FRONT_WAYS - 1);
	struct pp_front_entry *set = &f->entry[PP_MASK(base, PP_FRONT_MAX - PP_FRONT_WAYS)];
	__u32 way = pp_front_find(set, tuple), count;
	struct pp_front_entry *e;

	way = PP_LAUNDER(way, &f->scratch);
	if (way < PP_FRONT_WAYS) {
		e = &set[PP_MASK(way, PP_FRONT_WAYS - 1)];
		e->count++;
		if (e->uses < PP_FRONT_USES_MAX)
			e->uses++;
		return 0;
	}
	count = pp_compress_sample(c, config, tuple);
	if (PP_LIKELY(!count))
		return 0;
	return pp_front_replace(set, way, tuple, count, ret_message);
}

#endif
