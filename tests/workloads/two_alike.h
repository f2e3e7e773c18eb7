/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two functions of the same code: loops whose branch goes by chance. */
#ifndef TWO_ALIKE_H
#define TWO_ALIKE_H

#include <stdint.h>

#define BODY(x)                                                                                    \
	for (unsigned int i = 0; i < n; i++) {                                                     \
		if (x & 1)                                                                         \
			x = x * 1664525u + 1013904223u;                                            \
		else                                                                               \
			x ^= x << 7;                                                               \
		__asm__ volatile("" : "+r"(x));                                                    \
	}

static __attribute__((noipa)) uint32_t first(uint32_t x, unsigned int n)
{
	BODY(x)
	return x;
}

static __attribute__((noipa)) uint32_t second(uint32_t x, unsigned int n)
{
	BODY(x)
	return x;
}

#endif
