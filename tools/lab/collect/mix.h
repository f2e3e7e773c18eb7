/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exact truth about one program, or about two that run side by side, each with half of the CPU
 * time: TIME and RUNS of every path and function (pathprof/shares.h). Windows and clock samples are
 * drawn from it as a sampling profiler would.
 *
 * TIME is measured in the clock `time`: instructions, or modelled time. A path's TIME is that of
 * its own branches. A function's TIME is that of all instructions in it, its RUNS those of the
 * paths that begin in it. The library's path stack cuts each whole stream into paths; instructions
 * that it forgets in deep recursion count in the TIME of their function only.
 *
 * Workload: a pass over some ten million branches. One owner; the streams outlive it.
 */
#ifndef LAB_COLLECT_MIX_H
#define LAB_COLLECT_MIX_H

#include "stream.h"

#define LAB_MIX_MAX 2

/* Window lengths that are compared: instructions, and taken branches. */
#define LAB_LENGTH_CNT 6
extern const uint32_t lab_horizons[LAB_LENGTH_CNT]; /* 128 to 4096 */
extern const uint32_t lab_takens[LAB_LENGTH_CNT];   /* 8 to 256 */

enum lab_mix_column {
	LAB_MIX_RUNS,
	LAB_MIX_TIME,
	LAB_MIX_SEEN_RUNS,  /* RUNS of the paths that a window of seen_horizon can show whole */
	LAB_MIX_SEEN_INSNS, /* instructions of those paths */
	LAB_MIX_COLUMN_CNT,
};

struct lab_mix {
	const struct lab_stream *streams[LAB_MIX_MAX];
	size_t cnt;
	enum lab_stream_clock time;
	uint32_t seen_horizon;
	struct lab_profile truth;              /* shares of all time, and runs per unit of it */
	double *function_time, *function_runs; /* shares */
	uint32_t function_cnt, first_function[LAB_MIX_MAX];
	double seen_whole[LAB_LENGTH_CNT]; /* share of RUNS that windows of lab_horizons show */
	double seen_whole_taken[LAB_LENGTH_CNT]; /* ... that windows of lab_takens show */
	double *alias_chance; /* by function, to draw clock samples (Walker 1977, Vose 1991) */
	uint32_t *alias;
};

/* cnt: 1 or 2 finished streams that are not empty. */
void lab_mix_init(struct lab_mix *m, const struct lab_stream *const *streams, size_t cnt,
		  enum lab_stream_clock time, uint32_t seen_horizon);
void lab_mix_release(struct lab_mix *m);

/* The function in which a path of the truth, or of a window, begins. */
uint32_t lab_mix_function(const struct lab_mix *m, const struct lab_path_key *key);

/* Cuts a window at a random place, as lab_stream_window() does; *ret_stream is the stream that it
 * comes from. The clock of *form is m->time or LAB_STREAM_TAKEN. */
uint32_t lab_mix_window(const struct lab_mix *m, const struct lab_window_form *form,
			uint64_t *state, struct pathprof_branch *branches, uint32_t *ret_insns,
			size_t *ret_stream);
/* Adds cnt clock samples at random places to counts[function_cnt]. */
void lab_mix_clock(const struct lab_mix *m, uint64_t cnt, uint64_t *state, uint64_t *counts);

/* The start of a path in its key: the address with the number of the stream. */
static inline uint64_t lab_mix_start(size_t stream, uint64_t address)
{
	return address | (uint64_t)stream << 62;
}

#endif
