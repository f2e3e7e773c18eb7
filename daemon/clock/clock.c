// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every sample of the clock: see clock.h. Periods differ by up to a tenth, so that a program in
 * step with one is soon out of step, and yet all samples count alike: the period of the whole
 * system, one for all CPUs, is drawn anew once a second; an event of a thread keeps its own, and
 * its samples are thinned out to the nominal rate. Drawing oftener would cost samples, for a
 * new period begins at once and cuts the old one short.
 *
 * One process family is followed by the clock of the whole system as well, where that is allowed:
 * a child begins its parent's period from the start, so an inherited event never strikes in
 * processes that live less than one, and a build or a shell script spends half of its time in
 * those. Where it is not, inherited events strike FINER times as often and are thinned out.
 */
#include "clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define VARY_EVERY_NS PP_NSEC_PER_SEC
/* 341 samples: 3.5 seconds at the default rate. */
#define RING_PAGES 4
/*
 * Inherited events strike this many times as often: at 97 a second a process that lives for 2.6 ms
 * may have a sample. Each strike costs 20 us in a virtual machine, a tenth of that outside.
 */
#define FINER 4

struct pp_clock {
	struct pp_clock_config config;
	struct pp_cpu_clock *cpu;
	bool kernel;
	bool is_inherited; /* events follow threads; else CPUs */
	uint64_t nominal_ns;
	unsigned int random;
	uint64_t varied_ns, read_cnt;
};

/* One reading. */
struct reading {
	struct pp_clock *clock;
	pid_t own, helper;
	pp_cpu_clock_fn *fn;
	void *context;
};

static bool is_refused(int code)
{
	return code == -EACCES || code == -EPERM;
}

static int refused(int code, struct pathprof_error *error)
{
	if (is_refused(code))
		return pathprof_fail(error, code,
				     "perf_event_open: %s (CAP_PERFMON, or "
				     "kernel.perf_event_paranoid of 2 or less, would change it)",
				     strerror(-code));
	return pathprof_fail(error, code, "perf_event_open: %s", strerror(-code));
}

/* Opens events whose periods are within a tenth of the nominal one, or of inherited events'. */
static int open_of(struct pp_clock *clock, pid_t only_pid, bool kernel)
{
	const unsigned int finer = only_pid ? FINER : 1;
	const struct pp_cpu_clock_config config = {
		.only_pid = only_pid,
		.period_ns = clock->nominal_ns / finer,
		.jitter_ns = clock->nominal_ns / finer / 10,
		.kernel = kernel,
		.isolated = clock->config.isolated,
		.ring_pages = RING_PAGES * finer,
	};

	clock->kernel = kernel;
	clock->is_inherited = only_pid != 0;
	return pp_cpu_clock_open(&clock->cpu, &config);
}

static int open_events(struct pp_clock *clock)
{
	const pid_t only_pid = clock->config.only_pid;
	int r;

	if (only_pid && kill(only_pid, 0) < 0 && errno == ESRCH)
		return -ESRCH;
	r = open_of(clock, 0, true);
	if (is_refused(r) && only_pid)
		r = open_of(clock, only_pid, true);
	if (is_refused(r))
		r = open_of(clock, only_pid, false);
	return r;
}

int pp_clock_open(struct pp_clock **ret_clock, const struct pp_clock_config *config,
		  struct pathprof_error *error)
{
	struct pp_clock *clock = calloc(1, sizeof(*clock));
	int r;

	if (!clock)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	clock->config = *config;
	clock->nominal_ns = PP_NSEC_PER_SEC / config->hz;
	clock->random = (unsigned int)pp_monotonic_ns();
	clock->varied_ns = pp_monotonic_ns();
	r = open_events(clock);
	if (r < 0) {
		free(clock);
		return refused(r, error);
	}
	*ret_clock = clock;
	return 0;
}

void pp_clock_free(struct pp_clock *clock)
{
	if (!clock)
		return;
	pp_cpu_clock_free(clock->cpu);
	free(clock);
}

static bool in_range(const struct pp_clock_config *config, uint64_t address)
{
	return !config->ip_max || (address >= config->ip_min && address <= config->ip_max);
}

/* Leaves samples of a faster event out at random, so that the nominal rate remains. */
static bool is_thinned_out(struct pp_clock *clock, const struct pp_cpu_sample *sample)
{
	return clock->is_inherited && (uint64_t)rand_r(&clock->random) * clock->nominal_ns >=
					      sample->period_ns * ((uint64_t)RAND_MAX + 1);
}

static void on_sample(void *context, const struct pp_cpu_sample *sample)
{
	const struct reading *reading = context;
	const struct pp_clock_config *config = &reading->clock->config;

	reading->clock->read_cnt++;
	if (is_thinned_out(reading->clock, sample))
		return;
	if (sample->pid <= 0 || sample->pid == reading->own || sample->pid == reading->helper)
		return;
	if (sample->kernel ? config->ip_max != 0 : !in_range(config, sample->address))
		return;
	reading->fn(reading->context, sample);
}

uint64_t pp_clock_read(struct pp_clock *clock, pid_t helper, pp_cpu_clock_fn *fn, void *context)
{
	struct reading reading = {clock, getpid(), helper, fn, context};
	uint64_t lost, now;

	clock->read_cnt = 0;
	lost = pp_cpu_clock_read(clock->cpu, on_sample, &reading);
	now = pp_monotonic_ns();
	/* samples of a thread's event tell the period that it was opened with */
	if (!clock->is_inherited && now - clock->varied_ns >= VARY_EVERY_NS) {
		pp_cpu_clock_vary(clock->cpu);
		clock->varied_ns = now;
	}
	return lost;
}

int pp_clock_late_code(const struct pp_clock *clock)
{
	return pp_cpu_clock_rescan_code(clock->cpu);
}

bool pp_clock_sees_others(const struct pp_clock *clock)
{
	return clock->config.only_pid && !clock->is_inherited;
}

uint64_t pp_clock_read_cnt(const struct pp_clock *clock)
{
	return clock->read_cnt;
}

uint64_t pp_clock_own_loss(uint64_t lost, uint64_t own, uint64_t all)
{
	if (!own)
		return 0;
	return (uint64_t)((double)lost * ((double)own / (double)all) + 0.5);
}

bool pp_clock_sees_kernel(const struct pp_clock *clock)
{
	return clock->kernel;
}
