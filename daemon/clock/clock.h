/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock: every sample of it, for TIME (pathprof/shares.h). The source takes few windows; the
 * clock says how much CPU time was spent at each place, whatever the source, and costs a timer's
 * interrupt a sample.
 *
 * Workload: about a hundred samples a second and busy CPU, read five times a second. One thread.
 */
#ifndef PP_CLOCK_H
#define PP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpu_clock.h"
#include "pathprof/error.h"

/* How often to read: the rings hold some seconds of samples. */
#define PP_CLOCK_EVERY_NS UINT64_C(200000000)

struct pp_clock_config {
	pid_t only_pid; /* 0: the whole system; else this process, its threads and descendants */
	bool isolated;  /* on isolated CPUs, too: see isolated.h */
	uint32_t hz;    /* samples a second and CPU, at least 1 */
	uint64_t ip_min, ip_max; /* only samples of user code at these addresses; both 0: all */
};

struct pp_clock;

/*
 * Time in the kernel is seen where that is allowed. -EACCES, -EPERM, -ENOSYS and others: there can
 * be no clock; error says why, and what would change it.
 */
int pp_clock_open(struct pp_clock **ret_clock, const struct pp_clock_config *config,
		  struct pathprof_error *error);
/* NULL-safe. */
void pp_clock_free(struct pp_clock *clock);

/*
 * Hands over each sample but those of this process and of `helper` (0: none), a process of its own
 * that works for it. Returns how many the kernel had no room for.
 */
uint64_t pp_clock_read(struct pp_clock *clock, pid_t helper, pp_cpu_clock_fn *fn, void *context);

bool pp_clock_sees_kernel(const struct pp_clock *clock);

#endif
