/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of each CPU in CHAIN mode: the core's tables, the numbers of address spaces, and records
 * on their way into the ring.
 *
 * Locking: `busy` is set by whoever works on this CPU's tables, with interrupts off: a sample, a
 * burst, a drain. An NMI that finds it set leaves. So everything behind it has one owner at a time.
 * Ownership: the session's, from pp_pipeline_alloc() to pp_pipeline_free().
 */
#ifndef PATHPROF_KMOD_TABLES_H
#define PATHPROF_KMOD_TABLES_H

#include "pathprof/kmod_abi.h"
#include "pp_chain.h"
#include "pp_defined.h"
#include "pp_segment.h"
#include "stage.h"

#define PP_CONTEXT_BITS 8 /* log2 of the cache's entries */

struct pp_context {
	u64 address_space; /* 0: none */
	u32 number;
	u32 pad;
};

/* Branches of the segment in a slot of the hot path table, for its DEFINE. */
struct pp_segment_branches {
	struct pathprof_lbr_entry entry[PP_SEGMENT_LENGTH_MAX];
};

struct pp_tables {
	u32 busy;
	u32 filled;       /* something came since the last drain */
	u32 last_context; /* number given out last */
	u32 pad;
	struct pp_chain chain;
	struct pp_stage paths;
	struct pp_stage tuples;
	struct pp_context context[1 << PP_CONTEXT_BITS];
	struct pp_random random;              /* lbr: of what is rounded */
	struct pp_segment_branches *branches; /* lbr: by slot of the hot path table */
	struct pp_defined defined;            /* lbr */
};

/* Constant in a session. */
struct pp_pipeline_config {
	struct pp_chain_config chain;
	u32 kinds;    /* bits 1 << PERF_BR_*: of what tuples are made */
	u32 profiles; /* PATHPROF_PROFILE_* */
	u32 metric;   /* PATHPROF_METRIC_* */
	bool raw, chained;
	bool segments; /* paths are segments of a branch stack */
	bool usual;    /* ... and all of it such that segments.c has a copy for it */
};

extern struct pp_pipeline_config pp_pipeline_config;

#endif
