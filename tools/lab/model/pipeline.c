// SPDX-License-Identifier: GPL-2.0-or-later
#include "pipeline.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

static bool pushes(const struct pathprof_branch *b)
{
	switch (b->kind) {
	case PERF_BR_CALL:
	case PERF_BR_IND_CALL:
	case PERF_BR_IND:
		return true;
	case PERF_BR_COND:
	case PERF_BR_UNCOND:
		return b->target <= b->from;
	default:
		return false;
	}
}

uint32_t lab_profiler_cycles(const struct pathprof_branch *branch, bool popped, bool replaced,
			     uint32_t ways)
{
	/* A path at its greatest length ends, and another begins, at a forward branch too. */
	bool pushed = pushes(branch) || (popped && branch->kind != PERF_BR_RET);
	uint32_t table = 0;

	if (popped)
		table = replaced ? (uint32_t)__builtin_ctz(ways) : 1;
	return 1 + pushed + popped + table;
}

int lab_pipeline_init(struct lab_pipeline *pipeline, uint32_t queue_size)
{
	if (queue_size > LAB_QUEUE_MAX && queue_size != LAB_QUEUE_NONE)
		return -EINVAL;
	memset(pipeline, 0, sizeof(*pipeline));
	pipeline->queue_size = queue_size;
	return 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns when an instruction could retire if there were no queue. */
static uint64_t finish(struct lab_pipeline *p, bool missed)
{
	uint64_t done;

	p->finished = later(p->finished + LAB_STEADY_QUARTERS, p->reorder[p->reorder_at]);
	done = p->finished + (missed ? LAB_MISS_CYCLES * LAB_QUARTERS : 0);
	return later(done, p->retired + 1);
}

static void retire(struct lab_pipeline *p, uint64_t time)
{
	p->retired = time;
	p->reorder[p->reorder_at] = time;
	p->reorder_at = (p->reorder_at + 1) % LAB_REORDER_CNT;
}

/* Returns when the queue has room: as soon as the branch queue_size places before has left it. */
static uint64_t room(const struct lab_pipeline *p)
{
	if (!p->queue_size)
		return p->profiler_free;
	return p->begun[(p->begun_at + LAB_QUEUE_MAX - p->queue_size) % LAB_QUEUE_MAX];
}

static uint64_t hand_over(struct lab_pipeline *p, uint64_t time, uint32_t cycles)
{
	uint64_t free_at = later(time, room(p)), begun = later(free_at, p->profiler_free);

	p->begun[p->begun_at] = begun;
	p->begun_at = (p->begun_at + 1) % LAB_QUEUE_MAX;
	p->profiler_free = begun + (uint64_t)cycles * LAB_QUARTERS;
	return free_at;
}

void lab_pipeline_step(struct lab_pipeline *pipeline, const struct lab_run_of_insns *run)
{
	for (uint32_t i = 0; i < run->insn_cnt; i++) {
		uint64_t time = finish(pipeline, i < run->l2_misses);

		if (i + 1 == run->insn_cnt && pipeline->queue_size != LAB_QUEUE_NONE)
			time = hand_over(pipeline, time, run->profiler_cycles);
		retire(pipeline, time);
	}
	if (run->mispredicted)
		pipeline->finished += LAB_REFILL_CYCLES * LAB_QUARTERS;
}

double lab_pipeline_cycles(const struct lab_pipeline *pipeline)
{
	return (double)pipeline->retired / LAB_QUARTERS;
}
