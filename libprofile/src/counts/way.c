// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The way of a counted path through its function: as lines of source, or as counts of nodes. */
#include <errno.h>
#include <stdlib.h>

#include "base/count.h"
#include "pp_counted.h"

/* A node without a line of its own belongs to the line before, as one of the same line does. */
static void keep_line(const struct pathprof_counted_line **lines, size_t *cnt,
		      const struct pathprof_counted_line *line)
{
	const struct pathprof_counted_line *last = *cnt ? lines[*cnt - 1] : NULL;

	if (line->crossing ||
	    (line->line && !(last && last->line == line->line && last->file == line->file)))
		lines[(*cnt)++] = line;
}

static int take_lines(const struct pathprof_counted_function *f, const struct pathprof_flow *flow,
		      const struct pathprof_flow_path *path,
		      const struct pathprof_counted_line ***ret_lines, size_t *ret_cnt)
{
	const struct pathprof_counted_line **lines =
		calloc((size_t)path->edge_cnt + 2, sizeof(struct pathprof_counted_line *));

	if (!lines)
		return -ENOMEM;
	*ret_cnt = 0;
	keep_line(lines, ret_cnt, &f->lines[path->start]);
	for (uint32_t i = 0; i < path->edge_cnt; i++)
		keep_line(lines, ret_cnt, &f->lines[flow->edges[path->edges[i]].to]);
	*ret_lines = lines;
	return 0;
}

int pathprof_counted_flow(const struct pathprof_counted *counted, uint32_t function,
			  struct pathprof_flow *ret_flow,
			  struct pathprof_function_paths **ret_paths)
{
	const struct pathprof_counted_function *f;
	struct pathprof_function_paths *paths;
	int r;

	if (function >= counted->function_cnt)
		return -EINVAL;
	f = &counted->functions[function];
	r = pathprof_flow_init_arcs(ret_flow, f->node_cnt, f->arcs, f->arc_cnt);
	if (r < 0)
		return r;
	r = pathprof_function_paths_new(&paths, ret_flow, PATHPROF_CUT_BACK_EDGES);
	if (r == 0 && pathprof_function_paths_cnt(paths) != f->path_cnt) {
		pathprof_function_paths_free(paths);
		r = -EINVAL;
	}
	if (r < 0)
		pathprof_flow_release(ret_flow);
	else
		*ret_paths = paths;
	return r;
}

int pathprof_counted_way(const struct pathprof_counted *counted, uint32_t function, uint64_t id,
			 const struct pathprof_counted_line ***ret_lines, size_t *ret_cnt)
{
	const struct pathprof_counted_function *f;
	struct pathprof_function_paths *paths;
	struct pathprof_flow_path path;
	struct pathprof_flow flow;
	int r = pathprof_counted_flow(counted, function, &flow, &paths);

	if (r < 0)
		return r;
	f = &counted->functions[function];
	path = (struct pathprof_flow_path){.edge_room = f->node_cnt + 1};
	path.edges = calloc(path.edge_room, sizeof(*path.edges));
	r = path.edges ? pathprof_function_paths_of_id(paths, id, &path) : -ENOMEM;
	if (r == 0)
		r = take_lines(f, &flow, &path, ret_lines, ret_cnt);
	free(path.edges);
	pathprof_function_paths_free(paths);
	pathprof_flow_release(&flow);
	return r == -ERANGE ? -EINVAL : r;
}

/* ---------------------------------------------------------------- counts of nodes */

/* The edge that ends a path leads to where the next one begins. */
static void add_run(const struct pathprof_flow *flow, const struct pathprof_flow_path *path,
		    uint64_t count, uint64_t *counts)
{
	counts[path->start] = pp_count_sum(counts[path->start], count);
	for (uint32_t i = 0; i < path->edge_cnt; i++) {
		const struct pathprof_flow_edge *edge = &flow->edges[path->edges[i]];

		if (!edge->retreating)
			counts[edge->to] = pp_count_sum(counts[edge->to], count);
	}
}

int pathprof_counted_nodes(const struct pathprof_counted *counted, uint32_t function,
			   const struct pathprof_counted_path *runs, size_t run_cnt,
			   uint64_t *ret_counts)
{
	struct pathprof_function_paths *paths;
	struct pathprof_flow_path path = {0};
	struct pathprof_flow flow;
	int r = pathprof_counted_flow(counted, function, &flow, &paths);

	if (r < 0)
		return r;
	path.edge_room = flow.node_cnt + 1;
	path.edges = calloc(path.edge_room, sizeof(*path.edges));
	r = path.edges ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < run_cnt; i++) {
		r = pathprof_function_paths_of_id(paths, runs[i].id, &path);
		if (r == 0)
			add_run(&flow, &path, runs[i].count, ret_counts);
	}
	free(path.edges);
	pathprof_function_paths_free(paths);
	pathprof_flow_release(&flow);
	return r == -ERANGE ? -EINVAL : r;
}
