/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts on their way into the ring: one array of PATH and one of TUPLE a CPU, written as one
 * record when full, so that a count takes 24 bytes there, not 40.
 *
 * Any context, NMI included; the caller owns this CPU's tables. An array that finds no room in the
 * ring is lost, and counted there.
 */
#ifndef PATHPROF_KMOD_STAGE_H
#define PATHPROF_KMOD_STAGE_H

#include <linux/build_bug.h>
#include <linux/types.h>

#include "pathprof/kmod_abi.h"
#include "ring.h"

#define PP_STAGE_CNT 40 /* just below 1 KiB with its header */

/* Both kinds of count have this shape. */
struct pp_stage {
	u32 cnt;
	u32 pad;
	struct pathprof_path_record count[PP_STAGE_CNT];
};

static_assert(sizeof(struct pathprof_tuple_count) == sizeof(struct pathprof_path_record),
	      "one shape of counts");

/* type: PATHPROF_RECORD_PATH or _TUPLE, the same for all of a stage's life. */
static inline void pp_stage_write(struct pp_stage *stage, u16 type)
{
	if (stage->cnt)
		pp_ring_write(type, stage->count, stage->cnt * sizeof(stage->count[0]));
	stage->cnt = 0;
}

static inline void pp_stage_add(struct pp_stage *stage, u16 type, u64 first, u64 second, u64 count)
{
	stage->count[stage->cnt++] = (struct pathprof_path_record){first, second, count};
	if (stage->cnt == PP_STAGE_CNT)
		pp_stage_write(stage, type);
}

#endif
