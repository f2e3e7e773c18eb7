/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A table of steps by what they begin with: the path on top of the stack, the piece in hand, the
 * branch before, the branch. A step says what becomes of that path and of that piece, which ones
 * end, and what lies on top then. A path nearly always tells which piece is in hand, so that there
 * are hardly more steps than for paths alone, and one look-up does for both.
 *
 * Spans are not known beforehand, since they begin with whatever branch pushed the path. But of all
 * paths that end in a step only the first was there before, and only the last can end with the
 * taken branch itself, one branch later than what lies on the way to it:
 *
 *     span of end k = (k is the first, and there was a path ? taken so far - its birth : 0)
 *                   + (k is the last, and `late` ? 1 : 0)
 *
 * One array of steps in the order they were met, and a hash table with linear probing over it, at
 * most half full; both grow up to their bound. Paths say so much of how a program came to a place
 * that the step that followed last time follows again nine times out of ten: it is tried first,
 * which needs no look-up and mostly lies nearby. The table's factor is the seed: addresses are
 * chosen by those who are profiled.
 *
 * Locking: none, one owner. Steps stay where they are until one is added.
 */
#ifndef PP_WALK_H
#define PP_WALK_H

#include <stdint.h>

#include "base/table.h"

/* A key has 16 bits for each number; paths and pieces are numbered apart. */
#define PP_WALK_BRANCHES_MAX ((1u << 16) - 2)
#define PP_WALK_PATHS_MAX    ((1u << 16) - 1)
#define PP_WALK_STEPS_MAX    (1u << 17)
#define PP_WALK_ENDS_MAX     (1u << 17)
#define PP_WALK_STEPS_MIN    (1u << 10)

/* The changes to paths, or to pieces. */
struct pp_change {
	/*
	 * The paths put in the place of the one on top, `high` last. Both are the same for one
	 * path, and 0 for none: on top then lies `high`, or the path that lay below.
	 */
	uint32_t low, high;
	uint32_t end; /* the path that ended; of several: where they begin in `ends` */
	uint16_t end_cnt;
	uint8_t put_cnt : 6;
	uint8_t is_old : 1;   /* low is what was on top before, and has become longer */
	uint8_t low_late : 1; /* 1: pushed by the taken branch, 0: on the way to it */
	uint8_t high_late : 1;
	uint8_t late : 1;    /* 1: the last path ended with the taken branch, */
	uint8_t crosses : 1; /* which is a call or return */
};

struct pp_step {
	uint64_t key;
	struct pp_change paths, pieces;
	uint32_t next;       /* the step that followed last time: a guess, to be checked */
	uint16_t branch_cnt; /* with those not taken: 1..PATHPROF_BURST_MAX */
};
_Static_assert(sizeof(struct pp_step) == 48, "four steps in three lines of cache");

struct pp_steps {
	struct pp_step *steps; /* there is always one, if of PP_STEP_NO_KEY */
	uint32_t cnt, room;
	struct pp_table table;
	uint64_t factor; /* odd */
};

/* -ENOMEM. */
int pp_steps_init(struct pp_steps *ret_steps, uint64_t seed);
void pp_steps_release(struct pp_steps *steps);
/* Adds a step whose key is not there yet. -ENOSPC, -ENOMEM. */
int pp_steps_add(struct pp_steps *steps, const struct pp_step *step, uint32_t *ret_index);

/* Never PP_STEP_NO_KEY; 0 without a path, a piece, a branch before, and a branch. */
#define PP_STEP_NO_KEY UINT64_MAX
static inline uint64_t pp_step_key(uint32_t path, uint32_t piece, uint32_t before, uint32_t branch)
{
	return (uint64_t)path << 48 | (uint64_t)piece << 32 | before << 16 | branch;
}

static inline uint32_t pp_step_path(uint64_t key)
{
	return (uint32_t)(key >> 48);
}

static inline uint32_t pp_step_piece(uint64_t key)
{
	return (uint32_t)(key >> 32) & 0xffff;
}

static inline uint32_t pp_step_before(uint64_t key)
{
	return (uint32_t)key >> 16;
}

static inline uint32_t pp_step_branch(uint64_t key)
{
	return (uint32_t)key & 0xffff;
}

static inline uint64_t pp_steps_hash(const struct pp_steps *steps, uint64_t key)
{
	return key * steps->factor >> 32;
}

/* The step's index, or PP_TABLE_NONE. */
static inline uint32_t pp_steps_find(const struct pp_steps *steps, uint64_t key)
{
	return pp_table_find(&steps->table, pp_steps_hash(steps, key), i,
			     steps->steps[i].key == key);
}

#endif
