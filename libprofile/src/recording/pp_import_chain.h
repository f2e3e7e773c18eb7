/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * From branch stacks to counts: each entry an edge, each run of entries whose code is at hand a
 * window that is cut into paths (pathprof/walk.h).
 *
 * Entries with an end in the kernel are passed over, as hardware that records user space only does;
 * where the program does not go on where it left, and where code is not at hand, a window ends and
 * the next begins. Each is judged by itself: one that does not fit its code has no path counted,
 * its edges stay.
 *
 * Both ends of an edge are looked up when it is met first. One with an end in nothing that is
 * mapped is counted as well, for the owner to leave out. The newest entry is left out where it is
 * the one before once more, and code does not lead there again: some processors give it twice.
 *
 * Weight: a path over t taken branches was seen whole from n - t of the n places of a stack of n
 * entries, wherever the windows within it begin and end (docs/reconstruction.md): n / (n - t).
 *
 * Stacks of some kinds of branches only, and call stacks, tell nothing of what ran between their
 * entries: these are edges, and no windows.
 *
 * Workload: some ten million entries a second, of few distinct edges and steps: a look-up for the
 * edge, and one for what it does to the paths. No allocation a sample. One thread.
 */
#ifndef PP_IMPORT_CHAIN_H
#define PP_IMPORT_CHAIN_H

#include "pp_import_ask.h"
#include "pp_import_counts.h"
#include "pp_import_image.h"
#include "pathprof/recorded_spaces.h"
#include "pathprof/import.h"
#include "pathprof/paths.h"
#include "pathprof/recording.h"
#include "pathprof/walk.h"

struct pp_import_chain;

/* The most of one import. A branch may end a window of 1,024 paths: their sum does not wrap,
 * either. */
#define PP_IMPORT_BRANCHES_MAX (UINT64_C(1) << 53)

/* A text tells how often a sample was seen. No sample makes a sum wrap, whoever made the text. */
static inline uint64_t pp_import_times(const struct pathprof_recorded_sample *sample)
{
	return 1 + (sample->repeats < PATHPROF_RECORDED_REPEATS_MAX
			    ? sample->repeats
			    : PATHPROF_RECORDED_REPEATS_MAX);
}

/* How often a sample with branches is counted: at the bound, not at all. */
static inline uint64_t pp_import_times_counted(const struct pathprof_import_stats *stats,
					       const struct pathprof_recorded_sample *sample)
{
	uint64_t room = (PP_IMPORT_BRANCHES_MAX - stats->ledger.branches) / sample->branch_cnt;
	uint64_t times = pp_import_times(sample);

	return times < room ? times : room;
}

/* Takes what was counted out of the tables, which must be empty afterwards. */
typedef void pp_import_full_fn(void *context);
/* A path without a walker's number, seen so often by a process. */
typedef void pp_import_path_fn(void *context, uint32_t process,
			       const struct pathprof_path_seen *path, uint64_t cnt);
/* Does code of one image run on from start up to the branch at last? */
typedef bool pp_import_runs_fn(void *context, uint64_t start, uint64_t last);

/* The objects that a chain works with; all of them outlive it. */
struct pp_import_chain_parts {
	struct pathprof_recorded_spaces *spaces;
	struct pp_import_images *images;
	struct pp_import_counts *counts;
	struct pathprof_walker *walker; /* of the images' code; NULL: no paths */
	struct pathprof_import_stats *stats;
	pp_import_full_fn *full;
	pp_import_path_fn *path; /* NULL where there is no walker */
	pp_import_runs_fn *runs;
	void *context;
	/* Image 0 is of files with a mark (pathprof/recorded_spaces.h), 1 of all others. */
	bool is_by_mark;
};

/* -ENOMEM. */
int pp_import_chain_new(struct pp_import_chain **ret_chain,
			const struct pp_import_chain_parts *parts, enum pathprof_mapping mapping);
/* NULL-safe. */
void pp_import_chain_free(struct pp_import_chain *chain);
/* Sets the recording, which knows build-ids that came later than their mappings. */
void pp_import_chain_set_recording(struct pp_import_chain *chain,
				   const struct pp_import_asked *asked);
/*
 * The recording has no mappings: addresses are those of this image's file, as ELF has them.
 * PP_IMPORT_NO_IMAGE: it has.
 */
#define PP_IMPORT_NO_IMAGE UINT32_MAX
void pp_import_chain_set_only(struct pp_import_chain *chain, uint32_t image);

/* Without a walker: did a branch of it begin or end in image 0? */
bool pp_import_chain_stack(struct pp_import_chain *chain,
			   const struct pathprof_recorded_sample *sample);
/* The same of a stack of which nothing is asked for: entries that are branches go to `why`. */
void pp_import_chain_leave_out(struct pp_import_chain *chain,
			       const struct pathprof_recorded_sample *sample,
			       enum pathprof_ledger_reason why);

/* In `who` of edges with an end in nothing. */
#define PP_IMPORT_OF_LOST (UINT64_C(1) << 63)
static inline uint32_t pp_import_edge_process(const struct pp_import_edge *e)
{
	return (uint32_t)((e->who & ~PP_IMPORT_OF_LOST) >> 32);
}
/* Is an end of it in nothing that is mapped? */
static inline bool pp_import_edge_is_lost(const struct pp_import_edge *e)
{
	return e->image.from == PP_IMAGE_NOWHERE || e->image.to == PP_IMAGE_NOWHERE;
}
/* Takes it out of what was used. */
static inline void pp_import_leave_out(struct pathprof_import_stats *stats,
				       enum pathprof_ledger_reason why, uint64_t cnt)
{
	stats->ledger.left[why] += cnt;
	stats->ledger.used -= cnt;
}

#endif
