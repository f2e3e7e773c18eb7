/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tested set: profile files in which every window is a run of which every path was counted
 * (pathprof-trace --paths, or programs that counted themselves). A file with anything else in it is
 * refused: a path that samples did not show may have been tested all the same.
 *
 * Workload: some thousand runs of some ten thousand paths. Ownership: rows are borrowed. One
 * thread.
 */
#ifndef CTL_TESTED_H
#define CTL_TESTED_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/store.h"

struct tested_run {
	int64_t window, begin_ns, end_ns;
	uint64_t count;   /* paths that ended */
	uint64_t lost;    /* executions that found no room: the run is not whole */
	uint64_t nowhere; /* paths of code without a file */
	char *command;    /* "": not known */
};

struct tested {
	struct pathprof_store *store;
	struct tested_run *runs; /* oldest first */
	size_t run_cnt, run_room;
	bool counted; /* counted by programs themselves: its paths are the compiler's, by number */
};

/* -EINVAL: it is no tested set, or an empty one. -errno. error filled. */
int tested_open(struct tested *ret_tested, const char *file, struct pathprof_error *error);
void tested_release(struct tested *tested);

/* The key of a path that ran, whatever its count. */
struct tested_key {
	uint64_t start;
	uint32_t binary; /* the caller's number of its build-id */
	uint32_t length, outcomes;
	uint32_t reserved; /* 0 */
};

#endif
