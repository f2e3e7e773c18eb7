/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Branches as tuples, both profiles through one compressor (RPS 5.7). Which process a tuple is of
 * and which profile stands in the upper 16 bits of pc and word, and is hashed with them.
 *
 * Workload: once for each taken branch of a window, so it lies in the loop of its callers. The hash
 * is linear, so what the upper bits contribute is the same for all of a window: hashed once, and
 * the rest in the short form for neighbours. The index is that of pp_hash_index(), bit for bit.
 *
 * Any context, NMI included; the caller is busy with the tables.
 */
#ifndef PATHPROF_KMOD_TUPLES_H
#define PATHPROF_KMOD_TUPLES_H

#include "tables.h"

#define PP_TUPLE_CALLS (1u << PP_KIND_CALL | 1u << PP_KIND_ICALL)

/* What is the same for all tuples of a window. */
struct pp_tuple_plan {
	u64 tag;          /* the context, where pc has it */
	u32 edge_hash;    /* xored to the hash of the bare addresses */
	u32 call_hash;    /* ... of a call instead */
	u32 edges, calls; /* bits of the kinds that go into each profile */
};

static inline u32 pp_tuple_hash(const struct pp_hash *h, u32 context, u32 profile)
{
	return h->high ^ h->part[6][context & 255] ^ h->part[7][context >> 8 & 255] ^
	       h->part[14][profile] ^ h->part[15][0];
}

static inline void pp_tuple_plan(const struct pp_tables *t, const struct pp_pipeline_config *config,
				 u32 context, struct pp_tuple_plan *ret_plan)
{
	const struct pp_hash *h = &t->chain.compress.hash;

	ret_plan->tag = (u64)context << PP_CONTEXT_SHIFT;
	ret_plan->edge_hash = pp_tuple_hash(h, context, PATHPROF_PROFILE_EDGES);
	ret_plan->call_hash = pp_tuple_hash(h, context, PATHPROF_PROFILE_CALLS);
	ret_plan->edges = config->profiles & PATHPROF_PROFILE_EDGES ? config->kinds : 0;
	ret_plan->calls =
		config->profiles & PATHPROF_PROFILE_CALLS ? config->kinds & PP_TUPLE_CALLS : 0;
}

/* A message of the first level: through the second, and what leaves that into the ring. */
void pp_tuple_message(struct pp_tables *t, u64 tag, u64 from, u64 word, u32 count);

/* pp_hash_index_near() for what is known to lie below 2^48. */
static __always_inline u32 pp_tuple_near(struct pp_hash *h, u64 from, u64 to)
{
	u64 region = from >> 24 | (to >> 24) << 24;

	if (unlikely(region != h->region)) {
		h->region = region;
		h->far = pp_hash_far(h, region);
	}
	return h->far ^ h->part[0][from & 255] ^ h->part[1][from >> 8 & 255] ^
	       h->part[2][from >> 16 & 255] ^ h->part[8][to & 255] ^ h->part[9][to >> 8 & 255] ^
	       h->part[10][to >> 16 & 255];
}

/* The first level with its index made: what pp_compress_sample() does. */
static __always_inline u32 pp_tuple_sample(struct pp_compress *c,
					   const struct pp_compress_config *config, u32 index,
					   u64 pc, u64 word)
{
	if (unlikely(config->sampler == PP_SAMPLER_TAGGED))
		return pp_tagged_step(&c->tagged, &config->tagged, index,
				      pp_hash_tag(pc, word, config->tag_bits));
	return pp_split_step(&c->split, index, config->sampler, config->rate);
}

static __always_inline void pp_tuple_step(struct pp_tables *t,
					  const struct pp_compress_config *config,
					  const struct pp_tuple_plan *plan, u64 from, u64 to,
					  u32 kind)
{
	struct pp_compress *c = &t->chain.compress;
	u32 near, count;
	u64 word;

	if (!((plan->edges | plan->calls) >> kind & 1))
		return;
	near = pp_tuple_near(&c->hash, from, to);
	if (likely(plan->edges >> kind & 1)) {
		word = to | (u64)PATHPROF_PROFILE_EDGES << PP_CONTEXT_SHIFT;
		count = pp_tuple_sample(c, config, near ^ plan->edge_hash, from | plan->tag, word);
		if (unlikely(count))
			pp_tuple_message(t, plan->tag, from, word, count);
	}
	if (plan->calls >> kind & 1) {
		word = to | (u64)PATHPROF_PROFILE_CALLS << PP_CONTEXT_SHIFT;
		count = pp_tuple_sample(c, config, near ^ plan->call_hash, from | plan->tag, word);
		if (unlikely(count))
			pp_tuple_message(t, plan->tag, from, word, count);
	}
}

#endif
