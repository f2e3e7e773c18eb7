/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Path numbering the slow way: all paths of a small DAG one after the other, and the preferential
 * algorithm (EOPP figure 3.10) line by line, with a map from prefixes to their intervals.
 */
#ifndef ORACLE_NUMBER_H
#define ORACLE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORACLE_NODES_MAX 16
#define ORACLE_EDGES_MAX 64

struct oracle_dag {
	uint32_t from[ORACLE_EDGES_MAX], to[ORACLE_EDGES_MAX];
	uint32_t edge_cnt, node_cnt;
};

struct oracle_dag_path {
	uint32_t edge[ORACLE_NODES_MAX];
	size_t edge_cnt;
	int64_t pid; /* preferential */
};

/* A DAG of node_cnt nodes, 0 the start; neither numbers nor edges are in topological order. */
void oracle_dag_draw(struct oracle_dag *ret_dag, uint32_t node_cnt, uint32_t edge_cnt,
		     uint64_t *random);
/*
 * Every path from node 0 to an exit, in the order of their edges. Returns how many there are; at
 * most `room` are written.
 */
size_t oracle_dag_paths(const struct oracle_dag *dag, struct oracle_dag_path *paths, size_t room);
/*
 * Sets W[] of the edges and pid of the paths. takes_last is a fault: the join takes the weight of
 * the last prefix instead of the greatest.
 */
void oracle_preferential(const struct oracle_dag *dag, struct oracle_dag_path *paths,
			 size_t path_cnt, int64_t *ret_weights, bool takes_last);

#endif
