/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hardware windows through the chain: taken branches as tuples, segments as paths. */
#ifndef PATHPROF_KMOD_SEGMENTS_H
#define PATHPROF_KMOD_SEGMENTS_H

#include <linux/perf_event.h>

#include "tables.h"

/*
 * The entries cnt - 1 down to newest of a stack (perf has the newest first), of the process with
 * this number. Any context, NMI included; the caller is busy with t.
 */
void pp_segments_window(struct pp_tables *t, const struct perf_branch_stack *stack, u32 cnt,
			u32 newest, u32 context);

/* Writes out and forgets the segments in the hot path table. */
void pp_segments_drain(struct pp_tables *t);

/* The session's settings are those that pp_segments_window() has a copy for. */
bool pp_segments_are_usual(const struct pp_pipeline_config *config);

#endif
