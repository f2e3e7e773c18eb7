/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes a collector's records on to the window: bursts as they are, windows of taken branches
 * reconstructed first, counts by way of the segments they belong to.
 *
 * Workload: some thousand records a second at most. A part of its source, which the event loop
 * owns; no locks. What is handed to the sink lies in the collector's ring or here until the next
 * record.
 */
#ifndef PP_CHAIN_READER_H
#define PP_CHAIN_READER_H

#include "../source.h"
#include "chain_counts.h"
#include "chain_records.h"
#include "rebuild.h"

struct pp_chain_reader {
	pid_t only_pid;                     /* 0: all that resolver knows */
	const struct pp_resolver *resolver; /* NULL: bursts only */
	struct pp_rebuild *rebuild;         /* NULL: bursts only */
	struct pp_chain_counts *counts;     /* NULL: nothing is counted by the collector */
	const struct pp_source_sink *sink;  /* of this reading */
	uint64_t now_ns;                    /* when it began, CLOCK_MONOTONIC */
	uint64_t outside;                   /* windows of processes that are not to be profiled */
	uint64_t unknown;                   /* windows of processes that are not known any more */
	struct pathprof_branch branches[PATHPROF_BURST_MAX];
};

/*
 * For windows of taken branches, counted where config says so, of CPUs 0 to cpu_cnt - 1; the
 * resolver must be there. reader is zeroed but for who is to be profiled. -ENOMEM.
 */
int pp_chain_reader_init(struct pp_chain_reader *reader, const struct pp_source_config *config,
			 uint32_t cpu_cnt);
void pp_chain_reader_release(struct pp_chain_reader *reader);

/* Call before each reading. */
void pp_chain_reader_begin(struct pp_chain_reader *reader, const struct pp_source_sink *sink);
/* A pp_chain_record_fn; context is the reader. */
void pp_chain_reader_record(void *context, const struct pathprof_record *record);

#endif
