// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Whether paths are obvious, all of them or those that end at an edge. A path is obvious when it is
 * the only path over one of its edges. The number of paths over an edge is that of the ways to it
 * times that of the ways on behind it; both stop at MANY, so that nothing overflows.
 */
#include "pp_obvious.h"

#include <errno.h>
#include <stdlib.h>

#define MANY 2

struct finder {
	const struct pathprof_function_paths *warm;
	uint32_t *order, order_cnt;
	uint8_t *before, *behind; /* by node: paths, up to MANY */
	bool *is_plain;           /* by node: some way to it has no edge of its own */
};

static uint32_t first_edge(const struct finder *f, uint32_t node)
{
	return f->warm->flow->nodes[node].first_edge;
}

static uint32_t behind_of(const struct finder *f, uint32_t edge)
{
	return f->warm->flow->edges[edge].to;
}

static uint8_t add_up(uint8_t a, uint8_t b)
{
	return a + b < MANY ? a + b : MANY;
}

static bool starts_at(const struct finder *f, uint32_t node)
{
	return pp_paths_start_at(f->warm, node) < f->warm->start_cnt;
}

static bool ends_at(const struct finder *f, uint32_t edge)
{
	return !pp_ways_go_on(f->warm, edge) && pp_paths_behind(f->warm, edge);
}

static uint8_t paths_behind(const struct finder *f, uint32_t edge)
{
	return pp_ways_go_on(f->warm, edge) ? f->behind[behind_of(f, edge)] : ends_at(f, edge);
}

static void count_paths(struct finder *f)
{
	for (uint32_t i = 0; i < f->order_cnt; i++)
		f->before[f->order[i]] = starts_at(f, f->order[i]);
	for (uint32_t i = 0; i < f->order_cnt; i++) {
		uint32_t v = f->order[i];

		for (uint32_t e = first_edge(f, v); e < first_edge(f, v + 1); e++)
			if (pp_ways_go_on(f->warm, e))
				f->before[behind_of(f, e)] =
					add_up(f->before[behind_of(f, e)], f->before[v]);
	}
	for (uint32_t i = f->order_cnt; i-- > 0;) {
		uint32_t v = f->order[i];

		f->behind[v] = f->warm->nodes[v].leaves;
		for (uint32_t e = first_edge(f, v); e < first_edge(f, v + 1); e++)
			f->behind[v] = add_up(f->behind[v], paths_behind(f, e));
	}
}

/* Just one path runs over it. */
static bool is_own(const struct finder *f, uint32_t edge)
{
	return f->before[f->warm->flow->edges[edge].from] == 1 && paths_behind(f, edge) == 1;
}

/* Paths that are not obvious end there. */
static bool is_plain_end(const struct finder *f, uint32_t edge)
{
	return ends_at(f, edge) && !is_own(f, edge) && f->is_plain[f->warm->flow->edges[edge].from];
}

static bool has_plain_end(const struct finder *f, uint32_t node)
{
	if (f->is_plain[node] && f->warm->nodes[node].leaves && f->before[node] != 1)
		return true;
	for (uint32_t e = first_edge(f, node); e < first_edge(f, node + 1); e++)
		if (is_plain_end(f, e))
			return true;
	return false;
}

static void pass_on(struct finder *f, uint32_t node)
{
	for (uint32_t e = first_edge(f, node); e < first_edge(f, node + 1); e++)
		if (pp_ways_go_on(f->warm, e) && !is_own(f, e))
			f->is_plain[behind_of(f, e)] = true;
}

static void find_plain(struct finder *f)
{
	count_paths(f);
	for (uint32_t i = 0; i < f->order_cnt; i++)
		f->is_plain[f->order[i]] = starts_at(f, f->order[i]) && f->behind[f->order[i]] != 1;
	for (uint32_t i = 0; i < f->order_cnt; i++)
		if (f->is_plain[f->order[i]])
			pass_on(f, f->order[i]);
}

static bool are_obvious(const struct finder *f)
{
	for (uint32_t i = 0; i < f->order_cnt; i++)
		if (has_plain_end(f, f->order[i]))
			return false;
	return f->warm->cnt != 0;
}

static void take_ends(const struct finder *f, bool *ret_by_edge)
{
	for (uint32_t e = 0; e < f->warm->flow->edge_cnt; e++)
		ret_by_edge[e] = ends_at(f, e) && !is_plain_end(f, e);
}

int pp_obvious(const struct pathprof_function_paths *warm, bool *ret_by_edge, bool *ret_all)
{
	struct finder f = {.warm = warm};
	size_t nodes = warm->flow->node_cnt;
	int r = -ENOMEM;

	f.order = calloc(2 * nodes, sizeof(*f.order));
	f.before = calloc(nodes, 3);
	if (f.order && f.before) {
		f.behind = f.before + nodes;
		f.is_plain = (bool *)(f.behind + nodes);
		f.order_cnt = pp_ways_order(warm, f.order, f.order + nodes);
		find_plain(&f);
		*ret_all = are_obvious(&f);
		if (ret_by_edge)
			take_ends(&f, ret_by_edge);
		r = 0;
	}
	free(f.order);
	free(f.before);
	return r;
}
