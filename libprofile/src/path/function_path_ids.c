// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * From a number to its path, by the weights of its edges: each step bisects the ways out of a node,
 * a function's starts first.
 *
 * Source: EOPP figure 3.3; Ball and Larus 1996, 3.2 for the way back. Pure; any thread.
 */
#include "pp_function_paths.h"

#include <errno.h>
#include <stdbool.h>

#include "base/search.h"

uint32_t pp_paths_start_at(const struct pathprof_function_paths *p, uint32_t node)
{
	uint32_t low = pp_first(i, 0, p->start_cnt, p->starts[i].node >= node);

	return low < p->start_cnt && p->starts[low].node == node ? low : p->start_cnt;
}

uint32_t pp_paths_start_of(const struct pathprof_function_paths *p, uint64_t id)
{
	/* The last whose weight is at most id. */
	return pp_first(i, 1, p->start_cnt, p->starts[i].weight > id) - 1;
}

uint32_t pp_paths_way_of(const struct pathprof_function_paths *p, uint32_t node, uint64_t rest)
{
	uint32_t low = p->flow->nodes[node].first_edge, high = p->flow->nodes[node + 1].first_edge;

	if (low == high || (p->nodes[node].leaves && rest >= p->nodes[node].leaving))
		return PP_LEAVES;
	return pp_first(i, low + 1, high, p->weights[i] > rest) - 1;
}

/* A path on its way: the node it has come to, and what is left of its number. */
struct walk {
	const struct pathprof_function_paths *paths;
	uint64_t rest;
	uint32_t start, at;
	bool is_cut; /* the last edge ends the path */
};

static int walk_begin(struct walk *walk, const struct pathprof_function_paths *p, uint64_t id)
{
	uint32_t start;

	if (id >= p->cnt)
		return -ERANGE;
	start = pp_paths_start_of(p, id);
	*walk = (struct walk){
		.paths = p,
		.rest = id - p->starts[start].weight,
		.start = p->starts[start].node,
		.at = p->starts[start].node,
	};
	return 0;
}

/* The next edge; PP_LEAVES: the path has ended. */
static uint32_t walk_next(struct walk *walk)
{
	const struct pathprof_function_paths *p = walk->paths;
	uint32_t way = walk->is_cut ? PP_LEAVES : pp_paths_way_of(p, walk->at, walk->rest);

	if (way == PP_LEAVES)
		return way;
	walk->is_cut = p->cuts[way];
	if (!walk->is_cut) {
		walk->rest -= p->weights[way];
		walk->at = p->flow->edges[way].to;
	}
	return way;
}

int pathprof_function_paths_of_id(const struct pathprof_function_paths *paths, uint64_t id,
				  struct pathprof_flow_path *path)
{
	struct walk walk;
	uint32_t way, cnt = 0;
	int r = walk_begin(&walk, paths, id);

	if (r < 0)
		return r;
	for (; (way = walk_next(&walk)) != PP_LEAVES; cnt++)
		if (cnt < path->edge_room)
			path->edges[cnt] = way;
	path->start = walk.start;
	path->edge_cnt = cnt;
	return cnt > path->edge_room ? -ENOBUFS : 0;
}

int pathprof_function_paths_id(const struct pathprof_function_paths *paths,
			       const struct pathprof_flow_path *path, uint64_t *ret_id)
{
	uint32_t start = pp_paths_start_at(paths, path->start), at = path->start;
	uint64_t id;

	if (start == paths->start_cnt)
		return -EINVAL;
	id = paths->starts[start].weight;
	for (uint32_t i = 0; i < path->edge_cnt; i++) {
		uint32_t edge = path->edges[i];

		if (edge >= paths->flow->edge_cnt || paths->flow->edges[edge].from != at)
			return -EINVAL;
		id += paths->weights[edge];
		if (paths->cuts[edge]) {
			*ret_id = id;
			return i + 1 == path->edge_cnt ? 0 : -EINVAL;
		}
		at = paths->flow->edges[edge].to;
	}
	if (!paths->nodes[at].leaves)
		return -EINVAL;
	*ret_id = id + paths->nodes[at].leaving;
	return 0;
}

int pathprof_function_paths_count_edges(const struct pathprof_function_paths *paths, uint64_t id,
					uint64_t count, uint64_t *by_edge)
{
	struct walk walk;
	uint32_t way;
	int r = walk_begin(&walk, paths, id);

	if (r < 0)
		return r;
	while ((way = walk_next(&walk)) != PP_LEAVES)
		if (__builtin_add_overflow(by_edge[way], count, &by_edge[way]))
			by_edge[way] = UINT64_MAX;
	return 0;
}
