// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Interposes the C library's pthread_create() in a static program by the linker's --wrap. This
 * archive may hold no other pthread_create(), or __real_pthread_create() would be that one.
 */
#include "create.h"

counts_create_fn __real_pthread_create, __wrap_pthread_create;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, counts_thread_fn *fn,
			  void *argument)
{
	return counts_create_thread(__real_pthread_create, thread, attributes, fn, argument);
}
