/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions drawn at random with addresses, branches and calls, as graphs; their paths one after
 * the other by the definitions; and walks through them branch by branch, as a processor would run
 * them, with the path stack of the core beside.
 */
#ifndef ORACLE_FUNCTION_PATHS_H
#define ORACLE_FUNCTION_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/function_paths.h"

#define ORACLE_BLOCKS_MAX 512
#define ORACLE_OUT_MAX    6
#define ORACLE_PATH_MAX   32  /* edges of a path of a small function */
#define ORACLE_WAY_MAX    512 /* edges between two branches that end paths */
#define ORACLE_FUNCTION   1   /* the one of interest; one lies before it, one behind */

struct oracle_function {
	struct pathprof_graph graph;
	struct pathprof_graph_function functions[3];
	struct pathprof_graph_part parts[4];
	struct pathprof_graph_block blocks[ORACLE_BLOCKS_MAX + 1];
	struct pathprof_edge edges[ORACLE_BLOCKS_MAX * ORACLE_OUT_MAX];
};

struct oracle_flow_path {
	uint32_t start, edge_cnt;
	uint32_t edges[ORACLE_PATH_MAX];
};

enum oracle_shape {
	ORACLE_ANY,      /* all kinds of blocks, edges anywhere: irreducible too */
	ORACLE_FORWARD,  /* few ends and few backward branches: many paths, long ones */
	ORACLE_DIAMONDS, /* conditionals one behind the other: 2^n paths */
};

/* block_cnt blocks, its cold part's among them. */
void oracle_function_draw(struct oracle_function *ret_f, enum oracle_shape shape,
			  uint32_t block_cnt, uint64_t *random);

/* Whether a path ends at the edge: by the path stack's rules, or by those of enum pathprof_cut. */
bool oracle_is_cut(const struct oracle_function *f, const struct pathprof_flow *flow,
		   enum pathprof_cut cut, uint32_t edge);
/* All paths in the order of their numbers; at most room are written. */
size_t oracle_function_paths(const struct oracle_function *f, const struct pathprof_flow *flow,
			     enum pathprof_cut cut, struct oracle_flow_path *paths, size_t room);

/* How a popped path came about. */
enum oracle_end {
	ORACLE_END_HERE,    /* by a branch of the function, or by leaving it */
	ORACLE_END_ELSE,    /* in another function, which it had run on into */
	ORACLE_END_LENGTH,  /* by having 32 branches, and nothing else */
	ORACLE_END_UNKNOWN, /* it began where none of the function's paths does */
};

struct oracle_popped {
	uint64_t start;
	uint32_t length, outcomes;
	enum oracle_end end;
	bool indirect;           /* its last branch here was an indirect jump */
	uint32_t length_here;    /* branches of it in the function */
	uint64_t next;           /* END_ELSE: where it ran on */
	uint32_t node, edge_cnt; /* the way it took, by edges of the flow */
	uint32_t edges[ORACLE_WAY_MAX];
};

typedef void oracle_popped_fn(void *context, const struct oracle_popped *popped);

/* Calls fn for each path that begins in the function, over step_cnt blocks. */
void oracle_function_walk(const struct oracle_function *f, const struct pathprof_flow *flow,
			  unsigned int step_cnt, uint64_t *random, oracle_popped_fn *fn,
			  void *context);

#endif
