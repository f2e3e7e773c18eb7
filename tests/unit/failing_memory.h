/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One allocation that fails, to see what becomes of it. The linker leads malloc, calloc and realloc
 * of our own code through here; libraries' allocations are theirs. Only the thread that asked is
 * refused.
 */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H

#include <stdbool.h>

/* The allocation of this number, counted from now on, fails; the first is 1. */
void failing_memory_begin(unsigned int number);
/* From now on none fails. Whether one did. */
bool failing_memory_end(void);

#endif
