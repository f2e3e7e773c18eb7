// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Chains of pieces; see pp_stitch.h. */
#include "pp_stitch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"
#include "pp_calls.h"

#define FLOW_LEAST 1e-7       /* of all flow: thinner ways are given up */
#define DEPTH_MAX  256        /* calls on one path */
#define WORK_MAX   (1u << 26) /* pieces times spans looked at: half a second */
/* The number of a piece's own crossings that weighs as much as all crossings of its call. */
#define OWN_HALF 2.0

struct stitching {
	const struct pp_pieces *pieces;
	struct pp_calls calls;
	uint32_t order, depth;
	uint64_t work;
	double window, least;
	pp_stitched_fn *fn;
	void *context;
	struct pp_stitch_sums sums;
	double *shares; /* of the followers of every call on the way, one after the other */
	size_t share_cnt, share_room;
};

/* A path on its way. */
struct chain {
	uint64_t start;
	uint32_t length, outcomes;
	double span; /* less one when its first piece needs less */
	double weight;
};

static const struct pp_piece *piece_at(const struct stitching *s, uint32_t index)
{
	return pp_keyed_item(&s->pieces->pieces, index);
}

static bool is_far(const struct stitching *s, double span)
{
	return span > s->window - 0.5;
}

/* A path ended: windows have shown it, unless it is too long for them. */
static int emit(struct stitching *s, const struct chain *c, uint32_t needs_more)
{
	struct pp_stitched path = {.start = c->start,
				   .length = c->length,
				   .outcomes = c->outcomes,
				   .weight = c->weight};

	if (!is_far(s, c->span + needs_more))
		return 0;
	s->sums.stitched += c->weight;
	return s->fn(s->context, &path);
}

/* 1: the path was cut at its greatest length with the piece's last branch. */
static int append(struct stitching *s, struct chain *c, const struct pp_piece *piece)
{
	const uint64_t *nexts = s->pieces->nexts + piece->first_next;
	double span = c->span + piece->span;
	int cut = 0;

	for (uint32_t i = 0; i < piece->key.length; i++) {
		uint32_t outcome = piece->key.outcomes >> i & 1;
		int r;

		c->outcomes |= outcome << c->length++;
		c->span += outcome;
		cut = c->length == PP_PATH_LENGTH;
		if (!cut)
			continue;
		r = emit(s, c, !outcome);
		if (r < 0)
			return r;
		c->start = nexts[i];
		c->length = c->outcomes = 0;
	}
	c->span = span;
	return cut;
}

/* ---------------------------------------------------------------- crossings */

/* How much a piece's own crossings say against those of its call. */
static double own_share(const struct stitching *s, uint64_t seen_cnt)
{
	return s->order < 2 ? 0 : (double)seen_cnt / ((double)seen_cnt + OWN_HALF);
}

/* The shares of a call's crossings by how they end, for the room left in the window. */
struct prospect {
	double far;  /* outlasts any window */
	double late; /* a shorter one, too long for the room left */
	double near;
	double near_taken; /* sum of share and span of the near */
};

static void add_prospect(const struct stitching *s, const struct pp_outlook *outlook, double room,
			 double weight, struct prospect *p)
{
	p->far += weight * outlook->far_share;
	for (uint32_t i = 0; i < outlook->cnt; i++) {
		const struct pp_span *span = &s->calls.spans[outlook->first + i];

		if (span->taken >= room) {
			p->late += weight * span->share;
			continue;
		}
		p->near += weight * span->share;
		p->near_taken += weight * span->share * span->taken;
	}
}

static struct prospect prospect_of(const struct stitching *s, uint32_t piece, double room)
{
	const struct pp_piece_call *of = &s->calls.pieces[piece];
	double own = own_share(s, of->outlook.seen_cnt);
	struct prospect p = {.far = 0};

	add_prospect(s, &s->calls.sites[of->site].outlook, room, 1 - own, &p);
	if (own > 0)
		add_prospect(s, &of->outlook, room, own, &p);
	return p;
}

/* Which piece follows a near crossing; order 1 does not ask how long it was. */
static void fill_shares(const struct stitching *s, uint32_t piece, double *ret_shares)
{
	const struct pp_piece_call *of = &s->calls.pieces[piece];
	const struct pp_call_site *site = &s->calls.sites[of->site];
	const struct pp_follower *followers = s->calls.followers + site->first;
	double own = own_share(s, of->pair_cnt);

	for (uint32_t i = 0; i < site->cnt; i++)
		ret_shares[i] = s->order < 2 ? followers[i].all : (1 - own) * followers[i].near;
	for (uint32_t i = 0; i < of->cnt && s->order >= 2; i++) {
		const struct pp_pair *pair = &s->calls.pairs[of->first + i];

		ret_shares[pair->follower] += own * pair->share;
	}
}

static int follow(struct stitching *s, struct chain c, uint32_t piece);

/*
 * The chain goes on with one piece, to which near_share of the near crossings and far_share of the
 * far ones lead. The piece's span is taken off the room that the call has left. A path that is too
 * long already stays so.
 */
static int go_on(struct stitching *s, const struct chain *c, uint32_t piece, uint32_t next,
		 double near_share, double far_share)
{
	const struct pp_piece *p = piece_at(s, next);
	double room = s->window - c->span - p->span - pp_piece_needs_more(p);
	struct prospect prospect = prospect_of(s, piece, room);
	struct chain near = *c, far = *c;
	int r = 0;

	near.weight *= prospect.near * near_share;
	if (prospect.near > 0)
		near.span += prospect.near_taken / prospect.near;
	far.weight *= prospect.late * near_share + prospect.far * far_share;
	far.span = s->window;
	if (near.weight > s->least)
		r = follow(s, near, next);
	if (r == 0 && far.weight > s->least)
		r = follow(s, far, next);
	return r;
}

/* Goes on with every piece that may follow. */
static int cross(struct stitching *s, const struct chain *c, uint32_t piece)
{
	const struct pp_call_site *site = &s->calls.sites[s->calls.pieces[piece].site];
	size_t first = s->share_cnt;
	int r;

	s->work += site->cnt * (UINT64_C(1) + site->outlook.cnt);
	if (!site->cnt || s->depth == DEPTH_MAX || s->work > WORK_MAX) {
		s->sums.lost += c->weight * (is_far(s, c->span) ? 1 : site->outlook.far_share);
		return 0;
	}
	r = pp_reserve(&s->shares, s->share_cnt + site->cnt, &s->share_room);
	if (r < 0)
		return r;
	fill_shares(s, piece, s->shares + first);
	s->share_cnt += site->cnt;
	s->depth++;
	for (uint32_t i = 0; i < site->cnt && r == 0; i++) {
		const struct pp_follower *f = &s->calls.followers[site->first + i];

		r = go_on(s, c, piece, f->piece, s->shares[first + i],
			  s->order < 2 ? f->all : f->far);
	}
	s->depth--;
	s->share_cnt = first;
	return r;
}

static int follow(struct stitching *s, struct chain c, uint32_t piece)
{
	const struct pp_piece *p = piece_at(s, piece);
	int cut;

	if (c.weight <= s->least)
		return 0;
	cut = append(s, &c, p);
	if (cut < 0)
		return cut;
	if (s->calls.pieces[piece].site != PP_PIECE_NONE)
		return cross(s, &c, piece);
	/* A branch that ends a path does so whether or not it is the 32nd. */
	return cut && !p->returns ? 0 : emit(s, &c, pp_piece_needs_more(p));
}

static int stitch_all(struct stitching *s)
{
	int r = 0;

	for (uint32_t i = 0; i < s->pieces->pieces.cnt; i++)
		if (piece_at(s, i)->key.is_fresh)
			s->sums.begun += piece_at(s, i)->weight;
	s->least = s->sums.begun * FLOW_LEAST;
	for (uint32_t i = 0; i < s->pieces->pieces.cnt && r == 0; i++) {
		const struct pp_piece *p = piece_at(s, i);

		if (p->key.is_fresh && p->key.call)
			r = follow(s,
				   (struct chain){.start = p->key.start,
						  .span = -(double)p->key.needs_less,
						  .weight = p->weight},
				   i);
	}
	return r;
}

int pp_stitch(const struct pp_pieces *pieces, uint32_t order, uint32_t window_taken,
	      pp_stitched_fn *fn, void *context, struct pp_stitch_sums *ret_sums)
{
	struct stitching s = {.pieces = pieces,
			      .order = order,
			      .window = window_taken,
			      .fn = fn,
			      .context = context};
	int r = pp_calls_init(&s.calls, pieces);

	if (r < 0)
		return r;
	r = stitch_all(&s);
	pp_calls_release(&s.calls);
	free(s.shares);
	if (r == 0)
		*ret_sums = s.sums;
	return r;
}
