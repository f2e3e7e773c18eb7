/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of one build by names that outlive it (match.h): which path has which, and which functions
 * the build has at all. Two builds are compared over what both can have: paths in functions that
 * one of them lacks, or has in another shape, are left out on both sides.
 *
 *     build      window's paths -> portable names, those in functions of the other build
 *     other      baseline's paths -> portable names, those in functions of this build
 *     matched    share of the window that was compared
 *
 * Paths that were not named yet (new ones, a few percent) are not taken for other paths: they stand
 * together as one event, beside as much of what they could be on the other side; see pair().
 *
 * Workload: 200 builds of some thousand paths, some of ten thousands of functions; one pair a
 * window each. One owner, the event loop; shared by reference among the subjects of a build.
 */
#ifndef PP_PORTABLE_H
#define PP_PORTABLE_H

#include <stdbool.h>

#include "counts.h"
#include "pathprof/store.h"

struct pp_portable_path {
	uint64_t key_lo;          /* of the path, as its own build's events have it */
	uint64_t function, place; /* function 0: it was looked at, and has no such name */
};

struct pp_portable {
	struct pathprof_build_id id;
	uint64_t group; /* of its own events */
	uint32_t ref_cnt;
	struct pp_portable_path *paths; /* by key_lo */
	size_t path_cnt, path_room;
	uint64_t *functions; /* ascending; NULL: not known yet */
	size_t function_cnt;
	/* Its file could not be read: not asked for before then, and the pause that led there. */
	int64_t retry_ns, pause_ns;
};

/* One reference, the caller's. NULL: no memory. */
struct pp_portable *pp_portable_new(const struct pathprof_build_id *id);
struct pp_portable *pp_portable_ref(struct pp_portable *portable);
/* NULL-safe. */
void pp_portable_unref(struct pp_portable *portable);
size_t pp_portable_bytes(const struct pp_portable *portable);

/* What the store has of it is added. Nothing there is no error. */
int pp_portable_load(struct pp_portable *portable, struct pathprof_store *store,
		     struct pathprof_error *error);
/* Adds those that are not known yet. In any order. -ENOMEM: unchanged. */
int pp_portable_add(struct pp_portable *portable, const struct pp_portable_path *paths, size_t cnt);
/* Takes over keys (malloc), strictly ascending. */
void pp_portable_set_functions(struct pp_portable *portable, uint64_t *keys, size_t cnt);

/* NULL: not looked at yet. */
const struct pp_portable_path *pp_portable_find(const struct pp_portable *portable,
						uint64_t key_lo);
/* The other way round, by a walk; NULL: none. */
const struct pp_portable_path *pp_portable_named(const struct pp_portable *portable,
						 uint64_t function, uint64_t place);
bool pp_portable_has(const struct pp_portable *portable, uint64_t function);
/* Weight of what was not looked at yet. */
double pp_portable_unnamed(const struct pp_portable *portable, const struct pp_counts *counts);

/* The key of what has no name yet, in a pair. */
#define PP_PORTABLE_UNNAMED_HI UINT64_MAX
#define PP_PORTABLE_UNNAMED_LO UINT64_MAX

/* Window and baseline of two builds, over what both can have. */
struct pp_portable_pair {
	struct pp_counts window, base; /* by portable names */
	double matched;                /* share of the window's weight that is in it */
};
/*
 * The window is of build `of_window`, the baseline of `of_base`. -ENODATA: the functions of either
 * are not known yet; -ENOMEM. The caller releases.
 */
int pp_portable_pair(struct pp_portable_pair *ret_pair, const struct pp_counts *window,
		     const struct pp_portable *of_window, const struct pp_counts *base,
		     const struct pp_portable *of_base);
void pp_portable_pair_release(struct pp_portable_pair *pair);

#endif
