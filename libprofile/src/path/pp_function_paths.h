/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The DAG of a function's paths, as its builder, the numbers and the descriptors share it.
 *
 * It is not built as one: the flow's edges stand for themselves, a cut one for its edge to the end
 * t, starts[] for the edges from s, and leaving the function at a node is one more edge to t,
 * behind the node's others. Weights of a node's ways out ascend, so that of_id can bisect them.
 *
 * Workload: all functions of a file, one after the other; a function's memory is one piece.
 * Written by its builder only. Source: EOPP figure 3.1.
 */
#ifndef PP_FUNCTION_PATHS_H
#define PP_FUNCTION_PATHS_H

#include <stdbool.h>

#include "pathprof/function_paths.h"

/* How a way out of a node ends the path. */
enum pp_cut_by {
	PP_CUT_NOT = 0,
	PP_CUT_BY_RULE,     /* enum pathprof_cut says so */
	PP_CUT_BY_CYCLE,    /* the rule left a cycle: no flow of a graph has one */
	PP_CUT_BY_OVERFLOW, /* too many paths */
	PP_CUT_AWAY,        /* cold: the edge is taken for one that is not there */
};

/* Instead of an edge: the function is left here. */
#define PP_LEAVES UINT32_MAX

struct pp_paths_node {
	uint64_t path_cnt; /* from here to t; 0: nothing leads here */
	uint64_t leaving;  /* weight of leaving, when leaves */
	bool leaves;
};

struct pp_paths_start {
	uint64_t weight; /* of its edge from s */
	uint32_t node;
};

struct pathprof_function_paths {
	const struct pathprof_flow *flow; /* own: the caller's may move, its arrays may not */
	struct pathprof_flow own;
	enum pathprof_cut cut;
	uint32_t overflow_cut_cnt, start_cnt;
	uint64_t cnt;
	struct pp_paths_node *nodes;
	struct pp_paths_start *starts; /* by node: the entry is first */
	uint64_t *weights;             /* by edge of the flow */
	uint8_t *cuts;                 /* by edge: enum pp_cut_by */
};

/* The start at a node, or start_cnt. */
uint32_t pp_paths_start_at(const struct pathprof_function_paths *p, uint32_t node);
/* The start that paths with this number have; id < cnt. */
uint32_t pp_paths_start_of(const struct pathprof_function_paths *p, uint64_t id);
/* The way out of node that holds number `rest` among its paths: an edge or PP_LEAVES. */
uint32_t pp_paths_way_of(const struct pathprof_function_paths *p, uint32_t node, uint64_t rest);

/*
 * The paths of `whole` that run over no edge of is_cold (by edge) and begin at no start of
 * start_is_cold (by start), numbered by themselves in the same order. Nodes that none runs over
 * have no paths. -ENOMEM.
 */
int pp_paths_without(struct pathprof_function_paths **ret_paths,
		     const struct pathprof_function_paths *whole, const bool *is_cold,
		     const bool *start_is_cold);

/* Paths to t behind an edge. */
static inline uint64_t pp_paths_behind(const struct pathprof_function_paths *p, uint32_t edge)
{
	switch (p->cuts[edge]) {
	case PP_CUT_NOT:
		return p->nodes[p->flow->edges[edge].to].path_cnt;
	case PP_CUT_AWAY:
		return 0;
	default:
		return 1;
	}
}

#endif
