/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * xorshift64*: the generator of the random samplers. Not for secrets. One state an owner.
 */
#ifndef PP_RANDOM_H
#define PP_RANDOM_H

#include "pp_port.h"

struct pp_random {
	__u64 state; /* never 0 */
};

/* seed 0 would be a fixed point: it becomes 1. */
PP_INLINE void pp_random_init(struct pp_random *r, __u64 seed)
{
	r->state = seed ? seed : 1;
}

PP_INLINE __u64 pp_random_next(struct pp_random *r)
{
	__u64 x = r->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	r->state = x;
	return x * 0x2545F4914F6CDD1DULL;
}

/* 1 with probability 1/rate. */
PP_INLINE __u32 pp_random_pick(struct pp_random *r, __u32 rate)
{
	return ((pp_random_next(r) >> 32) * rate) >> 32 == 0;
}

#endif
