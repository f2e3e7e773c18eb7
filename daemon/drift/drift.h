/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drift in the service: each closed window, every binary (and container) that was seen often enough
 * is measured against its baselines, and the alert rules judge the figures.
 *
 *     subject    (binary, container); keeps the counts of the last windows and of its baselines
 *     baseline   pinned    a profile file NAME.baseline in the directory of baselines; looked for
 *                          again when the directory changes
 *                rolling   all windows of the last hour (a setting) but the newest: rolling.h
 *                previous  the rolling one of the build before, when this one came; paths by names
 *                          that outlive a build: portable.h
 *
 * A new build is a new subject: it begins with an empty rolling baseline. Files of binaries are
 * read by a child, never here: names.h.
 *
 * Workload: 200 subjects of some thousand paths a window (tests/bench/bench_drift.c). Memory is
 * bounded: the least recently seen subjects go first, which is counted. One owner, the event loop.
 */
#ifndef PP_DRIFT_H
#define PP_DRIFT_H

#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-event.h>

#include "pathprof/alert.h"
#include "pathprof/error.h"
#include "pathprof/profile.h"
#include "pathprof/store.h"
#include "../shared/config.h"

struct pp_drift;

/* There are new messages in the store. */
typedef void pp_drift_news_fn(void *context);

/* Reads the last windows and the alerts' states back from the store. */
int pp_drift_new(struct pp_drift **ret_drift, const struct pp_config *config,
		 struct pathprof_store *store, sd_event *event, struct pathprof_error *error);
void pp_drift_free(struct pp_drift *drift);
/* Called whenever messages were written. NULL-safe. */
void pp_drift_on_news(struct pp_drift *drift, pp_drift_news_fn *fn, void *context);
/* The settings that can change while running; alerts' states stay. */
int pp_drift_configure(struct pp_drift *drift, const struct pp_config *config,
		       struct pathprof_error *error);
/*
 * Takes a window that was just stored as `window`, before its profile is cleared: measures and
 * judges it, stores drift and states, and the messages with these. A failure is logged once and
 * counted, never fatal.
 */
void pp_drift_window(struct pp_drift *drift, const struct pathprof_profile *profile,
		     int64_t window);
/* The clock was set by by_ns. Call it before the first window that ends by the new clock.
 * NULL-safe. */
void pp_drift_clock_set(struct pp_drift *drift, int64_t by_ns);
/* CPU time of the children that read binaries' files; NULL-safe. */
uint64_t pp_drift_naming_cpu_ns(const struct pp_drift *drift);
/* For the endpoint: pathprof_drift_*, pathprof_alert_*. */
void pp_drift_metrics(struct pp_drift *drift, FILE *to);

#endif
