/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock hands over every sample that it takes, for TIME (pathprof/shares.h). A source takes few
 * windows; the clock shows how much CPU time went to each place, whatever the source is. A sample
 * costs a timer's interrupt.
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
 * The clock sees time in the kernel if it is allowed to. -EACCES, -EPERM, -ENOSYS and others: there
 * is no clock; error says why, and what to change.
 */
int pp_clock_open(struct pp_clock **ret_clock, const struct pp_clock_config *config,
		  struct pathprof_error *error);
/* NULL-safe. */
void pp_clock_free(struct pp_clock *clock);

/*
 * Hands over each sample, except those of this process and of its helper process (0: none). Returns
 * how many samples the kernel had no room for.
 */
uint64_t pp_clock_read(struct pp_clock *clock, pid_t helper, pp_cpu_clock_fn *fn, void *context);

/* Why CPUs that came have no clock: -errno of perf_event_open; 0: each has one. */
int pp_clock_late_code(const struct pp_clock *clock);

/* Samples of processes outside of only_pid's family come as well: the caller tells them apart. */
bool pp_clock_sees_others(const struct pp_clock *clock);
/*
 * Samples that the last reading found, with those that were not handed over. In a PID namespace
 * these are the samples of all processes outside of it.
 */
uint64_t pp_clock_read_cnt(const struct pp_clock *clock);
/*
 * Events of whole CPUs lose samples of all processes. Returns how many of the lost are the
 * caller's, if the lost are like the `all` read since then, of which `own` are the caller's.
 */
uint64_t pp_clock_own_loss(uint64_t lost, uint64_t own, uint64_t all);
bool pp_clock_sees_kernel(const struct pp_clock *clock);

#endif
