// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Natural loops of a flow and their nesting: one a header, of all back edges to it.
 *
 * Headers are taken in reverse order of the depth-first search, inner ones so before those around
 * them. A loop is walked from its back edges against the edges; an inner loop met on the way
 * becomes its child as a whole and the walk goes on before that one's header, so that each edge is
 * looked at twice at most.
 *
 * Source: Aho, Lam, Sethi, Ullman, Compilers, 9.6.6.
 */
#include "pp_flow.h"

#include <errno.h>
#include <stdlib.h>

#define NONE PATHPROF_GRAPH_NONE

struct finder {
	struct pathprof_flow *flow;
	const struct pp_flow_search *search;
	uint32_t *above; /* by loop: one around it, shortened as it is walked; itself: outermost */
	uint32_t *todo;  /* nodes of the loop at hand whose in-edges are still to be looked at */
	uint32_t todo_cnt;
};

static bool heads_loop(const struct finder *f, uint32_t v)
{
	const struct pp_flow_search *s = f->search;

	for (uint32_t i = s->first_in[v]; i < s->first_in[v + 1]; i++)
		if (f->flow->edges[s->in_edges[i]].back)
			return true;
	return false;
}

/* The outermost loop found so far around one. */
static uint32_t outermost(struct finder *f, uint32_t loop)
{
	while (f->above[loop] != loop) {
		f->above[loop] = f->above[f->above[loop]];
		loop = f->above[loop];
	}
	return loop;
}

/* v reaches the header of loop without passing it: v is of the loop, with all of its own. */
static void take(struct finder *f, uint32_t loop, uint32_t v)
{
	struct pathprof_flow_loop *loops = f->flow->loops;
	uint32_t inner = f->flow->nodes[v].loop;

	if (inner == NONE) {
		f->flow->nodes[v].loop = loop;
		loops[loop].node_cnt++;
		f->todo[f->todo_cnt++] = v;
		return;
	}
	inner = outermost(f, inner);
	if (inner == loop)
		return;
	f->above[inner] = loop;
	loops[inner].parent = loop;
	loops[loop].node_cnt += loops[inner].node_cnt;
	f->todo[f->todo_cnt++] = loops[inner].header;
}

static void walk(struct finder *f, uint32_t loop, uint32_t header)
{
	const struct pp_flow_search *s = f->search;
	const struct pathprof_flow_edge *edges = f->flow->edges;

	f->flow->nodes[header].loop = loop;
	f->flow->loops[loop].node_cnt = 1;
	for (uint32_t i = s->first_in[header]; i < s->first_in[header + 1]; i++)
		if (edges[s->in_edges[i]].back)
			take(f, loop, edges[s->in_edges[i]].from);
	while (f->todo_cnt) {
		uint32_t v = f->todo[--f->todo_cnt];

		for (uint32_t i = s->first_in[v]; i < s->first_in[v + 1]; i++) {
			uint32_t from = edges[s->in_edges[i]].from;

			/* An unreached node may lead into any loop: leave it out. */
			if (f->flow->nodes[from].reached)
				take(f, loop, from);
		}
	}
}

static uint32_t count_headers(const struct finder *f)
{
	uint32_t cnt = 0;

	for (uint32_t v = 0; v < f->flow->node_cnt; v++)
		cnt += heads_loop(f, v);
	return cnt;
}

/* Outer ones come first, so each parent's depth is known before its children's. */
static void set_depths(struct pathprof_flow *flow)
{
	for (uint32_t i = 0; i < flow->loop_cnt; i++) {
		struct pathprof_flow_loop *loop = &flow->loops[i];

		loop->depth = loop->parent == NONE ? 1 : flow->loops[loop->parent].depth + 1;
	}
}

static int find(struct finder *f)
{
	struct pathprof_flow *flow = f->flow;
	uint32_t loop = count_headers(f);

	flow->loops = calloc((size_t)loop + 1, sizeof(*flow->loops));
	f->above = calloc((size_t)loop + 1, sizeof(*f->above));
	f->todo = calloc(flow->node_cnt, sizeof(*f->todo));
	if (!flow->loops || !f->above || !f->todo)
		return -ENOMEM;
	flow->loop_cnt = loop;
	for (uint32_t i = flow->node_cnt; i-- > 0;) {
		uint32_t header = f->search->order[i];

		if (!heads_loop(f, header))
			continue;
		loop--;
		f->above[loop] = loop;
		flow->loops[loop] = (struct pathprof_flow_loop){.header = header, .parent = NONE};
		walk(f, loop, header);
	}
	set_depths(flow);
	return 0;
}

int pp_flow_find_loops(struct pathprof_flow *flow, const struct pp_flow_search *search)
{
	struct finder f = {.flow = flow, .search = search};
	int r = find(&f);

	free(f.above);
	free(f.todo);
	return r;
}
