/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface of a source of branch windows. A source lives on one perf event a CPU: the session
 * opens them (events.h), their overflow handler is the source's.
 */
#ifndef PATHPROF_KMOD_SOURCE_H
#define PATHPROF_KMOD_SOURCE_H

#include <linux/perf_event.h>

#include "pathprof/kmod_abi.h"

struct pp_source_ops {
	u32 id; /* PATHPROF_SOURCE_* */

	/* 0, or -EINVAL: this source cannot do what is wanted. */
	int (*check)(const struct pathprof_kmod_start *start);

	/* Fills type, config and what is the source's own; period and the common bits are set. */
	void (*fill_attr)(const struct pathprof_kmod_start *start, struct perf_event_attr *attr);

	/* The overflow handler: hard interrupt or NMI, this CPU. */
	perf_overflow_handler_t sample;

	/* No sample comes any more: ends the windows that are under way. May be NULL. */
	void (*settle)(void);
};

extern const struct pp_source_ops pp_swlbr_ops;
extern const struct pp_source_ops pp_lbr_ops;

/* Call when the module is loaded: sets the trap handler and the guards. */
int pp_swlbr_init(void);
void pp_swlbr_exit(void);

/* Ends the current thread's burst if it is in one; end: PATHPROF_END_*. Not in an NMI. */
void pp_swlbr_leave(u32 end);

/*
 * The most debug traps of a burst of swlbr, beyond its horizon if it has one: each instruction of
 * the horizon traps once, and each round of a string instruction traps again.
 */
#define PP_STEP_MAX 512

#endif
