// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths by number: see number.h. */
#include "number.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "../text/cleanup.h"

/* ---------------------------------------------------------------- code */

struct runs {
	struct pathprof_block *list;
	size_t cnt, room;
	struct pathprof_block run; /* the one at hand */
	bool open;                 /* `run` goes on in the next block */
};

static void add_run(struct runs *runs, const struct pathprof_block *run)
{
	ctl_grow(&runs->list, runs->cnt, &runs->room);
	runs->list[runs->cnt++] = *run;
}

static int unfold(const struct target *target, uint64_t number, struct pathprof_flow_path *ret_path)
{
	struct pathprof_flow_path path = {.edge_room = 64};
	int r;

	path.edges = ctl_alloc(path.edge_room * sizeof(path.edges[0]));
	r = pathprof_function_paths_of_id(target->paths, number, &path);
	if (r == -ENOBUFS) {
		path.edges = ctl_realloc(path.edges, path.edge_room, path.edge_cnt,
					 sizeof(path.edges[0]));
		path.edge_room = path.edge_cnt;
		r = pathprof_function_paths_of_id(target->paths, number, &path);
	}
	if (r < 0)
		free(path.edges);
	else
		*ret_path = path;
	return r;
}

/* A conditional branch that ends the path by leaving the function is taken: if not taken, it would
 * stay in the function. */
static bool is_taken(const struct pathprof_flow_edge *edge)
{
	return !edge || edge->kind != PATHPROF_EDGE_NOT_TAKEN;
}

static bool goes_straight(const struct target *target, const struct pathprof_flow_edge *edge)
{
	const struct pathprof_graph_block *blocks = target->graph->blocks;
	const struct pathprof_flow_node *nodes = target->flow.nodes;

	return edge && (edge->kind == PATHPROF_EDGE_CONTINUE || edge->kind == PATHPROF_EDGE_FALL) &&
	       blocks[nodes[edge->to].block].start == blocks[nodes[edge->from].block].end;
}

/* Whether the path ends with its last edge, a cut one, instead of in the block that one leads to.
 */
static bool ends_path(const struct target *target, const struct pathprof_flow_edge *edge)
{
	const struct pathprof_flow_node *nodes = target->flow.nodes;

	return edge->backward || edge->kind == PATHPROF_EDGE_UNWIND ||
	       target->graph->blocks[nodes[edge->from].block].kind == PERF_BR_IND ||
	       !nodes[edge->to].exits;
}

static void add_block(struct runs *runs, const struct target *target, uint32_t node,
		      const struct pathprof_flow_edge *edge)
{
	const struct pathprof_graph_block *code =
		&target->graph->blocks[target->flow.nodes[node].block];

	if (!runs->open)
		runs->run.start = code->start;
	runs->open = goes_straight(target, edge);
	runs->run.end = code->end;
	runs->run.kind = code->kind;
	runs->run.taken = is_taken(edge);
	if (!runs->open)
		add_run(runs, &runs->run);
}

int number_blocks(const struct target *target, uint64_t number, struct pathprof_block **ret_blocks,
		  size_t *ret_cnt)
{
	const struct pathprof_flow *flow = &target->flow;
	const struct pathprof_flow_edge *edge = NULL;
	struct runs runs = {.list = NULL};
	struct pathprof_flow_path path;
	uint32_t node;
	int r = unfold(target, number, &path);

	if (r < 0)
		return r;
	node = path.start;
	for (uint32_t i = 0; i < path.edge_cnt; i++) {
		edge = &flow->edges[path.edges[i]];
		add_block(&runs, target, node, edge);
		node = edge->to;
	}
	if (!edge || !ends_path(target, edge))
		add_block(&runs, target, node, NULL);
	if (runs.open)
		add_run(&runs, &runs.run);
	free(path.edges);
	*ret_blocks = runs.list;
	*ret_cnt = runs.cnt;
	return 0;
}

/* ---------------------------------------------------------------- profile */

struct wanted {
	const struct target *target;
	uint64_t number;
	int described; /* what pathprof_function_paths_descriptor said */
	uint64_t start;
	uint32_t length, outcomes;
	int64_t id;
};

/*
 * Compares descriptors, since of paths that differ only by the target of their indirect jump the
 * profile knows only the lowest number. A path that runs on into another function has more branches
 * than its part here.
 */
static bool matches(const struct wanted *wanted, const struct pathprof_path_row *row)
{
	uint64_t number;

	if (!pathprof_build_id_equal(&row->binary_id, &wanted->target->id) ||
	    row->start != wanted->start)
		return false;
	if (wanted->described == 0)
		return row->length == wanted->length && row->outcomes == wanted->outcomes;
	return target_number(wanted->target, row->start, row->length, row->outcomes, &number) ==
		       1 &&
	       number == wanted->number;
}

static int match(void *context, const struct pathprof_path_row *row)
{
	struct wanted *wanted = context;

	if (!matches(wanted, row))
		return 0;
	wanted->id = row->id;
	return 1;
}

int number_find(const struct target *target, uint64_t number, struct view_query *query,
		int64_t *ret_id, struct pathprof_error *error)
{
	struct wanted wanted = {.target = target, .number = number};
	struct pathprof_filter filter = query->filter;
	char hex[PATHPROF_BUILD_ID_TEXT_LEN];
	int r = 0;

	wanted.described =
		pathprof_function_paths_descriptor(target->paths, target->graph, number,
						   &wanted.start, &wanted.length, &wanted.outcomes);
	target_filter(target, &filter, hex);
	if (wanted.described >= 0)
		r = pathprof_store_paths(query->store, &filter, match, &wanted, error);
	if (r >= 0)
		*ret_id = wanted.id;
	return r < 0 ? r : 0;
}
