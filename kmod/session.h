/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The session: what runs between START and STOP. There is one at a time.
 *
 * Life: start() fills it, then events open and samples come. stop() closes the events, waits for
 * handlers that still run, and has the source end its windows under way. From then on nobody reads
 * the session, nor writes into rings or tables.
 */
#ifndef PATHPROF_KMOD_SESSION_H
#define PATHPROF_KMOD_SESSION_H

#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>

#include "source.h"

struct pp_session {
	struct pathprof_kmod_start start;   /* checked, defaults filled in; constant in a session,
					       but for its budget_ppm, which only control reads */
	const struct pp_source_ops *source; /* NULL: none */
	struct pid *init;                   /* process 1 of the reader's pid namespace; constant */
};

extern struct pp_session pp_session;

/* All: process context; the caller (control.c) lets one in at a time. */
int pp_session_start(const struct pathprof_kmod_start *start);
void pp_session_stop(void);
/* Writes out what the tables hold, while windows come; nothing when there is no session. */
void pp_session_drain(void);
/* Another budget for the session that runs, which goes on. 0; -EINVAL: out of bounds, no session */
int pp_session_set_budget(u32 budget_ppm);

/*
 * The current thread runs in real time (SCHED_FIFO, SCHED_RR, SCHED_DEADLINE, or lifted to that by
 * a lock that it holds), and such threads are to be left alone. Any context.
 */
static inline bool pp_session_spares_thread(void)
{
	return unlikely(READ_ONCE(current->prio) < MAX_RT_PRIO) &&
	       !(pp_session.start.flags & PATHPROF_START_REALTIME);
}

/*
 * The current thread belongs to process 1 of the machine or of the reader's pid namespace. Should
 * stepping ever go wrong, these two would take everything else with them, so no setting lets them
 * be stepped. Any context.
 */
static inline bool pp_session_spares_init(void)
{
	return is_global_init(current) || task_tgid(current) == pp_session.init;
}

/* 0, or which PATHPROF_STAT_SKIP_* spares the current thread or this CPU. Any context. */
u32 pp_session_spares(void);

/* This CPU is isolated, and such are to be left alone. Any context. */
bool pp_session_spares_cpu(int cpu);

/* Selection: the current thread, interrupted at ip, is wanted. Any context. */
bool pp_session_selects(u64 ip);

#endif
