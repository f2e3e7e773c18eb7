// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Edges that end paths which a profile knows: definite branch flow of the paths that end there
 * against all branch flow that does. How many branches lie behind a node on the average adds up
 * along the edges.
 */
#include <errno.h>
#include <stdlib.h>

#include "pp_obvious.h"

/* An edge is told when KNOWN in OF of the branch flow that ends there is definite. */
#define KNOWN 3
#define OF    4

struct ends {
	const struct pp_profiled *profiled;
	double *definite; /* by edge: branch flow that ends there */
	double *branches; /* by node: branch flow from the starts up to it, without its own */
	uint32_t *order, *wanted;
};

static int take_end(void *user, const struct pp_ways_end *end)
{
	struct ends *ends = user;

	if (end->path->edge_cnt)
		ends->definite[end->path->edges[end->path->edge_cnt - 1]] +=
			end->flow * end->branch_cnt;
	return 0;
}

/* Branch flow that runs over an edge, from the starts up to its node. */
static double flow_over(const struct ends *ends, uint32_t edge)
{
	const struct pp_profiled *p = ends->profiled;
	uint32_t from = p->paths->flow->edges[edge].from;
	double all = (double)p->nodes[from];

	if (all < (double)p->edges[edge])
		all = (double)p->edges[edge];
	return all > 0 ? (ends->branches[from] + all * pp_ways_branch(p->paths, from)) *
				 (double)p->edges[edge] / all
		       : 0;
}

static void add_branches(struct ends *ends)
{
	const struct pathprof_function_paths *p = ends->profiled->paths;
	uint32_t cnt = pp_ways_order(p, ends->order, ends->wanted);

	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t v = ends->order[i];

		for (uint32_t e = p->flow->nodes[v].first_edge;
		     e < p->flow->nodes[v + 1].first_edge; e++)
			if (pp_ways_go_on(p, e))
				ends->branches[p->flow->edges[e].to] += flow_over(ends, e);
	}
}

static bool is_told(const struct ends *ends, uint32_t edge)
{
	const struct pp_profiled *p = ends->profiled;

	return p->paths->cuts[edge] && p->paths->nodes[p->paths->flow->edges[edge].from].path_cnt &&
	       (double)p->edges[edge] >= p->least &&
	       OF * ends->definite[edge] >= KNOWN * flow_over(ends, edge);
}

static int ends_init(struct ends *ends, const struct pathprof_flow *flow)
{
	ends->definite = calloc((size_t)flow->edge_cnt + flow->node_cnt, sizeof(double));
	ends->order = calloc(2 * (size_t)flow->node_cnt, sizeof(*ends->order));
	if (!ends->definite || !ends->order)
		return -ENOMEM;
	ends->branches = ends->definite + flow->edge_cnt;
	ends->wanted = ends->order + flow->node_cnt;
	return 0;
}

int pp_obvious_ends(const struct pp_profiled *profiled, bool *ret_is_told)
{
	struct ends ends = {.profiled = profiled};
	struct pp_profiled all = *profiled;
	const struct pathprof_flow *flow = profiled->paths->flow;
	int r = ends_init(&ends, flow);

	all.least = 1;
	for (uint32_t s = 0; r == 0 && s < profiled->paths->start_cnt; s++)
		if ((double)profiled->starts[s] >= profiled->least)
			r = pp_ways_walk(&all, s, true, take_end, &ends);
	if (r == 0) {
		add_branches(&ends);
		for (uint32_t e = 0; e < flow->edge_cnt; e++)
			ret_is_told[e] = is_told(&ends, e);
	}
	free(ends.definite);
	free(ends.order);
	return r;
}
