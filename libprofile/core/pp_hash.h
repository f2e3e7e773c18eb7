/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The hash of the stratified sampler (RPS 2.1, 3.5): bytes replaced through a random permutation,
 * one operand flipped, both xored and folded to n bits.
 *
 * Workload: once for each tuple, so millions a second. Folding is linear over xor, hence the
 * contribution of every (operand, byte position, byte value) is folded beforehand: an index is 16
 * look-ups in 8 KiB, 12 for addresses below 2^48. Tuples that follow one another mostly lie in the
 * same 16 MiB: pp_hash_index_near() remembers what these bits contributed, and does 6.
 * pp_hash_index_plain() is the definition; all three are equal bit for bit.
 *
 * Any context. The tables are written once before use; what pp_hash_index_near() remembers makes
 * its caller the owner of the whole.
 */
#ifndef PP_HASH_H
#define PP_HASH_H

#include "pp_types.h"

/* Most bits an index may have. */
#define PP_HASH_BITS_MAX 16

struct pp_hash {
	__u16 part[16][256]; /* [byte of pc 0..7, byte of word 8..15][value] -> folded to bits */
	__u16 high;          /* what four zero high bytes (two of each operand) contribute */
	__u16 bits;
	__u32 far;    /* what the bytes of `region` contribute */
	__u64 region; /* of the last tuple: address bits 24..47 of pc, of word above them */
	__u8 permutation[256];
};

/*
 * x folded to its lowest n bits, 0 <= n <= 64: the xor of its n-bit chunks. Written out, not a
 * loop: whatever n is, the verifier then passes each shift once.
 */
PP_INLINE __u64 pp_fold(__u64 x, __u32 n)
{
	if (n == 0)
		return 0;
	if (n >= 64)
		return x;
	x ^= x >> n;
	if (n < 32)
		x ^= x >> 2 * n;
	if (n < 16)
		x ^= x >> 4 * n;
	if (n < 8)
		x ^= x >> 8 * n;
	if (n < 4)
		x ^= x >> 16 * n;
	if (n < 2)
		x ^= x >> 32;
	return x & (((__u64)1 << n) - 1);
}

PP_INLINE __u64 pp_flip(__u64 x)
{
	return __builtin_bswap64(x);
}

PP_INLINE __u64 pp_randomize(const __u8 *permutation, __u64 x)
{
	__u64 r = 0;
	__u32 i;

	PP_UNROLL
	for (i = 0; i < 8; i++)
		r |= (__u64)permutation[(x >> (8 * i)) & 255] << (8 * i);
	return r;
}

/* T[256] of algorithms: Fisher-Yates driven by xorshift64. */
PP_INLINE void pp_hash_permutation(__u8 *ret_permutation)
{
	__u64 s = 0x9E3779B97F4A7C15ULL;
	__u32 i, j;
	__u8 swap;

	PP_NO_UNROLL
	for (i = 0; i < 256; i++)
		ret_permutation[i] = (__u8)i;
	PP_NO_UNROLL
	for (i = 255; i > 0; i--) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		j = (__u32)(s % (i + 1)) & 255;
		swap = ret_permutation[i];
		ret_permutation[i] = ret_permutation[j];
		ret_permutation[j] = swap;
	}
}

/* The definition, for any n up to 64. */
PP_INLINE __u64 pp_hash_index_plain(const __u8 *permutation, __u64 pc, __u64 word, __u32 n)
{
	return pp_fold(pp_flip(pp_randomize(permutation, pc)) ^ pp_randomize(permutation, word), n);
}

/* Contribution of bits 24..47 of both operands, and of high bytes that are zero. */
PP_INLINE __u32 pp_hash_far(const struct pp_hash *h, __u64 region)
{
	__u32 r = h->high, i;

	PP_UNROLL
	for (i = 0; i < 3; i++)
		r ^= (__u32)h->part[3 + i][PP_MASK(region >> (8 * i), 255)] ^
		     h->part[11 + i][PP_MASK(region >> (24 + 8 * i), 255)];
	return r;
}

/* Fills h for indices of `bits` bits, 0 <= bits <= PP_HASH_BITS_MAX. Not for BPF programs: the
 * home prepares the table. */
PP_INLINE void pp_hash_init(struct pp_hash *h, __u32 bits)
{
	__u32 i, v;

	pp_hash_permutation(h->permutation);
	h->bits = (__u16)bits;
	PP_NO_UNROLL
	for (i = 0; i < 8; i++)
		for (v = 0; v < 256; v++) {
			__u64 r = h->permutation[v];

			h->part[i][v] = (__u16)pp_fold(r << (8 * (7 - i)), bits);
			h->part[8 + i][v] = (__u16)pp_fold(r << (8 * i), bits);
		}
	h->high = (__u16)(h->part[6][0] ^ h->part[7][0] ^ h->part[14][0] ^ h->part[15][0]);
	h->region = 0;
	h->far = pp_hash_far(h, 0);
}

PP_INLINE __u32 pp_hash_index(const struct pp_hash *h, __u64 pc, __u64 word)
{
	__u32 r = 0, i;

	PP_UNROLL
	for (i = 0; i < 6; i++)
		r ^= (__u32)h->part[i][(pc >> (8 * i)) & 255] ^
		     h->part[8 + i][(word >> (8 * i)) & 255];
	if (PP_LIKELY(!((pc | word) >> 48)))
		return r ^ h->high;
	PP_UNROLL
	for (i = 6; i < 8; i++)
		r ^= (__u32)h->part[i][(pc >> (8 * i)) & 255] ^
		     h->part[8 + i][(word >> (8 * i)) & 255];
	return r;
}

/* The same, faster where tuples come in neighbourhoods. Owner of h only. */
PP_INLINE __u32 pp_hash_index_near(struct pp_hash *h, __u64 pc, __u64 word)
{
	__u64 region = (pc >> 24) | (word >> 24) << 24;
	__u32 r, i;

	if (PP_UNLIKELY((pc | word) >> 48))
		return pp_hash_index(h, pc, word);
	if (PP_UNLIKELY(region != h->region)) {
		h->region = region;
		h->far = pp_hash_far(h, region);
	}
	r = h->far;
	PP_UNROLL
	for (i = 0; i < 3; i++)
		r ^= (__u32)h->part[i][(pc >> (8 * i)) & 255] ^
		     h->part[8 + i][(word >> (8 * i)) & 255];
	return r;
}

/* The partial tag of the tagged compressor (RPS 4.1). */
PP_INLINE __u32 pp_hash_tag(__u64 pc, __u64 word, __u32 n)
{
	return (__u32)pp_fold(pc ^ word, n);
}

#endif
