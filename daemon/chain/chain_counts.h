/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes the counts of a collector in the kernel: which process a number stands for, which
 * branches a segment has, and from these its paths (PATHPROF_MAPPING_WPP), to which a count is then
 * added.
 *
 * Workload: each flush some hundred counts a CPU; a few thousand segments in all, each
 * reconstructed once. Bounded: PP_CHAIN_COUNTS_SEGMENT_MAX segments; those that were not counted
 * since the last clearing go first. One thread.
 *
 * Weight: a segment of t taken branches is seen in the windows of n that hold it and the branch
 * before it, n - t of n places: docs/reconstruction.md.
 */
#ifndef PP_CHAIN_COUNTS_H
#define PP_CHAIN_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "../source.h"
#include "chain_records.h"
#include "pathprof/record_abi.h"
#include "rebuild.h"

#define PP_CHAIN_COUNTS_SEGMENT_MAX 65536

struct pp_chain_counts;

/* Definitions and counts that came, running totals. */
struct pp_chain_counts_stats {
	uint64_t defined; /* segments, reconstructed */
	uint64_t refused; /* runs of segments that do not fit their code */
	uint64_t unknown; /* runs and tuples of numbers or segments not explained, or forgotten */
	uint64_t full;    /* definitions that found no room */
};

/* Rings of CPUs 0 to cpu_cnt - 1; rebuild outlives them. -ENOMEM. */
int pp_chain_counts_new(struct pp_chain_counts **ret_counts, uint32_t cpu_cnt,
			struct pp_rebuild *rebuild);
/* NULL-safe. */
void pp_chain_counts_free(struct pp_chain_counts *counts);

/* Taken branches of a window: the n of the weights. */
void pp_chain_counts_set_depth(struct pp_chain_counts *counts, double taken_per_window);

/*
 * Take the records of one ring in the order they lie there, checked before (chain_records.h).
 * ignored: counts of that process are dropped.
 */
void pp_chain_counts_context(struct pp_chain_counts *counts, uint32_t cpu,
			     const struct pathprof_context *context, uint64_t time_ns,
			     bool ignored);
void pp_chain_counts_define(struct pp_chain_counts *counts, uint32_t cpu,
			    const struct pathprof_segment *segment,
			    const struct pathprof_lbr_entry *entries, uint64_t time_ns);
void pp_chain_counts_path(struct pp_chain_counts *counts, uint32_t cpu,
			  const struct pathprof_path_record *path,
			  const struct pp_source_sink *sink);
void pp_chain_counts_tuple(struct pp_chain_counts *counts, uint32_t cpu,
			   const struct pathprof_tuple_count *tuple,
			   const struct pp_source_sink *sink);

/* A session ended: numbers begin anew. Segments stay. */
void pp_chain_counts_forget_contexts(struct pp_chain_counts *counts);

void pp_chain_counts_stats(const struct pp_chain_counts *counts,
			   struct pp_chain_counts_stats *ret_stats);

#endif
