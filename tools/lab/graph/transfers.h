/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The distinct transfers and straight runs of a trace, each with how often it was executed: what is
 * the same is looked at once, however often it ran.
 *
 * Workload: some 10^8 events, 10^5 to 10^6 distinct ones; two look-ups a branch. One owner, one
 * thread.
 */
#ifndef LAB_GRAPH_TRANSFERS_H
#define LAB_GRAPH_TRANSFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "../lab.h"

/* A straight run instead of a branch: from where it began to the branch that ended it. */
#define LAB_TRANSFER_RUN 7

struct lab_transfer {
	uint64_t from, next; /* addresses of process */
	uint32_t process;
	uint8_t kind;  /* PERF_BR_*, or LAB_TRANSFER_RUN */
	uint8_t taken; /* 0 or 1 */
	uint64_t cnt;  /* executions */
};

struct lab_transfers {
	struct lab_transfer *list; /* [table.cnt] */
	uint32_t room;
	struct pp_table table;
	uint64_t branch_cnt, run_cnt;
};

/* All streams of a trace. Exits with 1 on what cannot be read. */
void lab_transfers_read(struct lab_transfers *t, const struct pathprof_trace *trace);
void lab_transfers_release(struct lab_transfers *t);

#endif
