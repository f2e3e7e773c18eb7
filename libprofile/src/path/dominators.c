// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Immediate dominators of a flow, and with them its back edges.
 *
 * Lengauer and Tarjan's algorithm in its simple form, O(edges * log(nodes)). The shorter one of
 * Cooper, Harvey and Kennedy is quadratic on what compilers do write: a long row of tests that all
 * lead to one error exit.
 *
 * Here a node is its place in the order of the depth-first search; dominators are smaller.
 */
#include "pp_flow.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

struct forest {
	const struct pathprof_flow *flow;
	const struct pp_flow_search *search;
	uint32_t *semi;     /* semidominator */
	uint32_t *idom;     /* immediate dominator */
	uint32_t *ancestor; /* in the forest, shortened as it is walked; NONE: a root */
	uint32_t *label;    /* of least semi on the way to the root, the root left out */
	uint32_t *bucket;   /* first of those whose semidominator this is, */
	uint32_t *next;     /* and the next one after each */
	uint32_t *way;      /* scratch of find_least() */
};

static void forest_release(struct forest *f)
{
	free(f->semi);
	free(f->idom);
	free(f->ancestor);
	free(f->label);
	free(f->bucket);
	free(f->next);
	free(f->way);
}

static int forest_init(struct forest *f, const struct pathprof_flow *flow,
		       const struct pp_flow_search *search)
{
	uint32_t cnt = search->reached_cnt;
	uint32_t **arrays[] = {&f->semi,   &f->idom, &f->ancestor, &f->label,
			       &f->bucket, &f->next, &f->way};

	*f = (struct forest){.flow = flow, .search = search};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		*arrays[i] = calloc(cnt, sizeof(uint32_t));
		if (!*arrays[i]) {
			forest_release(f);
			return -ENOMEM;
		}
	}
	for (uint32_t w = 0; w < cnt; w++) {
		f->semi[w] = f->label[w] = w;
		f->ancestor[w] = f->bucket[w] = f->next[w] = NONE;
	}
	return 0;
}

/* EVAL: the node of least semi from v up to below its root. Shortens the way for the next time. */
static uint32_t find_least(struct forest *f, uint32_t v)
{
	uint32_t len = 0;

	if (f->ancestor[v] == NONE)
		return v;
	for (uint32_t x = v; f->ancestor[f->ancestor[x]] != NONE; x = f->ancestor[x])
		f->way[len++] = x;
	while (len) {
		uint32_t x = f->way[--len], above = f->ancestor[x];

		if (f->semi[f->label[above]] < f->semi[f->label[x]])
			f->label[x] = f->label[above];
		f->ancestor[x] = f->ancestor[above];
	}
	return f->label[v];
}

static void find_semidominator(struct forest *f, uint32_t w)
{
	const struct pp_flow_search *s = f->search;
	uint32_t node = s->order[w];

	for (uint32_t i = s->first_in[node]; i < s->first_in[node + 1]; i++) {
		uint32_t from = s->number[f->flow->edges[s->in_edges[i]].from];

		if (from >= s->reached_cnt)
			continue;
		uint32_t least = f->semi[find_least(f, from)];

		if (least < f->semi[w])
			f->semi[w] = least;
	}
}

/* Those whose semidominator is w: known but for "the same as that of a smaller node". */
static void empty_bucket(struct forest *f, uint32_t w)
{
	for (uint32_t v = f->bucket[w]; v != NONE; v = f->next[v]) {
		uint32_t least = find_least(f, v);

		f->idom[v] = f->semi[least] < f->semi[v] ? least : w;
	}
	f->bucket[w] = NONE;
}

static void find_immediate(struct forest *f)
{
	const struct pp_flow_search *s = f->search;

	for (uint32_t w = s->reached_cnt; w-- > 1;) {
		uint32_t parent = s->number[s->parent[s->order[w]]];

		find_semidominator(f, w);
		f->next[w] = f->bucket[f->semi[w]];
		f->bucket[f->semi[w]] = w;
		f->ancestor[w] = parent;
		empty_bucket(f, parent);
	}
	for (uint32_t w = 1; w < s->reached_cnt; w++)
		if (f->idom[w] != f->semi[w])
			f->idom[w] = f->idom[f->idom[w]];
}

/*
 * Preorder of the dominator tree without walking it: children come after their parent in the
 * search's order, so sizes add up backwards and places are given out forwards.
 */
static void number_tree(struct pathprof_flow *flow, const struct pp_flow_search *s,
			uint32_t *free_at)
{
	struct pathprof_flow_node *nodes = flow->nodes;
	uint32_t at = 0;

	for (uint32_t v = 0; v < flow->node_cnt; v++)
		nodes[v].dom_cnt = 1;
	for (uint32_t i = flow->node_cnt; i-- > 0;) {
		uint32_t v = s->order[i];

		if (nodes[v].dominator != v)
			nodes[nodes[v].dominator].dom_cnt += nodes[v].dom_cnt;
	}
	for (uint32_t i = 0; i < flow->node_cnt; i++) {
		uint32_t v = s->order[i];
		uint32_t *from = nodes[v].dominator == v ? &at : &free_at[nodes[v].dominator];

		nodes[v].dom_first = *from;
		*from += nodes[v].dom_cnt;
		free_at[v] = nodes[v].dom_first + 1;
	}
}

static void mark_edges(struct pathprof_flow *flow)
{
	for (uint32_t i = 0; i < flow->edge_cnt; i++) {
		struct pathprof_flow_edge *e = &flow->edges[i];

		e->back = pathprof_flow_dominates(flow, e->to, e->from);
		flow->irreducible_cnt += e->retreating && !e->back && flow->nodes[e->from].reached;
	}
}

int pp_flow_find_dominators(struct pathprof_flow *flow, const struct pp_flow_search *search)
{
	uint32_t *free_at = calloc(flow->node_cnt, sizeof(*free_at));
	struct forest f;

	if (!free_at || forest_init(&f, flow, search)) {
		free(free_at);
		return -ENOMEM;
	}
	find_immediate(&f);
	for (uint32_t v = 0; v < flow->node_cnt; v++)
		flow->nodes[v].dominator =
			flow->nodes[v].reached ? search->order[f.idom[search->number[v]]] : v;
	number_tree(flow, search, free_at);
	mark_edges(flow);
	forest_release(&f);
	free(free_at);
	return 0;
}
