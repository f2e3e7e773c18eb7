// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Ranges of code; see pp_code_ranges.h.
 *
 * The code behind a call when a return led there: perf2bolt's rule (LLVM,
 * bolt/lib/Profile/DataAggregator.cpp).
 */
#include "pp_code_ranges.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "pp_branch_profile.h"
#include "pp_falls.h"

/* The bound on a range's length in code without a graph; AutoFDO has the same. */
#define RANGE_MAX_BYTES (1u << 20)

/* ---------------------------------------------------------------- life */

static void mark_pads(const struct pathprof_graph *g, uint8_t *pads)
{
	for (uint32_t e = 0; e < g->edge_cnt; e++)
		if (g->edges[e].kind == PATHPROF_EDGE_UNWIND && g->edges[e].to < g->block_cnt)
			pads[g->edges[e].to] = 1;
}

int pp_code_ranges_init(struct pp_code_ranges *r, const struct pathprof_graph *graph,
			struct pathprof_branch_profile *profile)
{
	*r = (struct pp_code_ranges){.graph = graph, .profile = profile};
	r->pads = calloc((size_t)graph->block_cnt + 1, 1);
	if (!r->pads)
		return -ENOMEM;
	mark_pads(graph, r->pads);
	return 0;
}

void pp_code_ranges_release(struct pp_code_ranges *r)
{
	free(r->pads);
	*r = (struct pp_code_ranges){0};
}

/* ---------------------------------------------------------------- what can have been run */

/* Behind it code runs on, but for a branch that was not taken. */
static bool runs_on(const struct pathprof_graph_block *block)
{
	return block->kind == 0 || block->kind == PERF_BR_COND;
}

bool pp_range_runs(const struct pathprof_graph *g, uint64_t start, uint64_t last)
{
	uint32_t b = pathprof_graph_block_at(g, start);

	if (start > last)
		return false;
	if (b == PATHPROF_GRAPH_NONE)
		return last - start <= RANGE_MAX_BYTES;
	while (g->blocks[b].end <= last) {
		if (!runs_on(&g->blocks[b]))
			return false;
		/* Most often the next one; not where code is jumped into in mid-instruction. */
		b = pathprof_graph_block_at(g, g->blocks[b].end);
		if (b == PATHPROF_GRAPH_NONE)
			return false;
	}
	return true;
}

static uint32_t function_at(const struct pathprof_graph *g, uint64_t offset)
{
	uint32_t b = offset == PATHPROF_OUTSIDE ? PATHPROF_GRAPH_NONE
						: pathprof_graph_block_at(g, offset);

	return b == PATHPROF_GRAPH_NONE ? PATHPROF_GRAPH_NONE : g->blocks[b].function;
}

static bool begins_function(const struct pathprof_graph *g, uint32_t b)
{
	return g->functions[g->blocks[b].function].entry == b;
}

/*
 * Did a call return to `start`? A branch from elsewhere to what is behind a call says so, if it is
 * a return, or if nothing but a return can lead there.
 */
static bool is_after_call(const struct pp_code_ranges *r, uint64_t from, uint64_t start)
{
	const struct pathprof_graph *g = r->graph;
	uint32_t b = pathprof_graph_block_at(g, start);

	if (b == PATHPROF_GRAPH_NONE || !b || g->blocks[b].start != start ||
	    g->blocks[b - 1].end != start || g->blocks[b - 1].function != g->blocks[b].function ||
	    (g->blocks[b - 1].kind != PERF_BR_CALL && g->blocks[b - 1].kind != PERF_BR_IND_CALL))
		return false;
	if (function_at(g, from) == g->blocks[b].function || begins_function(g, b))
		return false;
	return pp_is_return(g, from) || !r->pads[b];
}

static int add_range(struct pp_code_ranges *r, uint64_t from, uint64_t start, uint64_t last,
		     uint64_t count)
{
	bool after_call = is_after_call(r, from, start);
	struct pp_branch_entry range = {.at = {start, last, after_call}, .count = count};
	struct pp_branch_entry trace = {.at = {from, start, last}, .count = count};
	int rc = pp_branch_add(r->profile, PP_ENTRY_RANGE, &range);

	/* A range behind a call says itself how it began. */
	if (rc || from == PATHPROF_OUTSIDE || after_call)
		return rc;
	return pp_branch_add(r->profile, PP_ENTRY_TRACE, &trace);
}

int pp_code_ranges_add(struct pp_code_ranges *r, uint64_t from, uint64_t start, uint64_t last,
		       uint64_t count)
{
	if (pp_range_runs(r->graph, start, last))
		return add_range(r, from, start, last, count);
	r->misfits = pp_count_sum(r->misfits, count);
	return 0;
}
