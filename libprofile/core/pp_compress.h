/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A whole compressor in the notation of RPS 3 and 4: R256, P256, CR256, H[P256]2048, T[256]2048,
 * any of them with A16 behind. Tuples in, messages out; what the table behind still holds is read
 * out slot by slot at the end (assoc.entry[0..used)).
 *
 * State is one object of fixed size, zeroed and then prepared by pp_compress_init() in a home that
 * may run loops. Any context for the step, NMI included; the caller owns the state (one a CPU).
 */
#ifndef PP_COMPRESS_H
#define PP_COMPRESS_H

#include "pp_assoc.h"
#include "pp_hash.h"
#include "pp_split.h"
#include "pp_tagged.h"

struct pp_compress_config {
	__u32 sampler;    /* enum pp_sampler */
	__u32 rate;       /* r, 1 or more */
	__u32 bits;       /* log2 of substreams or sets; 0: one stream, nothing is hashed */
	__u32 assoc_size; /* k of A_k; 0: none */
	__u32 tag_bits;   /* tagged only, 1..8 */
	__u32 phased;     /* periodic only: 1: each substream begins at random within its period */
	struct pp_tagged_config tagged;
};

struct pp_compress {
	struct pp_hash hash;
	struct pp_split split;
	struct pp_tagged tagged;
	struct pp_assoc assoc;
};

/*
 * If all periods began at 0, half a period of every substream, on average, would be held back until
 * the end, and a short profile would lack it. With random starts an estimate is right on average
 * from the first tuple on.
 */
PP_INLINE void pp_compress_phase(struct pp_compress *c, const struct pp_compress_config *config)
{
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < PP_SPLIT_MAX; i++) {
		if (i >> config->bits)
			break;
		c->split.counter[i] =
			(__u32)(((pp_random_next(&c->split.random) >> 32) * config->rate) >> 32);
	}
}

/* c is all zeroes. seed: of the random numbers. */
PP_INLINE void pp_compress_init(struct pp_compress *c, const struct pp_compress_config *config,
				__u64 seed)
{
	pp_hash_init(&c->hash, config->bits);
	pp_random_init(&c->split.random, seed);
	if (config->phased)
		pp_compress_phase(c, config);
}

/* The first level: the count to report for this tuple, 0 for no message. */
PP_INLINE __u32 pp_compress_sample(struct pp_compress *c, const struct pp_compress_config *config,
				   const struct pp_tuple *tuple)
{
	__u32 index = config->bits ? pp_hash_index_near(&c->hash, tuple->pc, tuple->word) : 0;

	if (PP_UNLIKELY(config->sampler == PP_SAMPLER_TAGGED))
		return pp_tagged_step(&c->tagged, &config->tagged, index,
				      pp_hash_tag(tuple->pc, tuple->word, config->tag_bits));
	return pp_split_step(&c->split, index, config->sampler, config->rate);
}

/* One tuple. 1: *ret_message goes out. */
PP_INLINE __u32 pp_compress_step(struct pp_compress *c, const struct pp_compress_config *config,
				 const struct pp_tuple *tuple, struct pp_message *ret_message)
{
	__u64 count = pp_compress_sample(c, config, tuple);

	if (PP_LIKELY(!count))
		return 0;
	if (config->assoc_size)
		return pp_assoc_step(&c->assoc, config->assoc_size, tuple, count, ret_message);
	ret_message->tuple = *tuple;
	ret_message->count = count;
	return 1;
}

#endif
