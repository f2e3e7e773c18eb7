// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The region is claimed before the thread exists and carries the function to call, so that nothing
 * is allocated.
 */
#include "create.h"

#include "counts.h"
#include "kernel.h"

/* NOLINTBEGIN(performance-no-int-to-ptr) */
static void *begin(void *argument)
{
	struct pathprof_counts_region *region = argument;
	counts_thread_fn *fn = (counts_thread_fn *)region->call[0];
	void *of_fn = (void *)region->call[1];

	__atomic_store_n(&region->tid, kernel_tid(), __ATOMIC_RELEASE);
	counts_move_to(region);
	counts_objects_attach();
	return fn(of_fn);
}
/* NOLINTEND(performance-no-int-to-ptr) */

int counts_create_thread(counts_create_fn *create, pthread_t *thread,
			 const pthread_attr_t *attributes, counts_thread_fn *fn, void *argument)
{
	struct pathprof_counts_region *region = counts_claim(COUNTS_PROMISED);
	int error;

	if (!region) {
		counts_crowd();
		return create(thread, attributes, fn, argument);
	}
	region->call[0] = (uint64_t)fn;
	region->call[1] = (uint64_t)argument;
	error = create(thread, attributes, begin, region);
	if (error)
		__atomic_store_n(&region->tid, 0, __ATOMIC_RELEASE);
	return error;
}
