/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Facts about calls once all windows are in: the return address of each, the pieces that follow,
 * how often they do, and how long the call takes. Read-only once made.
 *
 * Three shares say which piece follows: `all` of the pieces behind a call, those seen across it in
 * one window (`near`), and the rest (`far`): across crossings that are longer than a window.
 *
 * Workload: 10^4 calls and 10^5 crossings, sorted once. One owner; the pieces must stay as they
 * are.
 */
#ifndef PP_CALLS_H
#define PP_CALLS_H

#include <stdint.h>

#include "pp_pieces.h"

/* How long a crossing takes. */
struct pp_outlook {
	double far_share;    /* that outlasts any window */
	uint32_t first, cnt; /* of spans: the others, shortest first */
	uint64_t seen_cnt;
};

struct pp_span {
	double share; /* of all crossings */
	uint32_t taken;
};

struct pp_follower {
	uint32_t piece;
	double all, near, far; /* shares, each sums to 1 over the call's followers */
};

/* A piece seen behind another, across a call. */
struct pp_pair {
	uint32_t follower; /* place among the call's followers */
	double share;      /* of the pairs of the piece before */
};

struct pp_call_site {
	uint32_t first, cnt; /* of followers */
	struct pp_outlook outlook;
};

struct pp_piece_call {
	uint32_t site;       /* PP_PIECE_NONE: it ends with no call */
	uint32_t first, cnt; /* of pairs */
	uint64_t pair_cnt;   /* how often any of them was seen */
	struct pp_outlook outlook;
};

struct pp_calls {
	struct pp_call_site *sites;   /* as pp_pieces.calls */
	struct pp_piece_call *pieces; /* as pp_pieces.pieces */
	struct pp_follower *followers;
	struct pp_pair *pairs;
	struct pp_span *spans;
	uint32_t follower_cnt, pair_cnt, span_cnt;
};

/* -ENOMEM. */
int pp_calls_init(struct pp_calls *ret_calls, const struct pp_pieces *pieces);
void pp_calls_release(struct pp_calls *calls);

#endif
