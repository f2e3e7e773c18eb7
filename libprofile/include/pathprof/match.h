/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Paths of two builds of one program, matched by function name and graph shape. A new build moves
 * every address but leaves most functions as they were: a path is named here by its function, a
 * hash of that function's control-flow graph (its blocks' ends and edges, not its addresses), the
 * number of the block it starts in, its length and outcomes. A function whose shape has changed has
 * another hash, so its paths match nothing and are told as such: a new build is no drift by itself.
 *
 * Workload: once a binary and baseline, some hundred functions that were seen; the graph is that of
 * graph.h (cached). One object, one thread.
 */
#ifndef PATHPROF_MATCH_H
#define PATHPROF_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/distribution.h"
#include "pathprof/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_matcher;

/* Borrows the graph. -ENOMEM. */
int pathprof_matcher_new(struct pathprof_matcher **ret_matcher, const struct pathprof_graph *graph);
void pathprof_matcher_free(struct pathprof_matcher *matcher);
/*
 * The portable key of the path that starts at file offset `start`. -ENOENT: it starts in no named
 * function, or at no block's beginning (the key cannot be had; count it as unmatched).
 */
int pathprof_matcher_path(struct pathprof_matcher *matcher, uint64_t start, uint32_t length,
			  uint32_t outcomes, double weight, struct pathprof_event *ret_event);

/*
 * 1: the graph has the function of a portable key (its key_hi), in the same shape, whether it ran
 * or not; 0: it has not. -ENOMEM. The first call reads the shapes of all functions.
 */
int pathprof_matcher_has(struct pathprof_matcher *matcher, uint64_t key_hi);

/*
 * Finds the block that begins at file offset `start` in another build: the block of the same number
 * in each function of the same name and shape. -ENOENT: there is none, or no block of a named
 * function begins there; -ENOMEM; else what fn returned last; it stops when fn returns non-zero.
 */
typedef int pathprof_matcher_place_fn(void *context, uint64_t start);
int pathprof_matcher_places(struct pathprof_matcher *matcher, uint64_t start,
			    struct pathprof_matcher *other, pathprof_matcher_place_fn *fn,
			    void *context);

/*
 * The key_hi of every function there is, strictly ascending: what pathprof_matcher_has() looks in,
 * to be kept for when the graph is gone. Borrowed from the matcher. -ENOMEM.
 */
int pathprof_matcher_functions(struct pathprof_matcher *matcher, const uint64_t **ret_keys,
			       size_t *ret_cnt);

#ifdef __cplusplus
}
#endif

#endif
