/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The number of a path, found in two ways that share nothing, for tests that hold a path's number
 * against both.
 *
 * oracle_path_id() adds the weights of its edges. oracle_path_id_by_coding() is arithmetic coding:
 * the coder starts with all numbers [0, N), and each edge narrows the interval to the part that the
 * model gives that edge, D(e) = N(dest) / N(v). The lower end of the last one is the number.
 * Nothing but the model is used there, none of the weights: an edge's range begins with the sum of
 * D over the edges before it. All in integers of 128 bits, exact.
 *
 * Both return 0, or -EINVAL: no path of this function begins, goes on or ends so.
 *
 * Workload: linear in a path's edges, the second in the out-degrees of its nodes as well.
 * Source: EOPP figure 3.3; 4.2, figures 4.1 and 4.3. Pure; any thread.
 */
#ifndef ORACLE_PATH_ID_H
#define ORACLE_PATH_ID_H

#include <errno.h>

#include "../../libprofile/src/path/pp_function_paths.h"

static inline int oracle_path_id(const struct pathprof_function_paths *paths,
				 const struct pathprof_flow_path *path, uint64_t *ret_id)
{
	const struct pathprof_function_paths *p = paths;
	uint32_t start = pp_paths_start_at(p, path->start), at = path->start;
	uint64_t id;

	if (start == p->start_cnt)
		return -EINVAL;
	id = p->starts[start].weight;
	for (uint32_t i = 0; i < path->edge_cnt; i++) {
		uint32_t e = path->edges[i];

		if (e >= p->flow->edge_cnt || p->flow->edges[e].from != at)
			return -EINVAL;
		id += p->weights[e];
		if (p->cuts[e] && i + 1 < path->edge_cnt)
			return -EINVAL;
		if (p->cuts[e]) {
			*ret_id = id;
			return 0;
		}
		at = p->flow->edges[e].to;
	}
	if (!p->nodes[at].leaves)
		return -EINVAL;
	*ret_id = id + p->nodes[at].leaving;
	return 0;
}

struct interval {
	uint64_t low, high;
};

/* A symbol's range among those of its context, in parts of `whole`. */
struct range {
	uint64_t low, size, whole;
};

static inline void narrow(struct interval *in, struct range r)
{
	unsigned __int128 n = in->high - in->low, high = (unsigned __int128)r.low + r.size;
	uint64_t low = in->low;

	in->low = low + (uint64_t)(r.low * n / r.whole);
	in->high = low + (uint64_t)((high * n + r.whole - 1) / r.whole);
}

/* The range of leaving node by way. */
static inline struct range range_of(const struct pathprof_function_paths *p, uint32_t node,
				    uint32_t way)
{
	uint32_t end = p->flow->nodes[node + 1].first_edge;
	struct range r = {.size = 1, .whole = p->nodes[node].path_cnt};

	for (uint32_t e = p->flow->nodes[node].first_edge; e < end && e != way; e++)
		r.low += pp_paths_behind(p, e);
	if (way != PP_LEAVES)
		r.size = pp_paths_behind(p, way);
	return r;
}

/* The range of the edge from s to a start. */
static inline struct range range_of_start(const struct pathprof_function_paths *p, uint32_t start)
{
	struct range r = {.whole = p->cnt, .size = p->nodes[p->starts[start].node].path_cnt};

	for (uint32_t s = 0; s < start; s++)
		r.low += p->nodes[p->starts[s].node].path_cnt;
	return r;
}

static inline int oracle_path_id_by_coding(const struct pathprof_function_paths *paths,
					   const struct pathprof_flow_path *path, uint64_t *ret_id)
{
	const struct pathprof_function_paths *p = paths;
	uint32_t start = pp_paths_start_at(p, path->start), at = path->start;
	struct interval in = {0, p->cnt};
	bool ended = false;

	if (start == p->start_cnt)
		return -EINVAL;
	narrow(&in, range_of_start(p, start));
	for (uint32_t i = 0; i < path->edge_cnt; i++) {
		uint32_t e = path->edges[i];

		if (ended || e >= p->flow->edge_cnt || p->flow->edges[e].from != at)
			return -EINVAL;
		narrow(&in, range_of(p, at, e));
		ended = p->cuts[e] != PP_CUT_NOT;
		at = p->flow->edges[e].to;
	}
	if (!ended) {
		if (!p->nodes[at].leaves)
			return -EINVAL;
		narrow(&in, range_of(p, at, PP_LEAVES));
	}
	*ret_id = in.low;
	return 0;
}

#endif
