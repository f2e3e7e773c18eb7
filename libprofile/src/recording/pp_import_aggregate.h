/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Counted branches of one program (BOLT's, llvm-profgen's, AutoFDO's) become one window. Branches
 * are edges. What ran straight on from where one branch led to the next one taken is a whole path
 * only when the first begins paths and the last ends them (paths.h); of a range without the branch
 * before it, the edges that lead there say how many of them do. Everything else is in edges only,
 * and ranges and traces are kept beside them as they were counted, for an export.
 * A path was counted, not seen through a window: its weight is its count.
 *
 * Workload: once an import, some million counts. One thread; the object owns what it reads.
 */
#ifndef PP_IMPORT_AGGREGATE_H
#define PP_IMPORT_AGGREGATE_H

#include "pp_import_window.h"

struct pp_import_aggregate;

struct pp_import_aggregate_sink {
	struct pp_import_window *window;
	struct pathprof_import_stats *stats;
	uint32_t process;
	enum pathprof_mapping mapping;
	/* called after each entry: the window may be closed and the next begun. */
	int (*next)(void *context);
	void *context;
};

/* binary is the program, image number 0. Negative errno, error filled. */
int pp_import_aggregate_new(struct pp_import_aggregate **ret_aggregate, enum pathprof_format format,
			    const struct pathprof_import_binary *binary,
			    struct pathprof_error *error);
/* NULL-safe. */
void pp_import_aggregate_free(struct pp_import_aggregate *aggregate);
int pp_import_aggregate_add(struct pp_import_aggregate *aggregate,
			    const struct pathprof_recorded_count *count,
			    struct pathprof_error *error);
/* Hands everything on. Negative errno, error filled. */
int pp_import_aggregate_finish(struct pp_import_aggregate *aggregate,
			       const struct pp_import_aggregate_sink *sink,
			       struct pathprof_error *error);

#endif
