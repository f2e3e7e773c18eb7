/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Declarations that the parts of a profile being taken share: see pathprof/profile.h.
 *
 *   profile.c         memory within the bound, binaries, processes, totals
 *   profile_paths.c   paths, who called them, segments
 *   profile_edges.c   edges and clock samples
 *   profile_names.c   the words for numbers
 *
 * Keys come from profiled programs, which may be hostile: hashes begin with the index's random
 * seed. Locking, ownership: as profile.h.
 */
#ifndef PP_PROFILE_H
#define PP_PROFILE_H

#include <math.h>

#include "base/table.h"
#include "pathprof/profile.h"

/* One array's room, and the table that finds its entries. */
struct pp_profile_entries {
	struct pp_table table;
	uint32_t room;
};

struct pathprof_profile_index {
	size_t max_bytes, used_bytes;
	uint64_t seed;
	struct pp_profile_entries binaries, processes, paths, edges, clocks, contexts,
		context_counts, segments;
};

/* Room for one more entry in the array, and within the bound in its table. */
bool pp_profile_make_room(struct pathprof_profile_index *index, void **array, size_t entry_bytes,
			  struct pp_profile_entries *entries);

/* A weight, or another sum of what is not negative. */
static inline bool pp_profile_is_sum(double value)
{
	return isfinite(value) && value >= 0;
}

#endif
