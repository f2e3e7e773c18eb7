// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Laying out, making and freeing of a graph's memory; see pp_graph.h for shape and ownership. */
#include "pp_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

size_t pp_graph_bytes(const struct pathprof_graph *graph)
{
	return (size_t)graph->function_cnt * sizeof(graph->functions[0]) +
	       (size_t)graph->part_cnt * sizeof(graph->parts[0]) +
	       ((size_t)graph->block_cnt + 1) * sizeof(graph->blocks[0]) +
	       (size_t)graph->edge_cnt * sizeof(graph->edges[0]) + graph->names_bytes;
}

/* Points the graph's arrays into memory, by its counts. */
static void lay_out(struct pathprof_graph *graph, const void *memory)
{
	graph->functions = memory;
	graph->parts = (const void *)(graph->functions + graph->function_cnt);
	graph->blocks = (const void *)(graph->parts + graph->part_cnt);
	graph->edges = (const void *)(graph->blocks + (size_t)graph->block_cnt + 1);
	graph->names = (const void *)(graph->edges + graph->edge_cnt);
}

int pp_graph_new(struct pp_graph **ret_graph, const struct pathprof_graph *counts)
{
	struct pp_graph *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->graph = *counts;
	g->memory = calloc(1, pp_graph_bytes(counts));
	if (!g->memory) {
		free(g);
		return -ENOMEM;
	}
	lay_out(&g->graph, g->memory);
	*ret_graph = g;
	return 0;
}

void pathprof_graph_free(struct pathprof_graph *graph)
{
	struct pp_graph *g = (struct pp_graph *)graph;

	if (!g)
		return;
	if (g->mapped_bytes)
		munmap(g->memory, g->mapped_bytes);
	else
		free(g->memory);
	free(g);
}
