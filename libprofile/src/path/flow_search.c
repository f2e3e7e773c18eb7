// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The depth-first search of a flow and its in-edges; see pp_flow.h. */
#include "pp_flow.h"

#include <errno.h>
#include <stdlib.h>

#define NOT_MET UINT32_MAX

/* Nodes on the way from the start of the search to where it stands. */
struct way {
	uint32_t *nodes;
	uint32_t *next_edge; /* by node: the one to be looked at next */
	bool *holds;         /* by node */
	uint32_t len;
};

static void way_release(struct way *way)
{
	free(way->nodes);
	free(way->next_edge);
	free(way->holds);
}

static int way_init(struct way *way, uint32_t node_cnt)
{
	*way = (struct way){.nodes = calloc(node_cnt, sizeof(*way->nodes)),
			    .next_edge = calloc(node_cnt, sizeof(*way->next_edge)),
			    .holds = calloc(node_cnt, sizeof(*way->holds))};
	if (way->nodes && way->next_edge && way->holds)
		return 0;
	way_release(way);
	return -ENOMEM;
}

static void meet(struct pp_flow_search *s, struct way *way, const struct pathprof_flow *flow,
		 uint32_t v, uint32_t from, uint32_t *met_cnt)
{
	s->number[v] = *met_cnt;
	s->order[(*met_cnt)++] = v;
	s->parent[v] = from;
	way->nodes[way->len++] = v;
	way->next_edge[v] = flow->nodes[v].first_edge;
	way->holds[v] = true;
}

/* Everything that start reaches and that was not met yet. */
static void search_from(struct pp_flow_search *s, struct way *way, struct pathprof_flow *flow,
			uint32_t start, uint32_t *met_cnt)
{
	meet(s, way, flow, start, start, met_cnt);
	while (way->len) {
		uint32_t v = way->nodes[way->len - 1], e = way->next_edge[v]++;

		if (e == flow->nodes[v + 1].first_edge) {
			way->holds[v] = false;
			way->len--;
			continue;
		}
		flow->edges[e].retreating = way->holds[flow->edges[e].to];
		if (s->number[flow->edges[e].to] == NOT_MET)
			meet(s, way, flow, flow->edges[e].to, v, met_cnt);
	}
}

static int search(struct pp_flow_search *s, struct pathprof_flow *flow)
{
	uint32_t met_cnt = 0;
	struct way way;

	if (way_init(&way, flow->node_cnt))
		return -ENOMEM;
	for (uint32_t v = 0; v < flow->node_cnt; v++)
		s->number[v] = NOT_MET;
	search_from(s, &way, flow, 0, &met_cnt);
	s->reached_cnt = met_cnt;
	for (uint32_t i = 0; i < met_cnt; i++)
		flow->nodes[s->order[i]].reached = true;
	for (uint32_t v = 1; v < flow->node_cnt; v++)
		if (s->number[v] == NOT_MET)
			search_from(s, &way, flow, v, &met_cnt);
	way_release(&way);
	return 0;
}

static void fill_in_edges(struct pp_flow_search *s, const struct pathprof_flow *flow)
{
	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		s->first_in[flow->edges[e].to]++;
	for (uint32_t v = 1; v <= flow->node_cnt; v++)
		s->first_in[v] += s->first_in[v - 1];
	/* Each count is by now where the node's edges end; backwards it comes to where they begin.
	 */
	for (uint32_t e = flow->edge_cnt; e-- > 0;)
		s->in_edges[--s->first_in[flow->edges[e].to]] = e;
}

int pp_flow_search_init(struct pp_flow_search *ret_search, struct pathprof_flow *flow)
{
	size_t node_cnt = flow->node_cnt;
	struct pp_flow_search s = {.order = calloc(node_cnt, sizeof(uint32_t)),
				   .number = calloc(node_cnt, sizeof(uint32_t)),
				   .parent = calloc(node_cnt, sizeof(uint32_t)),
				   .first_in = calloc(node_cnt + 1, sizeof(uint32_t)),
				   .in_edges =
					   calloc((size_t)flow->edge_cnt + 1, sizeof(uint32_t))};

	if (!s.order || !s.number || !s.parent || !s.first_in || !s.in_edges || search(&s, flow)) {
		pp_flow_search_release(&s);
		return -ENOMEM;
	}
	fill_in_edges(&s, flow);
	*ret_search = s;
	return 0;
}

void pp_flow_search_release(struct pp_flow_search *search)
{
	free(search->order);
	free(search->number);
	free(search->parent);
	free(search->first_in);
	free(search->in_edges);
}
