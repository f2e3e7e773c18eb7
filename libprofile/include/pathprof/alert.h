/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Alert rules: when does a figure that comes every window become something to tell people?
 *
 *             over the threshold                 k windows in a row
 *     quiet ────────────────────► pending ─────────────────────────► firing
 *       ▲ ▲                          │                                  │
 *       │ └──── below it again ──────┘        k' windows in a row       │
 *       └──────────────────── beyond the resolve level ◄────────────────┘
 *
 * A pure state machine: no clock, no I/O, no allocation. The caller keeps a state for each rule and
 * subject (a binary, a container), hands in each window's figure with its time, and does what the
 * returned change says. A state is plain numbers of fixed width, so it can be stored and read
 * again; pathprof_alert_state_check() judges one that comes from outside.
 */
#ifndef PATHPROF_ALERT_H
#define PATHPROF_ALERT_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/drift.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The figures that rules judge, a row each: what follows PATHPROF_METRIC_, its name, whether a rule
 * fires ABOVE its threshold or BELOW, the most it can be, and where a struct pathprof_drift *d has
 * it. Bits, degrees, and shares from 0 to 1. kl_corrected fires only if its interval is above, too.
 */
#define PATHPROF_METRICS_OF_PATHS(ROW)                                                             \
	ROW(KL_CORRECTED, "kl_corrected", ABOVE, 1000, d->kl_corrected_bits)                       \
	ROW(KL, "kl", ABOVE, 1000, d->kl_bits)                                                     \
	ROW(ANGLE, "angle_degrees", ABOVE, 90, d->angle_degrees)                                   \
	ROW(OVERLAP, "overlap", BELOW, 1, d->overlap)                                              \
	ROW(COVERAGE, "dynamic_coverage", BELOW, 1, d->coverage.dynamic_share)
/* Own accuracy less the assumed one's is what was lost of it. */
#define PATHPROF_METRICS_OF_BRANCHES(ROW)                                                          \
	ROW(CONFLICT, "dynamic_conflict", ABOVE, 1, d->branches.conflict.dynamic_share)            \
	ROW(ACCURACY_LOST, "accuracy_lost", ABOVE, 1,                                              \
	    d->branches.accuracy_own - d->branches.accuracy)
/* No figure of drift: the share of what runs that no test ran, which the caller has measured. */
#define PATHPROF_METRICS_OF_TESTS(ROW) ROW(UNTESTED, "untested_share", ABOVE, 1, NAN)
#define PATHPROF_METRICS(ROW)                                                                      \
	PATHPROF_METRICS_OF_PATHS(ROW)                                                             \
	PATHPROF_METRICS_OF_BRANCHES(ROW)                                                          \
	PATHPROF_METRICS_OF_TESTS(ROW)

#define PATHPROF_METRIC_ID_(id, name, fires, most, figure) PATHPROF_METRIC_##id,
enum pathprof_metric {
	PATHPROF_METRICS(PATHPROF_METRIC_ID_) PATHPROF_METRIC_CNT,
};
#undef PATHPROF_METRIC_ID_
/* "kl_corrected", "kl", ...; NULL when out of range. */
const char *pathprof_metric_name(enum pathprof_metric metric);
/* true: the rule fires when the figure is below the threshold. */
bool pathprof_metric_fires_below(enum pathprof_metric metric);

struct pathprof_alert_rule {
	enum pathprof_metric metric;
	double threshold;
	/* How far back over the threshold a figure must be to count as well again, >= 0. */
	double hysteresis;
	double samples_min;       /* a measurement of fewer is no evidence either way */
	uint32_t windows_pooled;  /* how many last windows the caller measures together, 1..1024 */
	uint32_t windows_to_fire; /* in a row, >= 1 */
	uint32_t windows_to_resolve;
	int64_t cool_down_ns; /* after it resolved, so long it cannot fire again; >= 0 */
};
/*
 * The two rules a subject has unless told otherwise; docs/drift.md has their error rates. Fast: a
 * strong change, kl_corrected above 0.01 bits two windows in a row. Slow: a faint one, above 0.005
 * bits in the last three windows together. Both: hysteresis of half that, 200 samples, two windows
 * to resolve, 5 minutes to cool down.
 */
extern const struct pathprof_alert_rule pathprof_alert_fast, pathprof_alert_slow;
/* -EINVAL: a rule that cannot be. */
int pathprof_alert_rule_check(const struct pathprof_alert_rule *rule);

enum pathprof_alert_phase {
	PATHPROF_ALERT_QUIET,   /* never fired, or resolved: resolved_ns tells */
	PATHPROF_ALERT_PENDING, /* over the threshold, not long enough */
	PATHPROF_ALERT_FIRING,
	PATHPROF_ALERT_PHASE_CNT,
};

/* All zero: a new one. 48 bytes without padding, in the machine's byte order. */
struct pathprof_alert_state {
	uint32_t phase;      /* enum pathprof_alert_phase */
	uint32_t streak_cnt; /* windows in a row that speak for the next phase */
	int64_t since_ns;    /* when the phase began */
	int64_t fired_ns;    /* when it last began to fire; 0: never */
	int64_t resolved_ns; /* when it last resolved; 0: never */
	int64_t seen_ns;     /* time of the last window taken */
	double value;        /* of that window */
};
#ifndef __cplusplus
_Static_assert(sizeof(struct pathprof_alert_state) == 48, "alert: state");
#endif
/* -EBADMSG: a state that no sequence of windows leads to. */
int pathprof_alert_state_check(const struct pathprof_alert_state *state);

struct pathprof_alert_input {
	int64_t time_ns; /* end of the window, CLOCK_REALTIME */
	double samples;
	double value;
	double value_low; /* lower end of its interval; the value where there is none */
};
/* The metric out of a measurement. */
struct pathprof_alert_input pathprof_alert_input_of(enum pathprof_metric metric,
						    const struct pathprof_drift *drift,
						    int64_t time_ns);

enum pathprof_alert_change {
	PATHPROF_ALERT_SAME,
	PATHPROF_ALERT_BEGAN_PENDING,
	PATHPROF_ALERT_FIRED,
	PATHPROF_ALERT_RESOLVED,
	PATHPROF_ALERT_CALMED, /* pending, then well again: nobody was told */
};
/*
 * Whether the figure is over the threshold, but its interval is not: chance may have made it. Of a
 * window that is no evidence (pathprof_alert_take() did not set seen_ns to its time) this says
 * nothing.
 */
bool pathprof_alert_is_unsure(const struct pathprof_alert_rule *rule,
			      const struct pathprof_alert_input *input);
/*
 * Takes a window. One with too few samples, a figure that is not a number, or a time not after the
 * last one's changes nothing. While the cool-down lasts a streak goes on counting, and the alert
 * fires at the first window behind it. An alert that fires and meets neither side of the hysteresis
 * stays.
 */
enum pathprof_alert_change pathprof_alert_take(struct pathprof_alert_state *state,
					       const struct pathprof_alert_rule *rule,
					       const struct pathprof_alert_input *input);

#ifdef __cplusplus
}
#endif

#endif
