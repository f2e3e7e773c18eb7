// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts of the profile, added to blocks and edges: see cfg.h. A path is walked over the graph, as
 * pathprof_code_walk does over the code: one outcome for each branch, calls are skipped, and the
 * path ends at a return, an indirect jump, a backward branch or the 32nd.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "cfg.h"

#define BRANCHES_MAX 32
#define STEPS_MAX    (1U << 18) /* calls between two branches lead on in the file, so it ends */

struct tally {
	struct cfg *cfg;
	const struct pathprof_path_row *row;
	bool mark;        /* as the hottest instead of counting */
	bool within;      /* it ran through the function */
	double best;      /* weight of the hottest so far */
	bool best_begins; /* and that begins in the function */
};

/* ---------------------------------------------------------------- walking */

static uint32_t edge_of(const struct pathprof_graph *graph, uint32_t block, uint32_t kind)
{
	for (uint32_t e = graph->blocks[block].first_edge; e < graph->blocks[block + 1].first_edge;
	     e++)
		if (graph->edges[e].kind == kind)
			return e;
	return PATHPROF_GRAPH_NONE;
}

static uint32_t either(const struct pathprof_graph *graph, uint32_t block, uint32_t kind,
		       uint32_t other)
{
	uint32_t edge = edge_of(graph, block, kind);

	return edge == PATHPROF_GRAPH_NONE ? edge_of(graph, block, other) : edge;
}

/* The edge by which control leaves a block; PATHPROF_GRAPH_NONE: not known. */
static uint32_t way_of(const struct pathprof_graph *graph, uint32_t block, bool taken)
{
	switch (graph->blocks[block].kind) {
	case PERF_BR_COND:
		return taken ? either(graph, block, PATHPROF_EDGE_TAKEN, PATHPROF_EDGE_TAIL)
			     : edge_of(graph, block, PATHPROF_EDGE_NOT_TAKEN);
	case PERF_BR_UNCOND:
		return either(graph, block, PATHPROF_EDGE_JUMP, PATHPROF_EDGE_TAIL);
	case PERF_BR_IND:
	case PERF_BR_RET:
		return PATHPROF_GRAPH_NONE;
	default:
		return either(graph, block, PATHPROF_EDGE_CONTINUE, PATHPROF_EDGE_FALL);
	}
}

static bool is_branch(uint32_t kind)
{
	return kind == PERF_BR_COND || kind == PERF_BR_UNCOND || kind == PERF_BR_IND;
}

/* Whether the branch at the end of block lies at or behind its target. */
static bool is_backward(const struct pathprof_graph *graph, uint32_t block)
{
	uint32_t edge = way_of(graph, block, true);
	uint32_t to = edge == PATHPROF_GRAPH_NONE ? edge : graph->edges[edge].to;

	return to == PATHPROF_GRAPH_NONE || graph->blocks[to].start <= graph->blocks[block].last;
}

static void visit(struct tally *tally, uint32_t block, uint32_t edge)
{
	struct cfg *cfg = tally->cfg;
	const struct pathprof_graph *graph = cfg->target->graph;
	uint32_t node = pathprof_flow_node_of(&cfg->target->flow, block);
	struct cfg_block *b;

	if (node == PATHPROF_GRAPH_NONE)
		return;
	tally->within = true;
	b = &cfg->blocks[node];
	if (tally->mark)
		b->hot = true;
	else
		b->weight += tally->row->weight, b->samples += tally->row->samples;
	if (edge == PATHPROF_GRAPH_NONE)
		return;
	for (uint32_t e = b->first_edge; e < b[1].first_edge; e++) {
		if (cfg->edges[e].kind != graph->edges[edge].kind)
			continue;
		if (tally->mark)
			cfg->edges[e].hot = true;
		else
			cfg->edges[e].weight += tally->row->weight;
	}
}

static void walk_code(struct tally *tally, const struct pathprof_path_row *row)
{
	const struct pathprof_graph *graph = tally->cfg->target->graph;
	uint32_t block = pathprof_graph_block_at(graph, row->start), used = 0;

	for (uint32_t step = 0; block != PATHPROF_GRAPH_NONE && step < STEPS_MAX; step++) {
		uint32_t kind = graph->blocks[block].kind;
		bool branch = is_branch(kind);
		uint32_t edge;

		if (branch && used == row->length)
			return;
		edge = way_of(graph, block, branch && (row->outcomes >> used & 1));
		used += branch;
		visit(tally, block, edge);
		if (branch && (used == BRANCHES_MAX || is_backward(graph, block)))
			return;
		block = edge == PATHPROF_GRAPH_NONE ? edge : graph->edges[edge].to;
	}
}

static void walk(struct tally *tally, const struct pathprof_path_row *row)
{
	tally->row = row;
	tally->within = false;
	if (tally->cfg->target->counted)
		tally->within = cfg_counted_walk(tally->cfg, row, tally->mark);
	else
		walk_code(tally, row);
}

/* ---------------------------------------------------------------- paths */

static void keep_hottest(struct tally *tally, const struct pathprof_path_row *row)
{
	const struct target *target = tally->cfg->target;
	bool begins = target->counted || target_function_at(target, row->start) == target->function;

	if (begins < tally->best_begins ||
	    (begins == tally->best_begins && row->weight <= tally->best))
		return;
	tally->best = row->weight;
	tally->best_begins = begins;
	tally->cfg->hottest = *row;
	tally->cfg->hottest.binary_name = NULL;
}

static int add_path(void *context, const struct pathprof_path_row *row)
{
	struct tally *tally = context;
	struct cfg *cfg = tally->cfg;

	if (!pathprof_build_id_equal(&row->binary_id, &cfg->target->id))
		return 0;
	walk(tally, row);
	if (!tally->within)
		return 0;
	cfg->weight += row->weight;
	cfg->samples += row->samples;
	cfg->path_cnt++;
	keep_hottest(tally, row);
	return 0;
}

/* ---------------------------------------------------------------- taken edges */

static bool is_taken_kind(uint32_t kind)
{
	return kind == PATHPROF_EDGE_TAKEN || kind == PATHPROF_EDGE_JUMP ||
	       kind == PATHPROF_EDGE_SWITCH || kind == PATHPROF_EDGE_GUESSED ||
	       kind == PATHPROF_EDGE_TAIL;
}

/* The edge of a block that leads to that offset; NULL: none does. */
static struct cfg_edge *find_edge(struct cfg *cfg, const struct cfg_block *block, uint64_t to)
{
	const struct pathprof_graph *graph = cfg->target->graph;

	for (uint32_t e = block->first_edge; e < block[1].first_edge; e++) {
		struct cfg_edge *edge = &cfg->edges[e];

		if (is_taken_kind(edge->kind) && edge->leads_to != PATHPROF_GRAPH_NONE &&
		    graph->blocks[edge->leads_to].start == to)
			return edge;
	}
	return NULL;
}

static void add_leaving(struct cfg *cfg, const struct pathprof_edge_row *row, bool same_binary)
{
	const struct target *target = cfg->target;
	uint32_t at = pathprof_graph_block_at(target->graph, row->from);
	uint32_t node = pathprof_flow_node_of(&target->flow, at);
	struct cfg_edge *edge;

	if (node == PATHPROF_GRAPH_NONE)
		return;
	switch (target->graph->blocks[at].kind) {
	case PERF_BR_CALL:
	case PERF_BR_IND_CALL:
	case PERF_BR_SYSCALL:
		cfg->blocks[node].called += row->count;
		return;
	case PERF_BR_RET:
		cfg->blocks[node].returned += row->count;
		return;
	}
	cfg->taken += row->count;
	edge = same_binary ? find_edge(cfg, &cfg->blocks[node], row->to) : NULL;
	if (edge) {
		edge->taken += row->count;
		edge->mispredicted += row->mispredicted;
	} else {
		cfg->unlisted += row->count;
	}
}

static void add_entering(struct cfg *cfg, const struct pathprof_edge_row *row, bool same_binary)
{
	const struct target *target = cfg->target;
	uint32_t at = pathprof_graph_block_at(target->graph, row->to);
	uint32_t node = pathprof_flow_node_of(&target->flow, at);

	if (node == PATHPROF_GRAPH_NONE || target->graph->blocks[at].start != row->to)
		return;
	if (!same_binary || target_function_at(target, row->from) != target->function)
		cfg->blocks[node].entered += row->count;
}

static int add_edge(void *context, const struct pathprof_edge_row *row)
{
	struct cfg *cfg = ((struct tally *)context)->cfg;
	bool from_here = pathprof_build_id_equal(&row->from_id, &cfg->target->id);
	bool to_here = pathprof_build_id_equal(&row->to_id, &cfg->target->id);

	if (from_here)
		add_leaving(cfg, row, to_here);
	if (to_here)
		add_entering(cfg, row, from_here);
	return 0;
}

/* ---------------------------------------------------------------- clock samples */

static int add_clock(void *context, const struct pathprof_clock_row *row)
{
	struct cfg *cfg = ((struct tally *)context)->cfg;
	uint32_t node = PATHPROF_GRAPH_NONE;

	if (pathprof_build_id_equal(&row->binary_id, &cfg->target->id))
		node = pathprof_flow_node_of(
			&cfg->target->flow,
			pathprof_graph_block_at(cfg->target->graph, row->place));
	if (node == PATHPROF_GRAPH_NONE)
		return 0;
	cfg->blocks[node].clock += row->samples;
	cfg->clock += row->samples;
	return 0;
}

/* ---------------------------------------------------------------- putting together */

/* Divides an indirect jump's weight among its targets in proportion to its taken branches. */
static void share_out(struct cfg *cfg, uint32_t n)
{
	struct cfg_block *block = &cfg->blocks[n];
	uint64_t taken = 0;

	if (cfg_code_of(cfg, n)->kind != PERF_BR_IND)
		return;
	for (uint32_t e = block->first_edge; e < block[1].first_edge; e++)
		taken += cfg->edges[e].taken;
	for (uint32_t e = block->first_edge; taken && e < block[1].first_edge; e++)
		cfg->edges[e].weight = block->weight * (double)cfg->edges[e].taken / (double)taken;
}

static bool edge_is_tested(const struct cfg *tested, uint32_t from, uint32_t e)
{
	const struct cfg_edge *edge = &tested->edges[e];

	if (!tested->target->counted && cfg_code_of(tested, from)->kind == PERF_BR_IND &&
	    edge->to != PATHPROF_GRAPH_NONE)
		return tested->blocks[edge->to].weight > 0;
	return edge->weight > 0;
}

void cfg_mark_untested(struct cfg *cfg, const struct cfg *tested)
{
	if (cfg->by_taken)
		return;
	cfg->has_tested = true;
	cfg->tested_path_cnt = tested->path_cnt;
	for (uint32_t n = 0; n < cfg->block_cnt; n++) {
		struct cfg_block *block = &cfg->blocks[n];

		block->is_untested = block->weight > 0 && !(tested->blocks[n].weight > 0);
		for (uint32_t e = block->first_edge; e < block[1].first_edge; e++)
			cfg->edges[e].is_untested =
				cfg->edges[e].weight > 0 && !edge_is_tested(tested, n, e);
	}
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Only taken branches are known: a block's weight is the larger of those into it and those out of
 * it. */
static void weigh_by_taken(struct cfg *cfg)
{
	double *in = ctl_alloc((cfg->block_cnt + (size_t)1) * sizeof(*in));

	for (uint32_t e = 0; e < cfg->edge_cnt; e++) {
		struct cfg_edge *edge = &cfg->edges[e];

		edge->weight = (double)edge->taken;
		if (edge->to != PATHPROF_GRAPH_NONE)
			in[edge->to] += edge->weight;
	}
	for (uint32_t n = 0; n < cfg->block_cnt; n++) {
		struct cfg_block *block = &cfg->blocks[n];
		double out = (double)block->called + (double)block->returned;

		for (uint32_t e = block->first_edge; e < block[1].first_edge; e++)
			out += cfg->edges[e].weight;
		block->weight = larger(out, in[n] + (double)block->entered);
		cfg->weight = larger(cfg->weight, block->weight);
	}
	cfg->by_taken = true;
	free(in);
}

/* Machine code has edges and clock samples beside paths. */
static int count_code(struct tally *tally, struct pathprof_store *store,
		      const struct pathprof_filter *own, struct pathprof_error *error)
{
	struct cfg *cfg = tally->cfg;
	int r = pathprof_store_edges(store, own, add_edge, tally, error);

	if (r == 0)
		r = pathprof_store_clocks(store, own, add_clock, tally, error);
	if (r < 0)
		return r;
	for (uint32_t n = 0; n < cfg->block_cnt; n++)
		share_out(cfg, n);
	if (!(cfg->weight > 0))
		weigh_by_taken(cfg);
	return 0;
}

int cfg_count(struct cfg *cfg, struct pathprof_store *store, const struct pathprof_filter *filter,
	      enum pathprof_window_kind kind, struct pathprof_error *error)
{
	struct pathprof_filter own = *filter;
	char hex[PATHPROF_BUILD_ID_TEXT_LEN];
	struct tally tally = {.cfg = cfg};
	int r;

	target_filter(cfg->target, &own, hex);
	r = measure_load(&cfg->measure, store, &own, kind, error);
	if (r == 0)
		r = pathprof_store_paths(store, &own, add_path, &tally, error);
	if (r == 0 && !cfg->target->counted)
		r = count_code(&tally, store, &own, error);
	if (r < 0)
		return r;
	tally.mark = true;
	if (cfg->hottest.id)
		walk(&tally, &cfg->hottest);
	for (uint32_t n = 0; n < cfg->block_cnt; n++)
		cfg->top_weight = larger(cfg->top_weight, cfg->blocks[n].weight);
	return 0;
}
