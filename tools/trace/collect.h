/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes words and definitions out of the shared memory (share.h) and writes them as chunks; or,
 * where paths are counted, what each process counted once it has ended.
 *
 * Workload: 4 MiB at a time, packed straight from the ring while the program fills the rest of it.
 * Locking: the reader's side of share.h; one thread. Ownership: the collector borrows the shared
 * memory and the writer.
 */
#ifndef TRACE_COLLECT_H
#define TRACE_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counts.h"
#include "share.h"
#include "writer.h"

/* Definitions of one type that wait to be written. */
struct trace_batch {
	uint8_t *bytes;
	size_t len_bytes, size;
};

/* Totals, which pathprof-trace prints at the end. */
struct trace_totals {
	uint64_t word_cnt;
	uint32_t stream_cnt, process_cnt, exec_cnt, block_cnt;
	uint32_t lost_defs; /* damaged by a dying writer */
};

struct trace_collector {
	struct trace_share *share;
	struct trace_writer *writer;                      /* NULL: paths are counted instead, in: */
	struct trace_counts *counts;                      /* else NULL */
	const char *program;                              /* the program that is run, for counts */
	struct trace_batch batches[PATHPROF_TRACE_INDEX]; /* by type */
	int pidfds[TRACE_PROCESS_CNT];                    /* -1: none */
	struct trace_totals totals;
};

/* Either writer or counts is NULL. */
void trace_collector_init(struct trace_collector *collector, struct trace_share *share,
			  struct trace_writer *writer, struct trace_counts *counts,
			  const char *program);
void trace_collector_release(struct trace_collector *collector);
/* Takes the words and definitions in the rings; of live threads, whole chunks only. Returns 0, or
 * the writer's -errno. */
int trace_collect(struct trace_collector *collector);
/* Takes everything, once no process writes any more. */
int trace_collect_rest(struct trace_collector *collector);
/* Whether a process other than those that executed something else still runs. */
bool trace_collect_alive(const struct trace_collector *collector);
/* Sends a signal to every traced process. */
void trace_collect_signal(const struct trace_collector *collector, int signal);

#endif
