/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples by reading /proc, for machines that refuse perf_event_open: a thread whose user time
 * grew since the last scan and that is runnable now is taken, with the probability of its growth.
 * A scan of a thousand processes takes some 10 ms, so there is at most one every 50 ms, and its
 * CPU time is charged to the budget like all else; a process whose time stood still is not looked
 * into. Coarse against cpu-clock events: user time counts in ticks of 10 ms, and the thread may
 * have left user code since; the stepper finds that out.
 *
 * One thread. The times last seen are in step_times.h. A thread for whose time there is no memory
 * cannot be taken, and is counted in left_out. Source: proc(5).
 */
#include "sampler.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "step_engine.h"
#include "step_times.h"

#define PERIOD_MIN_NS (50 * PP_NSEC_PER_MSEC)

struct proc_sampler {
	struct pp_sampler base;
	struct pp_sampler_config config;
	int timer_fd;
	uint64_t random;
	struct pp_step_times times;
	struct pp_sample choice;
	uint64_t weight; /* growth of all candidates so far, ticks */
};

static int64_t growth(struct proc_sampler *sampler, int64_t key, const struct pp_step_stat *stat)
{
	return pp_step_times_growth(&sampler->times, key, stat->start_time, stat->utime_ticks);
}

static void consider(struct proc_sampler *sampler, pid_t pid, pid_t tid)
{
	struct pp_step_stat stat;
	int64_t grown;

	if (pp_step_read_stat(pid, tid, &stat))
		return;
	grown = growth(sampler, tid, &stat);
	if (stat.state == 'R' && grown == PP_STEP_TIMES_FULL)
		sampler->base.left_out++;
	if (grown <= 0 || stat.state != 'R')
		return;
	sampler->weight += (uint64_t)grown;
	if (pp_sampler_random(&sampler->random) % sampler->weight < (uint64_t)grown)
		sampler->choice = (struct pp_sample){pid, tid, -1, pp_monotonic_ns(), true};
}

static void scan_threads(struct proc_sampler *sampler, pid_t pid)
{
	char path[32];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0)
			consider(sampler, pid, tid);
	}
	closedir(dir);
}

static bool is_wanted(const struct proc_sampler *sampler, pid_t pid)
{
	if (pid == sampler->config.exclude[0] || pid == sampler->config.exclude[1])
		return false;
	return !sampler->config.only_pid ||
	       pp_step_family_has(sampler->config.family, sampler->config.only_pid, pid);
}

static void scan_process(struct proc_sampler *sampler, pid_t pid)
{
	struct pp_step_stat stat;

	if (pp_step_read_stat(pid, 0, &stat))
		return;
	/* A new process is looked into as well, so that its threads have a past next time. */
	if (growth(sampler, -(int64_t)pid, &stat) && is_wanted(sampler, pid))
		scan_threads(sampler, pid);
}

static void scan(struct proc_sampler *sampler)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			scan_process(sampler, pid);
	}
	closedir(dir);
}

static void proc_free(struct pp_sampler *base)
{
	struct proc_sampler *sampler = (struct proc_sampler *)base;

	if (!sampler)
		return;
	if (sampler->timer_fd >= 0)
		close(sampler->timer_fd);
	pp_step_times_release(&sampler->times);
	free(sampler);
}

static uint64_t scan_period_ns(const struct pp_sampler_config *config)
{
	uint64_t period_ns = PP_NSEC_PER_SEC / config->frequency_hz;

	return period_ns > PERIOD_MIN_NS ? period_ns : PERIOD_MIN_NS;
}

/* Scans from now on; -1 as timerfd_settime. */
static int start_timer(const struct proc_sampler *sampler)
{
	uint64_t period_ns = scan_period_ns(&sampler->config);
	struct itimerspec period = {
		.it_interval = {(time_t)(period_ns / PP_NSEC_PER_SEC),
				(long)(period_ns % PP_NSEC_PER_SEC)},
		.it_value = {0, 1},
	};

	return timerfd_settime(sampler->timer_fd, 0, &period, NULL);
}

static int proc_open(struct pp_sampler **ret_sampler, const struct pp_sampler_config *config)
{
	struct proc_sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		return -ENOMEM;
	sampler->base.ops = &pp_sampler_proc;
	sampler->config = *config;
	sampler->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (getrandom(&sampler->random, sizeof(sampler->random), GRND_NONBLOCK) < 0 ||
	    !sampler->random)
		sampler->random = pp_monotonic_ns() | 1;
	if (sampler->timer_fd < 0 || start_timer(sampler)) {
		proc_free(&sampler->base);
		return -ENOMEM;
	}
	*ret_sampler = &sampler->base;
	return 0;
}

static int proc_fd(struct pp_sampler *base, int cpu)
{
	(void)cpu;
	return ((struct proc_sampler *)base)->timer_fd;
}

static int proc_pick(struct pp_sampler *base, int cpu, struct pp_sample *ret_sample, uint64_t *seen)
{
	struct proc_sampler *sampler = (struct proc_sampler *)base;
	uint64_t ticks;

	(void)cpu;
	if (read(sampler->timer_fd, &ticks, sizeof(ticks)) < 0)
		return 0;
	sampler->weight = 0;
	pp_step_times_begin(&sampler->times);
	scan(sampler);
	if (!sampler->weight)
		return 0;
	*seen += 1;
	*ret_sample = sampler->choice;
	return 1;
}

static void proc_set_rate(struct pp_sampler *base, uint32_t frequency_hz)
{
	struct proc_sampler *sampler = (struct proc_sampler *)base;

	sampler->config.frequency_hz = frequency_hz;
	/* a timer that started once starts again */
	(void)start_timer(sampler);
}

const struct pp_sampler_ops pp_sampler_proc = {
	.name = "proc",
	.open = proc_open,
	.fd = proc_fd,
	.pick = proc_pick,
	.set_rate = proc_set_rate,
	.free = proc_free,
};
