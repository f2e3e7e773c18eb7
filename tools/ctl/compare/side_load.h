/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that fill a side from stores or text, and those that change a full one by its binaries'
 * code or another build. One thread.
 */
#ifndef CTL_SIDE_LOAD_H
#define CTL_SIDE_LOAD_H

#include <stdio.h>

#include "side.h"

/* ---------------------------------------------------------------- side_store.c
 *
 * Out of a store, which is borrowed but where a side owns it.
 */

/*
 * Adds what filter selects; binary is a path or file name it must have besides, NULL: any.
 * side->measure.kind is the kind of the windows: weighed ones count by their weights. Not yet
 * finished. -errno, error filled.
 */
int side_store_read(struct side *side, struct pathprof_store *store,
		    const struct pathprof_filter *filter, const char *binary,
		    struct pathprof_error *error);
/*
 * Sets side->per_burst and side->dispersion. Paths of one burst follow one another, so counts
 * scatter more than those of independent samples. How much is measured over the last windows of the
 * selection; with a single one it is not known. A change among these windows counts as scatter: the
 * figure errs to the careful side.
 */
int side_store_dispersion(struct side *side, const struct pathprof_filter *filter,
			  const char *binary, struct pathprof_error *error);

/* ---------------------------------------------------------------- side_text.c
 *
 * Sides as text, a line an event: KEY<TAB>WEIGHT, pathprof/profile_text.h says what is allowed.
 * Keys of this program's own are
 *
 *     path      ID:0xSTART:WAYS       WAYS: T taken, N not taken, "-" none
 *     edge      ID:0xFROM>ID:0xTO
 *     branch    ID:0xEND/1            1: taken, 0: not
 *
 * with ID the build-id in hex, each in a side of that kind. Any other key is itself and no more: it
 * has no function.
 */

/* -errno, error filled, which names an invalid line. */
int side_text_read(struct side *side, const char *file, struct pathprof_error *error);
/* The key of an item. The caller frees. */
char *side_text_key(const struct side *side, const struct side_item *item);

/* ---------------------------------------------------------------- side_code.c
 *
 * Facts that need the binaries' code: the conditional branches that a side's paths decided, and
 * which of its edges are calls. Paths and edges whose code is not available are left out and summed
 * in `unreadable`.
 */

/* Turns paths into branches, drops edges that are no calls, or puts places of the clock together by
 * function, as the kind wants; 0. */
int side_code_refine(struct side *side);
/* The branches of a side of paths; the two share symbols, the caller releases *ret_branches by
 * side_code_release_branches(). -errno. */
int side_code_branches(struct side *ret_branches, const struct side *paths);
void side_code_release_branches(struct side *branches);

/* ---------------------------------------------------------------- side_match.c
 *
 * Two sides over different builds of a binary: paths of functions that both builds have in the same
 * shape get keys that outlive a build (pathprof/match.h), all others are left out and told as a
 * share. A build that one side alone has is paired with all such builds of the other side that have
 * its path, else its file name. Needs the code of both builds.
 */

struct side_match {
	uint32_t binary_cnt;       /* pairs of builds; 0: nothing to match */
	uint32_t failed_cnt;       /* pairs without the code of one build */
	double a_share, b_share;   /* compared part of each side's weight, 0..1 */
	struct pathprof_error why; /* why the last pair failed */
};

/* Paths only. CTL_OK; sides are finished again. -errno. */
int side_match_builds(struct side *a, struct side *b, const struct ctl_options *options,
		      struct side_match *ret_match);

#endif
