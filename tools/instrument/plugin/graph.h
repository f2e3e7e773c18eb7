/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function's graph with numbered paths, and those of its paths that a file says ran. */
#ifndef GRAPH_H
#define GRAPH_H

#include "pathprof/function_paths.h"
#include "shape.h"

struct graph {
	struct shape shape;
	struct pathprof_flow flow; /* its edges are the shape's arcs */
	struct pathprof_function_paths *paths;
};

/* -ENOMEM, or -EINVAL if paths cannot be numbered in the graph. */
int graph_init(struct graph *graph, const struct unit *unit, LLVMValueRef function);
void graph_release(struct graph *graph);
/*
 * Returns the paths that the set has of this function, hottest first. *ret_is_changed: the set has
 * paths of the function, but they belong to another version of its graph.
 */
const struct pathprof_interesting_path *graph_known_paths(const struct graph *graph,
							  const struct unit *unit,
							  const struct pathprof_interesting *set,
							  LLVMValueRef function, size_t *ret_cnt,
							  bool *ret_is_changed);
/* Whether the path begins at the function's entry. */
bool graph_is_entry(const struct graph *graph, uint64_t id);

#endif
