/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds threads that are running user code just now. Two ways behind one operations struct:
 * cpu-clock events where perf_event_open is allowed, a scan of /proc where it is not.
 *
 * Workload: asked a few times a second on the default budget, up to some thousand times in tests.
 * Not thread-safe; each sampler belongs to the stepper that opened it. May allocate: the stepper
 * holds no target while it asks.
 */
#ifndef PP_SAMPLER_H
#define PP_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "step_family.h"

struct pp_sampler_config {
	pid_t only_pid; /* 0: the whole system; else this process, its threads and descendants */
	struct pp_step_family *family; /* who else is known of it; NULL: by /proc alone */
	uint32_t frequency_hz;
	bool realtime;     /* on isolated CPUs, too */
	pid_t exclude[2];  /* processes never reported: the daemon and the stepper */
	const int *events; /* of the whole system, opened by the daemon; NULL: opens its own */
	size_t event_cnt;
};

struct pp_sample {
	pid_t pid, tid;
	int cpu;          /* where it ran; -1: not known */
	uint64_t time_ns; /* CLOCK_MONOTONIC when it was seen running */
	bool fresh;       /* about a period ago at most: it may run yet */
};

struct pp_sampler {
	const struct pp_sampler_ops *ops;
	uint64_t left_out; /* samples of threads for which there was no memory, so far */
};

struct pp_sampler_ops {
	const char *name;
	int (*open)(struct pp_sampler **ret_sampler, const struct pp_sampler_config *config);
	/* Becomes readable when pick may find something on this CPU; -1: on any. */
	int (*fd)(struct pp_sampler *sampler, int cpu);
	/*
	 * Picks a thread of those on this CPU (-1: on any), each with the probability of its share
	 * of the time. Returns 1, or 0 if there is none. Takes one that is not fresh only if none
	 * is. *seen grows by the samples looked at, on whatever CPU, the picked one included.
	 */
	int (*pick)(struct pp_sampler *sampler, int cpu, struct pp_sample *ret_sample,
		    uint64_t *seen);
	/*
	 * No sample is wanted for so long, which keeps programs from being interrupted for nothing;
	 * 0: they are wanted now. It may go on where to stop and start costs more. NULL: samples
	 * are made when pick is called.
	 */
	void (*rest)(struct pp_sampler *sampler, uint64_t for_ns);
	/*
	 * Until the next rest no event follows a target that is about to be stepped, for each of
	 * its switches would set a timer, which doubles the cost of a step. NULL: nothing to pause.
	 */
	void (*pause)(struct pp_sampler *sampler);
	/*
	 * Another rate than before, from now on: a period that has begun is given up, so one that
	 * is set again and again would never end. NULL: the rate of open stays.
	 */
	void (*set_rate)(struct pp_sampler *sampler, uint32_t frequency_hz);
	/* Events that were given to it have stopped for good. NULL: it was given none. */
	bool (*is_stale)(const struct pp_sampler *sampler);
	/* NULL-safe. */
	void (*free)(struct pp_sampler *sampler);
};

/* Any number will do, as long as programs do not follow it. *state is not 0. */
static inline uint64_t pp_sampler_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

/* The events that pp_sampler_perf reads, for a sampler in another process. */
struct pp_cpu_clock;
int pp_sampler_perf_events(struct pp_cpu_clock **ret_events,
			   const struct pp_sampler_config *config);

extern const struct pp_sampler_ops pp_sampler_perf;
extern const struct pp_sampler_ops pp_sampler_proc;

#endif
