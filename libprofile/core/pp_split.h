/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The stratified sampler H[X_r]_n (RPS 3.2 to 3.5): the stream is split by hashing into n
 * substreams, each with a sampler of its own. With n = 1 it is the plain sampler X_r:
 *
 *   R  picks each tuple with probability 1/r and reports r
 *   P  picks every r-th and reports r
 *   CR picks as R does and reports the exact length of its substream since its last message
 *
 * All R and CR share one generator, called once a tuple. Any context; the caller owns the state.
 */
#ifndef PP_SPLIT_H
#define PP_SPLIT_H

#include "pp_random.h"
#include "pp_types.h"

enum pp_sampler {
	PP_SAMPLER_RANDOM = 0,
	PP_SAMPLER_PERIODIC = 1,
	PP_SAMPLER_COUNTING_RANDOM = 2,
	PP_SAMPLER_TAGGED = 3, /* see pp_tagged.h */
};

struct pp_split {
	struct pp_random random;
	__u32 counter[PP_SPLIT_MAX];
};

/* One tuple of substream `index`. Returns the count to report, 0 for no message. */
PP_INLINE __u32 pp_split_step(struct pp_split *s, __u32 index, __u32 sampler, __u32 rate)
{
	__u32 *counter = &s->counter[PP_MASK(index, PP_SPLIT_MAX - 1)];
	__u32 length = *counter + 1, picked;

	if (PP_LIKELY(sampler == PP_SAMPLER_PERIODIC))
		picked = length >= rate;
	else
		picked = pp_random_pick(&s->random, rate);
	if (sampler == PP_SAMPLER_RANDOM)
		return picked ? rate : 0;
	*counter = picked ? 0 : length;
	return picked ? length : 0;
}

#endif
