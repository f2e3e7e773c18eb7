/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Release at the end of a scope for pathprofctl's own types, and allocation that ends the program
 * on failure, since a command line tool has nothing better to do without memory.
 */
#ifndef CTL_CLEANUP_H
#define CTL_CLEANUP_H

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vector.h"

#define _cleanup_json_  _cleanup_(ctl_json_at)
#define _cleanup_store_ _cleanup_(ctl_store_at)

/* Each takes the address of the pointer; NULL is nothing to release. */
void ctl_json_at(void *json);
void ctl_store_at(void *store);

/* Never NULL: without memory one line is said and the program ends with CTL_FAILURE. */
void *ctl_alloc(size_t size);
/* Room for one more element behind cnt, as pp_grow() has it; what is new is zeroed. */
#define ctl_grow(array_at, cnt, room_at)                                                           \
	do {                                                                                       \
		size_t old_ = *(room_at);                                                          \
		if (pp_grow(array_at, cnt, room_at) < 0)                                           \
			ctl_no_memory();                                                           \
		if (*(room_at) > old_)                                                             \
			memset(*(array_at) + old_, 0, (*(room_at)-old_) * sizeof(**(array_at)));   \
	} while (0)
_Noreturn void ctl_no_memory(void);
/* An array of cnt elements, the ones from old_cnt on zeroed. */
void *ctl_realloc(void *old, size_t old_cnt, size_t cnt, size_t element_size);
char *ctl_strdup(const char *text);
char *ctl_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
