/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Segments: the parts of paths that a window of taken branches shows (a branch stack records no
 * branch that was not taken). A segment begins at the target of a call, return, indirect or
 * backward branch and goes up to and with the next such one, or 32 branches; the next begins where
 * that one led. Branches of a window before its first such branch have an unknown start and belong
 * to no segment.
 *
 * A segment is named by its start and by desc, made so that the hot path table takes it for a
 * path: length << 32, a hash of its branches in the 32 bits of the outcomes and in bits 38 to 62.
 * Segments of equal start and length get the same desc with a chance of 2^-57 a pair: among a
 * million of them that share their start and length one in 290,000 tables would hold such a pair.
 * No defence against someone who looks for one.
 *
 * Workload: once for each entry of a window, some 32,000 times a second and CPU. Any context, NMI
 * included; the caller owns the state, one a window. Source: EOPP 5.2 cut down to taken branches.
 */
#ifndef PP_SEGMENT_H
#define PP_SEGMENT_H

#include "pp_types.h"

#define PP_SEGMENT_LENGTH_MAX 32
#define PP_SEGMENT_FACTOR     0x9E3779B97F4A7C15ULL /* odd, no pattern: one register in the loop */
#define PP_SEGMENT_HASH       0x7FFFFFC0FFFFFFFFULL /* bits of desc */

/* One taken branch. Members are __u64 for the same reason as in pp_types.h. */
struct pp_taken {
	__u64 from;
	__u64 to;
	__u64 kind;   /* enum pp_kind, or another of PERF_BR_* (below 32) */
	__u64 events; /* metric carried by this branch: cycles since the one before, ... */
};

struct pp_segment {
	__u64 start;
	__u64 desc;
	__u64 events; /* sum of the metric over its branches */
	__u64 first;  /* index in the window of its first branch; PP_DESC_LENGTH(desc) of them */
};

/* All zeroes: a window begins. */
struct pp_segment_state {
	__u64 start;
	__u64 hash;
	__u64 events;
	__u64 first;
	__u64 seen;  /* branches of this window */
	__u64 limit; /* what seen may come to in this segment; 0: its start is not known */
};

/*
 * One branch more. Different hashes and one branch give different hashes; so do one hash and
 * different branches, but for 2^-64 of their pairs. The shift brings what a product mixes best, its
 * upper half, down to the lower.
 */
PP_INLINE __u64 pp_segment_mix(__u64 hash, __u64 from, __u64 to)
{
	__u64 mixed = (hash ^ (from * PP_SEGMENT_FACTOR + to)) * PP_SEGMENT_FACTOR;

	return mixed ^ mixed >> 32;
}

PP_INLINE __u64 pp_segment_desc(__u64 hash, __u64 length)
{
	return (hash & PP_SEGMENT_HASH) | length << 32;
}

/* Something is missing before the next branch: it begins like a window. */
PP_INLINE void pp_segment_cut(struct pp_segment_state *s)
{
	s->limit = 0;
}

/*
 * One taken branch. 1: a segment ended and *ret_segment is filled. A branch of kind none,
 * conditional or plain jump ends one only if it leads back; all other kinds always do. Written as
 * three tests in turn, since most branches of a segment are told by the first that does not hold.
 */
PP_INLINE __u32 pp_segment_step(struct pp_segment_state *s, const struct pp_taken *b,
				struct pp_segment *ret_segment)
{
	__u32 ended = s->limit != 0;

	s->seen++;
	s->hash = pp_segment_mix(s->hash, b->from, b->to);
	s->events += b->events;
	if (b->kind <= PP_KIND_JMP)
		if (b->to > b->from)
			if (s->seen != s->limit)
				return 0;
	if (ended) {
		ret_segment->start = s->start;
		ret_segment->desc = pp_segment_desc(s->hash, s->seen - s->first);
		ret_segment->events = s->events;
		ret_segment->first = s->first;
	}
	s->start = b->to;
	s->hash = 0;
	s->events = 0;
	s->first = s->seen;
	s->limit = s->seen + PP_SEGMENT_LENGTH_MAX;
	return ended;
}

#endif
