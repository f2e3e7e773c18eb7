/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Paths of one build by names that outlive it (match.h): which path has which, and which functions
 * the build has at all. Two builds are compared over what both can have: paths in functions that
 * one of them lacks, or has in another shape, are left out on both sides.
 *
 *     build      window's paths -> portable names, those in functions of the other build
 *     other      baseline's paths -> portable names, those in functions of this build
 *     matched    share of the window that was compared
 *
 * Paths that were not named yet (new ones, a few percent; of a new build most of them, as long as a
 * busy machine keeps names waiting) are not taken for other paths: they stand together as one
 * event, beside as much of what they could be on the other side; see pair().
 *
 * Workload: 200 builds of some thousand paths, some of ten thousands of functions; one pair a
 * window each. One owner, the event loop; shared by reference among the subjects of a build.
 */
#ifndef PATHPROF_PORTABLE_H
#define PATHPROF_PORTABLE_H

#include <stdbool.h>

#include "pathprof/tally.h"
#include "pathprof/store.h"

struct pathprof_portable_path {
	uint64_t key_lo;          /* of the path, as its own build's events have it */
	uint64_t function, place; /* function 0: it was looked at, and has no such name */
};

struct pathprof_portable {
	struct pathprof_build_id id;
	uint64_t group; /* of its own events */
	uint32_t ref_cnt;
	struct pathprof_portable_path *paths; /* by key_lo */
	size_t path_cnt, path_room;
	uint64_t *functions; /* ascending; NULL: not known yet */
	size_t function_cnt;
	/* If its file could not be read: the time of the next try, and the pause before it. */
	int64_t retry_ns, pause_ns;
};

/* One reference, the caller's. NULL: no memory. */
struct pathprof_portable *pathprof_portable_new(const struct pathprof_build_id *id);
struct pathprof_portable *pathprof_portable_ref(struct pathprof_portable *portable);
/* NULL-safe. */
void pathprof_portable_unref(struct pathprof_portable *portable);
size_t pathprof_portable_bytes(const struct pathprof_portable *portable);

/* Adds the paths and functions that the store has of this build; it is no error if it has none. */
int pathprof_portable_load(struct pathprof_portable *portable, struct pathprof_store *store,
			   struct pathprof_error *error);
/* Adds those that are not known yet. In any order. -ENOMEM: unchanged. */
int pathprof_portable_add(struct pathprof_portable *portable,
			  const struct pathprof_portable_path *paths, size_t cnt);
/* Takes over keys (malloc), strictly ascending. */
void pathprof_portable_set_functions(struct pathprof_portable *portable, uint64_t *keys,
				     size_t cnt);

/* NULL: not looked at yet. */
const struct pathprof_portable_path *
pathprof_portable_find(const struct pathprof_portable *portable, uint64_t key_lo);
/* Weight of what was not looked at yet. */
double pathprof_portable_unnamed(const struct pathprof_portable *portable,
				 const struct pathprof_tally *counts);

/* The key of what has no name yet, in a pair. */
#define PATHPROF_PORTABLE_UNNAMED_HI UINT64_MAX
#define PATHPROF_PORTABLE_UNNAMED_LO UINT64_MAX

/* Window and baseline of two builds, over what both can have. */
struct pathprof_portable_pair {
	struct pathprof_tally window, base; /* by portable names */
	double matched;                     /* share of the window's weight that is in it */
};
/*
 * The window is of build `of_window`, the baseline of `of_base`. -ENODATA: the functions of either
 * are not known yet; -ENOMEM. The caller releases.
 */
int pathprof_portable_pair(struct pathprof_portable_pair *ret_pair,
			   const struct pathprof_tally *window,
			   const struct pathprof_portable *of_window,
			   const struct pathprof_tally *base,
			   const struct pathprof_portable *of_base);
void pathprof_portable_pair_release(struct pathprof_portable_pair *pair);

#endif
