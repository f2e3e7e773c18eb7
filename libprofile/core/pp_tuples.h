/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Taken branches as tuples, two profiles through one compressor (RPS 5.7): every branch, and calls
 * by themselves. Which process a tuple is of and which profile stands in the upper 16 bits of pc
 * and word, and is hashed with them.
 *
 * Workload: once for each taken branch of a window, so it lies in the loop of its callers. The hash
 * is linear, so what the upper bits contribute is the same for all of a window: hashed once, and
 * the rest in the short form for neighbours. The index is that of pp_hash_index(), bit for bit.
 *
 * Any context, NMI included; the caller owns this CPU's compressor.
 */
#ifndef PP_TUPLES_H
#define PP_TUPLES_H

#include "pp_compress.h"

#define PP_CONTEXT_SHIFT 48 /* of a process' number in an address */

#define PP_PROFILE_EDGES ((__u32)1) /* (branch, what ran next) */
#define PP_PROFILE_CALLS ((__u32)2) /* (call, its target) */

#define PP_TUPLE_CALLS ((__u32)1 << PP_KIND_CALL | (__u32)1 << PP_KIND_ICALL)

/* The values that are the same for all tuples of a window. */
struct pp_tuple_plan {
	__u64 tag;          /* the context, where pc has it */
	__u32 edge_hash;    /* xored to the hash of the bare addresses */
	__u32 call_hash;    /* ... of a call instead */
	__u32 edges, calls; /* bits of the kinds that go into each profile */
};

PP_INLINE __u32 pp_tuple_hash(const struct pp_hash *h, __u32 context, __u32 profile)
{
	return (__u32)h->high ^ h->part[6][context & 255] ^ h->part[7][context >> 8 & 255] ^
	       h->part[14][profile & 255] ^ h->part[15][0];
}

/* kinds: bits 1 << enum pp_kind; profiles: of PP_PROFILE_*. */
PP_INLINE void pp_tuple_plan_init(struct pp_tuple_plan *p, const struct pp_hash *h, __u32 kinds,
				  __u32 profiles, __u32 context)
{
	p->tag = (__u64)context << PP_CONTEXT_SHIFT;
	p->edge_hash = pp_tuple_hash(h, context, PP_PROFILE_EDGES);
	p->call_hash = pp_tuple_hash(h, context, PP_PROFILE_CALLS);
	p->edges = profiles & PP_PROFILE_EDGES ? kinds : 0;
	p->calls = profiles & PP_PROFILE_CALLS ? kinds & PP_TUPLE_CALLS : 0;
}

/* pp_hash_index_near() for what is known to lie below 2^48. Owner of h only. */
PP_INLINE __u32 pp_tuple_near(struct pp_hash *h, __u64 from, __u64 to)
{
	__u64 region = from >> 24 | (to >> 24) << 24;

	if (PP_UNLIKELY(region != h->region)) {
		h->region = region;
		h->far = pp_hash_far(h, region);
	}
	return h->far ^ h->part[0][from & 255] ^ h->part[1][from >> 8 & 255] ^
	       h->part[2][from >> 16 & 255] ^ h->part[8][to & 255] ^ h->part[9][to >> 8 & 255] ^
	       h->part[10][to >> 16 & 255];
}

/* The first level with its index made: what pp_compress_sample() does. */
PP_INLINE __u32 pp_tuple_sample(struct pp_compress *c, const struct pp_compress_config *config,
				__u32 index, __u64 pc, __u64 word)
{
	if (PP_UNLIKELY(config->sampler == PP_SAMPLER_TAGGED))
		return pp_tagged_step(&c->tagged, &config->tagged, index,
				      pp_hash_tag(pc, word, config->tag_bits));
	return pp_split_step(&c->split, index, config->sampler, config->rate);
}

#endif
