/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of a hardware branch stack: which count, and how they are packed. Any context. */
#ifndef PATHPROF_KMOD_LBR_H
#define PATHPROF_KMOD_LBR_H

#include <linux/perf_event.h>

#include "compat.h"
#include "pathprof/kmod_abi.h"

#define PP_LBR_ADDRESS_BITS 47 /* of user space, without the fifth level of page tables */

/* 0, or which PATHPROF_STAT_LBR_* says why it is dropped. */
static __always_inline u32 pp_lbr_refuses(const struct perf_branch_entry *entry)
{
	/* 0 becomes an address of the kernel. */
	if (likely(!(((entry->from - 1) | (entry->to - 1)) >> PP_LBR_ADDRESS_BITS) &&
		   !pp_branch_is_wrong_path(entry)))
		return 0;
	return entry->from && entry->to ? PATHPROF_STAT_LBR_BOGUS : PATHPROF_STAT_LBR_ZERO;
}

/* Compiles without a jump: each flag is multiplied by its bit. */
static inline void pp_lbr_copy(const struct perf_branch_entry *from, struct pathprof_lbr_entry *to)
{
	to->from = from->from | (u64)from->cycles << 48;
	to->to = from->to | (u64)from->type << 48 | from->mispred * PATHPROF_LBR_MISPREDICTED |
		 from->predicted * PATHPROF_LBR_PREDICTED | from->abort * PATHPROF_LBR_ABORTED |
		 from->in_tx * PATHPROF_LBR_TRANSACTIONAL;
}

/* For a DEFINE: addresses and kind only. */
static inline void pp_lbr_copy_bare(const struct perf_branch_entry *from,
				    struct pathprof_lbr_entry *to)
{
	to->from = from->from;
	to->to = from->to | (u64)from->type << 48;
}

#endif
