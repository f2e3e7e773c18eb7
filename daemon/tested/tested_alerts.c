// SPDX-License-Identifier: GPL-2.0-or-later
/* See tested_alerts.h. */
#include "tested_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/metrics_text.h"
#include "base/clock.h"

#define SAMPLES_MIN     200
#define WINDOWS_TO_FIRE 2
#define COOL_DOWN_NS    UINT64_C(300000000000)

/* ---------------------------------------------------------------- counts */

int pp_tested_take_path(struct pp_tested_alerts *alerts, const char *name, uint32_t build,
			const struct pathprof_path_row *path)
{
	struct pp_tested_watched *watched = alerts->watched[build];

	if (!watched) {
		watched = calloc(1, sizeof(*watched));
		alerts->watched[build] = watched;
	}
	if (watched && !watched->name)
		watched->name = strdup(name);
	if (!watched || !watched->name)
		return -ENOMEM;
	pp_tested_counts_add(&watched->window,
			     path->weight > 0 ? path->weight : (double)path->samples,
			     path->weight_squares, (double)path->samples, path->squares,
			     !pp_tested_sets_has(alerts->sets, build, path->start, path->length,
						 path->outcomes));
	return 0;
}

/* A build is taken to have the same share of the window's bursts as of its paths. */
void pp_tested_end_window(struct pp_tested_alerts *alerts, const struct pathprof_totals *totals,
			  int64_t end_ns)
{
	double a_burst = totals->bursts ? (double)totals->paths / (double)totals->bursts : 1;

	for (uint32_t i = 0; i < alerts->build_cnt; i++) {
		struct pp_tested_watched *watched = alerts->watched[i];

		if (!watched)
			continue;
		pp_tested_span_add(&watched->span, alerts->common.config.tested_span_ns, end_ns,
				   &watched->window, watched->window.samples / fmax(1, a_burst));
		watched->window = (struct pp_tested_counts){0};
	}
}

void pp_tested_forget(struct pp_tested_alerts *alerts)
{
	for (uint32_t i = 0; i < alerts->build_cnt; i++) {
		if (alerts->watched[i])
			free(alerts->watched[i]->name);
		free(alerts->watched[i]);
	}
	free(alerts->watched);
	alerts->watched = NULL;
	alerts->build_cnt = 0;
}

static void take_profile(struct pp_tested_alerts *alerts, const struct pathprof_profile *profile)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < profile->path_cnt; i++) {
		const struct pathprof_path_count *path = &profile->paths[i];
		const struct pathprof_binary *binary = &profile->binaries[path->binary];
		const struct pathprof_path_row row = {
			.start = path->start,
			.length = path->length,
			.outcomes = path->outcomes,
			.samples = path->samples,
			.weight = path->weight,
			.squares = (double)path->squares,
			.weight_squares = path->weight_squares,
		};
		uint32_t build;

		if (pp_tested_sets_find(alerts->sets, &binary->id, &build))
			r = pp_tested_take_path(alerts, binary->name, build, &row);
	}
	if (r < 0)
		pp_drift_lost(&alerts->common, r, "a window not held against tested sets",
			      strerror(-r));
	pp_tested_end_window(alerts, &profile->totals, profile->end_ns);
}

/* ---------------------------------------------------------------- judging */

static bool is_named(const struct pp_tested_watched *watched, const char *name)
{
	return watched && watched->name && !strcmp(watched->name, name);
}

static struct pp_tested_subject subject_of(const struct pp_tested_alerts *alerts, uint32_t first)
{
	const uint64_t span_ns = alerts->common.config.tested_span_ns;
	struct pp_tested_subject subject = {.name = alerts->watched[first]->name,
					    .begin_ns = alerts->common.end_ns,
					    .build = first};
	double most = -1;

	for (uint32_t i = first; i < alerts->build_cnt; i++) {
		double before = subject.sum.untested;

		if (!is_named(alerts->watched[i], subject.name))
			continue;
		pp_tested_span_sum(&alerts->watched[i]->span, span_ns, alerts->common.end_ns,
				   &subject.sum, &subject.begin_ns);
		if (subject.sum.untested - before <= most)
			continue;
		most = subject.sum.untested - before;
		subject.build = i;
	}
	subject.share = pp_tested_share(&subject.sum);
	return subject;
}

/* Whether it is the first build of its name. */
static bool is_first(const struct pp_tested_alerts *alerts, uint32_t build)
{
	if (!alerts->watched[build] || !alerts->watched[build]->name)
		return false;
	for (uint32_t i = 0; i < build; i++)
		if (is_named(alerts->watched[i], alerts->watched[build]->name))
			return false;
	return true;
}

static void judge(struct pp_tested_alerts *alerts, const struct pp_tested_subject *subject)
{
	const struct pathprof_alert_rule *rule = &alerts->alerts.rules[0].rule;
	struct pathprof_alert_input input = {
		.time_ns = alerts->common.end_ns,
		.samples = subject->sum.samples,
		.value = subject->share.value,
		.value_low = subject->share.low,
	};
	enum pathprof_alert_change change;
	struct pp_drift_alert *alert;
	pp_drift_links links = {NULL};

	pp_drift_link(&alerts->alerts, subject->name, "", links);
	alert = links[0];
	pp_drift_unlink(links);
	if (!alert)
		return;
	alert->changed |= alert->state.phase != PATHPROF_ALERT_QUIET || alert->state.fired_ns;
	change = pathprof_alert_take(&alert->state, rule, &input);
	alert->changed |= alert->state.phase != PATHPROF_ALERT_QUIET;
	if (change == PATHPROF_ALERT_FIRED || change == PATHPROF_ALERT_RESOLVED)
		pp_tested_tell(alerts, alert, change, subject);
}

static void judge_all(struct pp_tested_alerts *alerts)
{
	for (uint32_t i = 0; i < alerts->build_cnt; i++) {
		struct pp_tested_subject subject;

		if (!is_first(alerts, i))
			continue;
		subject = subject_of(alerts, i);
		judge(alerts, &subject);
	}
}

/* A binary that ran no more, or has no set any more, cannot get well by itself. */
static void resolve_stale(struct pp_tested_alerts *alerts)
{
	const int64_t end_ns = alerts->common.end_ns;

	for (uint32_t i = 0; i < alerts->alerts.cnt; i++) {
		struct pp_drift_alert *alert = alerts->alerts.list[i];
		struct pathprof_alert_state *s = &alert->state;
		bool fired = s->phase == PATHPROF_ALERT_FIRING;

		if (s->phase == PATHPROF_ALERT_QUIET ||
		    end_ns - s->seen_ns <= (int64_t)alerts->common.config.tested_span_ns)
			continue;
		s->phase = PATHPROF_ALERT_QUIET;
		s->streak_cnt = 0;
		s->since_ns = s->seen_ns = end_ns;
		alert->changed = true;
		if (!fired)
			continue;
		s->resolved_ns = end_ns;
		pp_tested_tell(alerts, alert, PATHPROF_ALERT_RESOLVED, NULL);
	}
}

/*
 * Begins anew when sets were read, or when windows become of another kind, for kinds are not added
 * up: every window of the span and of this kind, this one included, is compared with the sets.
 */
static bool begin_anew(struct pp_tested_alerts *alerts, enum pathprof_window_kind kind,
		       int64_t end_ns)
{
	if (alerts->kind == PATHPROF_KIND_ANY)
		alerts->kind = kind;
	if (alerts->readings == pp_tested_sets_readings(alerts->sets) && alerts->kind == kind)
		return false;
	alerts->kind = kind;
	pp_tested_end_restore(alerts);
	pp_tested_forget(alerts);
	alerts->watched =
		calloc(pp_tested_sets_build_cnt(alerts->sets) + 1ul, sizeof(*alerts->watched));
	if (!alerts->watched) {
		pp_drift_lost(&alerts->common, -ENOMEM, "tested sets not watched", "out of memory");
		return true;
	}
	alerts->readings = pp_tested_sets_readings(alerts->sets);
	alerts->build_cnt = pp_tested_sets_build_cnt(alerts->sets);
	if (alerts->build_cnt)
		pp_tested_restore(alerts, end_ns);
	return true;
}

void pp_tested_alerts_window(struct pp_tested_alerts *alerts,
			     const struct pathprof_profile *profile)
{
	const enum pathprof_window_kind kind =
		pathprof_window_kind(profile->basis, profile->horizon, profile->weighed);

	if (!alerts)
		return;
	alerts->common.end_ns = profile->end_ns;
	if (alerts->sets && !begin_anew(alerts, kind, profile->end_ns))
		take_profile(alerts, profile);
	if (alerts->sets && !alerts->restore)
		judge_all(alerts);
	if (!alerts->restore)
		resolve_stale(alerts);
	pp_drift_store_alerts(&alerts->alerts);
	pp_drift_prune_alerts(&alerts->alerts);
}

/* ---------------------------------------------------------------- figures */

static void show(const struct pp_tested_alerts *alerts, const char *name, const char *help,
		 size_t offset, FILE *to)
{
	pp_metrics_head(to, name, "gauge", help);
	for (uint32_t i = 0; i < alerts->build_cnt; i++) {
		struct pp_tested_subject subject;
		double value;

		if (!is_first(alerts, i))
			continue;
		subject = subject_of(alerts, i);
		memcpy(&value, (const char *)&subject.share + offset, sizeof(value));
		if (!isnan(value))
			pp_metrics_sample(to, name, (const char *[]){"binary", subject.name, NULL},
					  value);
	}
}

void pp_tested_alerts_metrics(const struct pp_tested_alerts *alerts, FILE *to)
{
	if (!alerts || !alerts->sets)
		return;
	show(alerts, "pathprof_untested_share_ratio",
	     "Share of what a binary ran in the span of [Tested] that no test ran.",
	     offsetof(struct pathprof_share, value), to);
	show(alerts, "pathprof_untested_share_low", "Low end of its interval, which alerts.",
	     offsetof(struct pathprof_share, low), to);
	pp_metrics_head(to, "pathprof_untested_firing", "gauge",
			"1 for a binary of which an alert on that share fires.");
	for (uint32_t i = 0; i < alerts->alerts.cnt; i++)
		if (alerts->alerts.list[i]->state.phase == PATHPROF_ALERT_FIRING)
			pp_metrics_sample(
				to, "pathprof_untested_firing",
				(const char *[]){"binary", alerts->alerts.list[i]->binary, NULL},
				1);
	pp_metrics_one(to, "pathprof_untested_failures_total", "counter",
		       "Windows, rows and messages of this that were lost.",
		       (double)alerts->common.lost);
}

/* ---------------------------------------------------------------- life */

/* The rule as [Alert NAME] would have it, so that alerts are linked as those of drift are. */
static void make_rule(struct pp_tested_alerts *alerts)
{
	struct pp_config *config = &alerts->common.config;

	memset(config->alerts, 0, sizeof(config->alerts));
	config->alerts[0] = (struct pp_config_alert){
		.name = PP_CONFIG_RULE_TESTED,
		.enabled = alerts->sets != NULL,
		.metric = PATHPROF_METRIC_UNTESTED,
		.threshold_ppm = config->tested_alert_ppm,
		.hysteresis_ppm = config->tested_alert_ppm / 10,
		.samples_min = SAMPLES_MIN,
		.pooled = 1,
		.windows = WINDOWS_TO_FIRE,
		.resolve_windows = WINDOWS_TO_FIRE,
		.cool_down_ns = COOL_DOWN_NS,
		.binary = "*",
		.container = "*",
		.baseline = "tested",
	};
	pp_drift_make_rules(&alerts->alerts);
}

static int open_all(struct pp_tested_alerts *alerts, struct pathprof_error *error)
{
	const int64_t now_ns = pp_realtime_ns();
	int r;

	if (gethostname(alerts->host, sizeof(alerts->host)) < 0)
		strcpy(alerts->host, "localhost");
	make_rule(alerts);
	if (alerts->common.config.tell_journal && pp_tell_journal_new(&alerts->journal) < 0)
		return pathprof_fail(error, -ENOMEM, "alerts cannot be told to the journal");
	r = pp_drift_read_alerts(&alerts->alerts, error);
	if (r < 0)
		return r;
	pp_drift_move_alerts(&alerts->alerts, -pp_drift_alerts_ahead_ns(&alerts->alerts, now_ns));
	alerts->common.end_ns = now_ns;
	if (alerts->sets)
		begin_anew(alerts, PATHPROF_KIND_ANY, now_ns);
	return 0;
}

int pp_tested_alerts_new(struct pp_tested_alerts **ret_alerts, const struct pp_config *config,
			 const struct pp_tested_sets *sets, struct pathprof_store *store,
			 sd_event *event, struct pathprof_error *error)
{
	struct pp_tested_alerts *alerts = calloc(1, sizeof(*alerts));
	int r;

	if (!alerts)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	alerts->common.config = *config;
	alerts->common.store = store;
	alerts->alerts.common = &alerts->common;
	alerts->alerts.of_tests = true;
	alerts->sets = config->tested_alert_ppm ? sets : NULL;
	alerts->event = sd_event_ref(event);
	r = open_all(alerts, error);
	if (r < 0)
		pp_tested_alerts_free(alerts);
	else
		*ret_alerts = alerts;
	return r;
}

void pp_tested_alerts_free(struct pp_tested_alerts *alerts)
{
	if (!alerts)
		return;
	pp_tested_end_restore(alerts);
	pp_tested_forget(alerts);
	pp_drift_free_alerts(&alerts->alerts);
	if (alerts->journal)
		alerts->journal->ops->free(alerts->journal);
	sd_event_unref(alerts->event);
	free(alerts);
}

void pp_tested_alerts_on_news(struct pp_tested_alerts *alerts, pp_drift_news_fn *fn, void *context)
{
	if (!alerts)
		return;
	alerts->alerts.on_news = fn;
	alerts->alerts.news_context = context;
}

void pp_tested_alerts_clock_set(struct pp_tested_alerts *alerts, int64_t by_ns)
{
	if (!alerts)
		return;
	pp_drift_move_alerts(&alerts->alerts, by_ns);
	pp_tested_move_restore(alerts, by_ns);
	for (uint32_t i = 0; i < alerts->build_cnt; i++)
		if (alerts->watched[i])
			pp_tested_span_move(&alerts->watched[i]->span,
					    alerts->common.config.tested_span_ns, by_ns);
}
