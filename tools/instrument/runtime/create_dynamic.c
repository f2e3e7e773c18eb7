// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * In front of the C library's, in an object that is linked with it dynamically. Protected: what the
 * object itself calls is its own, also where it is a library that dlopen() looks up behind the C
 * library, or keeps out of the global scope.
 */
#include <dlfcn.h>
#include <errno.h>

#include "create.h"

/* A sanitizer that the program holds: what it does for a thread ends in the C library's. */
extern counts_create_fn __interceptor_pthread_create __attribute__((weak));

static counts_create_fn *find_next(void)
{
	if (__interceptor_pthread_create)
		return __interceptor_pthread_create;
	return (counts_create_fn *)dlsym(RTLD_NEXT, "pthread_create");
}

__attribute__((visibility("protected"))) int pthread_create(pthread_t *thread,
							    const pthread_attr_t *attributes,
							    counts_thread_fn *fn, void *argument)
{
	static counts_create_fn *next;

	if (!next)
		next = find_next();
	return next ? counts_create_thread(next, thread, attributes, fn, argument) : ENOSYS;
}
