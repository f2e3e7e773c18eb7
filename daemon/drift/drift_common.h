/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of drift share these types and functions. Each part has a header and a structure of its
 * own and knows the parts before it, never those behind:
 *
 *     common    settings, store, the window at hand
 *     alerts    rules, the states of their alerts, messages on their way to the store
 *     subjects  what each binary in each container did, and the build before it
 *     naming    which build's paths are named next
 *     telling   what is told of an alert, now or when its paths have names
 *     judge     a subject's window against baselines, by the rules
 *     state     all of them: windows as they close, the start, the clock, figures
 *
 * Everything is owned by the event loop's thread.
 */
#ifndef PP_DRIFT_COMMON_H
#define PP_DRIFT_COMMON_H

#include <stdbool.h>

#include "base/clock.h"
#include "../shared/log.h"
#include "drift.h"
#include "pathprof/tally.h"

struct pp_drift_common {
	struct pp_config config;
	struct pathprof_store *store;

	/* the window at hand */
	const struct pathprof_profile *profile; /* NULL: none */
	int64_t window, end_ns;
	double per_burst; /* paths that came out of one burst; 0: not known */
	/*
	 * The kind of the windows that the rolling baselines are made of. Windows of different
	 * kinds do not see the same paths equally often, so they are never compared.
	 */
	enum pathprof_window_kind kind;

	uint64_t lost; /* measurements, rows and messages */
	struct pp_log_seen trouble;

	uint64_t cpu_ns, begin_ns; /* this thread's time: of all work, at the outermost begin */
	uint32_t work_depth;
};

/*
 * Everything that the event loop calls stands between these two, so that its CPU time counts. Work
 * inside other work counts once.
 */
static inline void pp_drift_work_begin(struct pp_drift_common *common)
{
	if (!common->work_depth++)
		common->begin_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline void pp_drift_work_end(struct pp_drift_common *common)
{
	if (!--common->work_depth)
		common->cpu_ns += pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - common->begin_ns;
}

/* Logs each kind of trouble once, and counts it. */
static inline void pp_drift_lost(struct pp_drift_common *common, int code, const char *what,
				 const char *why)
{
	common->lost++;
	if (pp_log_once(&common->trouble, code))
		pp_log(LOG_WARNING, "drift: %s: %s", what, why);
}

/* Whether there are enough samples to measure; with fewer, a binary is not yet watched. */
static inline bool pp_drift_is_enough(const struct pp_drift_common *common,
				      const struct pathprof_tally *tally)
{
	return tally->samples >= (double)common->config.drift_samples_min;
}

#endif
