/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of windows into the ring: whole (RAW), or through the core's chain, whose messages go
 * there (CHAIN).
 */
#ifndef PATHPROF_KMOD_PIPELINE_H
#define PATHPROF_KMOD_PIPELINE_H

#include <linux/perf_event.h>

#include "pathprof/kmod_abi.h"

struct pp_tables;

/* Process context, nothing runs. -EINVAL, -ENOMEM. */
int pp_pipeline_alloc(const struct pathprof_kmod_start *start);
void pp_pipeline_free(void);

/* Process context: each CPU where anything came writes it out. Windows may come meanwhile. */
void pp_pipeline_drain_all(void);

/* Process context on a CPU that is about to go offline; there need be no session. */
void pp_pipeline_leave_cpu(void);

/* Writes out and forgets what lies in the tables; the caller is busy with them. */
void pp_pipeline_drain(struct pp_tables *t);

/*
 * A window of the current thread: its branches lie right behind the burst. Interrupts off, not in
 * an NMI; the session takes it.
 */
void pp_pipeline_burst(const struct pathprof_burst *burst, const struct pathprof_branch *branches);

/*
 * Both for CHAIN mode, any context, NMI included, interrupts off. false: this CPU's tables are in
 * use, the sample is to be left out (counted here). After true the window, if there is one, and
 * pp_pipeline_end().
 */
bool pp_pipeline_begin(void);
void pp_pipeline_end(void);

/* The entries cnt - 1 down to newest of a branch stack of the current thread. */
void pp_pipeline_stack(const struct perf_branch_stack *stack, u32 cnt, u32 newest);

#endif
