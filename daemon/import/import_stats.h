/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an import took, and what it left out and why: one counter a reason. */
#ifndef PP_IMPORT_STATS_H
#define PP_IMPORT_STATS_H

#include <stdint.h>

#include "pathprof/ledger.h"
#include "pathprof/reconstruct.h"

struct pp_import_stats {
	uint64_t samples; /* with the repeats of aggregated texts */
	uint64_t bare;    /* samples without branches */
	uint64_t other;   /* samples of events of another basis */
	uint64_t nobody;  /* samples of a process there was no room for */
	uint64_t stacks;
	struct pathprof_ledger ledger; /* used: in edges; of processes beyond the bound, too */
	uint64_t no_code;              /* in edges, not in paths: one end has no code */
	uint64_t filtered;             /* the same: others were taken between these */
	uint64_t windows, taken;       /* runs of entries whose code is at hand */
	uint64_t refused[PATHPROF_REFUSED_CNT]; /* of these windows */
	uint64_t repeated; /* of these refused ones: where the entry before came once more */
	uint64_t paths;    /* seen whole */
	uint64_t counts, counts_left; /* of an aggregated format */
	uint64_t written;             /* windows of the store */
};

#endif
