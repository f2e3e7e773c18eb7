// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Start and end of an object: its file is made before the program's own constructors run, and the
 * counts in the section itself are added to the first region.
 */
#include <pthread.h>

#include "counts.h"
#include "kernel.h"

/* The first constructor priority that is not reserved for the implementation. */
#define FIRST 101

/* All instrumented units refer to this, so that the linker includes this file. */
__thread int64_t __pathprof_distance;

/* Threads unknown to the runtime may be counting in the section. Returns their sum. */
static uint64_t move_section_to_file(void)
{
	struct pathprof_counts_region *first = counts_region_at(PATHPROF_COUNTS_PAGE);
	uint64_t *image = (uint64_t *)(first + 1), moved = 0, count;

	for (uint64_t i = 0; i < counts_image_bytes() / sizeof(*image); i++) {
		if (!__start_pathprof_counters[i])
			continue;
		count = __atomic_exchange_n(&__start_pathprof_counters[i], 0, __ATOMIC_RELAXED);
		__atomic_fetch_add(&image[i], count, __ATOMIC_RELAXED);
		moved += count;
	}
	return moved;
}

/* The section's counts up to the fork are the parent's to report. */
static void after_fork(void)
{
	counts_objects_after_fork();
	for (uint64_t i = 0; i < counts_image_bytes() / sizeof(uint64_t); i++)
		if (__start_pathprof_counters[i])
			__start_pathprof_counters[i] = 0;
	counts_file_make_anew();
}

__attribute__((constructor(FIRST))) static void start(void)
{
	if (!counts_image_bytes() || !counts_file_make())
		return;
	move_section_to_file();
	counts_objects_enter();
	pthread_atfork(NULL, NULL, after_fork);
}

/* May run in any thread. A file without regions is a child's whose making failed. */
__attribute__((destructor(FIRST))) static void end(void)
{
	counts_objects_leave();
	if (!counts_head() || counts_head()->used_bytes == PATHPROF_COUNTS_PAGE)
		return;
	counts_head()->shared_cnt += move_section_to_file();
	counts_head()->state = PATHPROF_COUNTS_CLOSED;
}
