/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The segments whose branches were sent to the reader: the last 8,192 of them, by 63 bits of a hash
 * in sets of 16, last used first. Two segments that share those bits could not be told apart (2^-57
 * a pair of one length, by the bits that pp_segment.h has for their branches).
 *
 * Workload: once a message of the hot path table, 1 in 50 to 100 segments. Any context, NMI
 * included; the caller owns the table.
 */
#ifndef PP_DEFINED_H
#define PP_DEFINED_H

#include "pp_port.h"

#define PP_DEFINED_BITS 9 /* log2 of sets */
#define PP_DEFINED_WAYS 16

struct pp_defined {
	__u64 key[1 << PP_DEFINED_BITS][PP_DEFINED_WAYS]; /* 0: none */
};

PP_INLINE __u64 pp_defined_key(__u64 start, __u64 desc)
{
	return (start ^ desc << 16 ^ desc >> 48) * 0x9E3779B97F4A7C15ULL | 1;
}

PP_INLINE __u64 *pp_defined_set(struct pp_defined *d, __u64 key)
{
	return d->key[PP_MASK(key >> (64 - PP_DEFINED_BITS), (1 << PP_DEFINED_BITS) - 1)];
}

/* 1: it was among the last defined. In any case it is the first of its set now. */
PP_INLINE __u32 pp_defined_remember(struct pp_defined *d, __u64 start, __u64 desc)
{
	__u64 key = pp_defined_key(start, desc), moved = key, swap;
	__u64 *set = pp_defined_set(d, key);
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < PP_DEFINED_WAYS; i++) {
		swap = set[i];
		set[i] = moved;
		if (swap == key)
			return 1;
		moved = swap;
	}
	return 0;
}

/* The one that was remembered last has not reached the reader. */
PP_INLINE void pp_defined_forget(struct pp_defined *d, __u64 start, __u64 desc)
{
	pp_defined_set(d, pp_defined_key(start, desc))[0] = 0;
}

#endif
