// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * In front of the C library's in a program that holds it: the linker is given --wrap. No other
 * pthread_create() may lie in this archive, for __real_pthread_create() would be that one.
 */
#include "create.h"

counts_create_fn __real_pthread_create, __wrap_pthread_create;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, counts_thread_fn *fn,
			  void *argument)
{
	return counts_create_thread(__real_pthread_create, thread, attributes, fn, argument);
}
