/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exact profile of a run: the counts from its processes' arenas (share.h), summed by file and
 * offset, and written as a profile file of one window.
 *
 * Workload: a process at a time, when it has ended; up to some million paths. Locking: none, one
 * thread. Ownership: the counts own all but the arenas.
 */
#ifndef TRACE_COUNTS_H
#define TRACE_COUNTS_H

#include "pathprof/error.h"
#include "pathprof/profile.h"
#include "pathprof/trace_format.h"
#include "share.h"

struct trace_counts {
	struct pathprof_profile profile;
	struct trace_counts_module *modules; /* by id */
	size_t module_cnt;
	struct trace_counts_piece *pieces;
	size_t piece_cnt, piece_room;
	struct trace_counts_segment *segments;
	size_t segment_cnt, segment_room;
	uint32_t lost_processes; /* processes with damaged counts, or with too many for the arena */
};

/* -ENOMEM. */
int trace_counts_init(struct trace_counts *counts);
void trace_counts_release(struct trace_counts *counts);
/* A module was mapped; its build-id is read here. */
int trace_counts_module(struct trace_counts *counts, const struct pathprof_trace_module *module,
			const char *path);
/* Adds the counts of a process that has ended. program: the file it runs. */
int trace_counts_take(struct trace_counts *counts, const struct trace_arena *arena, uint32_t pid,
		      const char *program);
/* note: the command that ran. Replaces the file. error filled. */
int trace_counts_write(struct trace_counts *counts, const char *file, const char *note,
		       struct pathprof_error *error);

#endif
