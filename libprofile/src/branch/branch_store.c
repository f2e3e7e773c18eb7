// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A branch profile of what a store has of one binary; see branch_profile.h for scale and rules.
 *
 * Workload: up to 10^6 paths and edges, each read once; a path costs a walk over its code.
 */
#include "pp_branch_profile.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "pp_code_ranges.h"
#include "pp_fill.h"
#include "pp_straight.h"

struct taking {
	struct pathprof_branch_profile *profile;
	struct pathprof_code *code;
	const struct pathprof_graph *graph;
	struct pathprof_error *error;
	struct pp_code_ranges *ranges; /* NULL: ranges are those of the paths */
	struct pp_runs_of_paths runs;
	struct pp_run run; /* being put together */
	double weight;     /* of the path at hand */
	double clock_ns;   /* CPU time of the windows' clock samples */
	double clock_samples;
};

static int no_memory(struct taking *t, int r)
{
	return r ? pathprof_fail(t->error, r, "branch profile: %s", strerror(-r)) : 0;
}

/* ---------------------------------------------------------------- paths */

static bool is_call(uint32_t kind)
{
	return kind == PERF_BR_CALL || kind == PERF_BR_IND_CALL;
}

/* The run ends with the instruction at last; the next begins, or none does (from 0). */
static int end_run(struct taking *t, uint64_t last, uint64_t open)
{
	t->run.last = last;
	t->run.open = open;
	t->run.weight = t->weight;
	return pp_straight_add(&t->runs, &t->run);
}

/* Cuts [start, end) at its calls, but for its last instruction. */
static int pass_calls(struct taking *t, const struct pathprof_block *block)
{
	const struct pathprof_graph *g = t->graph;
	uint32_t b = pathprof_graph_block_at(g, block->start);

	for (; b < g->block_cnt && g->blocks[b].end < block->end; b++) {
		int r;

		if (!is_call(g->blocks[b].kind))
			continue;
		r = end_run(t, g->blocks[b].last, 0);
		if (r)
			return r;
		t->run = (struct pp_run){.from = PP_FROM_CALL, .start = g->blocks[b].end};
	}
	return 0;
}

/* The path's blocks, in a buffer: what follows a block says whether the path goes on. */
#define BLOCKS_MAX 33
struct blocks {
	struct pathprof_block of[BLOCKS_MAX];
	uint32_t cnt;
};

static int take_block(void *context, const struct pathprof_block *block)
{
	struct blocks *blocks = context;

	if (blocks->cnt == BLOCKS_MAX)
		return -E2BIG;
	blocks->of[blocks->cnt++] = *block;
	return 0;
}

static int pass_block(struct taking *t, const struct blocks *blocks, uint32_t i)
{
	const struct pathprof_block *block = &blocks->of[i];
	uint32_t b = pathprof_graph_block_at(t->graph, block->end - 1);
	uint64_t last = b == PATHPROF_GRAPH_NONE ? block->start : t->graph->blocks[b].last;
	bool ends = i + 1 == blocks->cnt;
	int r = pass_calls(t, block);

	if (r)
		return r;
	if (block->kind == PERF_BR_COND && !block->taken)
		return ends ? end_run(t, last, block->end) : 0;
	r = end_run(t, last, 0);
	if (!ends)
		t->run = (struct pp_run){.from = last, .start = blocks->of[i + 1].start};
	return r;
}

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct taking *t = context;
	struct pathprof_branch_origin *o = &t->profile->origin;
	struct blocks blocks = {.cnt = 0};
	struct pathprof_error unused;
	int r;

	if (!pathprof_build_id_equal(&row->binary_id, &o->build_id) || !(row->weight > 0))
		return 0;
	r = t->ranges ? 0
		      : pathprof_code_walk(t->code, row->start, row->length, row->outcomes,
					   take_block, &blocks, &unused);
	if (r == -EBADMSG || r == -EINVAL || r == -E2BIG) {
		o->refused = pp_count_sum(o->refused, row->samples);
		return 0;
	}
	if (r)
		return r;
	o->samples = pp_count_sum(o->samples, row->samples);
	o->weight += row->weight;
	t->weight = row->weight;
	t->run = (struct pp_run){.from = PP_FROM_START, .start = row->start};
	for (uint32_t i = 0; !r && i < blocks.cnt; i++)
		r = pass_block(t, &blocks, i);
	if (!r && !o->binary)
		r = pathprof_branch_profile_name(t->profile, row->binary_name, NULL, NULL);
	return no_memory(t, r);
}

/* ---------------------------------------------------------------- edges */

/* The place of an offset, PATHPROF_OUTSIDE for another binary. false: of this one, but no code. */
static bool place(const struct taking *t, const struct pathprof_build_id *id, uint64_t offset,
		  uint64_t *ret_place)
{
	uint64_t vaddr;

	if (!pathprof_build_id_equal(id, &t->profile->origin.build_id)) {
		*ret_place = PATHPROF_OUTSIDE;
		return true;
	}
	if (pathprof_code_offset_to_vaddr(t->code, offset, &vaddr))
		return false;
	*ret_place = offset;
	return true;
}

static int take_edge(void *context, const struct pathprof_edge_row *row)
{
	struct taking *t = context;
	struct pathprof_branch_origin *o = &t->profile->origin;
	double a_count = row->count ? row->weight / (double)row->count : 1;
	struct pp_branch_entry branch = {
		.weight = row->weight,
		.mispredicted_weight = (double)row->mispredicted * a_count,
	};
	uint64_t from, to;

	if (!place(t, &row->from_id, row->from, &from) || !place(t, &row->to_id, row->to, &to)) {
		o->refused = pp_count_sum(o->refused, row->count);
		return 0;
	}
	if (from == PATHPROF_OUTSIDE && to == PATHPROF_OUTSIDE)
		return 0;
	o->taken = pp_count_sum(o->taken, row->count);
	branch.at[0] = from;
	branch.at[1] = to;
	return no_memory(t, pp_branch_add(t->profile, PP_ENTRY_BRANCH, &branch));
}

/* ---------------------------------------------------------------- ranges of an import */

/* Adds a range as it was in the imported file, without a check against the code. */
static int take_counted(struct taking *t, const struct pathprof_range_row *row)
{
	struct pp_branch_entry range = {.at = {row->start, row->last, row->from != 0},
					.count = row->count};
	struct pp_branch_entry trace = {.at = {row->from, row->start, row->last},
					.count = row->count};

	return pathprof_build_id_equal(row->from_id, row->to_id)
		       ? pp_branch_add(t->profile, PP_ENTRY_TRACE, &trace)
		       : pp_branch_add(t->profile, PP_ENTRY_RANGE, &range);
}

static int take_range(void *context, const struct pathprof_range_row *row)
{
	struct taking *t = context;
	uint64_t from, start, last;

	if (!pathprof_build_id_equal(row->to_id, &t->profile->origin.build_id))
		return 0;
	if (!place(t, row->from_id, row->from, &from) ||
	    !place(t, row->to_id, row->start, &start) || !place(t, row->to_id, row->last, &last) ||
	    start > last) {
		t->ranges->misfits = pp_count_sum(t->ranges->misfits, row->count);
		return 0;
	}
	return no_memory(t, row->is_counted
				    ? take_counted(t, row)
				    : pp_code_ranges_add(t->ranges, from, start, last, row->count));
}

/*
 * If all windows were imported and kept their ranges, these are taken, as by export --recording;
 * else ranges are derived from the paths. Ranges are not kept by process.
 */
static int take_ranges(struct taking *t, struct pathprof_store *store,
		       const struct pathprof_filter *filter, struct pp_code_ranges *ranges)
{
	int r;

	if (filter->pid || filter->comm || filter->container || filter->workload)
		return 0;
	t->ranges = ranges;
	r = pathprof_store_ranges(store, filter, take_range, t, t->error);
	if (r == -ENODATA)
		t->ranges = NULL;
	return r == -ENODATA ? 0 : r;
}

/* ---------------------------------------------------------------- time */

static int take_clock(void *context, const struct pathprof_clock_row *row)
{
	struct taking *t = context;
	double ns = (double)row->samples * t->clock_ns / t->clock_samples;

	if (!pathprof_build_id_equal(&row->binary_id, &t->profile->origin.build_id))
		return 0;
	return no_memory(t, pathprof_branch_profile_add_time(t->profile, row->place, ns));
}

static void add_clock(struct taking *t, const struct pathprof_window_row *row)
{
	double samples = (double)row->totals.clock_samples;

	if (!row->clock_hz)
		return;
	t->clock_samples += samples;
	t->clock_ns += samples * 1e9 / row->clock_hz;
}

/* ---------------------------------------------------------------- where it comes from */

static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct taking *t = context;
	const char *source = pathprof_source_name(row->source);
	struct pathprof_branch_profile window = {
		.origin = {.build_id = t->profile->origin.build_id,
			   .sources = (char *)source,
			   .basis = row->basis,
			   .horizon = row->horizon,
			   .begin_ns = row->begin_ns,
			   .end_ns = row->end_ns,
			   .windows = 1,
			   .weighed = row->weighed},
	};

	add_clock(t, row);
	return no_memory(
		t, pp_branch_merge_origin(t->profile, &window.origin, !t->profile->origin.windows));
}

int pathprof_branch_profile_add_store(struct pathprof_branch_profile *p,
				      struct pathprof_store *store,
				      const struct pathprof_filter *filter,
				      struct pathprof_code *code,
				      const struct pathprof_graph *graph,
				      struct pathprof_error *error)
{
	struct taking taking = {
		.profile = p,
		.code = code,
		.graph = graph,
		.error = error,
	};
	struct pathprof_filter windows = *filter, edges = *filter, paths = *filter;
	struct pp_code_ranges ranges;
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	int r = pp_branch_check_id(p, &graph->build_id, "the code", error);

	if (r)
		return r;
	p->origin.build_id = graph->build_id;
	/* Edges that lead into the binary are of another one. */
	windows.binary = edges.binary = NULL;
	paths.binary = pathprof_build_id_text(&graph->build_id, id);
	windows.limit = edges.limit = paths.limit = 0;
	r = no_memory(&taking, pp_code_ranges_init(&ranges, graph, p));
	if (r)
		return r;
	r = pathprof_store_windows(store, &windows, take_window, &taking, error);
	if (!r)
		r = take_ranges(&taking, store, &paths, &ranges);
	if (!r)
		r = pathprof_store_edges(store, &edges, take_edge, &taking, error);
	if (!r)
		r = pathprof_store_paths(store, &paths, take_path, &taking, error);
	if (!r && taking.clock_samples > 0)
		r = pathprof_store_clocks(store, &paths, take_clock, &taking, error);
	if (!r)
		r = no_memory(&taking, pp_straight_emit(&taking.runs, p));
	if (!r && !taking.ranges)
		r = no_memory(&taking, pp_fill(p, graph));
	p->origin.refused = pp_count_sum(p->origin.refused, ranges.misfits);
	pp_straight_release(&taking.runs);
	pp_code_ranges_release(&ranges);
	return r;
}
