/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of the time that the path profiler costs a processor (EOPP 5.5.3): a branch queue between
 * the commit stage and the profiler, and a simple out-of-order machine in front of it.
 *
 * The machine, in quarters of a cycle: instructions are finished in order at a steady two a cycle
 * (what dependences and L1 misses leave of four), except that a miss in the L2 finishes 100 cycles
 * late without holding up those behind it; the code after a mispredicted branch starts 3 cycles
 * after the branch is finished; 128 instructions are in flight at most; retirement is in order, at
 * most four a cycle. So the instructions that piled up behind a stall retire in a burst; the queue
 * absorbs it. The penalties are those of table 5.3; the steady rate is ours.
 *
 * The profiler takes one branch at a time, for the latency its operations add up to. A retiring
 * branch waits in the queue until then; when the queue is full, it and all behind it wait to
 * retire. Without a queue a branch is handed over only while the profiler is idle.
 *
 * Workload: one step a run of instructions that ends with a branch, times the queue sizes compared.
 * Plain memory, no allocation; one owner.
 */
#ifndef LAB_PIPELINE_H
#define LAB_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/abi.h"

#define LAB_QUARTERS        4
#define LAB_STEADY_QUARTERS 2 /* an instruction at two a cycle */
#define LAB_MISS_CYCLES     100
#define LAB_REFILL_CYCLES   3
#define LAB_REORDER_CNT     128
#define LAB_QUEUE_MAX       64

struct lab_pipeline {
	uint64_t finished; /* when the latest instruction finished, at the steady rate */
	uint64_t retired;  /* when the latest instruction retired */
	uint64_t reorder[LAB_REORDER_CNT]; /* when the instruction so many before retired */
	uint32_t reorder_at;
	uint32_t queue_size;           /* LAB_QUEUE_NONE: no profiler */
	uint64_t begun[LAB_QUEUE_MAX]; /* when the profiler began with the branch so many before */
	uint32_t begun_at;
	uint64_t profiler_free; /* when it has done all it was given */
};
#define LAB_QUEUE_NONE UINT32_MAX

/* A run of instructions up to and with a branch. */
struct lab_run_of_insns {
	uint32_t insn_cnt;
	uint32_t l2_misses;       /* on the first so many of them, at most all */
	bool mispredicted;        /* the branch */
	uint32_t profiler_cycles; /* the profiler's latency for the branch */
};

/*
 * The profiler's latency for a branch under the Ball-Larus mapping (EOPP table 5.1 and 5.5.3): a
 * cycle for each of update or update-count and push; a pop takes one and the hot path table's
 * update, which is one cycle for a hit and log2(ways) when an entry is replaced.
 */
uint32_t lab_profiler_cycles(const struct pathprof_branch *branch, bool popped, bool replaced,
			     uint32_t ways);

/* queue_size 0..LAB_QUEUE_MAX, or LAB_QUEUE_NONE. -EINVAL. */
int lab_pipeline_init(struct lab_pipeline *pipeline, uint32_t queue_size);
void lab_pipeline_step(struct lab_pipeline *pipeline, const struct lab_run_of_insns *run);
/* Cycles until the latest instruction retired. */
double lab_pipeline_cycles(const struct lab_pipeline *pipeline);

#endif
