/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A branch source: anything that delivers bursts. One operations struct for all of them, so that
 * a replay or a test input is just one more source. The event loop polls fd and calls drain.
 */
#ifndef PP_SOURCE_H
#define PP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pathprof/abi.h"
#include "pathprof/error.h"
#include "pathprof/profile.h"

struct pp_source_config {
	pid_t only_pid;        /* 0: the whole system; else this process, its threads and its
				  descendants */
	uint32_t taken_wanted; /* taken branches a burst; default 32 */
	uint32_t overhead_ppm; /* budget: share of all CPUs' time that targets may be held and the
				  source may compute, parts per million; default 5000 */
	uint32_t frequency_hz; /* samples a second and CPU offered before the budget decides */
	bool pin;              /* may hold a target on one CPU during a burst (see source_step.c) */
};

/* Running totals since open; the caller subtracts. */
struct pp_source_stats {
	uint64_t samples; /* targets looked at */
	uint64_t bursts, steps;
	uint64_t stopped_ns; /* targets held */
	uint64_t cpu_ns;     /* CPU time of the source */
	uint64_t drops[PATHPROF_DROP_CNT];
	const char *sampler; /* "cpu-clock" or "proc": how running threads are found */
};

struct pp_source; /* each implementation has its own; the first member is the ops pointer */

typedef void pp_burst_fn(void *context, const struct pathprof_burst *burst,
			 const struct pathprof_branch *branches);

struct pp_source_ops {
	const char *name;
	/* 0 when it can run here; else -errno and why not, and what would change it. */
	int (*probe)(struct pathprof_error *why);
	int (*open)(struct pp_source **ret_source, const struct pp_source_config *config,
		    struct pathprof_error *error);
	int (*fd)(struct pp_source *source); /* readable when there is something to drain */
	/* Hands over all that is there; never blocks. -EPIPE when the source has died. */
	int (*drain)(struct pp_source *source, pp_burst_fn *fn, void *context);
	void (*stats)(struct pp_source *source, struct pp_source_stats *ret_stats);
	/* New budget, rate and burst length while running. */
	int (*configure)(struct pp_source *source, const struct pp_source_config *config);
	/* Lets every target go, then frees. NULL-safe. */
	void (*free)(struct pp_source *source);
};
struct pp_source {
	const struct pp_source_ops *ops;
};

extern const struct pp_source_ops pp_source_step;

#endif
