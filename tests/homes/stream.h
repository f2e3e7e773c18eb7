/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A made-up program and the branches that it executes, for tests and benches that need many
 * branches with the locality of real ones: 300 functions in five levels, 20 branches each, in
 * about 40 KB of code. A dispatcher calls functions of the top level, the k-th with a share near
 * 1/k; a function calls down one level, again mostly its favourites; loops go back a few blocks
 * and most conditional branches lean strongly to one side.
 *
 * Deterministic by its seed. One object, one thread; no allocation.
 */
#ifndef STREAM_H
#define STREAM_H

#include "../../libprofile/core/pp_types.h"

#define STREAM_LEVELS    5
#define STREAM_PER_LEVEL 60
#define STREAM_FUNCTIONS (STREAM_LEVELS * STREAM_PER_LEVEL)
#define STREAM_BLOCKS    20 /* a function */
#define STREAM_BRANCHES  (STREAM_FUNCTIONS * STREAM_BLOCKS + 2)
#define STREAM_DISPATCH  (STREAM_BRANCHES - 2) /* the dispatcher's call, its loop's jump */
#define STREAM_BASE      0x401000ULL

/* A basic block: its first instruction's address and the branch that ends it. */
struct stream_block {
	__u64 address;
	__u64 from;
	__u32 kind;
	__u32 target;      /* block; of an indirect branch the first of several */
	__u32 taken_share; /* of 256, conditional branches only */
};

struct stream {
	__u64 random;
	__u32 at; /* block that runs next */
	__u32 depth;
	__u32 caller[STREAM_LEVELS + 1];
	struct stream_block block[STREAM_BRANCHES];
};

static inline __u32 stream_random(struct stream *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (__u32)(s->random >> 24);
}

/* 0..n-1, k near as often as 1/(k+1): the number of halvings is uniform. */
static inline __u32 stream_skewed(struct stream *s, __u32 n)
{
	__u32 r = stream_random(s), span = n;

	while (span > 1 && (r & 1)) {
		span = (span + 1) / 2;
		r >>= 1;
	}
	return stream_random(s) % span;
}

static inline __u32 stream_kind(struct stream *s, __u32 level, __u32 i)
{
	__u32 x = stream_random(s) % 100;

	if (i == STREAM_BLOCKS - 1)
		return PP_KIND_RET;
	if (x < 14 && level + 1 < STREAM_LEVELS)
		return x < 2 ? PP_KIND_ICALL : PP_KIND_CALL;
	if (x < 16 || i > STREAM_BLOCKS - 6)
		return x < 24 ? PP_KIND_JMP : PP_KIND_COND;
	return x < 18 ? PP_KIND_IJMP : x < 26 ? PP_KIND_JMP : PP_KIND_COND;
}

/* Within the function: one conditional branch in six closes a loop, everything else goes on. */
static inline void stream_aim(struct stream *s, struct stream_block *b, __u32 first, __u32 i)
{
	__u32 ahead = i + 2 + stream_random(s) % 3;
	int loop = b->kind == PP_KIND_COND && i && stream_random(s) % 6 == 0;

	if (ahead > STREAM_BLOCKS - 1)
		ahead = STREAM_BLOCKS - 1;
	b->target = first + ahead;
	b->taken_share = stream_random(s) % 4 ? 6 : 128;
	if (stream_random(s) & 1)
		b->taken_share = 256 - b->taken_share;
	if (!loop)
		return;
	b->target = first + i - stream_random(s) % (i < 6 ? i + 1 : 6);
	b->taken_share = 100 + stream_random(s) % 140;
}

static inline void stream_function(struct stream *s, __u32 function, __u64 *address)
{
	__u32 level = function / STREAM_PER_LEVEL, first = function * STREAM_BLOCKS, i;

	for (i = 0; i < STREAM_BLOCKS; i++) {
		struct stream_block *b = &s->block[first + i];

		b->kind = stream_kind(s, level, i);
		b->address = *address;
		b->from = *address + stream_random(s) % 10;
		*address = b->from + (b->kind == PP_KIND_CALL ? 5 : 2);
		stream_aim(s, b, first, i);
		if (b->kind == PP_KIND_CALL || b->kind == PP_KIND_ICALL)
			b->target = ((level + 1) * STREAM_PER_LEVEL +
				     stream_skewed(s, STREAM_PER_LEVEL)) *
				    STREAM_BLOCKS;
	}
}

static inline void stream_init(struct stream *s, __u64 seed)
{
	struct stream_block *dispatch = &s->block[STREAM_DISPATCH];
	__u64 address = STREAM_BASE;
	__u32 function;

	s->random = seed * 0x9E3779B97F4A7C15ULL + 1;
	s->depth = 0;
	s->at = STREAM_DISPATCH;
	for (function = 0; function < STREAM_FUNCTIONS; function++)
		stream_function(s, function, &address);
	dispatch[0].address = address;
	dispatch[0].from = address + 4;
	dispatch[0].kind = PP_KIND_ICALL;
	dispatch[0].target = 0;
	dispatch[1].address = address + 6;
	dispatch[1].from = address + 8;
	dispatch[1].kind = PP_KIND_JMP;
	dispatch[1].target = STREAM_DISPATCH;
}

static inline __u32 stream_follow(struct stream *s, const struct stream_block *b, __u32 *ret_taken)
{
	*ret_taken = 1;
	switch (b->kind) {
	case PP_KIND_COND:
		*ret_taken = (stream_random(s) & 255) < b->taken_share;
		return *ret_taken ? b->target : s->at + 1;
	case PP_KIND_IJMP:
		return s->at + 1 + stream_random(s) % 4;
	case PP_KIND_ICALL:
	case PP_KIND_CALL:
		s->caller[s->depth++] = s->at + 1;
		if (s->at == STREAM_DISPATCH)
			return stream_skewed(s, STREAM_PER_LEVEL) * STREAM_BLOCKS;
		return b->target;
	case PP_KIND_RET:
		return s->caller[--s->depth];
	default:
		return b->target;
	}
}

/* The next branch executed. */
static inline void stream_next(struct stream *s, struct pp_branch *ret_branch)
{
	const struct stream_block *b = &s->block[s->at];
	int direct = b->kind == PP_KIND_COND || b->kind == PP_KIND_JMP || b->kind == PP_KIND_CALL;
	__u32 taken, next = stream_follow(s, b, &taken);

	s->at = next;
	ret_branch->from = b->from;
	ret_branch->next = s->block[next].address;
	ret_branch->target = direct ? s->block[b->target].address : ret_branch->next;
	ret_branch->info = PP_BRANCH_INFO(b->kind, taken);
	ret_branch->events = 1;
}

#endif
