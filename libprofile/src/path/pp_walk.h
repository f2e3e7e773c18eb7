/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Steps by what they begin with: the path on top of the stack, the branch before, the branch. A
 * step says what becomes of that path, which ones end, and what lies on top then.
 *
 * Spans are not known beforehand, since they begin with whatever branch pushed the path. But of all
 * paths that end in a step only the first was there before, and only the last can end with the
 * taken branch itself, one branch later than what lies on the way to it:
 *
 *     span of end k = (k is the first, and there was a path ? taken so far - its birth : 0)
 *                   + (k is the last, and `late` ? 1 : 0)
 *
 * A hash table with linear probing of the steps themselves, at most half full, that doubles up to
 * its bound: a look-up for every taken branch, which waits for the one before it. The factor is the
 * seed: addresses are chosen by those who are profiled.
 *
 * Locking: none, one owner. Steps found stay valid until one is added.
 */
#ifndef PP_WALK_H
#define PP_WALK_H

#include <stdint.h>

/* 2^20 of each would fit into a key. */
#define PP_WALK_BRANCHES_MAX (1u << 17)
#define PP_WALK_PATHS_MAX    (1u << 17)
#define PP_WALK_STEPS_MAX    (1u << 17)
#define PP_WALK_ENDS_MAX     (1u << 17)
#define PP_WALK_STEPS_MIN    (1u << 10)

/* When a path was pushed. */
enum pp_born {
	PP_BORN_BEFORE, /* it is the one that was on top, and has become longer */
	PP_BORN_ON_WAY, /* by a branch that was not taken */
	PP_BORN_LATE,   /* by the taken branch */
};

struct pp_step {
	uint64_t key;        /* 0: a free slot */
	uint32_t path[2];    /* put in the place of what was on top, the lower one first */
	uint32_t next;       /* the last of these; 0: none, it is what lies below */
	uint32_t end;        /* the path that ended; of several: where they begin in `ends` */
	uint16_t branch_cnt; /* with those not taken: 1..PATHPROF_BURST_MAX */
	uint16_t end_cnt;
	uint8_t put_cnt; /* 0..2 */
	uint8_t born[2]; /* enum pp_born */
	uint8_t late;    /* 1: the last path ended with the taken branch */
};
_Static_assert(sizeof(struct pp_step) == 32, "two steps a line of cache");

struct pp_steps {
	struct pp_step *slots;
	uint32_t cnt, room; /* room: 2 * room slots, a power of two */
	uint32_t shift;     /* 64 - log2 of the slots */
	uint64_t factor;    /* odd */
};

/* -ENOMEM. */
int pp_steps_init(struct pp_steps *ret_steps, uint64_t seed);
void pp_steps_release(struct pp_steps *steps);
/* Its key is not there yet. -ENOSPC, -ENOMEM. *ret_step: the copy in the table. */
int pp_steps_add(struct pp_steps *steps, const struct pp_step *step,
		 const struct pp_step **ret_step);

/* Never 0: there is a branch. */
static inline uint64_t pp_step_key(uint32_t path, uint32_t before, uint32_t branch)
{
	return (uint64_t)path << 42 | (uint64_t)before << 21 | branch;
}

static inline uint64_t pp_steps_slot(const struct pp_steps *steps, uint64_t key)
{
	return key * steps->factor >> steps->shift;
}

/* Its slot, or the free one where it belongs. */
static inline struct pp_step *pp_steps_find(const struct pp_steps *steps, uint64_t key)
{
	uint64_t slot = pp_steps_slot(steps, key), mask = 2 * (uint64_t)steps->room - 1;

	while (steps->slots[slot].key != key && steps->slots[slot].key)
		slot = (slot + 1) & mask;
	return &steps->slots[slot];
}

#endif
