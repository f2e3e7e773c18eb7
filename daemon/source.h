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
#include "pathprof/paths.h"
#include "pathprof/profile.h"
#include "pathprof/sources.h"
#include "pathprof/unwind.h"
#include "resolver.h"

struct pp_cpu_clock;

struct pp_source_config {
	pid_t only_pid;        /* 0: the whole system; else this process, its threads and its
				  descendants */
	uint32_t taken_wanted; /* taken branches a burst; default 32 */
	uint32_t horizon;      /* instructions a burst, where a source samples on a clock and counts
				  them; 0: taken_wanted */
	uint64_t hold_max_ns;  /* step: a burst holds its thread so long at most; 0: 2 ms */
	uint32_t overhead_ppm; /* share of all CPUs' time that targets may be held and the source
				  may compute, parts per million; 0: none. Of the budget, what
				  the daemon leaves */
	uint32_t frequency_hz; /* samples a second and CPU offered before the budget decides */
	bool pin;              /* may hold a target on one CPU during a burst (see step_pin.c) */
	bool realtime;         /* also threads of a real-time policy, and on isolated CPUs */
	bool stacks;           /* also the stacks of bursts, where a source can copy them */
	bool compress;         /* counted paths instead of bursts, where a source can count them */
	const char *event;     /* hardware event to sample on, "" or NULL: taken branches */
	uint64_t cgroup;       /* only threads in it or below, an id (inode) of the unified
				  hierarchy; 0: all */
	uint32_t cgroup_level; /* its depth there, the root's is 0 */
	uint64_t ip_min, ip_max; /* only samples that interrupt at ip_min <= ip <= ip_max; both 0:
				    all */
	const char *notation; /* of the compressor (pathprof/compress.h), "" or NULL: the source's
				 own choice; for sources that have one */
	bool keep_bpf; /* the right to load BPF programs: others in this process need it later */
	const struct pp_resolver *resolver; /* for sources that read code; outlives the source */
	/* step: the sampler's events, which outlive the source; NULL: the stepper opens its own */
	const struct pp_cpu_clock *events;
	int opener_fd; /* step: who opens breakpoints (step_opener.h); 0: the stepper itself */
};

/* A counter that only this source has, for status. */
struct pp_source_counter {
	const char *name; /* as "skip_budget"; lives for ever */
	uint64_t cnt;
};
#define PP_SOURCE_COUNTER_MAX 96

/* Running totals since open; the caller subtracts. */
struct pp_source_stats {
	uint64_t samples; /* targets looked at */
	uint64_t bursts, steps;
	uint64_t stopped_ns; /* targets held */
	uint64_t cpu_ns;     /* CPU time of the source */
	uint64_t burst_ns;   /* price of a burst of late; 0: not paid for one by one */
	uint64_t drops[PATHPROF_DROP_CNT];
	uint64_t replaced;        /* workers that said nothing, with another in their place */
	uint64_t silent_since_ns; /* CLOCK_MONOTONIC when it was last heard; 0: it is heard */
	uint64_t windows, taken; /* of branch windows that came as counts: no burst tells of them */
	uint32_t taken_wanted;   /* taken branches a window really has; 0: as configured */
	bool events_stale; /* step: the kernel has stopped some of its sampler's events for good */
	const char *stepping; /* how targets are stopped: "breakpoints", ...; NULL: they are not */
	const char *sampler;  /* "cpu-clock", "proc" or an event: what decides when to look */
	const struct pp_source_counter *counters; /* valid until the next call */
	uint32_t counter_cnt;
};

struct pp_source; /* each implementation has its own; the first member is the ops pointer */

/* The process that counts belong to. */
struct pp_counted {
	uint32_t pid;
	uint64_t start_time; /* clock ticks since boot, 0: not known */
	uint64_t time_ns;    /* CLOCK_MONOTONIC, when it was seen, for resolving its addresses */
};

/* A thread's registers and stack as its burst began; valid during the call. */
#define PP_STACK_MAX_BYTES 16384
struct pp_stack_seen {
	uint32_t pid, tid;
	uint64_t time_ns;                   /* the burst's */
	struct pathprof_unwind_state state; /* PP_STACK_MAX_BYTES at most */
};

/* The receiver of a source's windows. Addresses are those of the profiled process. */
struct pp_source_sink {
	void *context;
	void (*burst)(void *context, const struct pathprof_burst *burst,
		      const struct pathprof_branch *branches);
	/* cnt runs of the path; its weight is that of one run. */
	void (*path)(void *context, const struct pp_counted *who,
		     const struct pathprof_path_seen *path, uint64_t cnt);
	void (*edge)(void *context, const struct pp_counted *who, uint64_t from, uint64_t to,
		     uint64_t cnt);
	/* Comes right before its burst. NULL: nobody wants it. */
	void (*stack)(void *context, const struct pp_stack_seen *stack);
};

struct pp_source_ops {
	const char *name;
	uint32_t source; /* PATHPROF_SOURCE_* of its windows */
	enum pathprof_basis basis;
	uint32_t horizon_max; /* the longest window in instructions that it takes; 0: no bound */
	bool compresses;      /* its counted paths are those of PATHPROF_MAPPING_WPP */
	bool only_counts;     /* it has no windows, whether asked to compress or not */
	bool apart;           /* it computes in a process of its own, so that its cpu_ns is not part
				 of the daemon's CPU time */
	/*
	 * 0 when it can run here, as far as is known before it is opened; else -errno and why not,
	 * and what would change it. Of config only the event is looked at.
	 */
	int (*probe)(const struct pp_source_config *config, struct pathprof_error *why);
	int (*open)(struct pp_source **ret_source, const struct pp_source_config *config,
		    struct pathprof_error *error);
	int (*fd)(struct pp_source *source); /* readable when there is something to drain */
	/* Hands over all that is there; never blocks. -EPIPE when the source has died. */
	int (*drain)(struct pp_source *source, const struct pp_source_sink *sink);
	/* Before a window ends: also what is still being counted. NULL: nothing ever is. */
	int (*flush)(struct pp_source *source, const struct pp_source_sink *sink);
	void (*stats)(struct pp_source *source, struct pp_source_stats *ret_stats);
	/* New budget, rate and burst length while running. */
	int (*configure)(struct pp_source *source, const struct pp_source_config *config);
	/* Lets every target go, then frees. NULL-safe. */
	void (*free)(struct pp_source *source);
};
struct pp_source {
	const struct pp_source_ops *ops;
};

#define PP_SOURCE_(id, name, needs, what, help) extern const struct pp_source_ops pp_source_##id;
PATHPROF_SOURCES(PP_SOURCE_)
#undef PP_SOURCE_

#endif
