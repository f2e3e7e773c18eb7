// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Fall-throughs between blocks; see pp_falls.h. */
#include "pp_falls.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "pp_branch_profile.h"

/*
 * BOLT takes a jump behind a conditional branch for the other end of the same block, but not one
 * that leaves the function, which is a call to it.
 */
static bool is_jump_alone(const struct pathprof_graph *g, uint32_t b)
{
	const struct pathprof_graph_block *block = &g->blocks[b];
	const struct pathprof_edge *edge = &g->edges[block->first_edge];

	return block->kind == PERF_BR_UNCOND && block->start == block->last &&
	       block[1].first_edge > block->first_edge && edge->kind == PATHPROF_EDGE_JUMP &&
	       edge->to != PATHPROF_GRAPH_NONE && g->blocks[edge->to].function == block->function;
}

void pp_falls_heads(const struct pathprof_graph *g, uint8_t *heads)
{
	for (uint32_t b = 0; b < g->block_cnt; b++) {
		for (uint32_t e = g->blocks[b].first_edge; e < g->blocks[b + 1].first_edge; e++) {
			const struct pathprof_edge *edge = &g->edges[e];

			if (edge->to == PATHPROF_GRAPH_NONE || edge->kind == PATHPROF_EDGE_FALL ||
			    edge->kind == PATHPROF_EDGE_CONTINUE)
				continue;
			if (edge->kind != PATHPROF_EDGE_NOT_TAKEN || !is_jump_alone(g, edge->to))
				heads[edge->to] = 1;
		}
	}
}

/*
 * Is there a way from block b straight on to `last`, in its function? Ranges of another's file may
 * run over what cannot be run over: BOLT takes nothing of them.
 */
static bool runs_through(const struct pathprof_graph *g, uint32_t b, uint64_t last)
{
	for (; g->blocks[b].last < last; b++) {
		const struct pathprof_graph_block *block = &g->blocks[b];

		if (b + 1 == g->block_cnt || block->end != block[1].start ||
		    block->function != block[1].function || block->kind == PERF_BR_UNCOND ||
		    block->kind == PERF_BR_IND || block->kind == PERF_BR_RET)
			return false;
	}
	return true;
}

static bool is_behind_call(const struct pathprof_graph *g, uint32_t b)
{
	const struct pathprof_graph_block *block = &g->blocks[b];

	return b && block[-1].end == block->start && block[-1].function == block->function &&
	       (block[-1].kind == PERF_BR_CALL || block[-1].kind == PERF_BR_IND_CALL);
}

static void add_range(const struct pathprof_graph *g, const struct pathprof_range_count *r,
		      const uint8_t *heads, uint64_t *counts)
{
	uint32_t b = pathprof_graph_block_at(g, r->start);

	if (b == PATHPROF_GRAPH_NONE || !runs_through(g, b, r->last))
		return;
	/* A call that came back ran on into the block behind it. */
	if (r->after_call && heads[b] && is_behind_call(g, b) && g->blocks[b].start == r->start)
		counts[b - 1] = pp_count_sum(counts[b - 1], r->count);
	for (; g->blocks[b].last < r->last; b++)
		if (heads[b + 1])
			counts[b] = pp_count_sum(counts[b], r->count);
}

static uint32_t collect(const struct pathprof_graph *g, const uint64_t *counts,
			struct pp_fall *falls)
{
	uint32_t cnt = 0;

	for (uint32_t b = 0; b < g->block_cnt; b++) {
		if (!counts[b])
			continue;
		if (falls)
			falls[cnt] =
				(struct pp_fall){g->blocks[b].last, g->blocks[b].end, counts[b]};
		cnt++;
	}
	return cnt;
}

int pp_falls_find(const struct pathprof_branch_profile *p, const struct pathprof_graph *graph,
		  struct pp_fall **ret_falls, uint32_t *ret_cnt)
{
	uint8_t *heads = calloc((size_t)graph->block_cnt + 1, 1);
	uint64_t *counts = calloc((size_t)graph->block_cnt + 1, sizeof(*counts));
	struct pp_fall *falls = NULL;
	int r = -ENOMEM;

	if (!heads || !counts)
		goto release;
	pp_falls_heads(graph, heads);
	for (uint32_t i = 0; i < p->range_cnt; i++)
		add_range(graph, &p->ranges[i], heads, counts);
	falls = calloc((size_t)collect(graph, counts, NULL) + 1, sizeof(*falls));
	if (!falls)
		goto release;
	*ret_cnt = collect(graph, counts, falls);
	*ret_falls = falls;
	r = 0;
release:
	free(counts);
	free(heads);
	return r;
}

bool pp_is_return(const struct pathprof_graph *graph, uint64_t offset)
{
	uint32_t b = offset == PATHPROF_OUTSIDE ? PATHPROF_GRAPH_NONE
						: pathprof_graph_block_at(graph, offset);

	return b != PATHPROF_GRAPH_NONE && graph->blocks[b].kind == PERF_BR_RET;
}
