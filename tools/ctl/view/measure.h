/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The basis of a selection's figures: windows of one kind, their bursts, and the assumptions behind
 * RUNS (docs/shares.md). Every verb that prints RUNS states them in these words.
 *
 * Ownership: strings are the caller's. One thread.
 */
#ifndef CTL_MEASURE_H
#define CTL_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "../text/lost.h"
#include "json.h"
#include "pathprof/shares.h"
#include "pathprof/store.h"

struct measure {
	enum pathprof_window_kind kind;
	uint64_t windows, bursts, paths, branches;
	uint64_t shared_cnt;   /* runs of exact counts whose threads shared counters */
	uint64_t left_out_cnt; /* executions of paths that found no room, or have no counter */
	struct lost lost;
	double cut_samples; /* as in struct pathprof_shares, the kernel's included */
	uint32_t horizon, taken_wanted, clock_hz; /* the greatest */
	double timed_samples;                     /* clock samples of windows whose rate is known */
	double time_ns;                           /* that they stand for */
	bool mixed;                               /* horizons or clocks of windows differ */
	bool clock_kernel;                        /* of some window at least */
};

/* Measures all windows of that kind that the filter selects. -errno, error filled. */
int measure_load(struct measure *ret_measure, struct pathprof_store *store,
		 const struct pathprof_filter *filter, enum pathprof_window_kind kind,
		 struct pathprof_error *error);

/* Every path was counted, by its program or a tracer, so there is no sampling and no chance. */
bool measure_is_exact(const struct measure *measure);
/* Exact counts of which some may be missing, since threads shared counters. */
bool measure_is_nearly_exact(const struct measure *measure);
/* RUNS, or SHARE of old windows; NULL: nothing was selected. */
const char *measure_figure(const struct measure *measure);
/* "865 bursts of up to 1024 instructions, weighed by the clock"; "" when nothing was selected. */
char *measure_bursts(const struct measure *measure);
/* The assumption behind RUNS, as a sentence of its own; "" if there is none. */
const char *measure_caution(const struct measure *measure);

/*
 * RUNS may assume one rate of instructions for all code. Then this is the share if its code
 * executed half (low) and twice (high) as many instructions a second as the rest; else NAN.
 */
struct pathprof_share measure_at_rates(const struct measure *measure, double share);

/* Member "figure": in small letters, as JSON has them. */
void measure_figure_member(json_t *object, const char *figure);
/* Members "basis", "kind" and "horizon", and "lost": how many samples of the windows were. */
void measure_members(const struct measure *measure, json_t *object);

#endif
