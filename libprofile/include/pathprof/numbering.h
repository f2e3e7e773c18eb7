/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Path numbering of a DAG: Ball-Larus ids (EOPP figure 3.1) and preferential ids, compact for a
 * set of interesting paths (EOPP figure 3.10).
 *
 * Nodes are numbered by the caller, 0 is the start. Out-edges keep the order they were added in,
 * which decides the weights.
 */
#ifndef PATHPROF_NUMBERING_H
#define PATHPROF_NUMBERING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_dag_edge {
	uint32_t from, to;
	uint64_t weight;      /* Ball-Larus */
	int64_t preferential; /* 0 where no interesting path runs */
};

struct pathprof_dag {
	struct pathprof_dag_edge *edges; /* in the order added */
	size_t edge_cnt, edge_room;
	uint32_t node_cnt;
	uint64_t path_cnt; /* from node 0, after pathprof_number */
};

/* An interesting path: edge indices from the start to an exit. */
struct pathprof_dag_path {
	const uint32_t *edges;
	size_t edge_cnt;
	uint64_t id;          /* out: Ball-Larus */
	int64_t preferential; /* out */
};

void pathprof_dag_init(struct pathprof_dag *dag);
void pathprof_dag_release(struct pathprof_dag *dag);
/* -ENOMEM; -EOVERFLOW: nodes or edges beyond 2^32 - 2. */
int pathprof_dag_add(struct pathprof_dag *dag, uint32_t from, uint32_t to);

/* Sets the weights and path_cnt. -ELOOP for a cycle, -EOVERFLOW from 2^64 paths on, -ENOMEM. */
int pathprof_number(struct pathprof_dag *dag);
/*
 * Sets the preferential weights and both ids of each path; pathprof_number() came before. Paths
 * are distinct and complete. Linear in their lengths but for sorting them. -EINVAL when one is not
 * connected, -EOVERFLOW when numbers leave 64 bits, -ENOMEM.
 */
int pathprof_number_preferential(struct pathprof_dag *dag, struct pathprof_dag_path *paths,
				 size_t path_cnt);
/* The least and the greatest sum of preferential weights on a way from node 0. -EOVERFLOW, -ENOMEM.
 */
int pathprof_preferential_range(const struct pathprof_dag *dag, int64_t *ret_min, int64_t *ret_max);
/* Compactness: (greatest - least preferential id + 1) / number of paths; 0 for none. */
double pathprof_compactness(const struct pathprof_dag_path *paths, size_t path_cnt);

#ifdef __cplusplus
}
#endif

#endif
