/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel module's two sources consist of, and what their parts offer each other: sessions
 * (kmod_session.c), the way of records (kmod_records.c), figures (kmod_figures.c), and what the
 * event loop calls (source_kmod.c).
 *
 * Workload: some bursts a second (swlbr) to some thousand windows or a few hundred counts (lbr).
 * The event loop owns it; no locks.
 */
#ifndef PP_KMOD_SOURCE_H
#define PP_KMOD_SOURCE_H

#include <time.h>

#include "../source.h"
#include "kmod_counts.h"
#include "kmod_device.h"
#include "kmod_event.h"
#include "kmod_rebuild.h"

#define PP_KMOD_NS_PER_S UINT64_C(1000000000)

struct pp_kmod_source {
	struct pp_source base;
	struct pp_source_config config;
	struct pp_kmod_device device;
	struct pp_kmod_event event;    /* lbr */
	struct pp_rebuild *rebuild;    /* lbr; else NULL */
	struct pp_kmod_counts *counts; /* lbr, compressing; else NULL */
	int epoll_fd, timer_fd;
	bool restart; /* other settings are wanted */
	uint64_t flushed_ns, cpu_ns;
	uint64_t outside; /* windows of processes that are not to be profiled */
	uint64_t unknown; /* windows of processes that are not known any more */
	struct pathprof_kmod_stats before, last; /* when it was opened, and as told last */
	struct pp_source_counter counters[PP_SOURCE_COUNTER_MAX];
	struct pathprof_branch branches[PATHPROF_BURST_MAX];
};

static inline bool pp_kmod_is_lbr(const struct pp_kmod_source *source)
{
	return source->base.ops->source == PATHPROF_SOURCE_LBR;
}

static inline uint64_t pp_kmod_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * PP_KMOD_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint32_t pp_kmod_clamp(uint64_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : (uint32_t)value;
}

/* Hands over all that lies in the rings; what is handed over is good during the call. */
int pp_kmod_records_read(struct pp_kmod_source *source, const struct pp_source_sink *sink);

/* By the source's settings, on a device that is open and has no session. */
int pp_kmod_session_start(struct pp_kmod_source *source, struct pathprof_error *error);
/* Ends the session, its last words read, and starts one by the settings of now. */
int pp_kmod_session_restart(struct pp_kmod_source *source, const struct pp_source_sink *sink);
/* Taken branches that a burst (swlbr) has at most. */
uint32_t pp_kmod_session_window(const struct pp_kmod_source *source);

/* Entries that were whole, of a window, since the source was opened; 0: there was no window. */
double pp_kmod_figures_depth(const struct pp_kmod_source *source,
			     const struct pathprof_kmod_stats *now);
/* As pp_source_ops.stats. */
void pp_kmod_figures_fill(struct pp_kmod_source *source, struct pp_source_stats *ret_stats);

#endif
