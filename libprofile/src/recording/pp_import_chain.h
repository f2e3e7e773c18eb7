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

/* Takes what was counted out of the tables, which must be empty afterwards. */
typedef void pp_import_full_fn(void *context);

/* What it works with; everything outlives it. */
struct pp_import_chain_parts {
	struct pathprof_recorded_spaces *spaces;
	struct pp_import_images *images;
	struct pp_import_counts *counts;
	struct pathprof_walker *walker; /* of the images' code */
	struct pathprof_import_stats *stats;
	pp_import_full_fn *full;
	void *context;
};

/* -ENOMEM. */
int pp_import_chain_new(struct pp_import_chain **ret_chain,
			const struct pp_import_chain_parts *parts, enum pathprof_mapping mapping);
/* NULL-safe. */
void pp_import_chain_free(struct pp_import_chain *chain);
/* Who knows build-ids that came later than their mappings. */
void pp_import_chain_set_recording(struct pp_import_chain *chain,
				   const struct pp_import_asked *asked);
/* The recording has no mappings: addresses are those of this image's file, as ELF has them. */
void pp_import_chain_set_only(struct pp_import_chain *chain, uint32_t image);

void pp_import_chain_stack(struct pp_import_chain *chain,
			   const struct pathprof_recorded_sample *sample);

#endif
