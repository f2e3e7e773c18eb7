/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPU time of a child, as wait4() tells it. */
#ifndef PP_CHILD_CPU_H
#define PP_CHILD_CPU_H

#include <stdint.h>
#include <sys/resource.h>

static inline uint64_t pp_child_cpu_ns(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

#endif
