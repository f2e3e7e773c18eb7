// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Ranges between the branches of paths never seen whole; see pp_fill.h. */
#include "pp_fill.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "pp_falls.h"

/* Less than this of a run is not followed further. */
#define WEIGHT_MIN 0.05
#define BLOCKS_MAX 1024

/* A block's flow. [1]: it came by a return from the call before the block, [0]: otherwise. */
struct passed {
	double led_to[2], begun[2];
	double taken; /* by its last instruction */
	double ran;
};

static bool is_behind_call(const struct pathprof_graph *g, uint32_t b)
{
	return b && g->blocks[b - 1].end == g->blocks[b].start &&
	       (g->blocks[b - 1].kind == PERF_BR_CALL || g->blocks[b - 1].kind == PERF_BR_IND_CALL);
}

/* The block that begins, or ends, at offset; PATHPROF_GRAPH_NONE. */
static uint32_t block_of(const struct pathprof_graph *g, uint64_t offset, bool ends)
{
	uint32_t b = offset == PATHPROF_OUTSIDE ? PATHPROF_GRAPH_NONE
						: pathprof_graph_block_at(g, offset);

	if (b == PATHPROF_GRAPH_NONE)
		return b;
	return (ends ? g->blocks[b].last : g->blocks[b].start) == offset ? b : PATHPROF_GRAPH_NONE;
}

static void take_branches(const struct pathprof_branch_profile *p, const struct pathprof_graph *g,
			  struct passed *passed)
{
	const struct pp_branch_entries *branches = &p->draft->entries[PP_ENTRY_BRANCH];

	for (size_t i = 0; i < branches->cnt; i++) {
		const struct pp_branch_entry *e = &branches->items[i];
		uint32_t from = block_of(g, e->at[0], true), to = block_of(g, e->at[1], false);
		double count = (double)e->count + e->weight;

		if (from != PATHPROF_GRAPH_NONE)
			passed[from].taken += count;
		if (to != PATHPROF_GRAPH_NONE)
			passed[to].led_to[is_behind_call(g, to) && (e->at[0] == PATHPROF_OUTSIDE ||
								    pp_is_return(g, e->at[0]))] +=
				count;
	}
}

static void take_ranges(const struct pathprof_branch_profile *p, const struct pathprof_graph *g,
			struct passed *passed)
{
	const struct pp_branch_entries *ranges = &p->draft->entries[PP_ENTRY_RANGE];

	for (size_t i = 0; i < ranges->cnt; i++) {
		const struct pp_branch_entry *e = &ranges->items[i];
		uint32_t b = block_of(g, e->at[0], false);

		if (b != PATHPROF_GRAPH_NONE)
			passed[b].begun[e->at[2] != 0] += (double)e->count + e->weight;
	}
}

/* Does code run on behind a block but for what its branch takes away? */
static bool runs_on(const struct pathprof_graph *g, uint32_t b)
{
	return b + 1 < g->block_cnt && g->blocks[b].end == g->blocks[b + 1].start &&
	       (g->blocks[b].kind == 0 || g->blocks[b].kind == PERF_BR_COND);
}

static void count_runs(const struct pathprof_graph *g, struct passed *passed)
{
	double on = 0;

	for (uint32_t b = 0; b < g->block_cnt; b++) {
		passed[b].ran = passed[b].led_to[0] + passed[b].led_to[1] + on;
		on = runs_on(g, b) && passed[b].ran > passed[b].taken
			     ? passed[b].ran - passed[b].taken
			     : 0;
	}
}

/* Follows a weight from where it begins, a range to each branch that it leaves by. */
static int follow(struct pathprof_branch_profile *p, const struct pathprof_graph *g,
		  const struct passed *passed, uint32_t b, bool after_call, double weight)
{
	uint64_t start = g->blocks[b].start;
	int r = 0;

	for (int i = 0; !r && weight >= WEIGHT_MIN && i < BLOCKS_MAX; i++, b++) {
		double leaves = weight;

		if (runs_on(g, b))
			leaves = passed[b].ran > 0 ? weight * passed[b].taken / passed[b].ran : 0;
		if (leaves > weight)
			leaves = weight;
		if (leaves > 0)
			r = pathprof_branch_profile_add_range(p, start, g->blocks[b].last,
							      after_call, leaves);
		weight -= leaves;
	}
	return r;
}

static double less(double whole, double part)
{
	return whole > part ? whole - part : 0;
}

static int fill_block(struct pathprof_branch_profile *p, const struct pathprof_graph *g,
		      const struct passed *passed, uint32_t b)
{
	const struct passed *at = &passed[b];
	double all = less(at->led_to[0] + at->led_to[1], at->begun[0] + at->begun[1]);
	double by[2] = {less(at->led_to[0], at->begun[0]), less(at->led_to[1], at->begun[1])};
	int r = 0;

	/* It is not always known how a run began: both kinds together are at most what is missing
	 * in all. */
	for (int i = 0; !r && i < 2 && all > 0; i++)
		r = follow(p, g, passed, b, i, by[i] * all / (by[0] + by[1]));
	return r;
}

int pp_fill(struct pathprof_branch_profile *p, const struct pathprof_graph *graph)
{
	struct passed *passed = calloc((size_t)graph->block_cnt + 1, sizeof(*passed));
	int r = 0;

	if (!passed)
		return -ENOMEM;
	take_branches(p, graph, passed);
	take_ranges(p, graph, passed);
	count_runs(graph, passed);
	for (uint32_t b = 0; !r && b < graph->block_cnt; b++)
		r = fill_block(p, graph, passed, b);
	free(passed);
	return r;
}
