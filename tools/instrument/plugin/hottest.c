// SPDX-License-Identifier: GPL-2.0-or-later
#include "hottest.h"

#include <stdlib.h>

#include "unit.h"

/* The paths that end at one place. */
struct end {
	uint64_t first_id, first_count, all;
};

struct search {
	const struct pathprof_function_paths *paths;
	const struct pathprof_flow *flow;
	struct end *ends; /* by edge, and then by node */
	struct pathprof_flow_path path;
};

static struct end *end_of(const struct search *s)
{
	const struct pathprof_flow_path *path = &s->path;
	uint32_t last;

	if (!path->edge_cnt)
		return &s->ends[s->flow->edge_cnt + path->start];
	last = path->edges[path->edge_cnt - 1];
	if (pathprof_function_paths_cut_at(s->paths, last))
		return &s->ends[last];
	return &s->ends[s->flow->edge_cnt + s->flow->edges[last].to];
}

static void take_path(struct search *s, uint64_t id, uint64_t count)
{
	struct end *end;

	if (pathprof_function_paths_of_id(s->paths, id, &s->path) < 0)
		return;
	end = end_of(s);
	if (!end->all)
		*end = (struct end){id, count, 0};
	end->all += count;
}

/* The slot of the path, and 1; 0: it has none. */
static uint32_t slot_of(const struct pathprof_preferential *table, uint64_t id)
{
	for (uint32_t i = 0; i < 1u << table->slot_bits; i++)
		if (table->keys[i] != PATHPROF_PREFERENTIAL_FREE &&
		    table->keys[i] >> table->number_bits == id)
			return i + 1;
	return 0;
}

static uint32_t choose(const struct pathprof_preferential *table, const struct end *end)
{
	return end->all && end->first_count / 3 >= end->all - end->first_count
		       ? slot_of(table, end->first_id)
		       : 0;
}

void hottest_init(struct hottest *hottest, const struct pathprof_function_paths *paths,
		  const struct pathprof_flow *flow, const struct pathprof_preferential *table,
		  const uint64_t *ids, const uint64_t *counts, size_t cnt)
{
	struct search s = {
		.paths = paths,
		.flow = flow,
		.ends = must_allocate((size_t)flow->edge_cnt + flow->node_cnt, sizeof(struct end)),
		.path = {.edge_room = flow->node_cnt + 1}};

	s.path.edges = must_allocate(s.path.edge_room, sizeof(uint32_t));
	for (size_t i = 0; i < cnt; i++)
		take_path(&s, ids[i], counts[i]);
	hottest->of_edge = must_allocate(flow->edge_cnt, sizeof(uint32_t));
	hottest->of_leaving = must_allocate(flow->node_cnt, sizeof(uint32_t));
	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		hottest->of_edge[e] = choose(table, &s.ends[e]);
	for (uint32_t v = 0; v < flow->node_cnt; v++)
		hottest->of_leaving[v] = choose(table, &s.ends[flow->edge_cnt + v]);
	free(s.path.edges);
	free(s.ends);
}

void hottest_release(struct hottest *hottest)
{
	free(hottest->of_edge);
	free(hottest->of_leaving);
}
