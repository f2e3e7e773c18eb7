/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracker's clock: CLOCK_MONOTONIC, as perf's records have it. Any thread. */
#ifndef PP_TRACK_CLOCK_H
#define PP_TRACK_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t pp_track_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static inline uint64_t pp_track_now_ns(void)
{
	return pp_track_clock_ns(CLOCK_MONOTONIC);
}

#endif
