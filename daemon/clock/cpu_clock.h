/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu-clock events: the kernel writes down, at an even rate on each busy CPU, what its timer
 * interrupted. One ring a CPU. A process family is followed by one inherited event for each thread
 * and CPU, all of which write to the CPU's ring, for the kernel maps no inherited event that
 * follows its thread from CPU to CPU.
 *
 * Workload: a hundred to some thousand samples a second and CPU, read some times a second (every
 * sample, daemon/clock/clock.c) or whenever one has come (the stepper's pick, sampler_perf.c).
 *
 * One thread. The rings are shared with the kernel: it moves data_head (its barrier pairs with the
 * acquire in read_ring), we move data_tail (release; the kernel reads it before it writes on).
 * Source: perf_event_open(2).
 */
#ifndef PP_CPU_CLOCK_H
#define PP_CPU_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pp_cpu_clock_config {
	pid_t only_pid; /* 0: the whole system; else this process, its threads and descendants */
	/*
	 * Periods are drawn from period_ns +- jitter_ns. Those of the whole system are one on all
	 * CPUs until the next pp_cpu_clock_vary(); each event of a family keeps its own, and so do
	 * the events that its threads' children inherit: see pp_cpu_sample.
	 */
	uint64_t period_ns, jitter_ns;
	bool kernel;             /* samples in the kernel, too */
	bool isolated;           /* on isolated CPUs, too: see isolated.h */
	bool wakes;              /* the descriptor is readable as soon as there is a sample */
	unsigned int ring_pages; /* a power of two; about 85 samples a page. 0: no rings, for
				    another process reads the events (pp_cpu_clock_events) */
	const int *events; /* such events, of the whole system, to take over; NULL: opens its own */
	size_t event_cnt;
	/* NULL, or called when a family's threads have events, before others are looked for. */
	void (*opened)(void *context);
	void *opened_context;
};

struct pp_cpu_sample {
	pid_t pid, tid; /* as this process sees them: 0 outside its pid namespace, -1 ended */
	int cpu;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t address; /* 0 in a guest of a virtual machine */
	bool kernel;
	uint64_t period_ns; /* with which its event was opened */
};

struct pp_cpu_clock;

/*
 * -EACCES, -EPERM: the kernel does not let us; -ESRCH: only_pid has ended; -EMFILE: more threads
 * times CPUs than events may be open; other -errno of perf_event_open.
 */
int pp_cpu_clock_open(struct pp_cpu_clock **ret_clock, const struct pp_cpu_clock_config *config);
/* NULL-safe. */
void pp_cpu_clock_free(struct pp_cpu_clock *clock);
/*
 * With wakes: readable when there are samples of this CPU; -1: of any. Where that cannot be told
 * for one CPU (none of its samples has come yet, its event has ended) of any, too.
 */
int pp_cpu_clock_fd(const struct pp_cpu_clock *clock, int cpu);

typedef void pp_cpu_clock_fn(void *context, const struct pp_cpu_sample *sample);
/*
 * Hands over all samples that are there. Returns how many the kernel had no room for. Every five
 * seconds, and of the whole system only, it opens events on CPUs that came and drops those that
 * the kernel stopped because their CPU went, which is what a suspend does as well.
 */
uint64_t pp_cpu_clock_read(struct pp_cpu_clock *clock, pp_cpu_clock_fn *fn, void *context);

/* Draws another period for all rings, so that no loop of the same length can hide. */
void pp_cpu_clock_vary(struct pp_cpu_clock *clock);
/* Periods are drawn around another one from now on, and the first is drawn at once. */
void pp_cpu_clock_set_period(struct pp_cpu_clock *clock, uint64_t period_ns, uint64_t jitter_ns);
/* Why a CPU that came has no event: -errno of perf_event_open; 0: each has one. */
int pp_cpu_clock_rescan_code(const struct pp_cpu_clock *clock);
/* An event that was taken over was stopped by the kernel: who opened it has to open another. */
bool pp_cpu_clock_is_stale(const struct pp_cpu_clock *clock);
/* A CPU is online for which there is no event. The whole system only. */
bool pp_cpu_clock_lacks_cpus(struct pp_cpu_clock *clock);
/* Switches all events off or on. */
void pp_cpu_clock_pause(struct pp_cpu_clock *clock, bool on);
size_t pp_cpu_clock_event_cnt(const struct pp_cpu_clock *clock);
/* Borrowed. */
const int *pp_cpu_clock_events(const struct pp_cpu_clock *clock);

#endif
