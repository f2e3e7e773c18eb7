/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The figures of a source whose collector is in the kernel: the collector's counters since the
 * source was opened, the reader's counters, and the lost samples by the reasons that all sources
 * share.
 *
 * Workload: once a window, and when asked. One thread.
 */
#ifndef PP_CHAIN_FIGURES_H
#define PP_CHAIN_FIGURES_H

#include "chain_reader.h"

struct pp_chain_figures {
	struct pathprof_collector_stats since; /* counters since the source was opened */
	uint64_t malformed, missing;           /* records of the ring */
	struct pp_source_counter counters[PP_SOURCE_COUNTER_MAX];
	uint32_t counter_cnt;
};

/* The mean number of good entries in a window of the hardware; 0: there was no window. */
double pp_chain_figures_depth(const struct pathprof_collector_stats *since);

/*
 * Fills all but cpu_ns and the sampler's name, from figures->since, ->malformed and ->missing.
 * ret_stats borrows the counters of figures; the caller may add more to those afterwards.
 */
void pp_chain_figures_fill(struct pp_chain_figures *figures, const struct pp_chain_reader *reader,
			   struct pp_source_stats *ret_stats);

/* Adds a counter, unless there are PP_SOURCE_COUNTER_MAX. name is a constant. */
void pp_chain_figures_add(struct pp_chain_figures *figures, const char *name, uint64_t value);

#endif
