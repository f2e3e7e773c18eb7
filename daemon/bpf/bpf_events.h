/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hardware event whose samples run the BPF program, one a CPU, CPUs that come and go included.
 *
 * Workload: opened once; a few calls a second at most. One thread. The descriptors belong to the
 * struct. It takes CAP_PERFMON, or kernel.perf_event_paranoid below 1, to open an event, also on a
 * CPU that comes later.
 */
#ifndef PP_BPF_EVENTS_H
#define PP_BPF_EVENTS_H

#include <stdint.h>

#include "../chain/taken_event.h"

struct pp_bpf_events {
	const struct pp_taken_event *event; /* outlives this */
	int program_fd;
	uint64_t period; /* events from sample to sample */
	uint32_t cpu_cnt;
	int *fds; /* by CPU; negative: none is open there */
};

/* 0 if some CPU can have such an event, else the error of perf_event_open. */
int pp_bpf_events_probe(const struct pp_taken_event *event, uint32_t cpu_cnt);
/* On the CPUs below cpu_cnt. Errors of perf_event_open (-EOPNOTSUPP, -ENOENT...), -ENOMEM. */
int pp_bpf_events_open(struct pp_bpf_events *ret_events, const struct pp_taken_event *event,
		       int program_fd, uint64_t period, uint32_t cpu_cnt);
/* events may be all zero. */
void pp_bpf_events_close(struct pp_bpf_events *events);

/* The CPU has gone offline: when it comes back it needs another event. */
void pp_bpf_events_forget(struct pp_bpf_events *events, uint32_t cpu);
/*
 * Opens them on CPUs that have none, or whose event the kernel stopped: the CPU went and came, or
 * others hold its counters. An event that cannot be opened is tried again at the next call.
 */
void pp_bpf_events_follow(struct pp_bpf_events *events);

void pp_bpf_events_set_period(struct pp_bpf_events *events, uint64_t period);

#endif
