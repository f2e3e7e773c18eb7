/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Graphs drawn at random, and what is to be known of a function's flow found the slow way: by
 * reachability with a node left out.
 */
#ifndef ORACLE_FLOW_H
#define ORACLE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/flow.h"

#define ORACLE_FLOW_NODES_MAX 64

/* A sound graph of that many functions: several parts each, overlapping blocks, edges anywhere. */
struct pathprof_graph *oracle_graph_draw(uint32_t function_cnt, uint64_t *random);
/*
 * The same of one function with node_cnt blocks in a row and these edges; a block's lie together
 * and all are jumps.
 */
struct pathprof_graph *oracle_graph_make(uint32_t node_cnt, const uint32_t (*edges)[2],
					 uint32_t edge_cnt);

struct oracle_flow {
	uint32_t node_cnt, edge_cnt;
	const struct pathprof_flow_edge *edges; /* from and to alone are looked at */
	bool reached[ORACLE_FLOW_NODES_MAX];
	bool dominates[ORACLE_FLOW_NODES_MAX][ORACLE_FLOW_NODES_MAX]; /* [a][b] */
	bool heads[ORACLE_FLOW_NODES_MAX];
	bool in_loop[ORACLE_FLOW_NODES_MAX][ORACLE_FLOW_NODES_MAX]; /* [header][node] */
};

/* skips_edge is a fault: the last edge is not seen. */
void oracle_flow_init(struct oracle_flow *ret_oracle, const struct pathprof_flow *flow,
		      bool skips_edge);
/* Whether edges that `cut` does not name form no cycle. */
bool oracle_flow_is_dag(const struct pathprof_flow *flow,
			bool (*cut)(const struct pathprof_flow_edge *edge));
/* Whether there is a way from a to b; a == b: without any edge. */
bool oracle_flow_leads(const struct oracle_flow *o, uint32_t a, uint32_t b);

#endif
