// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The flow of a function that counted its own paths: see cfg.h. A path is its number, which the
 * compiler's flow resolves into edges, so nothing has to be walked or divided.
 */
#include <stdlib.h>

#include "../text/cleanup.h"
#include "cfg.h"

void cfg_counted_add_edges(struct cfg *cfg, uint32_t block)
{
	const struct pathprof_flow *flow = &cfg->target->flow;
	uint32_t first = flow->nodes[block].first_edge, end = flow->nodes[block + 1].first_edge;

	cfg->blocks[block].first_edge = first;
	for (uint32_t e = first; e < end; e++)
		cfg->edges[e] = (struct cfg_edge){
			.from = block,
			.to = flow->edges[e].to,
			.leads_to = flow->edges[e].to,
			.kind = end - first == 1 ? (uint32_t)PATHPROF_EDGE_CONTINUE : CFG_WAY,
		};
	cfg->edge_cnt = end;
}

static void visit(struct cfg_block *block, const struct pathprof_path_row *row, bool mark)
{
	if (mark) {
		block->hot = true;
		return;
	}
	block->weight += row->weight;
	block->samples += row->samples;
}

/* The edge that ends a path at a cut was taken, and the next path begins in the block behind it. */
static void follow(struct cfg *cfg, const struct pathprof_flow_path *path,
		   const struct pathprof_path_row *row, bool mark)
{
	visit(&cfg->blocks[path->start], row, mark);
	for (uint32_t i = 0; i < path->edge_cnt; i++) {
		struct cfg_edge *edge = &cfg->edges[path->edges[i]];

		if (mark)
			edge->hot = true;
		else
			edge->weight += row->weight;
		if (!cfg->target->flow.edges[path->edges[i]].retreating)
			visit(&cfg->blocks[edge->to], row, mark);
	}
}

bool cfg_counted_walk(struct cfg *cfg, const struct pathprof_path_row *row, bool mark)
{
	const struct target *target = cfg->target;
	struct pathprof_flow_path path = {.edge_room = target->flow.node_cnt + 1};
	bool is_own = pathprof_counted_function_of(row->start) == target->function;

	if (!is_own)
		return false;
	path.edges = ctl_alloc(path.edge_room * sizeof(*path.edges));
	is_own = pathprof_function_paths_of_id(target->paths,
					       pathprof_counted_number_of(row->start), &path) == 0;
	if (is_own)
		follow(cfg, &path, row, mark);
	free(path.edges);
	return is_own;
}
