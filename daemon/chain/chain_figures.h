/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a source of a collector in the kernel tells of itself: the collector's counters since the
 * source was opened, what the reader counted, and the reasons why samples were lost put into those
 * that all sources share.
 *
 * Workload: once a window, and when asked. One thread.
 */
#ifndef PP_CHAIN_FIGURES_H
#define PP_CHAIN_FIGURES_H

#include "chain_reader.h"

struct pp_chain_figures {
	struct pathprof_collector_stats since; /* the source was opened */
	uint64_t malformed, missing;           /* records, by what the ring brought */
	struct pp_source_counter counters[PP_SOURCE_COUNTER_MAX];
	uint32_t counter_cnt;
};

/* Entries that were whole, of a window of hardware; 0: there was no window. */
double pp_chain_figures_depth(const struct pathprof_collector_stats *since);

/*
 * All but cpu_ns and the sampler's name, from figures->since, ->malformed and ->missing. The
 * counters are those of figures: more may be added behind.
 */
void pp_chain_figures_fill(struct pp_chain_figures *figures, const struct pp_chain_reader *reader,
			   struct pp_source_stats *ret_stats);

/* One more; none beyond PP_SOURCE_COUNTER_MAX. name lives for ever. */
void pp_chain_figures_add(struct pp_chain_figures *figures, const char *name, uint64_t value);

#endif
