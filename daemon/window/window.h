/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The open window: bursts go in, become paths and edges keyed by (build-id, offset), and the
 * whole is handed to the store when the window closes.
 *
 * Workload: up to a few hundred bursts of some hundred branches a second, a hundred clock samples a
 * second and CPU, a close every second to every minute. Memory is bounded by the profile's tables.
 * One owner, the event loop. What cannot be kept is counted in the profile's totals, never an
 * error.
 */
#ifndef PP_WINDOW_H
#define PP_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/abi.h"
#include "pathprof/error.h"
#include "pathprof/paths.h"
#include "pathprof/profile.h"
#include "pathprof/store.h"
#include "../resolver.h"
#include "../source.h"

struct pp_window;

/* The receiver of a closed window: the store, or a test. The functions are those of store.h. */
struct pp_window_sink {
	void *context;
	int (*add_window)(void *context, const struct pathprof_profile *profile,
			  struct pathprof_error *error);
	int (*add_jit_symbols)(void *context, const struct pathprof_jit_symbol *symbols, size_t cnt,
			       struct pathprof_error *error);
};

struct pp_window_config {
	enum pathprof_mapping mapping;
	uint32_t source; /* PATHPROF_SOURCE_* */
	enum pathprof_basis basis;
	uint32_t taken_wanted;
	uint32_t horizon;  /* instructions a burst; 0: counted in taken branches */
	uint32_t clock_hz; /* as in profile.h; 0: the start of each burst is the clock sample */
	bool clock_kernel;
	size_t memory_max_bytes;
	bool without_segments;
	/*
	 * The owner given to files whose owner cannot be told any more:
	 * PATHPROF_OWNER_UNKNOWN, or the user who records a program of their own choice.
	 */
	uint32_t unknown_owner;
	/*
	 * The work of this process and of all that run the same program, as its children do, is
	 * counted apart, as PATHPROF_DROP_OWN. 0: nobody's.
	 */
	pid_t own_pid;
};

/* Opens the first window. resolver is copied, its context must outlive the window. -ENOMEM. */
int pp_window_new(struct pp_window **ret_window, const struct pp_window_config *config,
		  const struct pp_resolver *resolver);
/*
 * The tracker knows from now on who runs: the first window begins anew, and what was seen before is
 * nobody's loss.
 */
void pp_window_begin(struct pp_window *window);
/* NULL-safe. */
void pp_window_free(struct pp_window *window);

/* The functions of struct pp_source_sink: context is the window. */
void pp_window_add_burst(void *context, const struct pathprof_burst *burst,
			 const struct pathprof_branch *branches);
void pp_window_add_path(void *context, const struct pp_counted *who,
			const struct pathprof_path_seen *path, uint64_t cnt);
void pp_window_add_edge(void *context, const struct pp_counted *who, uint64_t from, uint64_t to,
			uint64_t cnt);
/*
 * One sample of the clock, at its place in a file; context is the window. Samples of a thread that
 * a burst held just then are left out: what it did was the source's doing. The caller dispatches
 * the tracker and drains the source first, once for all samples that it has.
 */
struct pp_cpu_sample;
void pp_window_add_clock(void *context, const struct pp_cpu_sample *sample);
/* cnt clock samples that the kernel had no room for. */
void pp_window_clock_lost(struct pp_window *window, uint64_t cnt);
/*
 * Tells who called: where the tables of frames are, as pp_tables_find() has them (../callers). From
 * then on the stacks that come before bursts are unwound. -ENOMEM.
 */
typedef int pp_window_table_fn(void *context, pid_t pid, const struct pp_location *where,
			       const struct pathprof_unwind_table **ret_table);
int pp_window_want_callers(struct pp_window *window, pp_window_table_fn *find_table, void *context);
void pp_window_add_stack(void *context, const struct pp_stack_seen *stack);
struct pp_source_sink pp_window_source_sink(struct pp_window *window);

/*
 * Adds what the source did from `before` to `now`: its CPU time, what it passed over, windows that
 * came as counts, and time held that no burst told of.
 */
void pp_window_account(struct pp_window *window, const struct pp_source_stats *before,
		       const struct pp_source_stats *now);

/* A new source counts from zero. */
void pp_window_source_opened(struct pp_window *window);

/* Another source, before the first burst of a window: right after new or a close. */
void pp_window_set_source(struct pp_window *window, uint32_t source, enum pathprof_basis basis);

/* cnt mapping events that the kernel lost. */
void pp_window_lost(struct pp_window *window, uint64_t cnt);

/*
 * Ends the window, hands it over and opens the next, whatever the sink answers: its error is
 * returned, and the window is gone then.
 */
int pp_window_close(struct pp_window *window, const struct pp_window_sink *sink,
		    struct pathprof_error *error);

/* For the bursts of the next window: call right after a close. */
void pp_window_set_taken(struct pp_window *window, uint32_t taken_wanted);
void pp_window_set_horizon(struct pp_window *window, uint32_t horizon);
/* A clock runs from here on, hz samples a second and CPU; 0: none. Right after new or a close. */
void pp_window_set_clock(struct pp_window *window, uint32_t hz, bool kernel);

/* The open window; valid until the window is freed, its content until the next close. */
const struct pathprof_profile *pp_window_profile(const struct pp_window *window);

/* The sink that writes to a store, the resolver that asks a tracker. */
struct pathprof_store;
struct pp_window_sink pp_window_store_sink(struct pathprof_store *store);
struct pp_resolver pp_window_track_resolver(struct pp_track *track);

#endif
