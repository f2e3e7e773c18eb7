/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Counts of paths, split by callers: for formats that write whole stacks.
 *
 * Counts say how often the paths of a function ran under each chain of callers. All numbers of the
 * function are split in that proportion; the part that ran under no known chain has no callers.
 * Parts of a number add up to it, to the unit.
 *
 * Workload: once an export; some hundred chains a function at most. Ownership: chains are the
 * caller's of the export.
 */
#ifndef PP_EXPORT_CALLERS_H
#define PP_EXPORT_CALLERS_H

#include "pp_export.h"
#include "pp_source_pieces.h"

struct pp_callers_share {
	uint32_t function; /* of the graph */
	uint32_t chain;    /* PATHPROF_NO_CHAIN: not known */
	double weight;
};

struct pp_callers {
	const struct pp_export *x;
	struct pp_callers_share *shares; /* by function, then by chain */
	size_t cnt;
};

/* -EINVAL: a chain is out of range; -ENOMEM. */
int pp_callers_open(struct pp_callers *ret_callers, const struct pp_export *x);
void pp_callers_close(struct pp_callers *callers);

/* Called for each part of a piece that has any counts; a return other than 0 ends the split, which
 * returns it. */
typedef int pp_callers_part_fn(void *context, const struct pp_piece *part, uint32_t chain);
int pp_callers_split(const struct pp_callers *callers, const struct pp_piece *piece,
		     pp_callers_part_fn *fn, void *context);

#endif
