/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an import took, and what it left out and why: one counter a reason. */
#ifndef PP_IMPORT_STATS_H
#define PP_IMPORT_STATS_H

#include <stdint.h>

#include "pathprof/reconstruct.h"

/* Why a branch is in no edge. */
enum pp_import_left {
	PP_IMPORT_KERNEL,   /* one of its ends is */
	PP_IMPORT_UNMAPPED, /* one of its ends lies in nothing the recording tells of */
	PP_IMPORT_EMPTY,    /* an address of nought: the hardware had no entry there */
	PP_IMPORT_REPEATED, /* the newest: the one before once more, where no code leads */
	PP_IMPORT_ABORTED,  /* no branch: a transaction was given up there */
	PP_IMPORT_UNTAKEN,  /* no branch: foreseen wrongly, or not taken; others join over it */
	PP_IMPORT_LEFT_CNT,
};

struct pp_import_stats {
	uint64_t samples; /* with the repeats of aggregated texts */
	uint64_t bare;    /* samples without branches */
	uint64_t other;   /* samples of events of another basis */
	uint64_t nobody;  /* samples of a process there was no room for */
	uint64_t stacks;
	uint64_t branches;                      /* entries of all stacks */
	uint64_t edges;                         /* of these in edges */
	uint64_t left[PP_IMPORT_LEFT_CNT];      /* of these in none */
	uint64_t no_code;                       /* in edges, not in paths: one end has no code */
	uint64_t filtered;                      /* the same: others were taken between these */
	uint64_t windows, taken;                /* runs of entries whose code is at hand */
	uint64_t refused[PATHPROF_REFUSED_CNT]; /* of these windows */
	uint64_t repeated; /* of these refused ones: where the entry before came once more */
	uint64_t paths;    /* seen whole */
	uint64_t counts, counts_left; /* of an aggregated format */
	uint64_t written;             /* windows of the store */
};

/* One or two words, for tables. Never NULL. */
const char *pp_import_left_name(enum pp_import_left left);

#endif
