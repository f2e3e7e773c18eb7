// SPDX-License-Identifier: GPL-2.0-or-later
/* See bpf_events.h. Source: perf_event_open(2). */
#include "bpf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../track/track_perf.h"
#include "base/cleanup.h"

#define PROBE_PERIOD 1000003

/* Returns a descriptor or -errno. The cores of a hybrid processor have events of their own. */
static int open_event(const struct pp_taken_event *event, uint64_t period, uint32_t cpu)
{
	struct pp_taken_event own = *event;
	struct perf_event_attr attr;
	int fd;

	pp_taken_event_for_cpu(&own, PP_TAKEN_EVENT_SYSFS, cpu);
	attr = (struct perf_event_attr){
		.size = sizeof(attr),
		.type = own.type,
		.config = own.config,
		.config1 = own.config1,
		.config2 = own.config2,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_BRANCH_STACK,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.branch_sample_type = own.branch_sample_type,
		.disabled = 1,
		.pinned = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_guest = 1, /* its branches are in no stack of the host's */
		.exclude_idle = 1,
	};
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int pp_bpf_events_probe(const struct pp_taken_event *event, uint32_t cpu_cnt)
{
	int r = -ENODEV;

	for (uint32_t cpu = 0; r == -ENODEV && cpu < cpu_cnt; cpu++) {
		_cleanup_close_ int fd = open_event(event, PROBE_PERIOD, cpu);

		r = fd < 0 ? fd : 0;
	}
	return r;
}

static int open_on(struct pp_bpf_events *events, uint32_t cpu)
{
	int fd = open_event(events->event, events->period, cpu), r;

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, events->program_fd) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		r = -errno;
		close(fd);
		return r;
	}
	events->fds[cpu] = fd;
	return 0;
}

int pp_bpf_events_open(struct pp_bpf_events *ret_events, const struct pp_taken_event *event,
		       int program_fd, uint64_t period, uint32_t cpu_cnt)
{
	struct pp_bpf_events events = {event, program_fd, period, cpu_cnt,
				       calloc(cpu_cnt, sizeof(int))};
	uint32_t opened = 0;
	int r = 0;

	if (!events.fds)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < cpu_cnt; cpu++)
		events.fds[cpu] = -EBADF;
	for (uint32_t cpu = 0; cpu < cpu_cnt; cpu++) {
		r = open_on(&events, cpu);
		/* -ENODEV: the CPU is offline. */
		if (r && r != -ENODEV)
			break;
		opened += !r;
	}
	if (!opened || (r && r != -ENODEV)) {
		pp_bpf_events_close(&events);
		return r;
	}
	*ret_events = events;
	return 0;
}

void pp_bpf_events_forget(struct pp_bpf_events *events, uint32_t cpu)
{
	if (events->fds[cpu] >= 0)
		close(events->fds[cpu]);
	events->fds[cpu] = -EBADF;
}

void pp_bpf_events_close(struct pp_bpf_events *events)
{
	for (uint32_t cpu = 0; events->fds && cpu < events->cpu_cnt; cpu++)
		pp_bpf_events_forget(events, cpu);
	free(events->fds);
	*events = (struct pp_bpf_events){0};
}

void pp_bpf_events_follow(struct pp_bpf_events *events)
{
	for (uint32_t cpu = 0; cpu < events->cpu_cnt; cpu++) {
		if (events->fds[cpu] >= 0 && !pp_perf_event_goes_on(events->fds[cpu]))
			pp_bpf_events_forget(events, cpu);
		if (events->fds[cpu] < 0)
			open_on(events, cpu);
	}
}

void pp_bpf_events_set_period(struct pp_bpf_events *events, uint64_t period)
{
	events->period = period;
	for (uint32_t cpu = 0; cpu < events->cpu_cnt; cpu++)
		if (events->fds[cpu] >= 0)
			ioctl(events->fds[cpu], PERF_EVENT_IOC_PERIOD, &period);
}
