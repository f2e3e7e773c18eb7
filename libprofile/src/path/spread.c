// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
#include "pathprof/spread.h"

#include <errno.h>
#include <stdlib.h>

#define NONE PATHPROF_GRAPH_NONE

struct span {
	uint32_t first, behind; /* places in the order */
	double factor;          /* executions of the header for each time it is come to */
};

struct spread {
	const struct pathprof_flow *flow;
	const double *share;
	double *count;              /* by node */
	struct span *loops;         /* and one more: the function */
	uint32_t *order, order_cnt; /* nodes, each behind those that lead forward to it */
	uint32_t *wanted;           /* by node: edges forward to it that are not in the order yet */
};

/* A cut ends paths; what ran goes on behind it. */
static bool goes_on(const struct pathprof_flow *flow, uint32_t edge)
{
	const struct pathprof_flow_edge *e = &flow->edges[edge];

	return !e->retreating || e->cut;
}

static bool goes_forward(const struct pathprof_flow *flow, uint32_t edge)
{
	return flow->nodes[flow->edges[edge].from].reached && goes_on(flow, edge);
}

/* Nothing leads forward to the entry: it dominates all. */
static void find_order(struct spread *s)
{
	const struct pathprof_flow *flow = s->flow;

	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		s->wanted[flow->edges[e].to] += goes_forward(flow, e);
	for (uint32_t v = 0; v < flow->node_cnt; v++)
		if (flow->nodes[v].reached && !s->wanted[v])
			s->order[s->order_cnt++] = v;
	for (uint32_t at = 0; at < s->order_cnt; at++) {
		uint32_t v = s->order[at];

		for (uint32_t e = flow->nodes[v].first_edge; e < flow->nodes[v + 1].first_edge; e++)
			if (goes_forward(flow, e) && !--s->wanted[flow->edges[e].to])
				s->order[s->order_cnt++] = flow->edges[e].to;
	}
}

static void find_spans(struct spread *s)
{
	const struct pathprof_flow *flow = s->flow;

	s->loops[flow->loop_cnt] = (struct span){0, s->order_cnt, 1};
	for (uint32_t at = s->order_cnt; at-- > 0;)
		for (uint32_t l = flow->nodes[s->order[at]].loop; l != NONE;
		     l = flow->loops[l].parent) {
			s->loops[l].first = at;
			if (!s->loops[l].behind)
				s->loops[l].behind = at + 1;
		}
}

static bool is_inside(const struct pathprof_flow *flow, uint32_t node, uint32_t loop)
{
	uint32_t l = flow->nodes[node].loop;

	while (l != NONE && l != loop)
		l = flow->loops[l].parent;
	return loop == flow->loop_cnt || l == loop;
}

static void start_from(struct spread *s, uint32_t loop, uint32_t header, double count)
{
	for (uint32_t at = s->loops[loop].first; at < s->loops[loop].behind; at++)
		s->count[s->order[at]] = 0;
	s->count[header] = count;
}

/* Passes counts on from the header; what comes back to it. */
static double pass_through(struct spread *s, uint32_t loop, uint32_t header)
{
	const struct pathprof_flow *flow = s->flow;
	double back = 0;

	for (uint32_t at = s->loops[loop].first; at < s->loops[loop].behind; at++) {
		uint32_t v = s->order[at], inner = flow->nodes[v].loop;

		if (!is_inside(flow, v, loop))
			continue;
		if (inner != NONE && inner != loop && flow->loops[inner].header == v)
			s->count[v] *= s->loops[inner].factor;
		for (uint32_t e = flow->nodes[v].first_edge; e < flow->nodes[v + 1].first_edge;
		     e++) {
			uint32_t to = flow->edges[e].to;

			if (goes_on(flow, e))
				s->count[to] += s->count[v] * s->share[e];
			else if (to == header)
				back += s->count[v] * s->share[e];
		}
	}
	return back;
}

static void measure_loop(struct spread *s, uint32_t loop)
{
	uint32_t header = s->flow->loops[loop].header;
	double back;

	start_from(s, loop, header, 1);
	back = pass_through(s, loop, header);
	s->loops[loop].factor =
		back < 1 - 1 / PATHPROF_SPREAD_ROUNDS ? 1 / (1 - back) : PATHPROF_SPREAD_ROUNDS;
}

static uint64_t rounded(double count)
{
	double above = count + 0.5;

	return above < 0x1p63 ? (uint64_t)above : 1ull << 63;
}

static int spread_init(struct spread *s)
{
	size_t nodes = s->flow->node_cnt;

	s->count = calloc(nodes, sizeof(*s->count));
	s->loops = calloc((size_t)s->flow->loop_cnt + 1, sizeof(*s->loops));
	s->order = calloc(2 * nodes, sizeof(*s->order));
	s->wanted = s->order + nodes;
	return s->count && s->loops && s->order ? 0 : -ENOMEM;
}

int pathprof_spread(const struct pathprof_flow *flow, const double *share, uint64_t entries,
		    uint64_t *ret_counts)
{
	struct spread s = {.flow = flow, .share = share};
	int r = spread_init(&s);

	if (r == 0) {
		find_order(&s);
		find_spans(&s);
		for (uint32_t l = flow->loop_cnt; l-- > 0;)
			measure_loop(&s, l);
		start_from(&s, flow->loop_cnt, 0, (double)entries);
		pass_through(&s, flow->loop_cnt, NONE);
		for (uint32_t e = 0; e < flow->edge_cnt; e++)
			ret_counts[e] = flow->nodes[flow->edges[e].from].reached
						? rounded(s.count[flow->edges[e].from] * share[e])
						: 0;
	}
	free(s.count);
	free(s.loops);
	free(s.order);
	return r;
}
