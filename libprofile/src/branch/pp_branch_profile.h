/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A branch profile before it is settled: entries in the order of arrival, summed up from time to
 * time so that any number of them fits. Exact counts stay exact up to 2^64 - 1, where they stop;
 * weights are summed up beside them and rounded once.
 *
 * Workload: some 10^8 additions of some 10^6 different entries. Ownership: the profile's.
 */
#ifndef PP_BRANCH_PROFILE_H
#define PP_BRANCH_PROFILE_H

#include <stddef.h>

#include "base/count.h"
#include "base/search.h"
#include "base/table.h"
#include "pathprof/branch_profile.h"
#include "pp_address.h"
#include "pp_bolt_names.h"

struct pp_branch_entry {
	uint64_t at[3]; /* from, to | start, last, after a call | from, start, last | place */
	uint64_t count, mispredicted;
	double weight, mispredicted_weight;
};

struct pp_branch_entries {
	struct pp_branch_entry *items;
	size_t cnt, room;
	size_t sorted; /* so many, from the first, are in order and differ */
};

enum pp_branch_entry_kind {
	PP_ENTRY_BRANCH,
	PP_ENTRY_RANGE,
	PP_ENTRY_TRACE,
	PP_ENTRY_TIME,                        /* weight: ns */
	PP_ENTRY_PROFILE_CNT,                 /* what follows is worked into these by settling */
	PP_ENTRY_FALL = PP_ENTRY_PROFILE_CNT, /* from, to: a block ran on into the next */
	PP_ENTRY_SAMPLE,                      /* at an instruction */
	PP_ENTRY_KIND_CNT,
};

struct pp_branch_draft {
	struct pp_branch_entries entries[PP_ENTRY_KIND_CNT];
	bool has_ranges;                    /* counts read so far had some */
	struct pp_address_base base;        /* of the code that they are of; code NULL: none yet */
	const struct pathprof_graph *graph; /* of it; NULL: falls and samples are left out */
	struct pp_bolt_names names;         /* of it; by_name NULL: none was asked for yet */
	struct pp_texts places;             /* names that were asked for ... */
	uint64_t *place_starts; /* ... and where they begin; PATHPROF_OUTSIDE: nowhere */
	uint32_t place_room;
};

/* -ENOMEM, -E2BIG: more different entries than positions of them can be numbered. */
int pp_branch_add(struct pathprof_branch_profile *p, enum pp_branch_entry_kind kind,
		  const struct pp_branch_entry *entry);

/* The first of sorted entries that begins at `at` or behind. */
static inline size_t pp_branch_first(const struct pp_branch_entries *entries, uint64_t at)
{
	return pp_first(i, 0, entries->sorted, entries->items[i].at[0] >= at);
}

/* An event that the counts are of, as their file names it. -ENOMEM. */
int pp_branch_add_event(struct pathprof_branch_profile *p, const char *name);
/* Adds the origin of `from` to that of p; first: p is empty. -ENOMEM. */
int pp_branch_merge_origin(struct pathprof_branch_profile *p,
			   const struct pathprof_branch_origin *from, bool first);

/* Refuses code or a graph of another binary than the profile's, with both ids in the line. */
int pp_branch_check_id(const struct pathprof_branch_profile *p, const struct pathprof_build_id *id,
		       const char *what, struct pathprof_error *error);

#endif
