// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Nodes and edges of one function out of a graph; see flow.h for workload and ownership. Properties
 * of the shape alone are found by flow_search.c, dominators.c and loops.c.
 */
#include "pathprof/flow.h"
#include "pp_flow.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/search.h"

/* ---------------------------------------------------------------- nodes */

static const struct pathprof_graph_part *parts_of(const struct pathprof_graph *graph,
						  uint32_t function, uint32_t *ret_cnt)
{
	const struct pathprof_graph_function *f = &graph->functions[function];

	*ret_cnt = f->part_cnt;
	return &graph->parts[f->first_part];
}

static uint64_t count_blocks(const struct pathprof_graph *graph, uint32_t function)
{
	uint32_t part_cnt;
	const struct pathprof_graph_part *parts = parts_of(graph, function, &part_cnt);
	uint64_t cnt = 0;

	for (uint32_t p = 0; p < part_cnt; p++)
		cnt += parts[p].block_cnt;
	return cnt;
}

static int by_block(const void *x, const void *y)
{
	const struct pathprof_flow_node *a = x, *b = y;

	return (a->block > b->block) - (a->block < b->block);
}

/* A cold part may lie before the hot one: the order of parts is not that of blocks. */
static void fill_nodes(struct pathprof_flow *flow, const struct pathprof_graph *graph)
{
	uint32_t part_cnt, at = 1, entry = graph->functions[flow->function].entry;
	const struct pathprof_graph_part *parts = parts_of(graph, flow->function, &part_cnt);

	flow->nodes[0].block = entry;
	for (uint32_t p = 0; p < part_cnt; p++) {
		uint32_t end = parts[p].first_block + parts[p].block_cnt;

		for (uint32_t b = parts[p].first_block; b < end; b++)
			if (b != entry && at < flow->node_cnt)
				flow->nodes[at++].block = b;
	}
	flow->node_cnt = at;
	qsort(&flow->nodes[1], at - 1, sizeof(flow->nodes[0]), by_block);
	for (uint32_t v = 0; v < at; v++)
		flow->nodes[v].loop = PATHPROF_GRAPH_NONE;
}

static int make_nodes(struct pathprof_flow *flow, const struct pathprof_graph *graph)
{
	uint64_t cnt = count_blocks(graph, flow->function);

	if (!cnt || cnt >= PATHPROF_GRAPH_NONE)
		return -EINVAL;
	flow->nodes = calloc(cnt + 1, sizeof(*flow->nodes));
	if (!flow->nodes)
		return -ENOMEM;
	flow->node_cnt = (uint32_t)cnt;
	fill_nodes(flow, graph);
	return 0;
}

uint32_t pathprof_flow_node_of(const struct pathprof_flow *flow, uint32_t block)
{
	uint32_t low;

	if (flow->nodes[0].block == block)
		return 0;
	low = pp_first(i, 1, flow->node_cnt, flow->nodes[i].block >= block);
	return low < flow->node_cnt && flow->nodes[low].block == block ? low : PATHPROF_GRAPH_NONE;
}

/* ---------------------------------------------------------------- edges */

/* The node that an edge leads to; PATHPROF_GRAPH_NONE: out of the function. */
static uint32_t inner_target(const struct pathprof_flow *flow, const struct pathprof_graph *graph,
			     const struct pathprof_edge *edge)
{
	if (edge->kind == PATHPROF_EDGE_CALL || edge->kind == PATHPROF_EDGE_TAIL ||
	    edge->to == PATHPROF_GRAPH_NONE || graph->blocks[edge->to].function != flow->function)
		return PATHPROF_GRAPH_NONE;
	return pathprof_flow_node_of(flow, edge->to);
}

/* The block a conditional's branch leads to, whichever way it goes now. */
static uint32_t branch_target(const struct pathprof_graph *graph, uint32_t block)
{
	uint32_t end = graph->blocks[block + 1].first_edge;

	for (uint32_t e = graph->blocks[block].first_edge; e < end; e++)
		if (graph->edges[e].kind == PATHPROF_EDGE_TAKEN ||
		    graph->edges[e].kind == PATHPROF_EDGE_TAIL)
			return graph->edges[e].to;
	return PATHPROF_GRAPH_NONE;
}

static bool lies_behind(const struct pathprof_graph *graph, uint32_t block, uint32_t target)
{
	return target != PATHPROF_GRAPH_NONE &&
	       graph->blocks[target].start <= graph->blocks[block].last;
}

static bool leads_backward(const struct pathprof_graph *graph, uint32_t block,
			   const struct pathprof_edge *edge)
{
	return lies_behind(graph, block, edge->to) ||
	       (edge->kind == PATHPROF_EDGE_NOT_TAKEN &&
		lies_behind(graph, block, branch_target(graph, block)));
}

/* Takes a node's edges (only counts them while flow->edges is NULL) and whether it exits. */
static void take_edges(struct pathprof_flow *flow, const struct pathprof_graph *graph, uint32_t v)
{
	struct pathprof_flow_node *node = &flow->nodes[v];
	const struct pathprof_graph_block *block = &graph->blocks[node->block];

	node->first_edge = flow->edge_cnt;
	node->exits = block->kind == PERF_BR_RET;
	for (uint32_t e = block[0].first_edge; e < block[1].first_edge; e++) {
		const struct pathprof_edge *edge = &graph->edges[e];
		uint32_t to = inner_target(flow, graph, edge);

		if (to == PATHPROF_GRAPH_NONE) {
			node->exits |= edge->kind != PATHPROF_EDGE_CALL;
			continue;
		}
		if (flow->edges)
			flow->edges[flow->edge_cnt] = (struct pathprof_flow_edge){
				.from = v,
				.to = to,
				.kind = edge->kind,
				.backward = leads_backward(graph, node->block, edge),
			};
		flow->edge_cnt++;
	}
	node->exits |= flow->edge_cnt == node->first_edge;
}

static void take_all_edges(struct pathprof_flow *flow, const struct pathprof_graph *graph)
{
	flow->edge_cnt = 0;
	for (uint32_t v = 0; v < flow->node_cnt; v++)
		take_edges(flow, graph, v);
	flow->nodes[flow->node_cnt].first_edge = flow->edge_cnt;
}

static int make_edges(struct pathprof_flow *flow, const struct pathprof_graph *graph)
{
	take_all_edges(flow, graph);
	flow->edges = calloc((size_t)flow->edge_cnt + 1, sizeof(*flow->edges));
	if (!flow->edges)
		return -ENOMEM;
	take_all_edges(flow, graph);
	return 0;
}

/* ---------------------------------------------------------------- the whole */

static int understand(struct pathprof_flow *flow)
{
	struct pp_flow_search search;
	int r = pp_flow_search_init(&search, flow);

	if (r)
		return r;
	r = pp_flow_find_dominators(flow, &search);
	if (!r)
		r = pp_flow_find_loops(flow, &search);
	pp_flow_search_release(&search);
	return r;
}

int pathprof_flow_init(struct pathprof_flow *ret_flow, const struct pathprof_graph *graph,
		       uint32_t function)
{
	struct pathprof_flow flow = {.function = function};
	int r;

	if (function >= graph->function_cnt ||
	    graph->functions[function].entry == PATHPROF_GRAPH_NONE)
		return -EINVAL;
	r = make_nodes(&flow, graph);
	if (!r)
		r = make_edges(&flow, graph);
	if (!r)
		r = understand(&flow);
	if (r) {
		pathprof_flow_release(&flow);
		return r;
	}
	*ret_flow = flow;
	return 0;
}

/* ---------------------------------------------------------------- of arcs */

static bool arcs_are_sound(uint32_t node_cnt, const struct pathprof_flow_arc *arcs,
			   uint32_t arc_cnt)
{
	for (uint32_t i = 0; i < arc_cnt; i++)
		if (arcs[i].from >= node_cnt || arcs[i].to >= node_cnt ||
		    (i && arcs[i].from < arcs[i - 1].from))
			return false;
	return node_cnt && node_cnt < PATHPROF_GRAPH_NONE && arc_cnt < PATHPROF_GRAPH_NONE;
}

static void take_arcs(struct pathprof_flow *flow, const struct pathprof_flow_arc *arcs)
{
	uint32_t e = 0;

	for (uint32_t v = 0; v < flow->node_cnt; v++) {
		flow->nodes[v] = (struct pathprof_flow_node){
			.block = v, .first_edge = e, .loop = PATHPROF_GRAPH_NONE};
		for (; e < flow->edge_cnt && arcs[e].from == v; e++)
			flow->edges[e] = (struct pathprof_flow_edge){
				.from = v, .to = arcs[e].to, .kind = PATHPROF_EDGE_JUMP};
		flow->nodes[v].exits = e == flow->nodes[v].first_edge;
	}
	flow->nodes[flow->node_cnt].first_edge = flow->edge_cnt;
}

int pathprof_flow_init_arcs(struct pathprof_flow *ret_flow, uint32_t node_cnt,
			    const struct pathprof_flow_arc *arcs, uint32_t arc_cnt)
{
	struct pathprof_flow flow = {.node_cnt = node_cnt, .edge_cnt = arc_cnt};
	int r;

	if (!arcs_are_sound(node_cnt, arcs, arc_cnt))
		return -EINVAL;
	flow.nodes = calloc((size_t)node_cnt + 1, sizeof(*flow.nodes));
	flow.edges = calloc((size_t)arc_cnt + 1, sizeof(*flow.edges));
	r = flow.nodes && flow.edges ? 0 : -ENOMEM;
	if (!r) {
		take_arcs(&flow, arcs);
		r = understand(&flow);
	}
	if (r) {
		pathprof_flow_release(&flow);
		return r;
	}
	for (uint32_t e = 0; e < arc_cnt; e++) {
		flow.edges[e].cut = arcs[e].cut && !flow.edges[e].retreating;
		flow.edges[e].retreating |= arcs[e].cut;
	}
	*ret_flow = flow;
	return 0;
}

void pathprof_flow_release(struct pathprof_flow *flow)
{
	free(flow->nodes);
	free(flow->edges);
	free(flow->loops);
	*flow = (struct pathprof_flow){0};
}

bool pathprof_flow_dominates(const struct pathprof_flow *flow, uint32_t a, uint32_t b)
{
	if (a >= flow->node_cnt || b >= flow->node_cnt)
		return false;
	return flow->nodes[b].dom_first - flow->nodes[a].dom_first < flow->nodes[a].dom_cnt;
}
