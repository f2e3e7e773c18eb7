// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Increments of a path register: Kruskal's algorithm over the edges of the DAG, heaviest first,
 * with a forest that knows each node's potential.
 *
 * The potential of a node is the sum of weights on the tree's way to it from its root. An edge of
 * the tree changes nothing, another one adds by how much its way's sum differs from the tree's.
 * Start and end have one potential, so the differences along a path add up to its number.
 */
#include "pp_increments.h"

#include <errno.h>
#include <stdlib.h>

/* Frequency of an edge that no code can be put on: the tree takes it first. */
#define FIXED UINT64_MAX
/* Each loop is assumed to run 2^LOOP_BITS times; loops nested deeper than LOOP_DEEP are alike. */
#define LOOP_BITS 3
#define LOOP_DEEP 15

/* An edge of the DAG, and where its increment goes. */
struct arc {
	uint64_t weight, frequency, *increment;
	uint32_t from, to, edge;
};

struct forest {
	uint32_t *parent;    /* of a root itself */
	uint64_t *potential; /* relative to the parent; of a root 0 */
};

struct placing {
	const struct pathprof_function_paths *p;
	const struct pathprof_increments *weights;
	struct arc *arcs;
	uint32_t arc_cnt;
	struct forest forest;
};

/* ---------------------------------------------------------------- forest */

static int forest_init(struct forest *f, uint32_t node_cnt)
{
	f->potential = calloc(node_cnt, sizeof(*f->potential) + sizeof(*f->parent));
	if (!f->potential)
		return -ENOMEM;
	f->parent = (uint32_t *)(f->potential + node_cnt);
	for (uint32_t v = 0; v < node_cnt; v++)
		f->parent[v] = v;
	return 0;
}

/* The root, and the node's potential relative to it. Halves the way for those who come behind. */
static uint32_t root_of(struct forest *f, uint32_t node, uint64_t *ret_potential)
{
	*ret_potential = 0;
	while (f->parent[node] != node) {
		uint32_t above = f->parent[node];

		f->potential[node] += f->potential[above];
		f->parent[node] = f->parent[above];
		*ret_potential += f->potential[node];
		node = f->parent[node];
	}
	return node;
}

/*
 * The addition on an edge between two nodes: 0 if the edge joins their trees, else the difference
 * of its weight from that of the tree's way.
 */
static uint64_t join(struct forest *f, uint32_t from, uint32_t to, uint64_t weight)
{
	uint64_t of_from, of_to;
	uint32_t a = root_of(f, from, &of_from), b = root_of(f, to, &of_to);

	if (a == b)
		return weight + of_from - of_to;
	f->parent[b] = a;
	f->potential[b] = weight + of_from - of_to;
	return 0;
}

/* ---------------------------------------------------------------- edges of the DAG */

static uint32_t depth_of(const struct pathprof_flow *flow, uint32_t node)
{
	uint32_t loop = flow->nodes[node].loop;

	return loop == PATHPROF_GRAPH_NONE ? 0 : flow->loops[loop].depth;
}

static uint64_t guess(const struct pathprof_flow *flow, const struct pathprof_flow_edge *edge)
{
	uint32_t from = depth_of(flow, edge->from), to = depth_of(flow, edge->to);
	uint32_t depth = from < to ? from : to;

	return 1ULL << LOOP_BITS * (depth < LOOP_DEEP ? depth : LOOP_DEEP);
}

static uint64_t frequency_of(const struct pathprof_function_paths *p, const uint64_t *frequency,
			     uint32_t edge)
{
	uint64_t f;

	if (p->cuts[edge])
		return 0;
	f = frequency ? frequency[edge] : guess(p->flow, &p->flow->edges[edge]);
	return f < FIXED ? f : FIXED - 1;
}

static void add_arc(struct placing *g, struct arc arc)
{
	g->arcs[g->arc_cnt++] = arc;
}

static void add_starts(struct placing *g, uint64_t *start)
{
	const struct pathprof_function_paths *p = g->p;

	for (uint32_t i = 0; i < p->start_cnt; i++)
		add_arc(g, (struct arc){.weight = g->weights->start[p->starts[i].node],
					.from = p->flow->node_cnt,
					.to = p->starts[i].node,
					.edge = PP_LEAVES,
					.increment = &start[p->starts[i].node]});
}

static void add_edges(struct placing *g, uint64_t *increments, const uint64_t *frequency,
		      const bool *is_fixed)
{
	const struct pathprof_function_paths *p = g->p;

	for (uint32_t e = 0; e < p->flow->edge_cnt; e++) {
		const struct pathprof_flow_edge *edge = &p->flow->edges[e];
		bool fixed = is_fixed && is_fixed[e];

		if (!p->nodes[edge->from].path_cnt || !pp_paths_behind(p, e))
			continue;
		add_arc(g, (struct arc){
				   .weight = g->weights->edge[e],
				   .from = edge->from,
				   .to = p->cuts[e] ? p->flow->node_cnt + 1 : edge->to,
				   .edge = e,
				   .frequency = fixed ? FIXED : frequency_of(p, frequency, e),
				   .increment = &increments[e],
			   });
	}
}

static void add_leaves(struct placing *g, uint64_t *leave)
{
	const struct pathprof_function_paths *p = g->p;

	for (uint32_t v = 0; v < p->flow->node_cnt; v++)
		if (p->nodes[v].path_cnt && p->nodes[v].leaves)
			add_arc(g, (struct arc){.weight = g->weights->leave[v],
						.from = v,
						.to = p->flow->node_cnt + 1,
						.edge = PP_LEAVES,
						.increment = &leave[v]});
}

/* Heaviest first; in their order where they are alike, so that the outcome depends on no library.
 */
static int by_frequency(const void *x, const void *y)
{
	const struct arc *a = x, *b = y;

	if (a->frequency != b->frequency)
		return (a->frequency < b->frequency) - (a->frequency > b->frequency);
	return (a->increment > b->increment) - (a->increment < b->increment);
}

/* ---------------------------------------------------------------- the whole */

static int place(struct placing *g)
{
	uint32_t start = g->p->flow->node_cnt, end = start + 1;

	qsort(g->arcs, g->arc_cnt, sizeof(g->arcs[0]), by_frequency);
	join(&g->forest, end, start, 0);
	for (uint32_t i = 0; i < g->arc_cnt; i++) {
		struct arc *a = &g->arcs[i];

		*a->increment = join(&g->forest, a->from, a->to, a->weight);
		if (a->frequency == FIXED && (*a->increment || g->p->cuts[a->edge]))
			return -ELOOP;
	}
	return 0;
}

/* Zeros. */
static int allocate(struct pathprof_increments *i, const struct pathprof_flow *flow)
{
	size_t nodes = flow->node_cnt;

	i->start = calloc(2 * nodes + flow->edge_cnt, sizeof(uint64_t));
	if (!i->start)
		return -ENOMEM;
	i->leave = i->start + nodes;
	i->edge = i->leave + nodes;
	return 0;
}

int pp_increments_of_weights(struct pathprof_increments *ret_increments,
			     const struct pathprof_increments *weights,
			     const struct pathprof_function_paths *paths, const uint64_t *frequency,
			     const bool *is_fixed)
{
	size_t nodes = paths->flow->node_cnt;
	struct placing g = {.p = paths, .weights = weights};
	struct pathprof_increments i = {0};
	int r = allocate(&i, paths->flow);

	g.arcs = calloc(2 * nodes + paths->flow->edge_cnt, sizeof(*g.arcs));
	if (!r && (!g.arcs || forest_init(&g.forest, (uint32_t)nodes + 2) < 0))
		r = -ENOMEM;
	if (!r) {
		add_starts(&g, i.start);
		add_edges(&g, i.edge, frequency, is_fixed);
		add_leaves(&g, i.leave);
		r = place(&g);
	}
	free(g.arcs);
	free(g.forest.potential);
	if (r < 0)
		pathprof_increments_release(&i);
	else
		*ret_increments = i;
	return r;
}

int pp_increments_weights(struct pathprof_increments *ret_weights,
			  const struct pathprof_function_paths *paths)
{
	int r = allocate(ret_weights, paths->flow);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < paths->start_cnt; i++)
		ret_weights->start[paths->starts[i].node] = paths->starts[i].weight;
	for (uint32_t e = 0; e < paths->flow->edge_cnt; e++)
		ret_weights->edge[e] = paths->weights[e];
	for (uint32_t v = 0; v < paths->flow->node_cnt; v++)
		ret_weights->leave[v] = paths->nodes[v].leaving;
	return 0;
}

int pathprof_increments_init(struct pathprof_increments *ret_increments,
			     const struct pathprof_function_paths *paths, const uint64_t *frequency,
			     const bool *is_fixed)
{
	struct pathprof_increments weights = {0};
	int r = pp_increments_weights(&weights, paths);

	if (r == 0)
		r = pp_increments_of_weights(ret_increments, &weights, paths, frequency, is_fixed);
	pathprof_increments_release(&weights);
	return r;
}

void pathprof_increments_release(struct pathprof_increments *increments)
{
	free(increments->start);
	free(increments->edge_sets);
	*increments = (struct pathprof_increments){0};
}

bool pathprof_function_paths_cut_at(const struct pathprof_function_paths *paths, uint32_t edge)
{
	return paths->cuts[edge] != PP_CUT_NOT;
}
