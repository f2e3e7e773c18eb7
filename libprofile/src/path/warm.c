// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Choosing cold edges, and what happens to paths that run over them. A node is live when a warm
 * path runs over it. Edges between live nodes that are not cold are those of warm paths; an edge
 * that is none of these and leads to a live node is where a cold path may come back.
 *
 * The sum behind a live node is the number of the way taken from there plus a constant of the
 * node: the register for a cold path there is chosen so that the constant cancels.
 */
#include "pathprof/warm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pp_function_paths.h"
#include "pp_increments.h"
#include "pp_obvious.h"

struct choice {
	const struct pathprof_function_paths *whole;
	const struct pathprof_edge_profile *profile;
	const bool *is_fixed;
	enum pathprof_warm_rules rules;
	uint64_t *node_flow, *start_flow; /* flow over a node's edges; paths beginning at a start */
	uint64_t *node_came;              /* by node: how often paths came there, or began */
	uint64_t *node_rounds, *node_entered; /* flow into a node: over silent edges, uncut ones */
	bool *is_cold, *start_is_cold;        /* by edge, by start */
	bool *is_told, *is_silent; /* by edge: the profile tells what ends there; not counted */
	bool *begins_anew;         /* by edge: paths that run over it are counted from its end */
	bool all_told;
	uint64_t bound; /* less is cold */
	struct pathprof_function_paths *warm;
};

static bool is_fixed(const struct choice *c, uint32_t edge)
{
	return c->is_fixed && c->is_fixed[edge];
}

static bool is_live(const struct pathprof_function_paths *warm, uint32_t node)
{
	return warm->nodes[node].path_cnt != 0;
}

/* Some warm path runs over it. */
static bool is_live_edge(const struct pathprof_function_paths *warm, uint32_t edge)
{
	return is_live(warm, warm->flow->edges[edge].from) && pp_paths_behind(warm, edge);
}

/* ---------------------------------------------------------------- what is cold */

static void add_flow(uint64_t *sum, uint64_t flow)
{
	if (__builtin_add_overflow(*sum, flow, sum))
		*sum = UINT64_MAX;
}

static void measure_flow(struct choice *c)
{
	const struct pathprof_function_paths *p = c->whole;

	c->start_flow[0] = c->profile->entries;
	for (uint32_t e = 0; e < p->flow->edge_cnt; e++) {
		add_flow(&c->node_flow[p->flow->edges[e].from], c->profile->edges[e]);
		if (p->cuts[e] && p->nodes[p->flow->edges[e].from].path_cnt)
			add_flow(&c->start_flow[pp_paths_start_at(p, p->flow->edges[e].to)],
				 c->profile->edges[e]);
	}
	for (uint32_t i = 0; i < p->start_cnt; i++)
		c->node_came[p->starts[i].node] = c->start_flow[i];
	for (uint32_t e = 0; e < p->flow->edge_cnt; e++)
		if (!p->cuts[e])
			add_flow(&c->node_came[p->flow->edges[e].to], c->profile->edges[e]);
}

/* Below this an edge of the node is cold, however often the node ran. */
static uint64_t least_of(const struct choice *c, uint32_t node)
{
	const struct pathprof_flow_node *n = &c->whole->flow->nodes[node];

	if (c->rules == PATHPROF_WARM_TARGETED)
		return c->node_flow[node] / PATHPROF_WARM_LOCAL_TARGETED;
	return c->node_flow[node] / PATHPROF_WARM_LOCAL / (n[1].first_edge - n[0].first_edge);
}

static bool runs_too_little(const struct choice *c, uint32_t edge)
{
	uint64_t flow = c->profile->edges[edge];

	return !is_fixed(c, edge) &&
	       (flow < c->bound || flow < least_of(c, c->whole->flow->edges[edge].from));
}

static void choose_cold(struct choice *c)
{
	const struct pathprof_function_paths *p = c->whole;

	for (uint32_t i = 0; i < p->start_cnt; i++)
		c->start_is_cold[i] = c->start_flow[i] < c->bound;
	for (uint32_t e = 0; e < p->flow->edge_cnt; e++) {
		c->is_cold[e] = runs_too_little(c, e);
		c->is_silent[e] = false;
		c->begins_anew[e] = false;
	}
}

/*
 * An edge that takes no code, over which a cold path comes back, cannot set the register: no path
 * may be warm beyond it, so all ways to its target become cold. False: there is no such edge.
 */
static bool give_up_fixed(struct choice *c)
{
	const struct pathprof_flow *flow = c->whole->flow;
	bool gave = false;

	for (uint32_t e = 0; e < flow->edge_cnt; e++) {
		uint32_t node = flow->edges[e].to;

		if (!is_fixed(c, e) || c->whole->cuts[e] || is_live_edge(c->warm, e) ||
		    !is_live(c->warm, node))
			continue;
		gave = true;
		for (uint32_t other = 0; other < flow->edge_cnt; other++)
			if (flow->edges[other].to == node && !c->whole->cuts[other])
				c->is_cold[other] = true;
		for (uint32_t i = 0; i < c->whole->start_cnt; i++)
			if (c->whole->starts[i].node == node)
				c->start_is_cold[i] = true;
	}
	return gave;
}

static int number_warm(struct choice *c)
{
	int r;

	do {
		struct pathprof_function_paths *warm = NULL;

		r = pp_paths_without(&warm, c->whole, c->is_cold, c->start_is_cold);
		pathprof_function_paths_free(c->warm);
		c->warm = warm;
	} while (r == 0 && give_up_fixed(c));
	return r;
}

/* Some path ends on an edge that takes no code, so nothing could count it. */
static bool ends_at_fixed(const struct choice *c)
{
	const struct pathprof_flow *flow = c->whole->flow;

	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		if (is_fixed(c, e) && c->whole->cuts[e] &&
		    c->whole->nodes[flow->edges[e].from].path_cnt)
			return true;
	return false;
}

/* ---------------------------------------------------------------- what the profile tells */

static struct pp_profiled profiled(const struct choice *c, double least)
{
	return (struct pp_profiled){
		.paths = c->whole,
		.edges = c->profile->edges,
		.nodes = c->node_came,
		.starts = c->start_flow,
		.least = least,
	};
}

static int find_told(struct choice *c)
{
	struct pp_profiled p = profiled(c, (double)c->bound);

	return pp_obvious_ends(&p, c->is_told);
}

/* Loops go round so often that counting the paths which leave them costs little. */
static bool goes_round(const struct choice *c)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < c->whole->start_cnt; i++)
		add_flow(&all, c->start_flow[i]);
	return all / PATHPROF_WARM_ROUNDS > c->profile->entries;
}

/*
 * A path that leaves a loop with a silent back edge began before the loop, or at its header in the
 * last round: telling these apart would cost setting the register in each round. If few paths came
 * in, all are counted as if they began at the header.
 */
static void drop_before(struct choice *c)
{
	const struct pathprof_flow *flow = c->whole->flow;

	memset(c->node_rounds, 0, 2 * (size_t)flow->node_cnt * sizeof(*c->node_rounds));
	for (uint32_t e = 0; e < flow->edge_cnt; e++) {
		uint32_t to = flow->edges[e].to;

		if (c->is_silent[e])
			add_flow(&c->node_rounds[to], c->profile->edges[e]);
		else if (!c->whole->cuts[e])
			add_flow(&c->node_entered[to],
				 is_fixed(c, e) ? UINT64_MAX : c->profile->edges[e]);
	}
	for (uint32_t e = 0; e < flow->edge_cnt; e++) {
		uint32_t to = flow->edges[e].to;

		c->begins_anew[e] = !c->whole->cuts[e] &&
				    c->node_rounds[to] / PATHPROF_WARM_ROUNDS > c->node_entered[to];
		c->is_cold[e] |= c->begins_anew[e];
	}
}

/* Leaves out what the profile tells, all or by edge. Paths that leave a silent loop are counted. */
static int leave_out_told(struct choice *c)
{
	bool all = false, targeted = c->rules == PATHPROF_WARM_TARGETED;
	int r = pp_obvious(c->warm, targeted ? c->is_told : NULL, &all);

	if (r < 0)
		return r;
	c->all_told = all && !goes_round(c);
	if (c->all_told)
		return 0;
	for (uint32_t e = 0; e < c->whole->flow->edge_cnt; e++) {
		c->is_silent[e] =
			(c->is_told[e] || (all && c->whole->cuts[e])) && is_live_edge(c->warm, e);
		c->is_cold[e] |= c->is_silent[e];
	}
	drop_before(c);
	return number_warm(c);
}

static int choose(struct choice *c, uint64_t most)
{
	int r = 0;

	/* Edges that never ran are cold. */
	if (c->rules != PATHPROF_WARM_TARGETED)
		c->bound = c->profile->total / PATHPROF_WARM_GLOBAL;
	c->bound += !c->bound;
	if (c->rules == PATHPROF_WARM_OBVIOUS)
		r = find_told(c);
	while (r == 0) {
		choose_cold(c);
		r = number_warm(c);
		if (r == 0 && c->rules != PATHPROF_WARM_PRACTICAL)
			r = leave_out_told(c);
		if (r < 0 || c->all_told || c->warm->cnt <= most)
			return r;
		if (c->rules == PATHPROF_WARM_TARGETED ||
		    __builtin_add_overflow(c->bound, c->bound / 2 + 1, &c->bound))
			r = -EOVERFLOW;
	}
	return r;
}

/* ---------------------------------------------------------------- cold paths */

/* The first way out of a live node that warm paths take: what is behind it has the number 0. */
static uint32_t first_way(const struct pathprof_function_paths *warm, uint32_t node)
{
	return pp_paths_way_of(warm, node, 0);
}

/* The sum from a node to the end of the first of its ways. */
static uint64_t sum_behind(const struct pathprof_function_paths *warm,
			   const struct pathprof_increments *i, uint32_t node)
{
	uint64_t sum = 0;

	for (;;) {
		uint32_t way = first_way(warm, node);

		if (way == PP_LEAVES)
			return sum + i->leave[node];
		sum += i->edge[way];
		if (warm->cuts[way])
			return sum;
		node = warm->flow->edges[way].to;
	}
}

/* The value of the register where a cold path comes to this node. */
static uint64_t cold_value(struct pathprof_warm *w, const struct pathprof_function_paths *warm,
			   uint32_t node)
{
	if (w->counter_cnt < w->cnt + warm->nodes[node].path_cnt)
		w->counter_cnt = w->cnt + warm->nodes[node].path_cnt;
	return w->cnt - sum_behind(warm, &w->increments, node);
}

static void set_start(struct pathprof_warm *w, const struct choice *c, uint32_t start)
{
	uint32_t node = c->whole->starts[start].node;

	if (c->start_is_cold[start] && is_live(c->warm, node))
		w->increments.start[node] = cold_value(w, c->warm, node);
}

/* A path that ends where none is warm is counted whatever the register holds. */
static void set_edge(struct pathprof_warm *w, const struct choice *c, uint32_t edge)
{
	uint32_t to = c->whole->flow->edges[edge].to;
	bool ends = c->whole->cuts[edge];

	w->increments.edge_silent[edge] = c->is_silent[edge] || c->begins_anew[edge];
	if (is_live_edge(c->warm, edge) || (!ends && !is_live(c->warm, to)))
		return;
	w->increments.edge_sets[edge] = true;
	if (c->begins_anew[edge])
		w->increments.edge[edge] = w->increments.start[to];
	else
		w->increments.edge[edge] = ends ? w->cnt : cold_value(w, c->warm, to);
}

static void set_leave(struct pathprof_warm *w, const struct choice *c, uint32_t node)
{
	if (is_live(c->warm, node))
		return;
	w->increments.leave_sets[node] = true;
	w->increments.leave[node] = w->cnt;
}

static int set_cold(struct pathprof_warm *w, const struct choice *c)
{
	const struct pathprof_flow *flow = c->whole->flow;

	w->increments.edge_sets = calloc(2 * (size_t)flow->edge_cnt + flow->node_cnt,
					 sizeof(*w->increments.edge_sets));
	if (!w->increments.edge_sets)
		return -ENOMEM;
	w->increments.edge_silent = w->increments.edge_sets + flow->edge_cnt;
	w->increments.leave_sets = w->increments.edge_silent + flow->edge_cnt;
	for (uint32_t i = 0; i < c->whole->start_cnt; i++)
		set_start(w, c, i);
	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		set_edge(w, c, e);
	for (uint32_t v = 0; v < flow->node_cnt; v++)
		set_leave(w, c, v);
	return 0;
}

/* ---------------------------------------------------------------- the whole */

static int take_ids(struct pathprof_warm *w, const struct choice *c)
{
	struct pathprof_flow_path path = {.edge_room = c->whole->flow->node_cnt + 1};
	int r = 0;

	path.edges = calloc(path.edge_room, sizeof(*path.edges));
	w->ids = calloc(w->cnt + 1, sizeof(*w->ids));
	if (!path.edges || !w->ids)
		r = -ENOMEM;
	for (uint64_t i = 0; r == 0 && i < w->cnt; i++) {
		r = pathprof_function_paths_of_id(c->warm, i, &path);
		if (r == 0)
			r = pathprof_function_paths_id(c->whole, &path, &w->ids[i]);
	}
	free(path.edges);
	return r;
}

static int make(struct pathprof_warm *w, const struct choice *c)
{
	struct pathprof_increments weights = {0};
	int r;

	w->cnt = c->warm->cnt;
	w->counter_cnt = w->cnt + 1;
	r = pp_increments_weights(&weights, c->warm);
	if (r == 0)
		r = pp_increments_of_weights(
			&w->increments, &weights, c->warm,
			c->rules == PATHPROF_WARM_TARGETED ? NULL : c->profile->edges, c->is_fixed);
	pathprof_increments_release(&weights);
	if (r == 0)
		r = set_cold(w, c);
	return r == 0 ? take_ids(w, c) : r;
}

struct teller {
	struct choice *choice;
	struct pathprof_warm *warm;
	size_t room;
};

static int tell(void *user, const struct pp_ways_end *end)
{
	struct teller *t = user;
	struct pathprof_warm *w = t->warm;
	const struct pathprof_flow_path *path = end->path;
	uint64_t id;
	int r;

	if (!t->choice->all_told &&
	    (!path->edge_cnt || !t->choice->is_silent[path->edges[path->edge_cnt - 1]]))
		return 0;
	r = pathprof_function_paths_id(t->choice->whole, path, &id);
	if (r == 0 && pp_grow(&w->told, w->told_cnt, &t->room) < 0)
		r = -ENOMEM;
	if (r == 0)
		w->told[w->told_cnt++] = (struct pathprof_told){id, (uint64_t)(end->flow + 0.5)};
	return r;
}

/* Warm paths that are not counted, as often as they are to be expected. */
static int take_told(struct pathprof_warm *w, struct choice *c)
{
	struct teller teller = {.choice = c, .warm = w};
	struct pp_profiled p = profiled(c, 1);
	int r = 0;

	p.is_cold = c->is_cold;
	p.start_is_cold = c->start_is_cold;
	for (uint32_t e = 0; e < c->whole->flow->edge_cnt; e++)
		c->is_cold[e] = runs_too_little(c, e);
	for (uint32_t i = 0; r == 0 && i < c->whole->start_cnt; i++)
		r = pp_ways_walk(&p, i, false, tell, &teller);
	return r;
}

/* With silent edges cold paths are counted even if no warm one is: they tell how much ran. */
static bool has_silent(const struct choice *c)
{
	for (uint32_t e = 0; e < c->whole->flow->edge_cnt; e++)
		if (c->is_silent[e])
			return true;
	return false;
}

static int choice_init(struct choice *c)
{
	const struct pathprof_flow *flow = c->whole->flow;
	size_t nodes = flow->node_cnt, edges = flow->edge_cnt, starts = c->whole->start_cnt;

	c->node_flow = calloc(4 * nodes + starts, sizeof(*c->node_flow));
	c->is_cold = calloc(4 * edges + starts, sizeof(*c->is_cold));
	if (!c->node_flow || !c->is_cold)
		return -ENOMEM;
	c->node_came = c->node_flow + nodes;
	c->node_rounds = c->node_came + nodes;
	c->node_entered = c->node_rounds + nodes;
	c->start_flow = c->node_entered + nodes;
	c->is_told = c->is_cold + edges;
	c->is_silent = c->is_told + edges;
	c->begins_anew = c->is_silent + edges;
	c->start_is_cold = c->begins_anew + edges;
	return 0;
}

static void choice_release(struct choice *c)
{
	pathprof_function_paths_free(c->warm);
	free(c->node_flow);
	free(c->is_cold);
}

int pathprof_warm_init(struct pathprof_warm *ret_warm, const struct pathprof_function_paths *paths,
		       const struct pathprof_edge_profile *profile, uint64_t most,
		       const bool *is_fixed, enum pathprof_warm_rules rules)
{
	struct choice c = {
		.whole = paths, .profile = profile, .is_fixed = is_fixed, .rules = rules};
	struct pathprof_warm w = {0};
	int r = choice_init(&c);

	if (r == 0 && ends_at_fixed(&c))
		r = -ELOOP;
	if (r == 0) {
		measure_flow(&c);
		r = choose(&c, most);
	}
	if (r == 0 && !c.all_told && (c.warm->cnt || has_silent(&c)))
		r = make(&w, &c);
	if (r == 0 && rules != PATHPROF_WARM_PRACTICAL)
		r = take_told(&w, &c);
	choice_release(&c);
	if (r < 0)
		pathprof_warm_release(&w);
	else
		*ret_warm = w;
	return r;
}

void pathprof_warm_release(struct pathprof_warm *warm)
{
	pathprof_increments_release(&warm->increments);
	free(warm->ids);
	free(warm->told);
	*warm = (struct pathprof_warm){0};
}
