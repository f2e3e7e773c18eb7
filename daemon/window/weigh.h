/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The weight of a burst. The budget caps bursts, so an idle second gets as many as a busy one,
 * and some are never made because their program cannot be stepped. The clock knows how much CPU
 * time each of them stands for, and paths, segments and edges are weighed by it, in microseconds:
 *
 *   first by slices of a second or more: the user time of the slice / its bursts;
 *   then by programs, when the window closes: the user time of the program / what its bursts weigh.
 *
 * Programs with hardly a burst form one group: a thousand that run for a moment each are seen in
 * some of them only. One that must have had bursts and had none stays out of it: its time has no
 * paths, and nobody else's have its time.
 *
 * A burst that ended early stands for as much time as any other: its paths are rates, runs for each
 * instruction covered. The derivation is in docs/shares.md.
 *
 * Workload: some hundred bursts a second, of some hundred paths, segments and edges; what arrived
 * in a slice waits here until it ends, in bounded memory. One owner, the window.
 */
#ifndef PP_WEIGH_H
#define PP_WEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/abi.h"
#include "pathprof/profile.h"

struct pp_weigh;

/* Weighs for this profile, which must outlive it. -ENOMEM. */
int pp_weigh_new(struct pp_weigh **ret_weigh, struct pathprof_profile *profile);
/* NULL-safe. */
void pp_weigh_free(struct pp_weigh *weigh);
/* A window begins: the profile is empty. */
void pp_weigh_begin(struct pp_weigh *weigh);

/* A clock sample in user code of this process, an index in the profile. */
void pp_weigh_add_clock(struct pp_weigh *weigh, uint32_t process);
/*
 * A burst of this process; its paths, segments and edges follow. False: it tells nothing, for its
 * code changed while it ran, and is no burst; or there is no memory for it, which is counted.
 */
bool pp_weigh_add_burst(struct pp_weigh *weigh, uint32_t process,
			const struct pathprof_burst *burst);
/* span: as in struct pathprof_path_seen; context: who called it (pathprof_profile_context). */
void pp_weigh_add_path(struct pp_weigh *weigh, const struct pathprof_path_count *path,
		       uint32_t span, uint32_t context);
/* span: as in struct pathprof_segment_seen. */
void pp_weigh_add_segment(struct pp_weigh *weigh, const struct pathprof_segment_count *segment,
			  uint32_t span);
void pp_weigh_add_edge(struct pp_weigh *weigh, const struct pathprof_edge_count *edge);

/* Ends the slice if it is time, by CLOCK_MONOTONIC: what waited is in the profile then. */
void pp_weigh_tick(struct pp_weigh *weigh, uint64_t now_ns);
/* The window closes: everything is in the profile, weighed. */
void pp_weigh_close(struct pp_weigh *weigh);

#endif
