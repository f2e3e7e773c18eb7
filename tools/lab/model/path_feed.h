/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the events of an exact trace to paths with what happened along them: how many instructions,
 * misses in the L2 and mispredictions (EOPP 5.3). Each branch brings what happened since the one
 * before; a path has what its own branches brought, its calls and returns included.
 *
 * A signal handler's paths are cut on a stack of their own; where transfers are missing, what was
 * on the stack is dropped uncounted. At the end of the stream too: paths under way never ended.
 *
 * Workload: hundreds of millions of events. One owner; what the callback is given lives as long as
 * the call.
 */
#ifndef LAB_PATH_FEED_H
#define LAB_PATH_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache.h"
#include "pathprof/paths.h"
#include "pathprof/trace.h"
#include "predictor.h"

enum lab_metric {
	LAB_METRIC_FREQUENCY, /* 1 a path */
	LAB_METRIC_L2_MISSES,
	LAB_METRIC_MISPREDICTIONS,
	LAB_METRIC_CNT,
};

struct lab_path {
	uint64_t start;
	uint32_t length, outcomes;
	uint32_t insn_cnt;
	uint32_t metric[LAB_METRIC_CNT];
};

/* The events since the branch before, which a branch adds to its path. */
struct lab_brought {
	const struct pathprof_branch *branch;
	uint32_t insn_cnt;
	uint32_t l2_misses;
	bool mispredicted;
	const struct lab_path *path; /* that the branch ended; NULL for none */
};
typedef void lab_brought_fn(void *context, const struct lab_brought *brought);

#define LAB_FEED_HANDLERS 8 /* handlers within handlers; deeper ones share the last stack */

struct lab_path_feed {
	struct lab_memory memory;
	struct lab_predictor predictor;
	struct pathprof_path_stack *stacks[LAB_FEED_HANDLERS];
	uint32_t handler; /* the stack in use */
	bool simulate;    /* caches and predictor; else both metrics stay 0 */
	lab_brought_fn *fn;
	void *context;
	uint64_t run_start; /* where the current run of instructions began, 0: not known */
	uint32_t pending_misses;
	uint64_t insn_cnt, branch_cnt;
};

/* -EINVAL, -ENOMEM. */
int lab_path_feed_init(struct lab_path_feed *feed, const struct pathprof_path_settings *settings,
		       bool simulate, lab_brought_fn *fn, void *context);
void lab_path_feed_release(struct lab_path_feed *feed);
/* Calls fn for every branch among the events. */
void lab_path_feed_step(struct lab_path_feed *feed, const struct pathprof_trace_event *events,
			size_t cnt);

/* A path of at most 32 branches as a key of the exact table. */
static inline uint64_t lab_path_word(const struct lab_path *path)
{
	return (uint64_t)path->length << 32 | path->outcomes;
}

#endif
