// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Finding blocks and functions in a graph; see graph.h for shapes. Any thread. */
#include "pathprof/graph.h"

#include <string.h>

#include "base/search.h"

/* How many blocks begin at or before offset. */
static uint32_t count_up_to(const struct pathprof_graph *graph, uint64_t offset)
{
	return pp_first(i, 0, graph->block_cnt, graph->blocks[i].start > offset);
}

uint32_t pathprof_graph_block_at(const struct pathprof_graph *graph, uint64_t offset)
{
	uint32_t cnt = count_up_to(graph, offset), function;

	if (!cnt)
		return PATHPROF_GRAPH_NONE;
	/* Nearly always the nearest holds it. Streams overlap within a function only; there a short
	 * block may lie between a long one's start and its end. */
	function = graph->blocks[cnt - 1].function;
	while (cnt-- > 0 && graph->blocks[cnt].function == function)
		if (offset < graph->blocks[cnt].end)
			return cnt;
	return PATHPROF_GRAPH_NONE;
}

uint32_t pathprof_graph_function_named(const struct pathprof_graph *graph, const char *name)
{
	if (!name[0])
		return PATHPROF_GRAPH_NONE;
	for (uint32_t f = 0; f < graph->function_cnt; f++)
		if (!strcmp(graph->names + graph->functions[f].name, name))
			return f;
	return PATHPROF_GRAPH_NONE;
}

const char *pathprof_graph_name(const struct pathprof_graph *graph, uint32_t function)
{
	return function < graph->function_cnt ? graph->names + graph->functions[function].name : "";
}
