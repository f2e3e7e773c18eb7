// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Regions and the threads that count in them. The kernel is asked whether a region's thread is
 * gone, so that nothing has to run when a thread ends, and even the last code that it runs is
 * counted.
 */
#include "counts.h"
#include "kernel.h"

/* At most so many regions are tried before the file gets another one. */
#define LOOKED_MAX 16

static uint64_t looked_last; /* offset of the next region to try; under the lock */

void counts_move_to(struct pathprof_counts_region *region)
{
	__pathprof_distance = region ? (char *)(region + 1) - (char *)__start_pathprof_counters : 0;
	for (counts_move_fn *const *move = __start_pathprof_moves; move < __stop_pathprof_moves;
	     move++)
		(*move)();
}

struct pathprof_counts_region *counts_mine(void)
{
	char *image = (char *)__start_pathprof_counters + __pathprof_distance;

	return __pathprof_distance ? (struct pathprof_counts_region *)image - 1 : NULL;
}

static bool is_free(const struct pathprof_counts_region *region)
{
	int tid = __atomic_load_n(&region->tid, __ATOMIC_ACQUIRE);

	return region->kind == PATHPROF_COUNTS_THREAD && tid != COUNTS_PROMISED &&
	       !(tid && kernel_lives((int)counts_head()->pid, tid));
}

/* Searches round the file, from where the last search stopped. */
static struct pathprof_counts_region *find_free(void)
{
	uint64_t end = counts_head()->used_bytes;

	if (end == PATHPROF_COUNTS_PAGE)
		looked_last = end;
	for (unsigned int i = 0; i < LOOKED_MAX && end != PATHPROF_COUNTS_PAGE; i++) {
		if (looked_last >= end)
			looked_last = PATHPROF_COUNTS_PAGE;
		struct pathprof_counts_region *region = counts_region_at(looked_last);

		looked_last += region->bytes;
		if (is_free(region))
			return region;
	}
	return NULL;
}

struct pathprof_counts_region *counts_claim(int tid)
{
	struct pathprof_counts_region *region;
	uint64_t signals;

	if (!counts_head())
		return NULL;
	signals = counts_lock();
	region = find_free();
	if (!region)
		region = counts_append(PATHPROF_COUNTS_THREAD,
				       sizeof(*region) + counts_image_bytes());
	if (region)
		__atomic_store_n(&region->tid, tid, __ATOMIC_RELEASE);
	counts_unlock(signals);
	return region;
}

void counts_attach(void)
{
	if (!__pathprof_distance)
		counts_move_to(counts_claim(kernel_tid()));
}
