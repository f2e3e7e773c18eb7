// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Building the DAG of a function's paths: which edges are cut, in which order nodes are numbered,
 * and what to do when there are too many paths.
 *
 * A depth-first search from the entry, and from each node a cut edge leads to, gives the order:
 * nodes as they are done with, so that what lies behind a node has its number before. Three passes
 * over the edges in all; some ten when there are 2^64 paths, some hundred when edges are spared.
 *
 * Sources: EOPP 3.2.2, figure 3.1, table 5.1 and 5.2; Ball and Larus 1996, 3.4.
 */
#include "pp_function_paths.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* In a function with too many paths, edges to nodes with at most this many paths are cut only if
 * cutting all others is not enough. */
#define PATHS_FEW 65536
/*
 * Besides the nodes that must be cut, a node with at least least_in ways in and at most
 * JOINT_OUT_MAX ways out is cut once it has 2^bits paths: a cut of its few ways out saves cuts of
 * its many ways in. The best values differ between functions, so all of these are tried and those
 * with the fewest cuts are kept. Of many values tried on 40,000 functions of a compiler, these few
 * do nearly as well as all together.
 */
struct joint {
	uint8_t bits, least_in;
};
static const struct joint joints[] = {{40, 4}, {48, 3}, {20, 8}, {40, 3}, {32, 4}, {48, 2}};

#define JOINT_OUT_MAX 2
/* When some edges are spared: the bits by which a node's limit of paths falls with each try. */
#define FEWER_BITS 6

struct order {
	uint32_t *nodes; /* as they are done with */
	uint32_t cnt;
	uint32_t *stack; /* from the root to the node at hand */
	union {
		uint32_t *next_edge; /* by node, while searching */
		uint32_t *in_cnt;    /* by node, while cutting: ways in */
	};
	uint8_t *state; /* by node */
};

enum { NEW, OPEN, DONE };

static bool is_cut_for_branches(const struct pathprof_flow *flow, uint32_t edge)
{
	const struct pathprof_flow_edge *e = &flow->edges[edge];

	switch (e->kind) {
	case PATHPROF_EDGE_SWITCH:
	case PATHPROF_EDGE_GUESSED:
	case PATHPROF_EDGE_UNWIND:
		return true;
	case PATHPROF_EDGE_NOT_TAKEN:
	case PATHPROF_EDGE_TAKEN:
	case PATHPROF_EDGE_JUMP:
	case PATHPROF_EDGE_TAIL:
		return e->backward;
	default:
		return false;
	}
}

static bool is_cut(const struct pathprof_flow *flow, enum pathprof_cut cut, uint32_t edge)
{
	switch (cut) {
	case PATHPROF_CUT_BACK_EDGES:
		return flow->edges[edge].retreating;
	case PATHPROF_CUT_CALLS:
		return flow->edges[edge].kind == PATHPROF_EDGE_CONTINUE ||
		       is_cut_for_branches(flow, edge);
	default:
		return is_cut_for_branches(flow, edge);
	}
}

static uint32_t first_edge(const struct pathprof_function_paths *p, uint32_t node)
{
	return p->flow->nodes[node].first_edge;
}

/* A block without a way out ends its paths, whatever the reason. */
static bool leaves(const struct pathprof_function_paths *p, uint32_t node)
{
	return p->flow->nodes[node].exits || first_edge(p, node) == first_edge(p, node + 1);
}

/* ---------------------------------------------------------------- order */

static int order_init(struct order *o, uint32_t node_cnt)
{
	uint32_t *memory = calloc(node_cnt, 3 * sizeof(uint32_t) + sizeof(uint8_t));

	if (!memory)
		return -ENOMEM;
	*o = (struct order){.nodes = memory,
			    .stack = memory + node_cnt,
			    .next_edge = memory + 2 * (size_t)node_cnt, /* and in_cnt */
			    .state = (uint8_t *)(memory + 3 * (size_t)node_cnt)};
	return 0;
}

static void order_release(struct order *o)
{
	free(o->nodes);
}

static uint32_t open_node(const struct pathprof_function_paths *p, struct order *o, uint32_t depth,
			  uint32_t node)
{
	o->state[node] = OPEN;
	o->next_edge[node] = first_edge(p, node);
	o->stack[depth] = node;
	return depth + 1;
}

/* The next edge of the node that leads to a new one, or PP_LEAVES. Cuts what closes a cycle. */
static uint32_t next_new(struct pathprof_function_paths *p, struct order *o, uint32_t node)
{
	while (o->next_edge[node] < first_edge(p, node + 1)) {
		uint32_t edge = o->next_edge[node]++;

		if (p->cuts[edge])
			continue;
		switch (o->state[p->flow->edges[edge].to]) {
		case NEW:
			return edge;
		case OPEN:
			p->cuts[edge] = PP_CUT_BY_CYCLE;
			p->overflow_cut_cnt++;
			break;
		default:
			break;
		}
	}
	return PP_LEAVES;
}

static void search_from(struct pathprof_function_paths *p, struct order *o, uint32_t root)
{
	uint32_t depth = 0;

	if (o->state[root] != NEW)
		return;
	depth = open_node(p, o, depth, root);
	while (depth) {
		uint32_t node = o->stack[depth - 1], edge = next_new(p, o, node);

		if (edge != PP_LEAVES) {
			depth = open_node(p, o, depth, p->flow->edges[edge].to);
			continue;
		}
		o->state[node] = DONE;
		o->nodes[o->cnt++] = node;
		depth--;
	}
}

/* From the entry, then from what cut edges of the nodes found lead to. */
static void search(struct pathprof_function_paths *p, struct order *o)
{
	search_from(p, o, 0);
	for (uint32_t i = 0; i < o->cnt; i++) {
		uint32_t node = o->nodes[i];

		for (uint32_t e = first_edge(p, node); e < first_edge(p, node + 1); e++)
			if (p->cuts[e])
				search_from(p, o, p->flow->edges[e].to);
	}
}

/* ---------------------------------------------------------------- numbers */

/* EOPP figure 3.1 for one node. false: 2^64 paths or more. */
static bool number_node(struct pathprof_function_paths *p, uint32_t node)
{
	struct pp_paths_node *n = &p->nodes[node];
	uint64_t cnt = 0;

	for (uint32_t e = first_edge(p, node); e < first_edge(p, node + 1); e++) {
		p->weights[e] = cnt;
		if (__builtin_add_overflow(cnt, pp_paths_behind(p, e), &cnt))
			return false;
	}
	n->leaves = leaves(p, node);
	n->leaving = cnt;
	return !__builtin_add_overflow(cnt, n->leaves, &n->path_cnt);
}

static bool number_nodes(struct pathprof_function_paths *p, const struct order *o)
{
	for (uint32_t i = 0; i < o->cnt; i++)
		if (!number_node(p, o->nodes[i]))
			return false;
	return true;
}

/* starts[] with their weights, and the number of all paths. */
static bool number_starts(struct pathprof_function_paths *p, struct order *o)
{
	uint8_t *is_start = o->state;

	for (uint32_t v = 0; v < p->flow->node_cnt; v++)
		is_start[v] = v == 0;
	for (uint32_t i = 0; i < o->cnt; i++) {
		uint32_t node = o->nodes[i];

		for (uint32_t e = first_edge(p, node); e < first_edge(p, node + 1); e++)
			if (p->cuts[e])
				is_start[p->flow->edges[e].to] = 1;
	}
	p->cnt = p->start_cnt = 0;
	for (uint32_t v = 0; v < p->flow->node_cnt; v++) {
		if (!is_start[v])
			continue;
		p->starts[p->start_cnt++] = (struct pp_paths_start){p->cnt, v};
		if (__builtin_add_overflow(p->cnt, p->nodes[v].path_cnt, &p->cnt))
			return false;
	}
	return true;
}

static void cut_edge(struct pathprof_function_paths *p, uint32_t edge)
{
	p->cuts[edge] = PP_CUT_BY_OVERFLOW;
	p->overflow_cut_cnt++;
}

struct limits {
	uint64_t node; /* paths that it may have */
	uint64_t few;  /* an edge to no more than these stays */
	/* By edge how often it runs; NULL: none is known to. Those that do are spared, ... */
	const uint64_t *heat;
	uint64_t spared; /* ... unless a node has more paths than this without the others, ... */
	uint64_t fair;   /* ... and is cut down to so many */
};

static bool is_spared(const struct limits *limits, uint32_t edge)
{
	return limits->heat && limits->heat[edge];
}

/*
 * Cuts edges out of a node until it has at most limit paths. All that lead to many paths are cut at
 * once: if only as many were cut as needed, every node before this one would need a cut as well.
 */
static void cut_edges_of(struct pathprof_function_paths *p, uint32_t node,
			 const struct limits *limits)
{
	uint64_t cnt = leaves(p, node);

	for (uint32_t e = first_edge(p, node); e < first_edge(p, node + 1); e++)
		if (pp_paths_behind(p, e) > limits->few && !is_spared(limits, e))
			cut_edge(p, e);
	for (uint32_t e = first_edge(p, node); e < first_edge(p, node + 1); e++) {
		uint64_t left = first_edge(p, node + 1) - e - 1;

		if (cnt + pp_paths_behind(p, e) + left > limits->node && !p->cuts[e] &&
		    !is_spared(limits, e))
			cut_edge(p, e);
		cnt += pp_paths_behind(p, e);
	}
}

static void cut_node(struct pathprof_function_paths *p, uint32_t node, const struct limits *limits)
{
	struct limits all;

	cut_edges_of(p, node, limits);
	if (number_node(p, node) && (!limits->heat || p->nodes[node].path_cnt <= limits->spared))
		return;
	all = (struct limits){.node = limits->fair, .few = PATHS_FEW};
	cut_edges_of(p, node, &all);
	number_node(p, node);
}

static void forget_cuts(struct pathprof_function_paths *p)
{
	for (uint32_t e = 0; e < p->flow->edge_cnt; e++) {
		if (p->cuts[e] != PP_CUT_BY_OVERFLOW)
			continue;
		p->cuts[e] = PP_CUT_NOT;
		p->overflow_cut_cnt--;
	}
}

static bool is_joint(const struct pathprof_function_paths *p, const struct order *o, uint32_t node,
		     struct joint joint)
{
	return o->in_cnt[node] >= joint.least_in &&
	       first_edge(p, node + 1) - first_edge(p, node) <= JOINT_OUT_MAX &&
	       p->nodes[node].path_cnt >> joint.bits;
}

static void try_cuts(struct pathprof_function_paths *p, const struct order *o,
		     const struct limits *limits, struct joint joint)
{
	forget_cuts(p);
	for (uint32_t i = 0; i < o->cnt; i++) {
		uint32_t node = o->nodes[i];

		if (number_node(p, node) && p->nodes[node].path_cnt <= limits->node &&
		    !is_joint(p, o, node, joint))
			continue;
		cut_node(p, node, limits);
	}
}

static void count_ways_in(const struct pathprof_function_paths *p, struct order *o)
{
	for (uint32_t v = 0; v < p->flow->node_cnt; v++)
		o->in_cnt[v] = 0;
	for (uint32_t e = 0; e < p->flow->edge_cnt; e++)
		if (!p->cuts[e])
			o->in_cnt[p->flow->edges[e].to]++;
}

struct sparing {
	struct limits limits;
	double heat; /* of the edges that they cut */
};

/* The sum of all starts is known when the cuts are. True: it is small enough. */
static bool keep_cuts(struct pathprof_function_paths *p, struct order *o, uint64_t most,
		      const struct limits *limits)
{
	try_cuts(p, o, limits, joints[0]);
	return number_starts(p, o) && p->cnt <= most;
}

/* How often a path is ended by a cut. */
static double cut_heat(const struct pathprof_function_paths *p, const uint64_t *heat)
{
	double sum = 0;

	for (uint32_t e = 0; e < p->flow->edge_cnt; e++)
		if (p->cuts[e] == PP_CUT_BY_OVERFLOW)
			sum += (double)heat[e];
	return sum;
}

static void try_sparing(struct pathprof_function_paths *p, struct order *o, uint64_t most,
			const struct limits *limits, struct sparing *best)
{
	double heat;

	if (best->heat == 0 || !keep_cuts(p, o, most, limits))
		return;
	heat = cut_heat(p, limits->heat);
	if (heat < best->heat)
		*best = (struct sparing){*limits, heat};
}

/*
 * Cuts more and more of the edges that do not run, and edges that run only at nodes that have too
 * many paths even so; from round to round a node may have fewer paths before that. The try whose
 * cuts run least is kept.
 */
static bool number_sparing(struct pathprof_function_paths *p, struct order *o, uint64_t most,
			   const uint64_t *heat)
{
	struct limits limits = {.fair = most / (2 * (uint64_t)p->flow->node_cnt + 2), .heat = heat};
	struct sparing best = {.heat = INFINITY};

	for (limits.spared = most; limits.spared > limits.fair; limits.spared >>= 1) {
		for (limits.node = limits.fair; limits.node; limits.node >>= FEWER_BITS) {
			limits.few = limits.node < PATHS_FEW ? limits.node : PATHS_FEW;
			try_sparing(p, o, most, &limits, &best);
		}
	}
	return best.heat < INFINITY && keep_cuts(p, o, most, &best.limits);
}

/*
 * Numbers paths with a limit for each node so low that all starts together stay below most. If most
 * is 2^64, there are few enough edges (2^32) and the limit is high enough (2^32) for a node with
 * only cut edges to keep it.
 */
static void number_with_cuts(struct pathprof_function_paths *p, struct order *o, uint64_t most,
			     const uint64_t *heat)
{
	struct limits limits = {.node = most / ((uint64_t)p->flow->node_cnt + 1), .few = PATHS_FEW};
	struct joint best = joints[0];
	uint32_t fewest = UINT32_MAX;

	count_ways_in(p, o);
	if (heat && number_sparing(p, o, most, heat))
		return;
	for (size_t i = 0; i < sizeof(joints) / sizeof(joints[0]); i++) {
		try_cuts(p, o, &limits, joints[i]);
		if (p->overflow_cut_cnt >= fewest)
			continue;
		fewest = p->overflow_cut_cnt;
		best = joints[i];
	}
	try_cuts(p, o, &limits, best);
	number_starts(p, o);
}

/* ---------------------------------------------------------------- object */

/* All arrays in one piece, those of the widest elements first. */
static struct pathprof_function_paths *allocate(const struct pathprof_flow *flow)
{
	size_t nodes = flow->node_cnt, edges = flow->edge_cnt;
	struct pathprof_function_paths *p =
		calloc(1, sizeof(*p) + nodes * (sizeof(*p->nodes) + sizeof(*p->starts)) +
				  edges * (sizeof(*p->weights) + sizeof(*p->cuts)));

	if (!p)
		return NULL;
	p->own = *flow;
	p->flow = &p->own;
	p->nodes = (struct pp_paths_node *)(p + 1);
	p->starts = (struct pp_paths_start *)(p->nodes + nodes);
	p->weights = (uint64_t *)(p->starts + nodes);
	p->cuts = (uint8_t *)(p->weights + edges);
	return p;
}

int pathprof_function_paths_new(struct pathprof_function_paths **ret_paths,
				const struct pathprof_flow *flow, enum pathprof_cut cut)
{
	return pathprof_function_paths_new_below(ret_paths, flow, cut, UINT64_MAX, NULL);
}

int pathprof_function_paths_new_below(struct pathprof_function_paths **ret_paths,
				      const struct pathprof_flow *flow, enum pathprof_cut cut,
				      uint64_t most, const uint64_t *heat)
{
	struct pathprof_function_paths *p = allocate(flow);
	struct order o;

	if (!p || order_init(&o, flow->node_cnt) < 0) {
		free(p);
		return -ENOMEM;
	}
	p->cut = cut;
	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		p->cuts[e] = is_cut(flow, cut, e) ? PP_CUT_BY_RULE : PP_CUT_NOT;
	search(p, &o);
	if (!number_nodes(p, &o) || !number_starts(p, &o) || p->cnt > most)
		number_with_cuts(p, &o, most, heat);
	order_release(&o);
	*ret_paths = p;
	return 0;
}

/* ---------------------------------------------------------------- without cold edges */

static void take_starts(struct pathprof_function_paths *p,
			const struct pathprof_function_paths *whole, const bool *is_cold)
{
	for (uint32_t i = 0; i < whole->start_cnt; i++)
		if (!is_cold[i])
			p->starts[p->start_cnt++] =
				(struct pp_paths_start){.node = whole->starts[i].node};
}

/* Fewer than the whole has, so no sum overflows. */
static void weigh_starts(struct pathprof_function_paths *p)
{
	for (uint32_t i = 0; i < p->start_cnt; i++) {
		p->starts[i].weight = p->cnt;
		p->cnt += p->nodes[p->starts[i].node].path_cnt;
	}
}

int pp_paths_without(struct pathprof_function_paths **ret_paths,
		     const struct pathprof_function_paths *whole, const bool *is_cold,
		     const bool *start_is_cold)
{
	struct pathprof_function_paths *p = allocate(whole->flow);
	struct order o;

	if (!p || order_init(&o, whole->flow->node_cnt) < 0) {
		free(p);
		return -ENOMEM;
	}
	p->cut = whole->cut;
	for (uint32_t e = 0; e < whole->flow->edge_cnt; e++)
		p->cuts[e] = is_cold[e] ? PP_CUT_AWAY : whole->cuts[e];
	take_starts(p, whole, start_is_cold);
	for (uint32_t i = 0; i < p->start_cnt; i++)
		search_from(p, &o, p->starts[i].node);
	number_nodes(p, &o);
	weigh_starts(p);
	order_release(&o);
	*ret_paths = p;
	return 0;
}

void pathprof_function_paths_free(struct pathprof_function_paths *paths)
{
	free(paths);
}

uint64_t pathprof_function_paths_cnt(const struct pathprof_function_paths *paths)
{
	return paths->cnt;
}
