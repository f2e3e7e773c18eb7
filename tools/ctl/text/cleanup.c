// SPDX-License-Identifier: GPL-2.0-or-later
/* Scope cleanup and allocation: see cleanup.h. */
#include "cleanup.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl.h"
#include "pathprof/store.h"

void ctl_json_at(void *json)
{
	json_decref(*(json_t **)json);
}

void ctl_store_at(void *store)
{
	pathprof_store_free(*(struct pathprof_store **)store);
}

void ctl_no_memory(void)
{
	fputs("pathprofctl: out of memory: select less, for example with --since\n", stderr);
	exit(CTL_FAILURE);
}

static void *checked(void *memory)
{
	if (!memory)
		ctl_no_memory();
	return memory;
}

void *ctl_alloc(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *ctl_realloc(void *old, size_t old_cnt, size_t cnt, size_t element_size)
{
	if (pp_array_resize(&old, cnt, element_size) < 0)
		ctl_no_memory();
	if (cnt > old_cnt)
		memset((char *)old + old_cnt * element_size, 0, (cnt - old_cnt) * element_size);
	return old;
}

char *ctl_strdup(const char *text)
{
	return checked(strdup(text));
}

char *ctl_printf(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return checked(text);
}
