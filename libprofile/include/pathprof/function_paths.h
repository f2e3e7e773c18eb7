/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The paths of a function and their Ball-Larus numbers, both ways.
 *
 * The flow becomes a DAG by cutting edges: for each cut edge v -> w there is one from the start s
 * to w and one from v to the end t (EOPP 3.2.2). Which edges are cut:
 *
 *   BACK_EDGES  retreating edges of the flow: Ball and Larus' own paths.
 *   BRANCHES    where the path stack ends a path (EOPP table 5.1): at a backward branch, taken or
 *               not, and at an indirect jump. Its paths are those of profiles.
 *               And at an edge UNWIND: an exception ends the path it comes over.
 *   CALLS       at calls too (EOPP table 5.2).
 *
 * A path is its first node and the edges it took; the last one is the cut edge that ended it, or
 * none when it left the function (return, tail call, a call that does not return). Numbers run from
 * 0 to path_cnt - 1. A start w has one edge from s, however many cut edges lead to it; each cut
 * edge has one of its own to t. When a function has 2^64 paths or more, further edges are cut until
 * it has not (Ball and Larus 1996, 3.4). Paths are numbered by their start, the entry first, then
 * in order of nodes; of one start as an ordered walk over the flow meets them: a node's edges in
 * turn, last of all leaving the function there.
 *
 * A profile's path of 32 branches ended at that length, and the one behind it begins anywhere:
 * neither is a path of the function, and they have no number.
 *
 * Sources: Ball and Larus, Efficient Path Profiling (1996); EOPP 3.2.2, figure 3.1.
 * Workload: all functions of a file one by one; 10^5 nodes. One thread an object.
 */
#ifndef PATHPROF_FUNCTION_PATHS_H
#define PATHPROF_FUNCTION_PATHS_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/error.h"
#include "pathprof/flow.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pathprof_cut {
	PATHPROF_CUT_BACK_EDGES,
	PATHPROF_CUT_BRANCHES,
	PATHPROF_CUT_CALLS,
};

struct pathprof_function_paths;

/* A path through the flow. edges[] is the caller's. */
struct pathprof_flow_path {
	uint32_t start; /* node */
	uint32_t edge_cnt, edge_room;
	uint32_t *edges; /* of the flow; the last may be a cut one */
};

/* The arrays that flow points to must outlive *ret_paths; flow itself may be moved. -ENOMEM. */
int pathprof_function_paths_new(struct pathprof_function_paths **ret_paths,
				const struct pathprof_flow *flow, enum pathprof_cut cut);
/*
 * The same with at most `most` paths, not 2^64: more edges are cut. Below 2^39 a function of 10^6
 * nodes with a switch of 10^5 cases may keep more. heat, by edge: those that run (not 0) are cut
 * only where cutting all others is not enough, and the hottest last; NULL: that is not known.
 */
int pathprof_function_paths_new_below(struct pathprof_function_paths **ret_paths,
				      const struct pathprof_flow *flow, enum pathprof_cut cut,
				      uint64_t most, const uint64_t *heat);
void pathprof_function_paths_free(struct pathprof_function_paths *paths);
uint64_t pathprof_function_paths_cnt(const struct pathprof_function_paths *paths);

/*
 * The path of a number. path->edges holds edge_room; -ENOBUFS when that is too few (edge_cnt then
 * says how many), -ERANGE from path_cnt on.
 */
int pathprof_function_paths_of_id(const struct pathprof_function_paths *paths, uint64_t id,
				  struct pathprof_flow_path *path);

/* The path's number. -EINVAL: it is none of these paths. */
int pathprof_function_paths_id(const struct pathprof_function_paths *paths,
			       const struct pathprof_flow_path *path, uint64_t *ret_id);

/* Adds `count` to each of the path's edges, as far as 64 bits hold. -ERANGE. */
int pathprof_function_paths_count_edges(const struct pathprof_function_paths *paths, uint64_t id,
					uint64_t count, uint64_t *by_edge);

/*
 * To and from what profiles hold: where a path starts (file offset), its length and its outcomes.
 * CUT_BRANCHES only, else -EINVAL, as for a length and outcomes no descriptor has. -ENOENT: no path
 * of this function: its start or its end is no path's (length 32), or it runs over an edge that is
 * cut against overflow; -EBADMSG: the function has no such branches. A descriptor does not tell
 * where an indirect jump led: the number is the lowest of all that fit.
 *
 * A jump forward into another function, a tail call mostly, does not end a profile's path. This
 * splits it: *ret_id is the number of the part in this function, *ret_length the branches of it. 1:
 * the rest begins at *ret_next, in another function (UINT64_MAX: outside all code known); 0: that
 * was all, *ret_next is untouched.
 */
int pathprof_function_paths_split_descriptor(const struct pathprof_function_paths *paths,
					     const struct pathprof_graph *graph, uint64_t start,
					     uint32_t length, uint32_t outcomes, uint64_t *ret_id,
					     uint32_t *ret_length, uint64_t *ret_next);
/*
 * 1 instead of 0: a profile's path that begins so runs on into another function. -ENOENT: no
 * profile has it, an exception or a cut against overflow ended it; -EOVERFLOW: it has more than 32
 * branches, or does not end with the 32nd; -ERANGE, -EINVAL.
 */
int pathprof_function_paths_descriptor(const struct pathprof_function_paths *paths,
				       const struct pathprof_graph *graph, uint64_t id,
				       uint64_t *ret_start, uint32_t *ret_length,
				       uint32_t *ret_outcomes);

#ifdef __cplusplus
}
#endif

#endif
