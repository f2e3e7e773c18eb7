// SPDX-License-Identifier: GPL-2.0-or-later
/* Pauses between tries: see tell_pause.h. */
#include "tell_pause.h"

#include <sys/random.h>
#include <time.h>

uint64_t pp_tell_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t pp_tell_pause_us(uint64_t first_us, uint64_t most_us, uint32_t failed_cnt)
{
	uint64_t pause_us = first_us, chance = 0;

	for (uint32_t i = 1; i < failed_cnt && pause_us < most_us; i++)
		pause_us *= 2;
	if (pause_us > most_us)
		pause_us = most_us;
	/* early at boot there may be none: then no spread, which only costs the receiver */
	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) != (ssize_t)sizeof(chance))
		return pause_us;
	return pause_us - chance % (pause_us / 2 + 1);
}
