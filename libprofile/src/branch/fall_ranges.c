// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Fall-throughs become ranges; see pp_fall_ranges.h.
 *
 * Blocks are gone through by address with the runs that are open: where each began, and how often.
 * A branch that leads into a block opens one. Behind the block as many go on as its fall-through
 * says, the oldest first; the others end there. Where more go on than came, the rest begins with
 * the block: fdata has no returns.
 */
#include "pp_fall_ranges.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/vector.h"
#include "pp_falls.h"

struct run {
	uint64_t start, count;
	bool after_call;
};

struct making {
	struct pathprof_branch_profile *p;
	const struct pathprof_graph *graph;
	uint8_t *heads;               /* by block: pp_falls_find() tells the fall-through to it */
	uint64_t *falls;              /* by block: how often it ran on */
	struct pp_branch_entry *into; /* branches by where they lead */
	size_t into_cnt, into_at;
	struct run *runs;
	size_t run_cnt, run_room;
};

static int by_target(const void *a, const void *b)
{
	const struct pp_branch_entry *left = a, *right = b;

	return left->at[1] < right->at[1] ? -1 : left->at[1] > right->at[1];
}

static int open_run(struct making *m, uint64_t start, bool after_call, uint64_t count)
{
	if (!count)
		return 0;
	if (pp_grow(&m->runs, m->run_cnt, &m->run_room) < 0)
		return -ENOMEM;
	m->runs[m->run_cnt++] = (struct run){start, count, after_call};
	return 0;
}

static int add_range(struct making *m, const struct run *run, uint64_t last, uint64_t count)
{
	return pp_branch_add(m->p, PP_ENTRY_RANGE,
			     &(struct pp_branch_entry){.at = {run->start, last, run->after_call},
						       .count = count});
}

/* Ends all runs at `last` but the `stay` oldest. *ret_missing: how many fewer there were. */
static int keep(struct making *m, uint64_t last, uint64_t stay, uint64_t *ret_missing)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < m->run_cnt && !r; i++) {
		struct run *run = &m->runs[i];
		uint64_t on = run->count < stay ? run->count : stay;

		stay -= on;
		if (run->count > on)
			r = add_range(m, run, last, run->count - on);
		run->count = on;
		if (on)
			m->runs[kept++] = *run;
	}
	m->run_cnt = kept;
	*ret_missing = stay;
	return r;
}

static uint64_t open_count(const struct making *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->run_cnt; i++)
		sum = pp_count_sum(sum, m->runs[i].count);
	return sum;
}

/* How often the branch at the block's end was taken. */
static uint64_t taken_from(const struct making *m, uint64_t last)
{
	const struct pp_branch_entries *branches = &m->p->draft->entries[PP_ENTRY_BRANCH];
	uint64_t sum = 0;

	for (size_t i = pp_branch_first(branches, last);
	     i < branches->cnt && branches->items[i].at[0] == last; i++)
		sum = pp_count_sum(sum, branches->items[i].count);
	return sum;
}

/* The count that runs on behind block b: as fdata has it, else what came in and did not leave. */
static uint64_t running_on(const struct making *m, uint32_t b)
{
	const struct pathprof_graph_block *block = &m->graph->blocks[b];
	uint64_t open, taken;

	if (m->heads[b + 1] || m->falls[b])
		return m->falls[b];
	open = open_count(m);
	taken = block->kind == PERF_BR_COND ? taken_from(m, block->last) : 0;
	return open > taken ? open - taken : 0;
}

static bool is_call(const struct pathprof_graph_block *block)
{
	return block->kind == PERF_BR_CALL || block->kind == PERF_BR_IND_CALL;
}

static bool goes_on(const struct pathprof_graph *g, uint32_t b)
{
	const struct pathprof_graph_block *block = &g->blocks[b];

	return b + 1 < g->block_cnt && block->end == block[1].start &&
	       block->function == block[1].function && block->kind != PERF_BR_UNCOND &&
	       block->kind != PERF_BR_IND && block->kind != PERF_BR_RET;
}

static int pass_branches(struct making *m, const struct pathprof_graph_block *block)
{
	int r = 0;

	while (m->into_at < m->into_cnt && m->into[m->into_at].at[1] < block->start)
		m->into_at++;
	for (; !r && m->into_at < m->into_cnt && m->into[m->into_at].at[1] < block->end;
	     m->into_at++)
		r = open_run(m, m->into[m->into_at].at[1], false, m->into[m->into_at].count);
	return r;
}

static int pass_block(struct making *m, uint32_t b)
{
	const struct pathprof_graph_block *block = &m->graph->blocks[b];
	uint64_t on = 0, missing = 0;
	bool called = is_call(block);
	int r = pass_branches(m, block);

	if (r)
		return r;
	if (goes_on(m->graph, b))
		on = running_on(m, b);
	/* No run continues over a call: behind it, runs begin with returns. */
	r = keep(m, block->last, called ? 0 : on, &missing);
	if (!r && called)
		return open_run(m, block->end, true, on);
	return r ? r : open_run(m, block->start, false, missing);
}

static int pass_all(struct making *m, const struct pp_branch_entries *falls)
{
	size_t cnt = m->p->draft->entries[PP_ENTRY_BRANCH].cnt;
	int r = 0;

	m->heads = calloc((size_t)m->graph->block_cnt + 1, 1);
	m->falls = calloc((size_t)m->graph->block_cnt + 1, sizeof(*m->falls));
	m->into = calloc(cnt + 1, sizeof(*m->into));
	if (!m->heads || !m->falls || !m->into)
		return -ENOMEM;
	pp_falls_heads(m->graph, m->heads);
	for (size_t i = 0; i < falls->cnt; i++) {
		uint32_t b = pathprof_graph_block_at(m->graph, falls->items[i].at[0]);

		m->falls[b] = pp_count_sum(m->falls[b], falls->items[i].count);
	}
	for (size_t i = 0; i < cnt; i++)
		m->into[i] = m->p->draft->entries[PP_ENTRY_BRANCH].items[i];
	m->into_cnt = cnt;
	if (cnt)
		qsort(m->into, cnt, sizeof(*m->into), by_target);
	for (uint32_t b = 0; b < m->graph->block_cnt && !r; b++)
		r = pass_block(m, b);
	return r;
}

int pp_fall_ranges_add(struct pathprof_branch_profile *p, const struct pathprof_graph *graph,
		       const struct pp_branch_entries *falls)
{
	struct making m = {.p = p, .graph = graph};
	int r = pass_all(&m, falls);

	free(m.heads);
	free(m.falls);
	free(m.into);
	free(m.runs);
	return r;
}
