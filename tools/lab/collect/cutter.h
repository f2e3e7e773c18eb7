/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cuts windows of n taken branches out of a stream at random places, as a sampling collector
 * would: the same windows that hardware or a stepper shows, of a program whose every branch is
 * known.
 *
 * Places are chosen beforehand, uniformly over a clock that the caller runs: taken branches (a
 * collector that samples on a branch count) or instructions (one that samples on time). A window
 * holds what follows its place up to its n-th taken branch, at most PATHPROF_BURST_MAX branches
 * altogether, less when the stream is torn. Windows may overlap.
 *
 * Workload: 100,000 windows in some hundred million branches. All windows are alike, so the first
 * begun ends first: the last branches in a ring and two cursors over the sorted places do. One
 * owner.
 */
#ifndef LAB_COLLECT_CUTTER_H
#define LAB_COLLECT_CUTTER_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/abi.h"

/* rank: the position of the window's place in the order in which all places were drawn. */
typedef void lab_window_fn(void *context, uint32_t rank, const struct pathprof_branch *branches,
			   uint32_t branch_cnt);

struct lab_place {
	uint64_t clock;
	uint64_t first, last_taken; /* once begun: in branches and taken branches of the stream */
	uint32_t rank;
};

struct lab_cutter {
	struct lab_place *places; /* by clock */
	size_t cnt, begun, ended;
	uint32_t taken_wanted;
	uint64_t branch_cnt, taken_cnt;
	struct pathprof_branch ring[PATHPROF_BURST_MAX];
	struct pathprof_branch window[PATHPROF_BURST_MAX];
	lab_window_fn *fn;
	void *context;
};

/* cnt places in [0, clock_end), clock_end at least 1. The same seed gives the same places. */
void lab_cutter_init(struct lab_cutter *c, size_t cnt, uint64_t clock_end, uint32_t taken_wanted,
		     uint64_t seed, lab_window_fn *fn, void *context);
void lab_cutter_release(struct lab_cutter *c);
/*
 * Takes the next branch. The clock is at clock_after once it has run. Windows that have not begun
 * and whose place is before clock_after begin with this branch.
 */
void lab_cutter_step(struct lab_cutter *c, const struct pathprof_branch *branch,
		     uint64_t clock_after);
/* The stream is torn here, or ends: hands out all begun windows as they are. */
void lab_cutter_tear(struct lab_cutter *c);

#endif
