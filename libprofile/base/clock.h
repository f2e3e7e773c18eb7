/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Reading of clocks, in nanoseconds. Any thread; signal handlers, too.
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

/* The first second of 2262, the last year that begins within an int64_t of nanoseconds. */
#define PP_FILE_TIME_MAX_S INT64_C(9214646400)

/* Since 1970, of a file's time, which may be anything: from 0 to 2262, so that sums have room. */
static inline int64_t pp_file_time_ns(const struct timespec *time)
{
	if (time->tv_sec < 0)
		return 0;
	if (time->tv_sec >= PP_FILE_TIME_MAX_S)
		return PP_FILE_TIME_MAX_S * (int64_t)PP_NSEC_PER_SEC;
	return (int64_t)time->tv_sec * (int64_t)PP_NSEC_PER_SEC + time->tv_nsec;
}

#endif
