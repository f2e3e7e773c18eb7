/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Paths that no window can hold, put together from pieces: a Markov chain over what follows each
 * call. The derivation stands in docs/reconstruction.md, "Weights and stitching".
 *
 * The time that a call takes is known as far as windows can tell: the share of its crossings that
 * outlast any window, and how long the others are (Kaplan and Meier, Nonparametric Estimation from
 * Incomplete Observations, 1958: the window's end censors). The chain follows both kinds; a path
 * that it finds with a span of a window or more is one that no window holds; windows show the rest.
 *
 * Workload: 10^4 pieces, 10^5 crossings once a read. Ways with less than 10^-7 of all flow are
 * given up, and all of them when there are too many. Pure; the caller's memory.
 */
#ifndef PP_STITCH_H
#define PP_STITCH_H

#include <stdint.h>

#include "pp_pieces.h"

struct pp_stitched {
	uint64_t start;
	uint32_t length, outcomes;
	double weight;
};
/* 0, or a negative errno that ends it. */
typedef int pp_stitched_fn(void *context, const struct pp_stitched *path);

struct pp_stitch_sums {
	double begun;    /* weight of fresh pieces */
	double stitched; /* of paths handed out */
	double lost;     /* begun, too long for a window, and no way to their end is known */
};

/*
 * order: 1 what follows a call depends on the call; 2 on the piece before as well. window_taken: n
 * of the windows. One path may be handed out several times. -ENOMEM, or what fn returned.
 */
int pp_stitch(const struct pp_pieces *pieces, uint32_t order, uint32_t window_taken,
	      pp_stitched_fn *fn, void *context, struct pp_stitch_sums *ret_sums);

#endif
