/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Helpers shared by the guest's programs: the clock, a computation with a known result, and the
 * memory that the module holds.
 */
#ifndef VM_COMMON_H
#define VM_COMMON_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static inline uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* For the same seed the same, of some ten thousand instructions with branches both ways. */
static inline uint64_t compute(uint64_t seed)
{
	uint64_t x = seed;

	__asm__ volatile("" : "+r"(x)); /* every time anew */
	for (int i = 0; i < 2000; i++) {
		x = x * 6364136223846793005ull + 1;
		if (x >> 63)
			x ^= (uint64_t)i;
		if ((x & 0x3f) == 0)
			x = ~x;
	}
	return x;
}

/* vmalloc areas in the module's name. */
static inline unsigned int module_areas(void)
{
	unsigned int cnt = 0;
	char line[512];
	FILE *file = fopen("/proc/vmallocinfo", "r");

	while (file && fgets(line, sizeof(line), file))
		cnt += strstr(line, "[pathprof]") != NULL;
	if (file)
		fclose(file);
	return cnt;
}

#endif
