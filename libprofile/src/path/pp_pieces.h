/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Windows cut into pieces (EOPP table 5.2): a piece is what one procedure runs between its calls.
 * A path is a fresh piece; when that ends with a call, a continuing piece behind the return; and so
 * on up to one that ends with no call.
 *
 * Kept are each piece with its weight; each *crossing* (piece with its call, piece behind the
 * return), as far as one window shows it; and the return address of each call.
 *
 * A fresh piece ends at 32 branches, as its path does. A continuing one does not know how many came
 * before it: it runs on up to 64, and where its path was cut is found when it is stitched.
 *
 * A return that leads elsewhere than behind the call last seen (longjmp, an exception, a tail call
 * that replaced the frame and did not come back) ends what was known: no crossing is made of it.
 *
 * Workload: some 10 pieces a window, 10^5 windows, 10^4 different pieces. Bounded by max each. One
 * owner.
 */
#ifndef PP_PIECES_H
#define PP_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/abi.h"
#include "base/table.h"

#define PP_PIECE_NONE       UINT32_MAX
#define PP_PIECE_LENGTH_MAX 64
#define PP_PATH_LENGTH      32

struct pp_piece_key {
	uint64_t start;
	uint64_t call; /* address of the call that ended it; 0: its path ended */
	uint64_t outcomes;
	uint32_t length;
	uint16_t is_fresh;   /* its path begins with it */
	uint16_t needs_less; /* a not-taken branch pushed it: a window need not hold a taken one
				before it */
};

struct pp_piece {
	struct pp_piece_key key;
	double weight;       /* by its places, see pp_piece_needs_more() */
	uint64_t first_next; /* in pp_pieces.nexts: where each of its branches led */
	uint32_t span;       /* taken branches from its push to its pop */
	uint32_t returns;    /* a return ended it */
};

enum pp_fate {
	PP_FATE_CENSORED, /* the window ended first: the callee's span is more than `span` */
	PP_FATE_RETURNED, /* after `span` taken branches, the return included */
};

struct pp_crossing_key {
	uint64_t call;
	uint32_t piece; /* PP_PIECE_NONE: began before the window */
	uint32_t next;  /* PP_PIECE_NONE: censored, or ended behind the window */
	uint32_t span, fate;
};

struct pp_crossing {
	struct pp_crossing_key key;
	uint64_t cnt;
	double weight; /* of those whose next piece was seen */
};

struct pp_call {
	uint64_t call;
	uint64_t back; /* where it was seen to return to */
};

struct pp_pieces {
	struct pp_keyed pieces, crossings, calls;
	uint64_t *nexts;
	uint64_t next_cnt, next_room;
	uint64_t dropped_cnt; /* what found its table full */
	bool weighted;
};

/*
 * A not-taken branch popped it: what follows a window's last taken branch is not in it, so one more
 * is needed. Places of a window of n: n - span + needs_less - needs_more.
 */
static inline uint32_t pp_piece_needs_more(const struct pp_piece *piece)
{
	const struct pp_piece_key *key = &piece->key;

	return !key->call && !piece->returns && key->length &&
	       !(key->outcomes >> (key->length - 1) & 1);
}

void pp_pieces_init(struct pp_pieces *ret_pieces, bool weighted, uint32_t max, uint64_t seed);
void pp_pieces_release(struct pp_pieces *pieces);
/* A window whose records were checked. -ENOMEM: part of it may have been added. */
int pp_pieces_add(struct pp_pieces *pieces, const struct pathprof_branch *branches,
		  uint32_t branch_cnt);

#endif
