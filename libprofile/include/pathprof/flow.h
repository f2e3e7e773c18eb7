/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The flow of one function: its blocks numbered from 0 (the entry; the others by offset), the edges
 * among them, its dominators, back edges and natural loops.
 *
 * Edges that leave the function (CALL, TAIL, what leads outside) are not among them; a block
 * without out-edges is an exit, and pathprof_flow.exits says of each block whether the function can
 * be left from it. Blocks that the entry does not reach stay in and are marked.
 *
 * Sources: EOPP 3.2.2; Lengauer and Tarjan, A Fast Algorithm for Finding Dominators (1979); Havlak,
 * Nesting of Reducible and Irreducible Loops (1997) for the term irreducible.
 *
 * Workload: one function at a time, some of 10^5 blocks; near linear whatever the graph. Plain data
 * of the caller's, one thread.
 */
#ifndef PATHPROF_FLOW_H
#define PATHPROF_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_flow_edge {
	uint32_t from, to; /* nodes */
	uint32_t kind;     /* enum pathprof_edge_kind */
	bool backward;     /* its branch lies at or behind its target (EOPP 5.2); a NOT_TAKEN
			      edge too when the target of its branch, TAIL included, does; UNWIND
			      as if its call were a branch. Cutting these leaves a DAG as well. */
	bool back;         /* its target dominates its source: it closes a natural loop */
	bool retreating;   /* against a depth-first search's order; cutting all of these leaves a
			      DAG. Without irreducible regions the same as back. */
	bool cut;          /* an arc's that is to be cut, and retreating for no other reason */
};

struct pathprof_flow_node {
	uint32_t block;      /* of the graph */
	uint32_t first_edge; /* its out-edges, up to the next node's */
	uint32_t dominator;  /* its immediate one; of the entry and of unreached nodes itself */
	uint32_t dom_first;  /* its place in the dominator tree: it dominates those at */
	uint32_t dom_cnt;    /* dom_first up to dom_first + dom_cnt, itself the first */
	uint32_t loop;       /* the innermost it lies in; PATHPROF_GRAPH_NONE */
	bool exits;          /* returns, tail-calls, leads outside, or leads nowhere */
	bool reached;        /* from the entry */
};

struct pathprof_flow_loop {
	uint32_t header, parent; /* node; loop or PATHPROF_GRAPH_NONE */
	uint32_t depth;          /* 1: outermost */
	uint32_t node_cnt;       /* inner loops' included */
};

struct pathprof_flow {
	uint32_t function;
	struct pathprof_flow_node *nodes; /* and one more for first_edge */
	struct pathprof_flow_edge *edges;
	struct pathprof_flow_loop *loops; /* outer before inner */
	uint32_t node_cnt, edge_cnt, loop_cnt;
	uint32_t irreducible_cnt; /* retreating edges of reached nodes that are no back edges */
};

/* -EINVAL: no such function, or one without blocks; -ENOMEM. *ret_flow is the caller's. */
int pathprof_flow_init(struct pathprof_flow *ret_flow, const struct pathprof_graph *graph,
		       uint32_t function);
/*
 * The same of a function that is in no graph, a compiler's: node_cnt nodes, its edges in the order
 * of the nodes they come from. An edge to be cut is marked as retreating whatever its place.
 * -EINVAL: an edge leads nowhere, or comes too early.
 */
struct pathprof_flow_arc {
	uint32_t from, to;
	bool cut;
};
int pathprof_flow_init_arcs(struct pathprof_flow *ret_flow, uint32_t node_cnt,
			    const struct pathprof_flow_arc *arcs, uint32_t arc_cnt);
void pathprof_flow_release(struct pathprof_flow *flow);
/* The node of a block of the graph; PATHPROF_GRAPH_NONE: of another function. */
uint32_t pathprof_flow_node_of(const struct pathprof_flow *flow, uint32_t block);
/* Whether a dominates b; each node dominates itself. */
bool pathprof_flow_dominates(const struct pathprof_flow *flow, uint32_t a, uint32_t b);

#ifdef __cplusplus
}
#endif

#endif
