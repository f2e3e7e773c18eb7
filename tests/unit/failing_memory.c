// SPDX-License-Identifier: GPL-2.0-or-later
#include "failing_memory.h"

#include <errno.h>
#include <stddef.h>

static _Thread_local unsigned int left; /* allocations up to the one that fails, it included */
static _Thread_local bool has_failed;

void failing_memory_begin(unsigned int number)
{
	left = number;
	has_failed = false;
}

bool failing_memory_end(void)
{
	left = 0;
	return has_failed;
}

static bool fails(void)
{
	if (!left || --left)
		return false;
	errno = ENOMEM;
	has_failed = true;
	return true;
}

/* Names that --wrap=NAME gives calls, and NAME itself. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t cnt, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t cnt, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t cnt, size_t bytes)
{
	return fails() ? NULL : __real_calloc(cnt, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return fails() ? NULL : __real_realloc(memory, bytes);
}
