// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules out of the settings, and the states of their alerts: in memory, and kept in the store. */
#include "drift_state.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* An alert that was over so long ago is forgotten. */
#define FORGET_NS INT64_C(2592000000000000) /* 30 days */

/* ---------------------------------------------------------------- rules */

void pp_drift_make_rules(struct pp_drift *drift)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++) {
		const struct pp_config_alert *c = &drift->config.alerts[i];
		struct pp_drift_rule rule = {
			.rule.metric = (enum pathprof_metric)c->metric,
			.rule.threshold = (double)c->threshold_ppm / 1e6,
			.rule.hysteresis = (double)c->hysteresis_ppm / 1e6,
			.rule.samples_min = (double)c->samples_min,
			.rule.windows_pooled = (uint32_t)c->pooled,
			.rule.windows_to_fire = (uint32_t)c->windows,
			.rule.windows_to_resolve = (uint32_t)c->resolve_windows,
			.rule.cool_down_ns = (int64_t)c->cool_down_ns,
		};

		if (c->name[0] && c->enabled && pathprof_alert_rule_check(&rule.rule) == 0)
			rule.config = c;
		drift->rules[i] = rule;
	}
}

uint32_t pp_drift_pooled_max(const struct pp_drift *drift)
{
	uint32_t most = 1;

	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++)
		if (drift->rules[i].config && drift->rules[i].rule.windows_pooled > most)
			most = drift->rules[i].rule.windows_pooled;
	return most;
}

static bool matches(const struct pp_config_alert *c, const struct pp_drift_subject *subject)
{
	const char *slash = strrchr(subject->name, '/');

	if (fnmatch(c->container, subject->container, 0) != 0)
		return false;
	return fnmatch(c->binary, subject->name, 0) == 0 ||
	       (slash && fnmatch(c->binary, slash + 1, 0) == 0);
}

bool pp_drift_alarmed(const struct pp_drift *drift, const struct pp_drift_subject *subject)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++) {
		const struct pp_drift_alert *alert = subject->alerts[i];

		if (drift->rules[i].config && alert &&
		    !strcmp(drift->rules[i].config->baseline, PATHPROF_BASELINE_ROLLING) &&
		    alert->state.phase != PATHPROF_ALERT_QUIET)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- alerts */

static void free_alert(struct pp_drift_alert *alert)
{
	free(alert->rule);
	free(alert->binary);
	free(alert->container);
	free(alert->baseline);
	free(alert->json);
	free(alert);
}

static struct pp_drift_alert *add_alert(struct pp_drift *drift,
					const struct pathprof_alert_row *row)
{
	struct pp_drift_alert **alerts =
		realloc(drift->alerts, (drift->alert_cnt + 1) * sizeof(*alerts));
	struct pp_drift_alert *alert = calloc(1, sizeof(*alert));

	if (alerts)
		drift->alerts = alerts;
	if (!alerts || !alert) {
		free(alert);
		return NULL;
	}
	alert->rule = strdup(row->rule);
	alert->binary = strdup(row->binary);
	alert->container = strdup(row->container);
	alert->baseline = strdup(row->baseline);
	alert->json = row->json && row->json[0] ? strdup(row->json) : NULL;
	alert->state = row->state;
	if (!alert->rule || !alert->binary || !alert->container || !alert->baseline) {
		free_alert(alert);
		return NULL;
	}
	drift->alerts[drift->alert_cnt++] = alert;
	return alert;
}

static struct pp_drift_alert *find_alert(const struct pp_drift *drift, const char *rule,
					 const struct pp_drift_subject *subject)
{
	for (uint32_t i = 0; i < drift->alert_cnt; i++) {
		struct pp_drift_alert *alert = drift->alerts[i];

		if (!strcmp(alert->binary, subject->name) && !strcmp(alert->rule, rule) &&
		    !strcmp(alert->container, subject->container))
			return alert;
	}
	return NULL;
}

void pp_drift_link(struct pp_drift *drift, struct pp_drift_subject *subject)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++) {
		const struct pp_config_alert *c = drift->rules[i].config;
		struct pathprof_alert_row row = {.binary = subject->name,
						 .container = subject->container};

		subject->alerts[i] = NULL;
		if (!c || !matches(c, subject))
			continue;
		row.rule = c->name;
		row.baseline = c->baseline;
		subject->alerts[i] = find_alert(drift, c->name, subject);
		if (!subject->alerts[i])
			subject->alerts[i] = add_alert(drift, &row);
	}
}

static bool is_linked(const struct pp_drift *drift, const struct pp_drift_alert *alert)
{
	for (uint32_t i = 0; i < drift->subject_cnt; i++)
		for (int k = 0; k < PP_CONFIG_ALERT_MAX; k++)
			if (drift->subjects[i]->alerts[k] == alert)
				return true;
	return false;
}

void pp_drift_prune_alerts(struct pp_drift *drift)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < drift->alert_cnt; i++) {
		struct pp_drift_alert *alert = drift->alerts[i];
		const struct pathprof_alert_state *s = &alert->state;

		if (s->phase == PATHPROF_ALERT_QUIET && !s->fired_ns && !alert->changed &&
		    !is_linked(drift, alert))
			free_alert(alert);
		else
			drift->alerts[kept++] = alert;
	}
	drift->alert_cnt = kept;
}

void pp_drift_free_alerts(struct pp_drift *drift)
{
	for (uint32_t i = 0; i < drift->alert_cnt; i++)
		free_alert(drift->alerts[i]);
	free(drift->alerts);
	drift->alerts = NULL;
	drift->alert_cnt = 0;
}

/* ---------------------------------------------------------------- in the store */

static int take_alert(void *context, const struct pathprof_alert_row *row)
{
	add_alert(context, row);
	return 0;
}

int pp_drift_read_alerts(struct pp_drift *drift, struct pathprof_error *error)
{
	return pathprof_store_alerts(drift->store, take_alert, drift, error);
}

static void forget_old(struct pp_drift *drift, struct pp_drift_alert *alert)
{
	struct pathprof_alert_state *s = &alert->state;

	if (s->phase != PATHPROF_ALERT_QUIET || !s->fired_ns || s->resolved_ns <= 0 ||
	    drift->end_ns - s->resolved_ns < FORGET_NS)
		return;
	*s = (struct pathprof_alert_state){.seen_ns = s->seen_ns};
	alert->changed = true;
}

void pp_drift_store_alerts(struct pp_drift *drift)
{
	struct pathprof_alert_row *rows = calloc(drift->alert_cnt + 1, sizeof(*rows));
	struct pathprof_error error = {""};
	size_t cnt = 0;
	int r;

	if (!rows)
		return;
	for (uint32_t i = 0; i < drift->alert_cnt; i++) {
		struct pp_drift_alert *alert = drift->alerts[i];

		forget_old(drift, alert);
		if (alert->changed && !alert->waiting)
			rows[cnt++] = (struct pathprof_alert_row){
				alert->rule,     alert->binary, alert->container,
				alert->baseline, alert->state,  alert->json ? alert->json : ""};
	}
	r = cnt || drift->unstored_cnt
		    ? pathprof_store_set_alerts(drift->store, rows, cnt, drift->unstored,
						drift->unstored_cnt, &error)
		    : 0;
	free(rows);
	if (r < 0) {
		pp_drift_lost(drift, r, "alerts' states not written", error.text);
		return;
	}
	for (uint32_t i = 0; i < drift->alert_cnt; i++)
		drift->alerts[i]->changed &= drift->alerts[i]->waiting;
	if (drift->unstored_cnt && drift->on_news)
		drift->on_news(drift->news_context);
	pp_drift_forget_messages(drift);
}
