/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * CPU time by instruction. The clock says how much time a place of 16 bytes took; instructions in
 * it share that time by how often they ran, and the last of them gets what rounding left over, so
 * sums stay exact. Time of a place where nothing ran in any window stays that of the place.
 *
 * Workload: once an export; instructions are asked for in order of offset, each once. Ownership:
 * the arrays are the struct's.
 */
#ifndef PP_PIECE_TIMES_H
#define PP_PIECE_TIMES_H

#include "pp_export.h"
#include "pp_insn_counts.h"

struct pp_piece_times {
	const struct pathprof_branch_profile *profile;
	uint64_t *runs; /* of each place's instructions, those that were asked for left out */
	uint64_t *ns;   /* not given out yet */
	uint32_t next;  /* the first place that pp_piece_times_other() has not looked at */
};

/* -ENOMEM. Released in any case by the caller. */
int pp_piece_times_open(struct pp_piece_times *times, const struct pp_export *x);
void pp_piece_times_release(struct pp_piece_times *times);

/* The time of this instruction. */
uint64_t pp_piece_times_of(struct pp_piece_times *times, const struct pp_insn_count *insn);
/* The next place before `up_to` where nothing ran. false: there is none. */
bool pp_piece_times_other(struct pp_piece_times *times, uint64_t up_to, uint64_t *ret_place,
			  uint64_t *ret_ns);

#endif
