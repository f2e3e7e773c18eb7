/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples by cpu-clock events (daemon/clock/cpu_clock.h): the kernel writes down, some hundred
 * times a second on each busy CPU, which thread's user code its timer interrupted.
 *
 * They are switched off while no burst is due: a thousand interrupts a second slowed programs by
 * some percent at a budget of half a percent.
 *
 * Only fresh samples are worth a burst: a thread seen long ago sleeps by now. The others tell where
 * one may be had. The period is drawn anew after each pick, so that no loop of the same length
 * can hide.
 *
 * One process family is picked from the samples of all CPUs as well, where they are allowed. Events
 * that a thread inherits begin a full period: threads that live for less are never seen by them.
 *
 * One thread.
 */
#include "sampler.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "../clock/cpu_clock.h"
#include "step_engine.h"

#define RING_PAGES    8
#define PAUSE_MAX     64
#define FRESH_MIN_NS  (2 * PP_NSEC_PER_MSEC)
#define PERIOD_MIN_NS 50000

struct perf_sampler {
	struct pp_sampler base;
	struct pp_sampler_config config;
	uint64_t period_ns;
	uint64_t random;
	size_t cpu_cnt;
	bool is_inherited; /* events follow the family's threads; else CPUs */
	bool is_off;       /* its events are */
	struct pp_cpu_clock *clock;
};

struct choice {
	struct perf_sampler *sampler;
	int cpu; /* -1: any */
	struct pp_sample sample;
	uint64_t oldest_ns; /* what is older is stale */
	uint64_t seen;
	uint64_t cnt; /* of them: fresh ones, or stale ones while none is fresh */
};

static bool is_wanted(const struct perf_sampler *sampler, pid_t pid)
{
	const struct pp_sampler_config *config = &sampler->config;

	/* 0: outside our pid namespace, -1: ended. */
	if (pid <= 0 || pid == config->exclude[0] || pid == config->exclude[1])
		return false;
	return !config->only_pid || sampler->is_inherited ||
	       pp_step_family_has(config->family, config->only_pid, pid);
}

/* Each sample gets the same chance: the nth replaces the choice with probability 1/n. */
static void consider(void *context, const struct pp_cpu_sample *sample)
{
	struct choice *choice = context;
	bool fresh = sample->time_ns >= choice->oldest_ns;

	if (!is_wanted(choice->sampler, sample->pid))
		return;
	choice->seen++;
	if ((choice->cpu >= 0 && sample->cpu != choice->cpu) || (choice->sample.fresh && !fresh))
		return;
	if (fresh && !choice->sample.fresh)
		choice->cnt = 0;
	choice->cnt++;
	if (pp_sampler_random(&choice->sampler->random) % choice->cnt == 0)
		choice->sample = (struct pp_sample){sample->pid, sample->tid, sample->cpu,
						    sample->time_ns, fresh};
}

static void perf_free(struct pp_sampler *base)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;

	if (!sampler)
		return;
	pp_cpu_clock_free(sampler->clock);
	free(sampler);
}

static struct pp_cpu_clock_config clock_config(const struct pp_sampler_config *config)
{
	uint64_t period_ns = PP_NSEC_PER_SEC / config->frequency_hz;

	if (period_ns < PERIOD_MIN_NS)
		period_ns = PERIOD_MIN_NS;
	return (struct pp_cpu_clock_config){
		.only_pid = config->only_pid,
		.period_ns = period_ns,
		.jitter_ns = period_ns / 4,
		.wakes = true,
		.isolated = config->realtime,
		.ring_pages = RING_PAGES,
		.events = config->events,
		.event_cnt = config->event_cnt,
	};
}

int pp_sampler_perf_events(struct pp_cpu_clock **ret_events, const struct pp_sampler_config *config)
{
	struct pp_cpu_clock_config events = clock_config(config);

	events.ring_pages = 0;
	return pp_cpu_clock_open(ret_events, &events);
}

static size_t cpus_online(void)
{
	long cnt = sysconf(_SC_NPROCESSORS_ONLN);

	return cnt > 0 ? (size_t)cnt : 1;
}

static int allocate(struct perf_sampler **ret_sampler, const struct pp_sampler_config *config)
{
	struct perf_sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		return -ENOMEM;
	sampler->base.ops = &pp_sampler_perf;
	sampler->config = *config;
	sampler->period_ns = clock_config(config).period_ns;
	sampler->cpu_cnt = cpus_online();
	if (getrandom(&sampler->random, sizeof(sampler->random), GRND_NONBLOCK) < 0 ||
	    !sampler->random)
		sampler->random = pp_monotonic_ns() | 1;
	*ret_sampler = sampler;
	return 0;
}

static int open_clock(struct perf_sampler *sampler)
{
	struct pp_cpu_clock_config events = clock_config(&sampler->config);
	int r;

	events.only_pid = 0;
	r = pp_cpu_clock_open(&sampler->clock, &events);
	if ((r != -EACCES && r != -EPERM) || !sampler->config.only_pid)
		return r;
	sampler->is_inherited = true;
	events.only_pid = sampler->config.only_pid;
	return pp_cpu_clock_open(&sampler->clock, &events);
}

static int perf_open(struct pp_sampler **ret_sampler, const struct pp_sampler_config *config)
{
	struct perf_sampler *sampler;
	int r = allocate(&sampler, config);

	if (r)
		return r;
	r = open_clock(sampler);
	if (r) {
		perf_free(&sampler->base);
		return r;
	}
	*ret_sampler = &sampler->base;
	return 0;
}

static int perf_fd(struct pp_sampler *base, int cpu)
{
	return pp_cpu_clock_fd(((struct perf_sampler *)base)->clock, cpu);
}

static int perf_pick(struct pp_sampler *base, int cpu, struct pp_sample *ret_sample, uint64_t *seen)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;
	uint64_t age_ns = sampler->period_ns > FRESH_MIN_NS ? sampler->period_ns : FRESH_MIN_NS;
	struct choice choice = {
		.sampler = sampler, .cpu = cpu, .oldest_ns = pp_monotonic_ns() - age_ns};

	*seen += pp_cpu_clock_read(sampler->clock, consider, &choice);
	*seen += choice.seen;
	if (!choice.cnt)
		return 0;
	pp_cpu_clock_vary(sampler->clock);
	*ret_sample = choice.sample;
	return 1;
}

static void switch_events(struct perf_sampler *sampler, bool off)
{
	if (off == sampler->is_off)
		return;
	pp_cpu_clock_pause(sampler->clock, off);
	sampler->is_off = off;
}

/*
 * An interrupt costs as much as two events switched off and on, or more: in a virtual machine it
 * may cost the program ten times as much. One event of each CPU interrupts, however many there are.
 */
static void perf_rest(struct pp_sampler *base, uint64_t for_ns)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;
	uint64_t per_cpu = pp_cpu_clock_event_cnt(sampler->clock) / sampler->cpu_cnt + 1;

	switch_events(sampler, for_ns / sampler->period_ns > per_cpu);
}

/* Events of CPUs do not switch with threads; of many threads' events it would not pay. */
static void perf_pause(struct pp_sampler *base)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;

	if (sampler->is_inherited && pp_cpu_clock_event_cnt(sampler->clock) <= PAUSE_MAX)
		switch_events(sampler, true);
}

/* Events that the daemon opened keep the rate for the next stepper, for they are the same ones. */
static void perf_set_rate(struct pp_sampler *base, uint32_t frequency_hz)
{
	struct perf_sampler *sampler = (struct perf_sampler *)base;
	struct pp_cpu_clock_config events;

	sampler->config.frequency_hz = frequency_hz;
	events = clock_config(&sampler->config);
	sampler->period_ns = events.period_ns;
	pp_cpu_clock_set_period(sampler->clock, events.period_ns, events.jitter_ns);
}

static bool perf_is_stale(const struct pp_sampler *base)
{
	return pp_cpu_clock_is_stale(((const struct perf_sampler *)base)->clock);
}

const struct pp_sampler_ops pp_sampler_perf = {
	.name = "cpu-clock",
	.open = perf_open,
	.fd = perf_fd,
	.pick = perf_pick,
	.rest = perf_rest,
	.pause = perf_pause,
	.set_rate = perf_set_rate,
	.is_stale = perf_is_stale,
	.free = perf_free,
};
