// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Preferential tables of functions: the function's paths as a DAG, whose edges are in this order:
 * one from the start s to each node that paths begin at, the flow's edges, and one to the end t
 * from each node where the function is left. So a node's ways out keep the order of its numbers.
 *
 * Source: EOPP 3.3. Workload: each try numbers the whole DAG; there are at most nine.
 */
#include "pathprof/preferential.h"

#include <errno.h>
#include <stdlib.h>

#include "pathprof/numbering.h"
#include "pp_increments.h"

struct table {
	const struct pathprof_function_paths *p;
	struct pathprof_dag dag;
	uint32_t *leaving; /* by node: the edge of the DAG that leaves the function there */
	struct pathprof_dag_path paths[PATHPROF_PREFERENTIAL_MAX];
	size_t path_cnt;
	uint32_t *edges; /* what the paths point to */
	int64_t least;   /* preferential number of the paths */
	uint64_t span;
	uint32_t slot_bits, number_bits;
};

/* ---------------------------------------------------------------- the DAG */

/* Node v of the flow is v + 1; what nothing leads to has no paths, and may be in a cycle. */
static int add_edges(struct table *t)
{
	const struct pathprof_flow *flow = t->p->flow;
	uint32_t end = flow->node_cnt + 1;
	int r = 0;

	for (uint32_t e = 0; r == 0 && e < flow->edge_cnt; e++) {
		uint32_t from = flow->edges[e].from;
		bool ends = t->p->cuts[e] || !t->p->nodes[from].path_cnt;

		r = pathprof_dag_add(&t->dag, from + 1, ends ? end : flow->edges[e].to + 1);
	}
	return r;
}

static int add_leaving(struct table *t)
{
	const struct pathprof_flow *flow = t->p->flow;
	int r = 0;

	for (uint32_t v = 0; r == 0 && v < flow->node_cnt; v++) {
		t->leaving[v] = (uint32_t)t->dag.edge_cnt;
		if (t->p->nodes[v].path_cnt && t->p->nodes[v].leaves)
			r = pathprof_dag_add(&t->dag, v + 1, flow->node_cnt + 1);
	}
	return r;
}

static int build_dag(struct table *t)
{
	int r = 0;

	t->leaving = calloc(t->p->flow->node_cnt, sizeof(*t->leaving));
	if (!t->leaving)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < t->p->start_cnt; i++)
		r = pathprof_dag_add(&t->dag, 0, t->p->starts[i].node + 1);
	if (r == 0)
		r = add_edges(t);
	return r == 0 ? add_leaving(t) : r;
}

/* ---------------------------------------------------------------- the interesting paths */

/* The edges of path `id` in the DAG, written to edges; at most one a node and two. */
static int take_path(struct table *t, uint64_t id, uint32_t *edges, size_t *ret_cnt)
{
	struct pathprof_flow_path path = {.edge_room = t->p->flow->node_cnt, .edges = edges + 1};
	int r = pathprof_function_paths_of_id(t->p, id, &path);
	uint32_t last = path.edge_cnt ? edges[path.edge_cnt] : PP_LEAVES;
	uint32_t at = last == PP_LEAVES ? path.start : t->p->flow->edges[last].to;

	if (r < 0)
		return r;
	edges[0] = pp_paths_start_at(t->p, path.start);
	for (uint32_t i = 1; i <= path.edge_cnt; i++)
		edges[i] += t->p->start_cnt;
	*ret_cnt = (size_t)path.edge_cnt + 1;
	if (last == PP_LEAVES || !t->p->cuts[last])
		edges[(*ret_cnt)++] = t->leaving[at];
	return 0;
}

static int take_paths(struct table *t, const uint64_t *ids, size_t cnt)
{
	size_t room = (size_t)t->p->flow->node_cnt + 2;
	int r = 0;

	t->path_cnt = cnt < PATHPROF_PREFERENTIAL_MAX ? cnt : PATHPROF_PREFERENTIAL_MAX;
	t->edges = calloc(t->path_cnt * room + 1, sizeof(*t->edges));
	if (!t->edges)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < t->path_cnt; i++) {
		t->paths[i].edges = t->edges + i * room;
		r = take_path(t, ids[i], t->edges + i * room, &t->paths[i].edge_cnt);
	}
	return r;
}

/* ---------------------------------------------------------------- their numbers */

static void measure(struct table *t)
{
	int64_t least = INT64_MAX, greatest = INT64_MIN;

	for (size_t i = 0; i < t->path_cnt; i++) {
		int64_t number = t->paths[i].preferential;

		least = number < least ? number : least;
		greatest = number > greatest ? number : greatest;
	}
	t->least = least;
	t->span = (uint64_t)greatest - (uint64_t)least + 1;
}

/* The fewest bits that hold every number of [least, greatest] as a signed one. */
static uint32_t bits_for(int64_t least, int64_t greatest)
{
	uint64_t wide = (uint64_t)(least < 0 ? ~least : least) |
			(uint64_t)(greatest < 0 ? ~greatest : greatest);

	return wide ? 65 - (uint32_t)__builtin_clzll(wide) : 1;
}

/* 0: all paths' numbers fit beside their preferential ones; -ENOENT: they do not. */
static int fit(struct table *t)
{
	int64_t min = 0, max = 0;
	int r = pathprof_preferential_range(&t->dag, &min, &max);

	if (r == -EOVERFLOW)
		return -ENOENT;
	if (r < 0)
		return r;
	if (__builtin_sub_overflow(min, t->least, &min) ||
	    __builtin_sub_overflow(max, t->least, &max))
		return -ENOENT;
	t->number_bits = bits_for(min, max);
	t->slot_bits = t->span > 1 ? 64 - (uint32_t)__builtin_clzll(t->span - 1) : 0;
	return t->number_bits < 63 && t->p->cnt <= 1ull << (63 - t->number_bits) ? 0 : -ENOENT;
}

static int try(struct table *t)
{
	int r = pathprof_number_preferential(&t->dag, t->paths, t->path_cnt);

	if (r < 0)
		return r == -EOVERFLOW ? -ENOENT : r;
	measure(t);
	return t->span > PATHPROF_PREFERENTIAL_DELTA * t->path_cnt ? -ENOENT : fit(t);
}

static int choose(struct table *t)
{
	int r = -ENOENT;

	while (t->path_cnt && (r = try(t)) == -ENOENT)
		t->path_cnt /= 2;
	return r;
}

/* ---------------------------------------------------------------- the table */

static void join_weight(const struct table *t, uint64_t *weight, size_t edge)
{
	*weight = (*weight << t->number_bits) + (uint64_t)t->dag.edges[edge].preferential;
}

/* The register holds the number and the preferential one, both from 0; an edge adds to both at
 * once. */
static void join_weights(const struct table *t, struct pathprof_increments *weights)
{
	const struct pathprof_function_paths *p = t->p;

	for (uint32_t i = 0; i < p->start_cnt; i++) {
		join_weight(t, &weights->start[p->starts[i].node], i);
		weights->start[p->starts[i].node] -= (uint64_t)t->least;
	}
	for (uint32_t e = 0; e < p->flow->edge_cnt; e++)
		join_weight(t, &weights->edge[e], (size_t)p->start_cnt + e);
	for (uint32_t v = 0; v < p->flow->node_cnt; v++)
		if (p->nodes[v].path_cnt && p->nodes[v].leaves)
			join_weight(t, &weights->leave[v], t->leaving[v]);
}

static int fill_keys(const struct table *t, const uint64_t *ids, uint64_t **ret_keys)
{
	uint64_t *keys = calloc((size_t)1 << t->slot_bits, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	for (size_t slot = 0; slot >> t->slot_bits == 0; slot++)
		keys[slot] = PATHPROF_PREFERENTIAL_FREE;
	for (size_t i = 0; i < t->path_cnt; i++) {
		uint64_t number = (uint64_t)t->paths[i].preferential - (uint64_t)t->least;

		keys[number] = (ids[i] << t->number_bits) + number;
	}
	*ret_keys = keys;
	return 0;
}

static int make(struct table *t, struct pathprof_preferential *ret, const uint64_t *ids,
		const uint64_t *frequency, const bool *is_fixed)
{
	struct pathprof_increments weights = {0}, increments = {0};
	int r = pp_increments_weights(&weights, t->p);

	if (r == 0) {
		join_weights(t, &weights);
		r = pp_increments_of_weights(&increments, &weights, t->p, frequency, is_fixed);
	}
	pathprof_increments_release(&weights);
	if (r < 0)
		return r;
	r = fill_keys(t, ids, &ret->keys);
	if (r < 0) {
		pathprof_increments_release(&increments);
		return r;
	}
	ret->increments = increments;
	ret->slot_bits = t->slot_bits;
	ret->number_bits = t->number_bits;
	ret->path_cnt = t->path_cnt;
	ret->span = t->span;
	return 0;
}

int pathprof_preferential_init(struct pathprof_preferential *ret,
			       const struct pathprof_function_paths *paths, const uint64_t *ids,
			       size_t id_cnt, const uint64_t *frequency, const bool *is_fixed)
{
	struct table t = {.p = paths};
	int r;

	pathprof_dag_init(&t.dag);
	r = build_dag(&t);
	if (r == 0)
		r = take_paths(&t, ids, id_cnt);
	if (r == 0)
		r = choose(&t);
	if (r == 0)
		r = make(&t, ret, ids, frequency, is_fixed);
	pathprof_dag_release(&t.dag);
	free(t.leaving);
	free(t.edges);
	return r;
}

void pathprof_preferential_release(struct pathprof_preferential *preferential)
{
	pathprof_increments_release(&preferential->increments);
	free(preferential->keys);
	*preferential = (struct pathprof_preferential){0};
}
