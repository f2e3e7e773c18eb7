// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Windows cut into pieces; see pp_pieces.h. */
#include "pp_pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "../../core/pp_path_stack.h"

/* A call instruction has at most so many bytes, and at least two. */
#define CALL_BYTES_MAX 15

/* A call the window has not seen to return. */
struct frame {
	uint64_t call;
	uint32_t piece;      /* that ended with it; PP_PIECE_NONE: began before the window */
	uint32_t push_taken; /* taken branches before that piece, or before the call */
	uint32_t call_taken; /* taken branches up to the call, itself included */
};

/* One window on its way into pieces. */
struct cut {
	struct pp_pieces *pieces;
	uint32_t taken_cnt, taken_now;
	struct frame frames[PATHPROF_BURST_MAX];
	uint32_t depth;
	/* The piece in hand. */
	bool is_known, has_crossed;
	struct pp_piece_key key;
	uint32_t push_taken;
	uint64_t nexts[PP_PIECE_LENGTH_MAX];
	struct frame from; /* has_crossed: the call before it, which took so long: */
	uint32_t crossing_span;
	int error;
};

/* The weight of one sighting: n over the places that hold the piece, which are one at least. */
static double weight_of(const struct cut *c, int64_t span)
{
	int64_t places = (int64_t)c->taken_cnt - span;

	if (!c->pieces->weighted || !c->taken_cnt)
		return 1;
	return (double)c->taken_cnt / (double)(places > 0 ? places : 1);
}

/* Keeps a failure: a full table is counted, the lack of memory is reported. */
static bool failed(struct cut *c, int r)
{
	if (r == -ENOSPC)
		c->pieces->dropped_cnt++;
	else if (r < 0)
		c->error = r;
	return r < 0;
}

/* ---------------------------------------------------------------- what is kept */

static int keep_nexts(struct pp_pieces *p, const uint64_t *nexts, uint32_t cnt, uint64_t *ret_first)
{
	if (pp_reserve(&p->nexts, p->next_cnt + cnt, &p->next_room) < 0)
		return -ENOMEM;
	if (cnt)
		memcpy(p->nexts + p->next_cnt, nexts, cnt * sizeof(nexts[0]));
	*ret_first = p->next_cnt;
	p->next_cnt += cnt;
	return 0;
}

/* The number of the piece in hand, whose key is whole; PP_PIECE_NONE when it cannot be kept. */
static uint32_t count_piece(struct cut *c, bool returns)
{
	uint32_t before = c->pieces->pieces.cnt, span = c->taken_now - c->push_taken, index;
	struct pp_piece *piece;
	uint64_t first;

	if (failed(c, keep_nexts(c->pieces, c->nexts, c->key.length, &first)))
		return PP_PIECE_NONE;
	if (failed(c, pp_keyed_at(&c->pieces->pieces, &c->key, &index))) {
		c->pieces->next_cnt = first;
		return PP_PIECE_NONE;
	}
	piece = pp_keyed_item(&c->pieces->pieces, index);
	if (index == before) {
		piece->first_next = first;
		piece->span = span;
		piece->returns = returns;
	} else {
		c->pieces->next_cnt = first;
	}
	piece->weight +=
		weight_of(c, (int64_t)span + pp_piece_needs_more(piece) - c->key.needs_less);
	return index;
}

static void count_crossing(struct cut *c, const struct pp_crossing_key *key, double weight)
{
	struct pp_crossing *crossing;
	uint32_t index;

	if (failed(c, pp_keyed_at(&c->pieces->crossings, key, &index)))
		return;
	crossing = pp_keyed_item(&c->pieces->crossings, index);
	crossing->cnt++;
	crossing->weight += weight;
}

static void learn_call(struct cut *c, uint64_t call, uint64_t back)
{
	struct pp_call *known;
	uint32_t index;

	if (failed(c, pp_keyed_at(&c->pieces->calls, &call, &index)))
		return;
	known = pp_keyed_item(&c->pieces->calls, index);
	if (back)
		known->back = back;
}

/* The crossing that led to the piece in hand, which turned out to be `next`. */
static void end_crossing(struct cut *c, uint32_t next)
{
	struct pp_crossing_key key = {.call = c->from.call,
				      .piece = c->from.piece,
				      .next = next,
				      .span = c->crossing_span,
				      .fate = PP_FATE_RETURNED};

	if (!c->has_crossed)
		return;
	c->has_crossed = false;
	count_crossing(c, &key,
		       next == PP_PIECE_NONE ? 0 : weight_of(c, c->taken_now - c->from.push_taken));
}

/* ---------------------------------------------------------------- the piece in hand */

static void begin(struct cut *c, uint64_t start, bool is_fresh)
{
	end_crossing(c, PP_PIECE_NONE);
	c->key = (struct pp_piece_key){.start = start, .is_fresh = is_fresh};
	c->push_taken = c->taken_now;
	c->is_known = true;
}

/* call: the call that ends it, or 0. Returns its number. */
static uint32_t end(struct cut *c, uint64_t call, bool returns)
{
	uint32_t piece = PP_PIECE_NONE;

	if (c->is_known) {
		c->key.call = call;
		piece = count_piece(c, returns);
	}
	end_crossing(c, piece);
	c->is_known = false;
	return piece;
}

static void extend(struct cut *c, const struct pathprof_branch *b)
{
	if (!c->is_known)
		return;
	if (c->key.length == PP_PIECE_LENGTH_MAX) {
		c->is_known = false;
		return;
	}
	c->nexts[c->key.length] = b->next;
	c->key.outcomes |= (uint64_t)b->taken << c->key.length++;
}

static void forward(struct cut *c, const struct pathprof_branch *b)
{
	extend(c, b);
	if (c->is_known && c->key.is_fresh && c->key.length == PP_PATH_LENGTH) {
		end(c, 0, false);
		begin(c, b->next, true);
		c->key.needs_less = !b->taken;
	}
}

static void turn(struct cut *c, const struct pathprof_branch *b)
{
	extend(c, b);
	end(c, 0, false);
	begin(c, b->next, true);
	c->key.needs_less = !b->taken;
}

static void call(struct cut *c, const struct pathprof_branch *b)
{
	struct frame *f = &c->frames[c->depth++];

	f->call = b->from;
	f->call_taken = c->taken_now;
	f->push_taken = c->is_known ? c->push_taken : c->taken_now - b->taken;
	f->piece = end(c, b->from, false);
	learn_call(c, b->from, 0);
	begin(c, b->next, true);
}

static void give_back(struct cut *c, const struct pathprof_branch *b)
{
	bool is_matched = false;

	end(c, 0, true);
	if (c->depth) {
		c->from = c->frames[--c->depth];
		is_matched = b->next > c->from.call && b->next - c->from.call <= CALL_BYTES_MAX;
		if (!is_matched)
			c->depth = 0;
	}
	begin(c, b->next, false);
	if (!is_matched)
		return;
	learn_call(c, c->from.call, b->next);
	c->has_crossed = true;
	c->crossing_span = c->taken_now - c->from.call_taken;
}

/* ---------------------------------------------------------------- windows */

static void step(struct cut *c, const struct pathprof_branch *b)
{
	struct pp_branch branch = {
		.from = b->from, .target = b->target, .info = PP_BRANCH_INFO(b->kind, b->taken)};

	c->taken_now += b->taken;
	switch (pp_branch_class(&branch)) {
	case PP_CLASS_CALL:
		call(c, b);
		break;
	case PP_CLASS_RETURN:
		give_back(c, b);
		break;
	case PP_CLASS_FORWARD:
		forward(c, b);
		break;
	default:
		turn(c, b);
		break;
	}
}

/* Counts the crossings that the window's end cut off as censored. */
static void censor(struct cut *c)
{
	end_crossing(c, PP_PIECE_NONE);
	for (uint32_t i = 0; i < c->depth; i++) {
		const struct frame *f = &c->frames[i];
		struct pp_crossing_key key = {.call = f->call,
					      .piece = f->piece,
					      .next = PP_PIECE_NONE,
					      .span = c->taken_now - f->call_taken,
					      .fate = PP_FATE_CENSORED};

		count_crossing(c, &key, 0);
	}
}

int pp_pieces_add(struct pp_pieces *pieces, const struct pathprof_branch *branches,
		  uint32_t branch_cnt)
{
	struct cut c;

	/* The frames are written before they are read. */
	memset(&c, 0, offsetof(struct cut, frames));
	memset((char *)&c + offsetof(struct cut, depth), 0,
	       sizeof(c) - offsetof(struct cut, depth));
	c.pieces = pieces;
	for (uint32_t i = 0; i < branch_cnt; i++)
		c.taken_cnt += branches[i].taken;
	for (uint32_t i = 0; i < branch_cnt && !c.error; i++)
		step(&c, &branches[i]);
	censor(&c);
	return c.error;
}

void pp_pieces_init(struct pp_pieces *ret_pieces, bool weighted, uint32_t max, uint64_t seed)
{
	*ret_pieces = (struct pp_pieces){.weighted = weighted};
	pp_keyed_init(&ret_pieces->pieces, sizeof(struct pp_piece), sizeof(struct pp_piece_key),
		      max, seed);
	pp_keyed_init(&ret_pieces->crossings, sizeof(struct pp_crossing),
		      sizeof(struct pp_crossing_key), max, seed);
	pp_keyed_init(&ret_pieces->calls, sizeof(struct pp_call), sizeof(uint64_t), max, seed);
}

void pp_pieces_release(struct pp_pieces *pieces)
{
	pp_keyed_release(&pieces->pieces);
	pp_keyed_release(&pieces->crossings);
	pp_keyed_release(&pieces->calls);
	free(pieces->nexts);
	memset(pieces, 0, sizeof(*pieces));
}
