/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of a stream or of a window, with the facts that decide whether a window can show them: how
 * many taken branches they need, and how they began and ended.
 *
 * A window of n taken branches that begins right after a taken branch holds what lies between the
 * taken branches around it, hence it shows a path from its push to its pop in
 *
 *     n - reach + (pushed by a not-taken branch) - (popped by a not-taken branch)
 *
 * places: a not-taken push needs no taken branch of the window before it, and what follows the
 * window's last taken branch is no longer in it. A not-taken branch pushes or pops when it goes
 * back in the code, or when its path has reached the greatest length.
 *
 * reach is the path's span but for the pieces of a path that was cut at the greatest length: where
 * the cut falls shows only to those who saw the first piece begin, so a piece reaches back to
 * there. With reach = span and both other terms zero, this is the n - span of pathprof/paths.h.
 *
 * One owner. lab_finder_step() is called for each branch; only init allocates.
 */
#ifndef LAB_COLLECT_FINDER_H
#define LAB_COLLECT_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/paths.h"
#include "profile.h"

#define LAB_FINDER_SPAN_MAX 256 /* up to here how a path began is known */
#define LAB_FINDER_PIECES   32

/* A path that will begin, or has begun, where another was cut. */
struct lab_piece {
	uint64_t start, born; /* address; taken branches of the stream by then */
	uint64_t root;        /* taken branches when the first piece was pushed */
	bool root_not_taken;
};

struct lab_finder {
	struct pathprof_path_stack *stack;
	uint64_t taken_cnt, cleared_at;
	uint64_t next[LAB_FINDER_SPAN_MAX]; /* of the last taken branches, by taken_cnt */
	struct lab_piece pieces[LAB_FINDER_PIECES];
	uint32_t piece_cnt;
};

struct lab_found {
	struct lab_path_key key;
	uint64_t events, span, reach;
	bool pushed_not_taken, popped_not_taken; /* the first is that of the first piece */
};

void lab_finder_init(struct lab_finder *f, enum pathprof_mapping mapping);
void lab_finder_release(struct lab_finder *f);
/* Forgets all paths that have begun: control went on elsewhere. */
void lab_finder_clear(struct lab_finder *f);
/* Takes a branch. Returns true if a path ended with it, which is *ret_found. */
bool lab_finder_step(struct lab_finder *f, const struct pathprof_branch *branch, uint64_t events,
		     struct lab_found *ret_found);

/* Places of a window of n taken branches that show the path whole; at or below 0: none. */
static inline int64_t lab_found_places(const struct lab_found *found, uint32_t n)
{
	return (int64_t)n - (int64_t)found->reach + found->pushed_not_taken -
	       found->popped_not_taken;
}

#endif
