/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Data that the steps of flow.c pass on: the depth-first search of a flow and its in-edges.
 *
 * No step recurses: a function of 10^5 blocks in a row is as deep as it is long. The search starts
 * at the entry, then at each node not met yet, so that unreached cycles are cut as well.
 */
#ifndef PP_FLOW_H
#define PP_FLOW_H

#include "pathprof/flow.h"

struct pp_flow_search {
	uint32_t *order;    /* nodes as they were met; those the entry reaches come first */
	uint32_t *number;   /* of a node: its place in order[] */
	uint32_t *parent;   /* node it was met from; a start's is itself */
	uint32_t *first_in; /* in-edges of v: in_edges[first_in[v]] up to that of v + 1 */
	uint32_t *in_edges;
	uint32_t reached_cnt;
};

/* Sets reached and retreating. -ENOMEM. */
int pp_flow_search_init(struct pp_flow_search *ret_search, struct pathprof_flow *flow);
void pp_flow_search_release(struct pp_flow_search *search);
/* Sets the nodes' dominators and dom_*, and back edges. -ENOMEM. */
int pp_flow_find_dominators(struct pathprof_flow *flow, const struct pp_flow_search *search);
/* Sets loops and the nodes' loop; back edges are known. -ENOMEM. */
int pp_flow_find_loops(struct pathprof_flow *flow, const struct pp_flow_search *search);

#endif
