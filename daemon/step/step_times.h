/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU times of processes and threads as a scan of /proc last saw them, so that the next scan sees
 * by how much they grew.
 *
 * Workload: every process of the machine and the threads of some, up to twenty times a second.
 * There is room for all that live: an entry takes 64 bytes at most, a thread takes the kernel
 * twenty thousand. An entry that two scans in a row did not meet goes when the table has doubled
 * since entries last went. One owner. Allocates.
 */
#ifndef PP_STEP_TIMES_H
#define PP_STEP_TIMES_H

#include <stdint.h>

#include "base/table.h"

struct pp_step_time {
	int64_t key; /* a thread's id, or the negative id of a process */
	uint64_t start_time;
	uint64_t utime_ticks;
	uint32_t scan; /* that met it last */
};

/* A zeroed one is empty. */
struct pp_step_times {
	struct pp_table table;
	struct pp_step_time *list;
	uint32_t room, sweep_at, scan;
};

/* There was no entry of this key and start time. */
#define PP_STEP_TIMES_NEW (-1)
/* There is neither an entry nor memory for one. */
#define PP_STEP_TIMES_FULL (-2)

/* Another scan begins. */
void pp_step_times_begin(struct pp_step_times *times);
/* Remembers the time. By how many ticks it grew since the last look, or PP_STEP_TIMES_*. */
int64_t pp_step_times_growth(struct pp_step_times *times, int64_t key, uint64_t start_time,
			     uint64_t utime_ticks);
void pp_step_times_release(struct pp_step_times *times);

#endif
