/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Finds the paths that ended in windows of taken branches, where most windows repeat what earlier
 * ones did: what a branch does to the path on top of the stack is read from the code once and then
 * looked up. The paths and their order are those of pathprof_reconstruct_paths(), as numbers. The
 * pieces of PATHPROF_MAPPING_WPP are found on the same way.
 *
 *     pathprof_walker_branch(walker, &taken[i], &numbers[i]);        once a distinct branch
 *     if (pathprof_walk(walker, numbers, cnt, &ends))                for each window
 *             ... pathprof_reconstruct_paths() says why not ...
 *     pathprof_walker_path(walker, ends.paths[i].path, &path);       once a distinct path
 *     pathprof_walker_piece(walker, ends.pieces[i].path, &piece);    once a distinct piece
 *
 * Workload: some 10^5 to 10^6 windows of 16 or 32 a second over 10^3 to 10^5 distinct steps; no
 * allocation once these are known. Bounded: some 13 MB. A full walker refuses windows until its
 * owner clears it, which makes all numbers void.
 *
 * Code at an address must stay what it is until the walker is cleared. The reconstructor stays its
 * owner's, who may let it forget. One object, one thread. Source: EOPP 5.2; docs/reconstruction.md.
 */
#ifndef PATHPROF_WALK_H
#define PATHPROF_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/paths.h"
#include "pathprof/reconstruct.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_walker;

/* A path or piece that ended in a window. */
struct pathprof_walked {
	uint64_t path;    /* its number */
	uint32_t span;    /* as in struct pathprof_path_seen */
	uint32_t crosses; /* 1: a call or return ended it, and the next one began there, too */
};

/* In the order they ended. */
struct pathprof_walk_ends {
	uint32_t path_cnt, piece_cnt;
	struct pathprof_walked paths[PATHPROF_BURST_MAX];
	struct pathprof_walked pieces[PATHPROF_BURST_MAX];
};

/* mapping: of paths. -ENOMEM. */
int pathprof_walker_new(struct pathprof_walker **ret_walker,
			struct pathprof_reconstructor *reconstructor,
			enum pathprof_mapping mapping);
/* NULL-safe. */
void pathprof_walker_free(struct pathprof_walker *walker);
/* Forgets everything. */
void pathprof_walker_clear(struct pathprof_walker *walker);
/* Has anything found no room since the walker was cleared? */
bool pathprof_walker_is_full(const struct pathprof_walker *walker);

/* Numbers of branches and paths begin with 1. -ENOSPC, -ENOMEM: it is full. */
int pathprof_walker_branch(struct pathprof_walker *walker, const struct pathprof_taken *taken,
			   uint32_t *ret_number);
/*
 * branches[cnt] in the order executed. 0; or an enum pathprof_refusal, or -ENOSPC: it is full, or a
 * number is 0.
 */
int pathprof_walk(struct pathprof_walker *walker, const uint32_t *branches, uint32_t cnt,
		  struct pathprof_walk_ends *ret_ends);
/* Each fills start, length and outcomes. */
void pathprof_walker_path(const struct pathprof_walker *walker, uint32_t number,
			  struct pathprof_path_seen *ret_path);
void pathprof_walker_piece(const struct pathprof_walker *walker, uint32_t number,
			   struct pathprof_path_seen *ret_piece);

#ifdef __cplusplus
}
#endif

#endif
