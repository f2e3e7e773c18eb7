/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The Hot Path Table (Vaswani 2007, 5.4) in user space: paths in, the replaced ones out (spill
 * mode keeps them, the thesis' table loses them), the table at the end. One object, one thread.
 *
 * With the policy TAIL what is replaced comes out sampled, in few messages: a path of 16 or more
 * with its count, one of less with a count of 16 or not at all, so that the expected sum of table
 * and messages is each path's true count.
 */
#ifndef PATHPROF_HOT_PATHS_H
#define PATHPROF_HOT_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_hot_paths;

struct pathprof_hot_path {
	uint64_t start, count;
	uint32_t length, outcomes; /* length 0..32 */
};

enum pathprof_hot_policy {
	PATHPROF_HOT_LFU,  /* the thesis': the least frequently used is replaced */
	PATHPROF_HOT_TAIL, /* ... every 16th time another; what is replaced is sampled */
};

/* entries / ways is a power of two, ways 1..16, entries at most 65536. -EINVAL, -ENOMEM. */
int pathprof_hot_paths_new(struct pathprof_hot_paths **ret_table, uint32_t entries, uint32_t ways,
			   struct pathprof_error *error);
/* The same with a policy; seed of the sampler, 0 stands for 1. -EINVAL for no policy, too. */
int pathprof_hot_paths_new_policy(struct pathprof_hot_paths **ret_table, uint32_t entries,
				  uint32_t ways, enum pathprof_hot_policy policy, uint64_t seed,
				  struct pathprof_error *error);
void pathprof_hot_paths_free(struct pathprof_hot_paths *table);
/* Adds path->count. true: *ret_replaced left the table, or is the sampled message that says so. */
bool pathprof_hot_paths_add(struct pathprof_hot_paths *table, const struct pathprof_hot_path *path,
			    struct pathprof_hot_path *ret_replaced);
/*
 * The table, highest count first, then start, length, outcomes ascending. Returns how many were
 * written to paths[], which holds as many as the table has entries.
 */
size_t pathprof_hot_paths_read(const struct pathprof_hot_paths *table,
			       struct pathprof_hot_path *paths);

#ifdef __cplusplus
}
#endif

#endif
