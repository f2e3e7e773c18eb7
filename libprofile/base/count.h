/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* Counts that stop at their end: one that large comes from a damaged or a made-up input. */
#ifndef PP_BASE_COUNT_H
#define PP_BASE_COUNT_H

#include <stdint.h>

/* a + b, at most 2^64 - 1. */
static inline uint64_t pp_count_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
