// SPDX-License-Identifier: GPL-2.0-or-later
#include "graph.h"

#include <errno.h>
#include <stdlib.h>

#include "pathprof/increments.h"
#include "pathprof/instrument_abi.h"
#include "ran.h"

/* Edges cut because there are too many paths are described like those that calls cut. */
static void take_cuts(struct graph *graph)
{
	for (uint32_t e = 0; e < graph->flow.edge_cnt; e++)
		graph->shape.arcs[e].cut |= !graph->flow.edges[e].retreating &&
					    pathprof_function_paths_cut_at(graph->paths, e);
}

/* How often each edge ran; NULL: unknown. A cut needs code, so unsplittable edges come last. */
static uint64_t *heat_of(const struct unit *unit, LLVMValueRef function, const struct shape *shape)
{
	uint64_t *heat = ran_heat(unit, function, shape);

	for (uint32_t a = 0; heat && a < shape->arc_cnt; a++)
		if (shape->is_fixed[a])
			heat[a] = UINT64_MAX;
	return heat;
}

int graph_init(struct graph *graph, const struct unit *unit, LLVMValueRef function)
{
	struct shape *shape = &graph->shape;
	uint64_t *heat;
	int r;

	shape_init(shape, unit, function);
	r = pathprof_flow_init_arcs(&graph->flow, shape->piece_cnt, shape->arcs, shape->arc_cnt);
	if (r < 0) {
		shape_release(shape);
		return r;
	}
	heat = heat_of(unit, function, shape);
	r = pathprof_function_paths_new_below(&graph->paths, &graph->flow, PATHPROF_CUT_BACK_EDGES,
					      PATHPROF_PATHS_MAX, heat);
	free(heat);
	if (r < 0) {
		pathprof_flow_release(&graph->flow);
		shape_release(shape);
		return r;
	}
	take_cuts(graph);
	return 0;
}

void graph_release(struct graph *graph)
{
	pathprof_function_paths_free(graph->paths);
	pathprof_flow_release(&graph->flow);
	shape_release(&graph->shape);
}

const struct pathprof_interesting_path *graph_known_paths(const struct graph *graph,
							  const struct unit *unit,
							  const struct pathprof_interesting *set,
							  LLVMValueRef function, size_t *ret_cnt,
							  bool *ret_is_changed)
{
	const struct shape *shape = &graph->shape;
	const struct pathprof_interesting_path *paths;
	char *name = unit_name_of(function);
	size_t bytes;
	const char *source =
		unit_is_local(function) ? LLVMGetSourceFileName(unit->module, &bytes) : "";

	paths = pathprof_interesting_find(
		set, name, source,
		pathprof_interesting_shape(shape->piece_cnt, shape->arcs, shape->arc_cnt), ret_cnt);
	*ret_is_changed = !*ret_cnt && pathprof_interesting_names(set, name, source);
	free(name);
	return paths;
}

/* The start is returned even if there is no room for edges. */
bool graph_is_entry(const struct graph *graph, uint64_t id)
{
	struct pathprof_flow_path path = {0};

	return pathprof_function_paths_of_id(graph->paths, id, &path) != -ERANGE && path.start == 0;
}
