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

void pp_drift_lost(struct pp_drift *drift, int code, const char *what, const char *why)
{
	drift->lost++;
	if (pp_log_once(&drift->trouble, code))
		pp_log(LOG_WARNING, "drift: %s: %s", what, why);
}

/* ---------------------------------------------------------------- one window */

/* Fewer samples than are measured are no reason to begin to watch a binary. */
static bool is_enough(const struct pp_drift *drift, const struct pathprof_part *part)
{
	return part->tally.samples >= (double)drift->config.drift_samples_min;
}

static void take_part(struct pp_drift *drift, const struct pathprof_part *part)
{
	struct pp_drift_subject *subject = pp_drift_subject(drift, part, is_enough(drift, part));
	int r;

	if (!subject)
		return;
	pp_drift_find_unnamed(drift, subject, part);
	pp_drift_judge(drift, subject, part);
	subject->seen_ns = drift->end_ns;
	r = pathprof_rolling_push(&subject->rolling, &part->tally, drift->end_ns,
				  pp_drift_alarmed(drift, subject), pp_drift_pooled_max(drift) - 1,
				  (int64_t)drift->config.rolling_ns);
	if (r < 0)
		pp_drift_lost(drift, r, "counts lost", strerror(-r));
}

/* What was not seen for as long as the baseline reaches back cannot get well by itself. */
static void resolve_stale(struct pp_drift *drift)
{
	for (uint32_t i = 0; i < drift->alert_cnt; i++) {
		struct pp_drift_alert *alert = drift->alerts[i];
		struct pathprof_alert_state *s = &alert->state;
		bool fired = s->phase == PATHPROF_ALERT_FIRING;

		if (s->phase == PATHPROF_ALERT_QUIET ||
		    drift->end_ns - s->seen_ns <= (int64_t)drift->config.rolling_ns)
			continue;
		s->phase = PATHPROF_ALERT_QUIET;
		s->streak_cnt = 0;
		s->since_ns = s->seen_ns = drift->end_ns;
		alert->changed = true;
		if (!fired)
			continue;
		s->resolved_ns = drift->end_ns;
		pp_drift_tell(drift, &(struct pp_drift_news){.change = PATHPROF_ALERT_RESOLVED,
							     .alert = alert});
	}
}

static void store_rows(struct pp_drift *drift)
{
	struct pathprof_error error = {""};
	int r = 0;

	if (drift->row_cnt)
		r = pathprof_store_add_drift(drift->store, drift->rows, drift->row_cnt, &error);
	if (r < 0)
		pp_drift_lost(drift, r, "not written", error.text);
	drift->row_cnt = 0;
}

static void take_window(struct pp_drift *drift, const struct pathprof_profile *profile)
{
	struct pathprof_part *parts = NULL;
	struct pathprof_event *events = NULL;
	size_t cnt = 0;
	int r = pp_drift_split(profile, &parts, &cnt, &events);

	if (r < 0) {
		pp_drift_lost(drift, r, "window not measured", strerror(-r));
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

	if (kind == drift->kind)
		return;
	if (drift->subject_cnt)
		pp_log(LOG_NOTICE,
		       "drift: windows are %s from here on, and cannot be held against those "
		       "before, "
		       "which were %s: rolling baselines begin anew",
		       pathprof_window_kind_text(kind), pathprof_window_kind_text(drift->kind));
	pp_drift_end_restore(drift);
	pp_drift_free_subjects(drift);
	drift->kind = kind;
	pp_pinned_set_kind(&drift->pinned, kind);
}

void pp_drift_window(struct pp_drift *drift, const struct pathprof_profile *profile, int64_t window)
{
	const struct pathprof_totals *totals = &profile->totals;
	uint64_t begin_ns;

	if (!drift)
		return;
	begin_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	drift->window = window;
	drift->end_ns = profile->end_ns;
	drift->profile = profile;
	drift->compared_asked_cnt = drift->others_asked_cnt = 0;
	drift->per_burst = totals->bursts ? (double)totals->paths / (double)totals->bursts : 0;
	follow_kind(drift, profile);
	if (pp_drift_restore_window(drift)) {
		drift->profile = NULL;
		return;
	}
	pp_pinned_refresh(&drift->pinned);
	take_window(drift, profile);
	resolve_stale(drift);
	store_rows(drift);
	pp_drift_store_alerts(drift);
	pp_drift_seek_previous(drift);
	pp_drift_evict(drift);
	pp_drift_prune_alerts(drift);
	pp_drift_name_some(drift);
	drift->profile = NULL;
	drift->windows++;
	drift->cpu_ns += pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

/* ---------------------------------------------------------------- beginning and end */

/* Without it everything else works: builds are compared with themselves only. */
static void open_names(struct pp_drift *drift)
{
	char place[PP_CONFIG_PATH_MAX], cache[PP_CONFIG_PATH_MAX + 8];
	char *slash;
	int r;

	drift->began_ns = pp_monotonic_ns();
	r = pp_config_db_path(&drift->config, place, sizeof(place));
	slash = r == 0 ? strrchr(place, '/') : NULL;
	if (slash)
		*slash = '\0';
	snprintf(cache, sizeof(cache), "%s/graphs", slash ? place : ".");
	r = pp_names_new(&drift->names, drift->event, cache);
	if (r < 0)
		pp_log(LOG_WARNING, "drift: paths cannot be named: %s", strerror(-r));
}

static int open_all(struct pp_drift *drift, struct pathprof_error *error)
{
	int r = pp_config_baselines_path(&drift->config, drift->pinned.directory,
					 sizeof(drift->pinned.directory));

	if (r < 0)
		return pathprof_fail(error, r, "no place for baselines: set Baselines= in [Drift]");
	if (drift->config.baselines[0] && access(drift->config.baselines, R_OK | X_OK) < 0)
		pp_log(LOG_WARNING, "Baselines=%s: %s: no baseline is read until that is mended",
		       drift->config.baselines, strerror(errno));
	drift->end_ns = pp_realtime_ns();
	if (gethostname(drift->host, sizeof(drift->host) - 1) < 0)
		strcpy(drift->host, "localhost");
	pp_drift_make_rules(drift);
	if (drift->config.tell_journal && pp_tell_journal_new(&drift->journal) < 0)
		return pathprof_fail(error, -ENOMEM, "alerts cannot be told to the journal");
	r = pp_drift_read_alerts(drift, error);
	if (r == 0)
		pp_drift_leave_future(drift);
	if (r == 0)
		r = pp_drift_restore(drift, error);
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
	drift->config = *config;
	drift->store = store;
	drift->event = sd_event_ref(event);
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
	pp_drift_release_drafts(drift, NULL);
	/* what is being named is lost, and asked for again another time */
	if (drift->names)
		pp_names_cancel(drift->names);
	pp_names_free(drift->names);
	sd_event_source_disable_unref(drift->draft_timer);
	pp_drift_forget_messages(drift);
	if (drift->journal)
		drift->journal->ops->free(drift->journal);
	pp_drift_free_subjects(drift);
	pp_drift_free_alerts(drift);
	pp_pinned_release(&drift->pinned);
	sd_event_unref(drift->event);
	free(drift->rows);
	free(drift);
}

void pp_drift_on_news(struct pp_drift *drift, pp_drift_news_fn *fn, void *context)
{
	if (!drift)
		return;
	drift->on_news = fn;
	drift->news_context = context;
}

int pp_drift_configure(struct pp_drift *drift, const struct pp_config *config,
		       struct pathprof_error *error)
{
	if (!drift)
		return 0;
	drift->config.drift_samples_min = config->drift_samples_min;
	drift->config.drift_memory_max_bytes = config->drift_memory_max_bytes;
	memcpy(drift->config.alerts, config->alerts, sizeof(drift->config.alerts));
	pp_drift_make_rules(drift);
	for (uint32_t i = 0; i < drift->subject_cnt; i++)
		pp_drift_link(drift, drift->subjects[i]);
	return 0;
}
