/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* A new thread counts in a region of its own from the program's first instruction in it on. */
#ifndef CREATE_H
#define CREATE_H

#include <pthread.h>

typedef void *counts_thread_fn(void *argument);
typedef int counts_create_fn(pthread_t *thread, const pthread_attr_t *attributes,
			     counts_thread_fn *fn, void *argument);

/* Creates a thread with create(), the C library's pthread_create(). */
int counts_create_thread(counts_create_fn *create, pthread_t *thread,
			 const pthread_attr_t *attributes, counts_thread_fn *fn, void *argument);

#endif
