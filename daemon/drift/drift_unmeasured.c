// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Alerts that no measurement resolves, after each window:
 *
 *     stale  one that was not measured for as long as the rolling baseline reaches back
 *     gone   one on the previous build, when for as many windows in a row as the rule wants to
 *            resolve others ran in the place of the build that it fired for: after a rollback the
 *            old build runs, which has no build before it and is measured by nothing
 *
 * A window that has neither that build nor another says nothing; a window that has both speaks for
 * the alert. Which build it fired for stands in what was told, so a start knows it, too.
 *
 * Workload: a window at a time; some hundred alerts, nearly all quiet. One owner, the event loop.
 */
#include "drift_state.h"

#include <string.h>

static bool has_window(const struct pp_drift *drift, const struct pp_drift_subject *subject)
{
	return subject->seen_ns == drift->common.end_ns;
}

static bool is_of(const struct pp_drift_subject *subject, const struct pp_drift_alert *alert)
{
	return !strcmp(subject->name, alert->binary) &&
	       !strcmp(subject->container, alert->container);
}

static void resolve(struct pp_drift *drift, const struct pp_drift_news *news)
{
	struct pathprof_alert_state *s = &news->alert->state;
	bool fired = s->phase == PATHPROF_ALERT_FIRING;

	s->phase = PATHPROF_ALERT_QUIET;
	s->streak_cnt = 0;
	s->since_ns = s->seen_ns = drift->common.end_ns;
	news->alert->changed = true;
	if (!fired)
		return;
	s->resolved_ns = drift->common.end_ns;
	pp_drift_tell(&drift->telling, news);
}

/* ---------------------------------------------------------------- stale */

static bool is_stale(const struct pp_drift *drift, const struct pp_drift_alert *alert)
{
	return drift->common.end_ns - alert->state.seen_ns >
	       (int64_t)drift->common.config.rolling_ns;
}

/* ---------------------------------------------------------------- gone */

/* Whether the newest window has other builds in the place of this one, or this one. */
static void look(const struct pp_drift *drift, const struct pp_drift_alert *alert,
		 const char *build_id, bool *ret_has_others, bool *ret_has_build)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	*ret_has_others = *ret_has_build = false;
	for (uint32_t i = 0; i < drift->subjects.cnt; i++) {
		const struct pp_drift_subject *subject = drift->subjects.list[i];

		if (!has_window(drift, subject) || !is_of(subject, alert))
			continue;
		if (!strcmp(pathprof_build_id_text(&subject->id, id), build_id))
			*ret_has_build = true;
		else
			*ret_has_others = true;
	}
}

static bool is_gone(const struct pp_drift *drift, struct pp_drift_alert *alert)
{
	const struct pathprof_alert_rule *rule = pp_drift_rule_of(&drift->alerts, alert);
	const struct pp_drift_alert *told = pp_drift_find_told(&drift->alerts, alert);
	bool has_others, has_build;

	if (alert->state.phase != PATHPROF_ALERT_FIRING ||
	    strcmp(alert->baseline, PATHPROF_BASELINE_PREVIOUS) != 0 || !rule || !told ||
	    !told->build_id[0]) {
		alert->gone_cnt = 0;
		return false;
	}
	look(drift, alert, told->build_id, &has_others, &has_build);
	if (has_build)
		alert->gone_cnt = 0;
	else
		alert->gone_cnt += has_others;
	return alert->gone_cnt >= rule->windows_to_resolve;
}

/* ---------------------------------------------------------------- both */

void pp_drift_resolve_unmeasured(struct pp_drift *drift)
{
	for (uint32_t i = 0; i < drift->alerts.cnt; i++) {
		struct pp_drift_news news = {.change = PATHPROF_ALERT_RESOLVED,
					     .alert = drift->alerts.list[i]};

		if (news.alert->state.phase == PATHPROF_ALERT_QUIET) {
			news.alert->gone_cnt = 0;
			continue;
		}
		news.is_build_gone = is_gone(drift, news.alert);
		if (news.is_build_gone || is_stale(drift, news.alert))
			resolve(drift, &news);
	}
}
