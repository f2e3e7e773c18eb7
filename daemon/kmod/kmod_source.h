/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the kernel module's two sources, and the functions of their parts: sessions
 * (kmod_session.c), figures (kmod_figures.c), and what the event loop calls (source_kmod.c).
 *
 * Workload: some bursts a second (swlbr) to some thousand windows or a few hundred counts (lbr).
 * The event loop owns it; no locks.
 */
#ifndef PP_KMOD_SOURCE_H
#define PP_KMOD_SOURCE_H

#include "base/clock.h"
#include "../chain/chain_figures.h"
#include "../chain/chain_reader.h"
#include "../chain/taken_event.h"
#include "kmod_device.h"

/*
 * Each instruction of a horizon is a debug trap. At 14 us a trap in a virtual machine 512 hold a
 * thread for 7 ms, and the default budget pays for two such bursts in three seconds. Shorter
 * horizons miss paths that matter (docs/kmod.md).
 */
#define PP_KMOD_HORIZON_MAX 512
_Static_assert(PP_KMOD_HORIZON_MAX <= PATHPROF_HORIZON_MAX, "a horizon that the module takes");

struct pp_kmod_source {
	struct pp_source base;
	struct pp_source_config config;
	struct pp_kmod_device device;
	struct pp_taken_event event; /* lbr */
	struct pp_chain_reader reader;
	int epoll_fd, timer_fd;
	bool restart; /* settings are wanted that take a new session */
	uint64_t flushed_ns, cpu_ns;
	struct pathprof_collector_stats before, last; /* when it was opened, and as told last */
	struct pp_chain_figures figures;
};

static inline bool pp_kmod_is_lbr(const struct pp_kmod_source *source)
{
	return source->base.ops->source == PATHPROF_SOURCE_LBR;
}

static inline uint32_t pp_kmod_clamp(uint64_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : (uint32_t)value;
}

/* Hands over all that lies in the rings; what is handed over is good during the call. */
int pp_kmod_source_read(struct pp_kmod_source *source, const struct pp_source_sink *sink);

/* Starts a session by the source's settings, on a device that is open and has none. */
int pp_kmod_session_start(struct pp_kmod_source *source, struct pathprof_error *error);
/*
 * Settings for the session that runs. Another budget is told to the module; whatever else differs,
 * and a budget that the module refuses, takes a new session at the next drain.
 */
void pp_kmod_session_configure(struct pp_kmod_source *source,
			       const struct pp_source_config *config);
/* Ends the session, reads its last records, and starts one by the current settings. */
int pp_kmod_session_restart(struct pp_kmod_source *source, const struct pp_source_sink *sink);
/* Taken branches that a burst (swlbr) has at most, where it has no horizon. */
uint32_t pp_kmod_session_window(const struct pp_kmod_source *source);
/* Instructions that a burst reaches: as asked for, up to what is cheap enough; 0: no horizon. */
uint32_t pp_kmod_session_horizon(const struct pp_kmod_source *source);

/* The counters of now since the source was opened; all of *ret_since below PATHPROF_STAT_CNT. */
void pp_kmod_figures_since(const struct pp_kmod_source *source,
			   const struct pathprof_collector_stats *now,
			   struct pathprof_collector_stats *ret_since);
/* Implements pp_source_ops.stats. */
void pp_kmod_figures_fill(struct pp_kmod_source *source, struct pp_source_stats *ret_stats);

#endif
