/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * From branches to paths: the path stack of the core over one burst (EOPP 5.2).
 *
 * A burst starts and ends in the middle of paths. Nothing is counted before the first push nor
 * after the last pop, and a return on an empty stack leads into a caller whose start is unknown:
 * nothing is counted until the next push.
 */
#ifndef PATHPROF_PATHS_H
#define PATHPROF_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pathprof_mapping {
	PATHPROF_MAPPING_BL,  /* Ball-Larus-like: EOPP table 5.1 */
	PATHPROF_MAPPING_WPP, /* whole program path: EOPP table 5.2 */
};

/* A path seen whole in a burst. Addresses are those of the profiled process. */
struct pathprof_path_seen {
	uint64_t start;    /* address where the path began */
	uint32_t length;   /* branches on it, 0..32 */
	uint32_t outcomes; /* bit i: branch i was taken */
	uint32_t span;     /* from its push to its pop, calls included: instructions of a window
			      with a horizon, else taken branches */
	uint32_t last;     /* index of the branch that ended it, in the function where it began */
	uint32_t insns;    /* instructions of its own, those of its calls excluded; 0: unknown */
	double weight; /* n / (n - span), n = the window's horizon, or its taken branches: undoes
			  the bias of a short window against long paths (Horvitz-Thompson) */
};

typedef void pathprof_path_fn(void *context, const struct pathprof_path_seen *path);

/*
 * Calls fn for each path seen whole, in the order they end. branches[branch_cnt] in the order
 * executed. Pure; any thread. Returns the number of paths, or -EINVAL when a record's kind or
 * count is out of range (nothing is reported then).
 *
 * The window ends after a number of taken branches; pathprof_paths_of_window() is for a window with
 * a horizon in instructions (struct pathprof_burst), whose branches all know their instructions.
 * Horizon 0 is the former.
 */
int pathprof_paths_of_burst(const struct pathprof_branch *branches, uint32_t branch_cnt,
			    enum pathprof_mapping mapping, pathprof_path_fn *fn, void *context);
int pathprof_paths_of_window(const struct pathprof_branch *branches, uint32_t branch_cnt,
			     uint32_t horizon, enum pathprof_mapping mapping, pathprof_path_fn *fn,
			     void *context);

/*
 * A piece, which is what one procedure runs between its calls (a path of PATHPROF_MAPPING_WPP), and
 * the one that followed it over a call or a return: EOPP's interprocedural segment of depth 1.
 */
struct pathprof_segment_seen {
	struct pathprof_path_seen first, second;
	uint32_t span; /* from the push of the first to the pop of the second, as a path's */
	double weight; /* by that span */
};
typedef void pathprof_segment_fn(void *context, const struct pathprof_segment_seen *segment);
/* The same windows and errors; returns the number of segments whose pieces were seen whole. */
int pathprof_segments_of_window(const struct pathprof_branch *branches, uint32_t branch_cnt,
				uint32_t horizon, pathprof_segment_fn *fn, void *context);

/*
 * The same for a whole stream: a path stack of 32 entries under any setting.
 */
enum pathprof_extend {
	PATHPROF_EXTEND_NONE,
	PATHPROF_EXTEND_LOOP, /* a path goes on over backward branches */
	PATHPROF_EXTEND_CALL, /* a path goes on over calls, until they return */
};

struct pathprof_path_settings {
	enum pathprof_mapping mapping;
	uint32_t max_length; /* 1..32 branches */
	enum pathprof_extend extend;
	uint32_t extensions; /* most extensions of one path */
};

struct pathprof_path_popped {
	uint64_t start, events;
	uint32_t length, outcomes;
	uint64_t span; /* taken branches from its push to its pop, modulo 2^32 */
};

struct pathprof_path_stack;

/* -EINVAL, -ENOMEM. */
int pathprof_path_stack_new(struct pathprof_path_stack **ret_stack,
			    const struct pathprof_path_settings *settings);
void pathprof_path_stack_free(struct pathprof_path_stack *stack);
/* One branch that carries `events`. true: *ret_path was popped. */
bool pathprof_path_stack_step(struct pathprof_path_stack *stack,
			      const struct pathprof_branch *branch, uint64_t events,
			      struct pathprof_path_popped *ret_path);
/* Pops what is on the stack, top first. false: empty, *ret_path untouched. */
bool pathprof_path_stack_drain(struct pathprof_path_stack *stack,
			       struct pathprof_path_popped *ret_path);

#ifdef __cplusplus
}
#endif

#endif
