/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The counts of a recording's branches with the ranges behind them, each different one once, in a
 * table of a fixed size that is emptied into a branch profile when it is full.
 *
 * Whether a range can have been run is found out when the table is emptied, once for each that
 * differs: the code between must not leave it on the way.
 *
 * Workload: 10^9 additions of 10^4 to 10^6 that differ, one look-up each, no allocation. Ownership:
 * the table is the object's; graph, code and profile are the caller's. One owner.
 */
#ifndef PP_RECORDING_TRACES_H
#define PP_RECORDING_TRACES_H

#include <stdbool.h>

#include "pathprof/recording_branches.h"

/* In place of a file offset: not of this binary. */
#define PP_PLACE_NONE UINT32_MAX

#define PP_TRACE_SLOTS (1u << 18)
#define PP_TRACE_FULL  (PP_TRACE_SLOTS / 4 * 3)
/* So many wait for their slots to come from memory. */
#define PP_TRACE_WAITING 8

/* The newest entry of its stack is the same branch: the hardware may have given it twice. */
#define PP_TRACE_REPEATS 1u

/* File offsets, or PP_PLACE_NONE; last: no range is known behind it. */
struct pp_trace {
	uint32_t from, start, last;
	uint32_t flags;
};
struct pp_trace_slot {
	struct pp_trace trace;
	uint64_t count, mispredicted; /* count 0: free */
};

struct pp_trace_waiting {
	struct pp_trace_slot counted;
	uint32_t at; /* the first slot to look into */
};

struct pp_recording_traces {
	struct pp_trace_slot *slots;
	uint32_t cnt;
	uint32_t next; /* of those that wait: the oldest */
	struct pp_trace_waiting waiting[PP_TRACE_WAITING];
	const struct pathprof_graph *graph;
	struct pathprof_branch_profile *profile;
	struct pathprof_code_segment *segments;
	uint32_t segment_cnt;
	uint8_t *pads; /* a byte a block: an exception may land there */
	struct pathprof_recording_branches_stats *stats;
};

/* -ENOMEM. */
int pp_recording_traces_init(struct pp_recording_traces *t, const struct pathprof_code *code,
			     const struct pathprof_graph *graph,
			     struct pathprof_branch_profile *profile,
			     struct pathprof_recording_branches_stats *stats);
/* t may be all zero. */
void pp_recording_traces_release(struct pp_recording_traces *t);
/* -ENOMEM, -E2BIG: the profile could not take what was counted before. */
int pp_recording_traces_add(struct pp_recording_traces *t, const struct pp_trace *trace,
			    uint64_t count, uint64_t mispredicted);
/* Everything into the profile. -ENOMEM, -E2BIG. */
int pp_recording_traces_flush(struct pp_recording_traces *t);
/* A range that is counted elsewhere: into the profile, if code runs on so. -ENOMEM, -E2BIG. */
int pp_recording_traces_range(struct pp_recording_traces *t, uint64_t from, uint64_t start,
			      uint64_t last, uint64_t count);
/* The offset at a vaddr of the file, or PP_PLACE_NONE. */
uint32_t pp_recording_traces_at(const struct pp_recording_traces *t, uint64_t vaddr);

/* Does code run from start to last, an instruction's, without leaving on the way? */
bool pp_range_runs(const struct pathprof_graph *graph, uint64_t start, uint64_t last);

#endif
