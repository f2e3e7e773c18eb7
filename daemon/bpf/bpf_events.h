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

/* 0: some CPU has such an event. What perf says of it. */
int pp_bpf_events_probe(const struct pp_taken_event *event, uint32_t cpu_cnt);
/* CPU numbers below cpu_cnt. What perf says of the event (-EOPNOTSUPP, -ENOENT...), -ENOMEM. */
int pp_bpf_events_open(struct pp_bpf_events *ret_events, const struct pp_taken_event *event,
		       int program_fd, uint64_t period, uint32_t cpu_cnt);
/* Zeroed will do. */
void pp_bpf_events_close(struct pp_bpf_events *events);

/* That CPU has gone: when it comes back it takes another event. */
void pp_bpf_events_forget(struct pp_bpf_events *events, uint32_t cpu);
/*
 * Opens them on CPUs that have none, or whose event the kernel stopped: the CPU went and came, or
 * others hold its counters. What cannot be had now is tried again when asked again.
 */
void pp_bpf_events_follow(struct pp_bpf_events *events);

void pp_bpf_events_set_period(struct pp_bpf_events *events, uint64_t period);

#endif
