/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Words behind a number, for messages to people: "1 window is left out", "2 windows are left out".
 * Workload: a few a message. Any context. Ownership: the words are the caller's.
 */
#ifndef PP_BASE_PLURAL_H
#define PP_BASE_PLURAL_H

#include <stdint.h>

/* The word that goes with so many: "window" or "windows", "is" or "are". */
static inline const char *pp_plural(uint64_t cnt, const char *one, const char *many)
{
	return cnt == 1 ? one : many;
}

#endif
