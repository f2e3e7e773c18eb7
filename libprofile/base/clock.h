/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What time it is, in nanoseconds. Any thread; signal handlers, too.
 */
#ifndef PP_BASE_CLOCK_H
#define PP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define PP_NSEC_PER_SEC  1000000000ull
#define PP_NSEC_PER_MSEC 1000000ull

/* 0: there is no such clock, for example because its process has been waited for. */
static inline uint64_t pp_clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * PP_NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* For spans within one boot of the machine. It does not count the time that the machine sleeps. */
static inline uint64_t pp_monotonic_ns(void)
{
	return pp_clock_ns(CLOCK_MONOTONIC);
}

/* Since 1970. Signed, as in the database; it jumps when somebody sets the clock. */
static inline int64_t pp_realtime_ns(void)
{
	return (int64_t)pp_clock_ns(CLOCK_REALTIME);
}

#endif
