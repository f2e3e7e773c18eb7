/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPU time of a child: as wait4() tells it, and while it computes. */
#ifndef PP_CHILD_CPU_H
#define PP_CHILD_CPU_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#include "base/clock.h"

static inline uint64_t pp_child_cpu_ns(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

/* 0: there is none, or it has been waited for. */
static inline uint64_t pp_child_running_ns(pid_t child)
{
	clockid_t clock;

	return child && !clock_getcpuclockid(child, &clock) ? pp_clock_ns(clock) : 0;
}

#endif
