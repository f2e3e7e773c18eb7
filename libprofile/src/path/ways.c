// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* A depth-first search that carries what is left of a start's flow. */
#include "pp_ways.h"

#include <errno.h>
#include <stdlib.h>

/* A way with less than one part of so many of its start's flow is not followed. */
#define PARTS 1024

struct way {
	double flow;
	uint32_t node, next_edge, branch_cnt;
};

struct walk {
	const struct pp_profiled *profiled;
	const struct pathprof_function_paths *p;
	struct way *ways;
	struct pathprof_flow_path path;
	double least;
	bool definite;
	pp_ways_take take;
	void *user;
};

static uint32_t first_edge(const struct pathprof_function_paths *p, uint32_t node)
{
	return p->flow->nodes[node].first_edge;
}

uint32_t pp_ways_order(const struct pathprof_function_paths *paths, uint32_t *ret_order,
		       uint32_t *wanted)
{
	const struct pathprof_flow *flow = paths->flow;
	uint32_t cnt = 0;

	for (uint32_t v = 0; v < flow->node_cnt; v++)
		wanted[v] = 0;
	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		if (paths->nodes[flow->edges[e].from].path_cnt && pp_ways_go_on(paths, e))
			wanted[flow->edges[e].to]++;
	for (uint32_t v = 0; v < flow->node_cnt; v++)
		if (paths->nodes[v].path_cnt && !wanted[v])
			ret_order[cnt++] = v;
	for (uint32_t at = 0; at < cnt; at++) {
		uint32_t v = ret_order[at];

		for (uint32_t e = first_edge(paths, v); e < first_edge(paths, v + 1); e++)
			if (pp_ways_go_on(paths, e) && !--wanted[flow->edges[e].to])
				ret_order[cnt++] = flow->edges[e].to;
	}
	return cnt;
}

/* ---------------------------------------------------------------- the walk */

/* The share of `before` that goes on with `flow` of `all`. A profile may contradict itself. */
static double left_of(const struct walk *w, double before, uint64_t all, uint64_t flow)
{
	if (flow >= all)
		return before;
	return w->definite ? before - (double)(all - flow) : before * (double)flow / (double)all;
}

static int take_end(struct walk *w, const struct way *way, uint32_t edge_cnt, double flow)
{
	struct pp_ways_end end = {
		.path = &w->path,
		.branch_cnt = way->branch_cnt + pp_ways_branch(w->p, way->node),
		.flow = flow,
	};

	w->path.edge_cnt = edge_cnt;
	return flow >= w->least ? w->take(w->user, &end) : 0;
}

static int take_leaving(struct walk *w, const struct way *way, uint32_t depth)
{
	uint64_t all = w->profiled->nodes[way->node], on = 0;

	if (!w->p->nodes[way->node].leaves)
		return 0;
	for (uint32_t e = first_edge(w->p, way->node); e < first_edge(w->p, way->node + 1); e++)
		on += w->profiled->edges[e];
	return take_end(w, way, depth, left_of(w, way->flow, all, on < all ? all - on : 0));
}

/* One edge further; 1: to another node. */
static int follow(struct walk *w, uint32_t depth, uint32_t edge)
{
	struct way *way = &w->ways[depth];
	uint32_t to = w->p->flow->edges[edge].to;
	double flow =
		left_of(w, way->flow, w->profiled->nodes[way->node], w->profiled->edges[edge]);

	if ((w->profiled->is_cold && w->profiled->is_cold[edge]) || flow < w->least)
		return 0;
	w->path.edges[depth] = edge;
	if (!pp_ways_go_on(w->p, edge))
		return pp_paths_behind(w->p, edge) ? take_end(w, way, depth + 1, flow) : 0;
	w->ways[depth + 1] = (struct way){flow, to, first_edge(w->p, to),
					  way->branch_cnt + pp_ways_branch(w->p, way->node)};
	return 1;
}

static int walk(struct walk *w)
{
	uint32_t depth = 0;

	for (;;) {
		struct way *way = &w->ways[depth];
		int r;

		if (way->next_edge < first_edge(w->p, way->node + 1)) {
			r = follow(w, depth, way->next_edge++);
			depth += r > 0;
		} else {
			r = take_leaving(w, way, depth);
			if (r == 0 && !depth--)
				return 0;
		}
		if (r < 0)
			return r;
	}
}

int pp_ways_walk(const struct pp_profiled *profiled, uint32_t start, bool definite,
		 pp_ways_take take, void *user)
{
	const struct pathprof_function_paths *p = profiled->paths;
	double flow = (double)profiled->starts[start];
	uint32_t node = p->starts[start].node;
	struct walk w = {.profiled = profiled,
			 .p = p,
			 .definite = definite,
			 .take = take,
			 .user = user,
			 .path = {.start = node}};
	int r = -ENOMEM;

	w.least = profiled->least > flow / PARTS ? profiled->least : flow / PARTS;
	if (flow < w.least || !p->nodes[node].path_cnt ||
	    (profiled->start_is_cold && profiled->start_is_cold[start]))
		return 0;
	w.ways = calloc(p->flow->node_cnt + 1, sizeof(*w.ways));
	w.path.edges = calloc(p->flow->node_cnt + 1, sizeof(*w.path.edges));
	if (w.ways && w.path.edges) {
		w.ways[0] = (struct way){flow, node, first_edge(p, node), 0};
		r = walk(&w);
	}
	free(w.ways);
	free(w.path.edges);
	return r;
}
