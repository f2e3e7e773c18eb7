/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule on tested sets: when more than AlertShare= of what a binary ran in AlertSpan= is
 * untested, by the low end of the share's interval, people are told, on the way that alerts of
 * drift take: the state and the message are in the store in one transaction, so a daemon that is
 * killed in between goes on where it was (docs/alerting.md).
 *
 * The binary is the path by which processes run it; builds of one path of which there are sets are
 * taken together. Counts of the span are in memory (tested_span.h). At the start, and when sets
 * were read again, they are made anew of the windows in the store, some at a time beside the
 * service, and nothing is judged until then.
 *
 * Workload: a look-up a path and window; the store's newest million counts once. One owner, the
 * event loop.
 */
#ifndef PP_TESTED_ALERTS_H
#define PP_TESTED_ALERTS_H

#include <stdio.h>
#include <systemd/sd-event.h>

#include "../drift/drift.h"

struct pp_tested_alerts;
struct pp_tested_sets;

/*
 * sets: borrowed; NULL, or AlertShare=0: nothing is judged, and what fires of an earlier setting
 * ends after the span. on_news is called whenever messages were written.
 */
int pp_tested_alerts_new(struct pp_tested_alerts **ret_alerts, const struct pp_config *config,
			 const struct pp_tested_sets *sets, struct pathprof_store *store,
			 sd_event *event, struct pathprof_error *error);
/* NULL-safe, as are all below. */
void pp_tested_alerts_free(struct pp_tested_alerts *alerts);
void pp_tested_alerts_on_news(struct pp_tested_alerts *alerts, pp_drift_news_fn *fn, void *context);
/* A window that was just stored, after the sets have taken it. */
void pp_tested_alerts_window(struct pp_tested_alerts *alerts,
			     const struct pathprof_profile *profile);
/* The clock was set by so much, as for drift. */
void pp_tested_alerts_clock_set(struct pp_tested_alerts *alerts, int64_t by_ns);
/* For the endpoint: pathprof_untested_*. */
void pp_tested_alerts_metrics(const struct pp_tested_alerts *alerts, FILE *to);

#endif
