/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * One taken branch of a window and what runs up to it, for those who keep what comes of it.
 * Workload: once for each new pair of branches. Locking: as the reconstructor.
 */
#ifndef PP_RECONSTRUCT_H
#define PP_RECONSTRUCT_H

#include "pathprof/reconstruct.h"

/* The run between two taken branches; valid until the reconstructor is asked again. */
struct pp_reconstructed {
	const struct pathprof_branch *branches; /* those not taken */
	uint32_t cnt;
	uint32_t kind; /* PERF_BR_* of the taken branch at the end */
};

/* From start, where the branch before led to, up to the branch. 0, or an enum pathprof_refusal. */
int pp_reconstruct_run(struct pathprof_reconstructor *r, uint64_t start,
		       const struct pathprof_taken *taken, struct pp_reconstructed *ret_run);

#endif
