// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drift in the service: see drift.h. The order of a window: split it, judge each subject against
 * what was before, then let the window become part of that; store rows and states; let go of what
 * is too much.
 */
#include "drift_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* ---------------------------------------------------------------- one window */

static void take_part(struct pp_drift *drift, const struct pathprof_part *part)
{
	struct pp_drift_subject *subject = pp_drift_subject(
		&drift->subjects, part, pp_drift_is_enough(&drift->common, &part->tally));
	int r;

	if (!subject)
		return;
	pp_drift_find_unnamed(&drift->naming, subject, part);
	pp_drift_judge(&drift->judge, subject, part);
	r = pp_drift_push(&drift->subjects, subject, part, drift->common.end_ns,
			  pp_drift_alarmed(&drift->alerts, subject->alerts));
	if (r < 0)
		pp_drift_lost(&drift->common, r, "a window's counts lost", strerror(-r));
}

static void store_rows(struct pp_drift *drift)
{
	struct pathprof_error error = {""};
	int r = 0;

	if (drift->judge.row_cnt)
		r = pathprof_store_add_drift(drift->common.store, drift->judge.rows,
					     drift->judge.row_cnt, &error);
	if (r < 0)
		pp_drift_lost(&drift->common, r, "measurements not written", error.text);
	drift->judge.row_cnt = 0;
}

static void take_window(struct pp_drift *drift, const struct pathprof_profile *profile)
{
	struct pathprof_part *parts = NULL;
	struct pathprof_event *events = NULL;
	size_t cnt = 0;
	int r = pp_drift_split(profile, &parts, &cnt, &events);

	if (r < 0) {
		pp_drift_lost(&drift->common, r, "window not measured", strerror(-r));
		return;
	}
	for (size_t i = 0; i < cnt; i++)
		take_part(drift, &parts[i]);
	free(parts);
	free(events);
}

/* Counts left by windows of another kind are forgotten: they would pass for drift. */
static void follow_kind(struct pp_drift *drift, const struct pathprof_profile *profile)
{
	enum pathprof_window_kind kind =
		pathprof_window_kind(profile->basis, profile->horizon, profile->weighed);

	if (kind == drift->common.kind)
		return;
	if (drift->subjects.cnt)
		pp_log(LOG_NOTICE,
		       "drift: windows are %s from here on; earlier ones were %s and cannot be "
		       "compared with them: rolling baselines begin anew",
		       pathprof_window_kind_text(kind),
		       pathprof_window_kind_text(drift->common.kind));
	pp_drift_end_restore(drift);
	pp_drift_free_subjects(&drift->subjects);
	drift->common.kind = kind;
	pp_pinned_set_kind(&drift->judge.pinned, kind);
}

static void begin_window(struct pp_drift *drift, const struct pathprof_profile *profile,
			 int64_t window)
{
	const struct pathprof_totals *totals = &profile->totals;

	drift->common.window = window;
	drift->common.end_ns = profile->end_ns;
	drift->common.profile = profile;
	drift->naming.compared_asked_cnt = drift->naming.others_asked_cnt = 0;
	drift->common.per_burst =
		totals->bursts ? (double)totals->paths / (double)totals->bursts : 0;
	follow_kind(drift, profile);
}

static void measure_window(struct pp_drift *drift, const struct pathprof_profile *profile)
{
	pp_pinned_refresh(&drift->judge.pinned);
	pp_drift_tell_blind(&drift->judge);
	take_window(drift, profile);
	pp_drift_resolve_unmeasured(drift);
	store_rows(drift);
	pp_drift_store_alerts(&drift->alerts);
	pp_drift_seek_previous(&drift->subjects);
	pp_drift_evict(&drift->subjects);
	pp_drift_prune_alerts(&drift->alerts);
	pp_drift_name_some(&drift->naming);
	drift->windows++;
}

void pp_drift_window(struct pp_drift *drift, const struct pathprof_profile *profile, int64_t window)
{
	if (!drift)
		return;
	pp_drift_work_begin(&drift->common);
	begin_window(drift, profile, window);
	if (!pp_drift_restore_window(drift))
		measure_window(drift, profile);
	drift->common.profile = NULL;
	pp_drift_work_end(&drift->common);
}

/* ---------------------------------------------------------------- beginning and end */

void pp_drift_join(struct pp_drift *drift)
{
	struct pp_drift_common *common = &drift->common;

	drift->alerts.common = common;
	drift->subjects.common = common;
	drift->subjects.alerts = &drift->alerts;
	drift->naming.common = common;
	drift->naming.subjects = &drift->subjects;
	drift->telling.common = common;
	drift->telling.alerts = &drift->alerts;
	drift->telling.naming = &drift->naming;
	drift->judge.common = common;
	drift->judge.alerts = &drift->alerts;
	drift->judge.telling = &drift->telling;
}

/* Without names everything else works, but builds are compared with themselves only. */
static void open_names(struct pp_drift *drift)
{
	char place[PP_CONFIG_PATH_MAX], cache[PP_CONFIG_PATH_MAX + 8];
	char *slash;
	int r;

	drift->naming.began_ns = pp_monotonic_ns();
	r = pp_config_db_path(&drift->common.config, place, sizeof(place));
	slash = r == 0 ? strrchr(place, '/') : NULL;
	if (slash)
		*slash = '\0';
	snprintf(cache, sizeof(cache), "%s/graphs", slash ? place : ".");
	r = pp_names_new(&drift->naming.names, drift->event, cache);
	if (r < 0)
		pp_log(LOG_WARNING, "drift: paths cannot be named: %s", strerror(-r));
}

static int open_all(struct pp_drift *drift, struct pathprof_error *error)
{
	int r = pp_config_baselines_path(&drift->common.config, drift->judge.pinned.directory,
					 sizeof(drift->judge.pinned.directory));

	if (r < 0)
		return pathprof_fail(error, r, "no place for baselines: set Baselines= in [Drift]");
	if (drift->common.config.baselines[0] &&
	    access(drift->common.config.baselines, R_OK | X_OK) < 0)
		pp_log(LOG_WARNING, "Baselines=%s: %s: no baseline is read until that is mended",
		       drift->common.config.baselines, strerror(errno));
	drift->common.end_ns = pp_realtime_ns();
	if (gethostname(drift->telling.host, sizeof(drift->telling.host)) < 0)
		strcpy(drift->telling.host, "localhost");
	pp_drift_make_rules(&drift->alerts);
	if (drift->common.config.tell_journal && pp_tell_journal_new(&drift->telling.journal) < 0)
		return pathprof_fail(error, -ENOMEM, "alerts cannot be told to the journal");
	pp_drift_work_begin(&drift->common);
	r = pp_drift_read_alerts(&drift->alerts, error);
	if (r == 0)
		pp_drift_leave_future(drift);
	if (r == 0)
		r = pp_drift_restore(drift, error);
	pp_drift_work_end(&drift->common);
	if (r == 0)
		open_names(drift);
	return r;
}

int pp_drift_new(struct pp_drift **ret_drift, const struct pp_config *config,
		 struct pathprof_store *store, sd_event *event, struct pathprof_error *error)
{
	struct pp_drift *drift = calloc(1, sizeof(*drift));
	int r;

	if (!drift)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	drift->common.config = *config;
	drift->common.store = store;
	drift->event = drift->telling.event = sd_event_ref(event);
	pp_drift_join(drift);
	r = open_all(drift, error);
	if (r < 0) {
		pp_drift_free(drift);
		return r;
	}
	*ret_drift = drift;
	return 0;
}

void pp_drift_free(struct pp_drift *drift)
{
	if (!drift)
		return;
	pp_drift_end_restore(drift);
	pp_drift_release_drafts(&drift->telling, NULL);
	/* names that are under way are lost, and asked for again later */
	if (drift->naming.names)
		pp_names_cancel(drift->naming.names);
	pp_names_free(drift->naming.names);
	sd_event_source_disable_unref(drift->telling.timer);
	if (drift->telling.journal)
		drift->telling.journal->ops->free(drift->telling.journal);
	pp_drift_free_subjects(&drift->subjects);
	pp_drift_free_alerts(&drift->alerts);
	pp_pinned_release(&drift->judge.pinned);
	sd_event_unref(drift->event);
	free(drift->judge.rows);
	free(drift);
}

void pp_drift_on_news(struct pp_drift *drift, pp_drift_news_fn *fn, void *context)
{
	if (!drift)
		return;
	drift->alerts.on_news = fn;
	drift->alerts.news_context = context;
}

int pp_drift_configure(struct pp_drift *drift, const struct pp_config *config,
		       struct pathprof_error *error)
{
	if (!drift)
		return 0;
	drift->common.config.drift_samples_min = config->drift_samples_min;
	drift->common.config.drift_memory_max_bytes = config->drift_memory_max_bytes;
	memcpy(drift->common.config.alerts, config->alerts, sizeof(drift->common.config.alerts));
	pp_drift_make_rules(&drift->alerts);
	for (uint32_t i = 0; i < drift->subjects.cnt; i++)
		pp_drift_link(&drift->alerts, drift->subjects.list[i]->name,
			      drift->subjects.list[i]->container, drift->subjects.list[i]->alerts);
	return 0;
}

uint64_t pp_drift_naming_cpu_ns(const struct pp_drift *drift)
{
	struct pp_names_stats stats = {0};

	if (drift && drift->naming.names)
		pp_names_stats(drift->naming.names, &stats);
	return stats.cpu_ns;
}
