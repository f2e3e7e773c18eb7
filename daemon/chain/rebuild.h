/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taken branches of any process to all its branches: a reconstructor a process, whose code the
 * resolver finds.
 *
 * Workload: some thousand windows a second of a handful of processes at a time; those not met for
 * longest are forgotten first. A reconstructor is forgotten when its process' mappings have
 * changed. Bounded: PP_REBUILD_PROCESS_MAX reconstructors (some 8 MB each at most), one set of
 * files. One thread.
 */
#ifndef PP_KMOD_REBUILD_H
#define PP_KMOD_REBUILD_H

#include <stdint.h>

#include "../source.h"
#include "pathprof/reconstruct.h"

#define PP_REBUILD_PROCESS_MAX 8

struct pp_rebuild;

/* resolver is used as long as the object lives. -ENOMEM. */
int pp_rebuild_new(struct pp_rebuild **ret_rebuild, const struct pp_resolver *resolver);
/* NULL-safe. */
void pp_rebuild_free(struct pp_rebuild *rebuild);

struct pp_rebuild_window {
	struct pp_counted who;
	const uint64_t *start; /* code from here to the first taken branch is read, too; NULL: it
				  is not */
	const struct pathprof_taken *taken;
	uint32_t taken_cnt;
};

/*
 * Calls pathprof_reconstruct or pathprof_reconstruct_from. 0, or an enum pathprof_refusal, which is
 * counted; -ESRCH: it cannot be told which process it was; -ENOMEM.
 */
int pp_rebuild_window(struct pp_rebuild *rebuild, const struct pp_rebuild_window *window,
		      struct pathprof_branch *branches, uint32_t *ret_cnt);

/* The number of windows that were refused for that reason. */
uint64_t pp_rebuild_refused(const struct pp_rebuild *rebuild, enum pathprof_refusal refusal);

#endif
