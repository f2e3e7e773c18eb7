/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU time of a child: as wait4() tells it, and while it computes. One that is killed may take
 * long to end, in the kernel: it is left, and what it took until it ends is counted when it has.
 */
#ifndef PP_CHILD_CPU_H
#define PP_CHILD_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
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

struct pp_left_child {
	pid_t child;
	uint64_t counted_ns; /* of its CPU time */
};

/* Counts what the child took so far in *cpu_ns. */
static inline struct pp_left_child pp_leave_child(pid_t child, uint64_t *cpu_ns)
{
	struct pp_left_child left = {child, pp_child_running_ns(child)};

	*cpu_ns += left.counted_ns;
	return left;
}

/* Adds the rest to *cpu_ns if the child has ended, as one has that was waited for elsewhere. */
static inline bool pp_left_child_has_ended(const struct pp_left_child *left, uint64_t *cpu_ns)
{
	struct rusage usage = {0};
	uint64_t all_ns;

	if (wait4(left->child, NULL, WNOHANG, &usage) == 0)
		return false;
	all_ns = pp_child_cpu_ns(&usage);
	if (all_ns > left->counted_ns)
		*cpu_ns += all_ns - left->counted_ns;
	return true;
}

#endif
