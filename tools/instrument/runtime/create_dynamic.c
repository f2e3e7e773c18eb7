// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Interposes the C library's pthread_create() in an object that is dynamically linked with it.
 * Protected: the object's own calls reach it even in a library that dlopen() places behind the C
 * library or outside the global scope.
 */
#include <dlfcn.h>
#include <errno.h>

#include "create.h"

/* The interceptor of a sanitizer in the program: it calls the C library's function in the end. */
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
