// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Which loops and functions have obvious paths only. Of the paths in question as many run over an
 * edge as come to it, times those behind it. One, two or more are told apart, so that nothing
 * overflows; a path is obvious when some edge of it has one.
 */
#include "pp_obvious.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"

#define NONE PATHPROF_GRAPH_NONE
#define MANY 2

struct way {
	uint32_t node, next_edge;
};

struct finder {
	struct pp_obvious *found;
	const struct pathprof_function_paths *whole, *warm;
	const struct pathprof_edge_profile *profile;
	const uint64_t *start_flow;
	uint32_t *order, order_cnt; /* live nodes, each behind those that lead to it */
	uint32_t *wanted;           /* by node: edges to it that are not in the order yet */
	uint64_t *node_flow;        /* by node: how often it ran */
	uint8_t *before, *behind;   /* by node: paths in question, up to MANY */
	bool *is_plain;             /* by node: some way to it has no edge of its own */
	struct way *ways;
	uint32_t *edges; /* of the path at hand */
	uint32_t loop;   /* at hand; NONE: the function */
	double share;    /* of what runs over its edges: what goes round */
	bool any;        /* edges have become silent */
};

static const struct pathprof_flow *flow_of(const struct finder *f)
{
	return f->warm->flow;
}

static uint32_t first_edge(const struct finder *f, uint32_t node)
{
	return flow_of(f)->nodes[node].first_edge;
}

/* A warm path goes on over it. */
static bool goes_on(const struct finder *f, uint32_t edge)
{
	return !f->warm->cuts[edge] && pp_paths_behind(f->warm, edge);
}

static uint8_t add_up(uint8_t a, uint8_t b)
{
	return a + b < MANY ? a + b : MANY;
}

/* ---------------------------------------------------------------- order */

static void find_order(struct finder *f)
{
	uint32_t at = 0, cnt = flow_of(f)->node_cnt;

	for (uint32_t e = 0; e < flow_of(f)->edge_cnt; e++)
		if (f->warm->nodes[flow_of(f)->edges[e].from].path_cnt && goes_on(f, e))
			f->wanted[flow_of(f)->edges[e].to]++;
	for (uint32_t v = 0; v < cnt; v++)
		if (f->warm->nodes[v].path_cnt && !f->wanted[v])
			f->order[f->order_cnt++] = v;
	for (; at < f->order_cnt; at++) {
		uint32_t v = f->order[at];

		for (uint32_t e = first_edge(f, v); e < first_edge(f, v + 1); e++)
			if (goes_on(f, e) && !--f->wanted[flow_of(f)->edges[e].to])
				f->order[f->order_cnt++] = flow_of(f)->edges[e].to;
	}
}

static void measure_nodes(struct finder *f)
{
	const struct pathprof_function_paths *p = f->whole;

	for (uint32_t i = 0; i < p->start_cnt; i++)
		f->node_flow[p->starts[i].node] = f->start_flow[i];
	for (uint32_t e = 0; e < p->flow->edge_cnt; e++)
		if (!p->cuts[e])
			f->node_flow[p->flow->edges[e].to] += f->profile->edges[e];
}

/* ---------------------------------------------------------------- the paths in question */

static bool is_inside(const struct finder *f, uint32_t node)
{
	uint32_t loop = flow_of(f)->nodes[node].loop;

	while (loop != NONE && loop != f->loop)
		loop = flow_of(f)->loops[loop].parent;
	return f->loop == NONE || loop == f->loop;
}

static bool ends_at(const struct finder *f, uint32_t edge)
{
	const struct pathprof_flow_edge *e = &flow_of(f)->edges[edge];

	if (!f->warm->cuts[edge] || !pp_paths_behind(f->warm, edge))
		return false;
	return f->loop == NONE || (e->back && e->to == flow_of(f)->loops[f->loop].header);
}

static bool leaves_at(const struct finder *f, uint32_t node)
{
	return f->loop == NONE && f->warm->nodes[node].leaves;
}

static bool starts_at(const struct finder *f, uint32_t node)
{
	return pp_paths_start_at(f->warm, node) < f->warm->start_cnt && is_inside(f, node);
}

static uint8_t behind_edge(const struct finder *f, uint32_t edge)
{
	if (goes_on(f, edge))
		return f->behind[flow_of(f)->edges[edge].to];
	return ends_at(f, edge);
}

static void count_paths(struct finder *f)
{
	for (uint32_t i = 0; i < f->order_cnt; i++)
		f->before[f->order[i]] = starts_at(f, f->order[i]);
	for (uint32_t i = 0; i < f->order_cnt; i++) {
		uint32_t v = f->order[i];

		for (uint32_t e = first_edge(f, v); e < first_edge(f, v + 1); e++)
			if (goes_on(f, e))
				f->before[flow_of(f)->edges[e].to] =
					add_up(f->before[flow_of(f)->edges[e].to], f->before[v]);
	}
	for (uint32_t i = f->order_cnt; i-- > 0;) {
		uint32_t v = f->order[i];

		f->behind[v] = leaves_at(f, v);
		for (uint32_t e = first_edge(f, v); e < first_edge(f, v + 1); e++)
			f->behind[v] = add_up(f->behind[v], behind_edge(f, e));
	}
}

/* Runs that go round in a loop inside run over the edge, too. */
static bool is_of_inner(const struct finder *f, const struct pathprof_flow_edge *e)
{
	return f->loop != NONE && flow_of(f)->nodes[e->from].loop != f->loop &&
	       flow_of(f)->nodes[e->to].loop != f->loop;
}

/* Just one of the paths runs over it, and nothing else. */
static bool is_own(const struct finder *f, uint32_t edge)
{
	const struct pathprof_flow_edge *e = &flow_of(f)->edges[edge];

	return f->before[e->from] == 1 && behind_edge(f, edge) == 1 && !is_of_inner(f, e) &&
	       !(f->loop == NONE && f->found->is_told[edge]);
}

/* The same of beginning at a node, and of leaving the function there. */
static bool is_own_start(const struct finder *f, uint32_t node)
{
	return f->loop == NONE && f->behind[node] == 1 && !f->found->begins[node];
}

static bool is_own_leave(const struct finder *f, uint32_t node)
{
	return f->before[node] == 1;
}

static bool has_plain_end(const struct finder *f, uint32_t node)
{
	if (leaves_at(f, node) && !is_own_leave(f, node))
		return true;
	for (uint32_t e = first_edge(f, node); e < first_edge(f, node + 1); e++)
		if (ends_at(f, e) && !is_own(f, e))
			return true;
	return false;
}

static void pass_on(struct finder *f, uint32_t node)
{
	for (uint32_t e = first_edge(f, node); e < first_edge(f, node + 1); e++)
		if (goes_on(f, e) && !is_own(f, e))
			f->is_plain[flow_of(f)->edges[e].to] = true;
}

/* Whether every path has an edge of its own. None is none. */
static bool are_obvious(struct finder *f)
{
	bool any = false;

	count_paths(f);
	for (uint32_t i = 0; i < f->order_cnt; i++) {
		uint32_t v = f->order[i];
		bool starts = starts_at(f, v);

		any |= starts && f->behind[v];
		f->is_plain[v] = starts && !is_own_start(f, v);
	}
	for (uint32_t i = 0; i < f->order_cnt; i++) {
		if (!f->is_plain[f->order[i]])
			continue;
		if (has_plain_end(f, f->order[i]))
			return false;
		pass_on(f, f->order[i]);
	}
	return any;
}

/* ---------------------------------------------------------------- what the profile tells */

static void take_least(uint64_t *least, bool is_own, uint64_t flow)
{
	if (is_own && flow < *least)
		*least = flow;
}

/* Of a loop only: when a function is told, nothing comes after. */
static void mark(struct finder *f, uint32_t start, uint32_t edge_cnt)
{
	if (f->loop == NONE)
		return;
	f->found->begins[start] = true;
	for (uint32_t i = 0; i < edge_cnt; i++)
		f->found->is_told[f->edges[i]] = true;
}

/* The path at hand, of so many edges. */
static int tell(struct finder *f, uint32_t start, uint32_t edge_cnt, uint32_t last)
{
	struct pathprof_flow_path path = {.start = start, .edge_cnt = edge_cnt, .edges = f->edges};
	struct pp_obvious *o = f->found;
	uint64_t least = UINT64_MAX, id = 0;
	int r = pathprof_function_paths_id(f->whole, &path, &id);

	if (r < 0 || pp_grow(&o->told, o->told_cnt, &o->told_room) < 0)
		return r < 0 ? r : -ENOMEM;
	take_least(&least, is_own_start(f, start),
		   f->start_flow[pp_paths_start_at(f->whole, start)]);
	for (uint32_t i = 0; i < edge_cnt; i++)
		take_least(&least, is_own(f, f->edges[i]), f->profile->edges[f->edges[i]]);
	if (last != NONE)
		take_least(&least, is_own_leave(f, last), f->node_flow[last]);
	mark(f, start, edge_cnt);
	o->told[o->told_cnt++] =
		(struct pathprof_told){id, (uint64_t)((double)least * f->share + 0.5)};
	return 0;
}

static int tell_from(struct finder *f, uint32_t start)
{
	uint32_t depth = 0;
	int r = 0;

	f->ways[0] = (struct way){start, first_edge(f, start)};
	for (;;) {
		struct way *way = &f->ways[depth];
		uint32_t edge = way->next_edge++;

		if (edge < first_edge(f, way->node + 1)) {
			f->edges[depth] = edge;
			if (ends_at(f, edge)) {
				r = tell(f, start, depth + 1, NONE);
			} else if (goes_on(f, edge) && behind_edge(f, edge)) {
				uint32_t to = flow_of(f)->edges[edge].to;

				f->ways[++depth] = (struct way){to, first_edge(f, to)};
			}
		} else {
			if (leaves_at(f, way->node))
				r = tell(f, start, depth, way->node);
			if (!depth--)
				return r;
		}
		if (r < 0)
			return r;
	}
}

static int tell_all(struct finder *f)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < f->warm->start_cnt; i++) {
		uint32_t v = f->warm->starts[i].node;

		if (f->warm->nodes[v].path_cnt && is_inside(f, v) && f->behind[v])
			r = tell_from(f, v);
	}
	return r;
}

/* ---------------------------------------------------------------- loops and the function */

static bool leads_back(const struct finder *f, uint32_t edge)
{
	const struct pathprof_flow_edge *e = &flow_of(f)->edges[edge];

	return e->back && e->to == flow_of(f)->loops[f->loop].header;
}

/* Goes round often each time it is entered. */
static bool goes_round(struct finder *f)
{
	uint32_t header = flow_of(f)->loops[f->loop].header;
	uint64_t round = 0;
	uint64_t all = f->node_flow[header];

	for (uint32_t e = 0; e < flow_of(f)->edge_cnt; e++)
		round += leads_back(f, e) ? f->profile->edges[e] : 0;
	if (!all || round > all)
		return false;
	f->share = (double)round / (double)all;
	return round / PP_OBVIOUS_ROUNDS >= all - round;
}

static int leave_out_loop(struct finder *f)
{
	for (uint32_t e = 0; e < flow_of(f)->edge_cnt; e++)
		if (leads_back(f, e) && f->whole->cuts[e])
			f->found->is_silent[e] = true;
	f->any = true;
	return tell_all(f);
}

static int find_all(struct finder *f)
{
	int r = 0;

	f->loop = NONE;
	f->share = 1;
	f->found->all = are_obvious(f);
	if (f->found->all)
		return tell_all(f);
	for (f->loop = 0; r == 0 && f->loop < flow_of(f)->loop_cnt; f->loop++)
		if (goes_round(f) && are_obvious(f))
			r = leave_out_loop(f);
	return r;
}

static int finder_init(struct finder *f)
{
	size_t nodes = flow_of(f)->node_cnt;

	f->node_flow = calloc(nodes, sizeof(*f->node_flow));
	f->ways = calloc(nodes + 1, sizeof(*f->ways));
	f->order = calloc(3 * nodes + 1, sizeof(*f->order));
	f->before = calloc(nodes, 3);
	if (!f->node_flow || !f->ways || !f->order || !f->before)
		return -ENOMEM;
	f->wanted = f->order + nodes;
	f->edges = f->wanted + nodes;
	f->behind = f->before + nodes;
	f->is_plain = (bool *)(f->behind + nodes);
	return 0;
}

int pp_obvious_find(struct pp_obvious *obvious, const struct pathprof_function_paths *whole,
		    const struct pathprof_function_paths *warm,
		    const struct pathprof_edge_profile *profile, const uint64_t *start_flow)
{
	struct finder f = {
		.found = obvious,
		.whole = whole,
		.warm = warm,
		.profile = profile,
		.start_flow = start_flow,
	};
	int r = finder_init(&f);

	if (r == 0) {
		find_order(&f);
		measure_nodes(&f);
		r = find_all(&f);
	}
	free(f.node_flow);
	free(f.ways);
	free(f.order);
	free(f.before);
	return r < 0 ? r : f.any;
}

int pp_obvious_init(struct pp_obvious *obvious, const struct pathprof_flow *flow)
{
	*obvious = (struct pp_obvious){
		.is_silent = calloc(2 * (size_t)flow->edge_cnt + flow->node_cnt, sizeof(bool))};
	obvious->is_told = obvious->is_silent + flow->edge_cnt;
	obvious->begins = obvious->is_told + flow->edge_cnt;
	return obvious->is_silent ? 0 : -ENOMEM;
}

void pp_obvious_release(struct pp_obvious *obvious)
{
	free(obvious->is_silent);
	free(obvious->told);
	*obvious = (struct pp_obvious){0};
}
