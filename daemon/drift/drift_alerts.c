// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules, states of alerts and messages for the store: see drift_alerts.h. */
#include "drift_alerts.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vector.h"
#include "pathprof/judge.h"

/* An alert that has been over for longer is forgotten. */
#define FORGET_NS INT64_C(2592000000000000) /* 30 days */

/* ---------------------------------------------------------------- rules */

void pp_drift_make_rules(struct pp_drift_alerts *alerts)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++) {
		const struct pp_config_alert *c = &alerts->common->config.alerts[i];
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

		if (c->name[0] && c->enabled && c->scope == PP_CONFIG_SCOPE_MACHINE &&
		    pathprof_alert_rule_check(&rule.rule) == 0)
			rule.config = c;
		alerts->rules[i] = rule;
	}
}

uint32_t pp_drift_pooled_max(const struct pp_drift_alerts *alerts)
{
	uint32_t most = 1;

	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++)
		if (alerts->rules[i].config && alerts->rules[i].rule.windows_pooled > most)
			most = alerts->rules[i].rule.windows_pooled;
	return most;
}

const struct pathprof_alert_rule *pp_drift_rule_of(const struct pp_drift_alerts *alerts,
						   const struct pp_drift_alert *alert)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++)
		if (alerts->rules[i].config && !strcmp(alerts->rules[i].config->name, alert->rule))
			return &alerts->rules[i].rule;
	return NULL;
}

static bool matches(const struct pp_config_alert *c, const char *binary, const char *container)
{
	const char *slash = strrchr(binary, '/');

	if (fnmatch(c->container, container, 0) != 0)
		return false;
	return fnmatch(c->binary, binary, 0) == 0 ||
	       (slash && fnmatch(c->binary, slash + 1, 0) == 0);
}

bool pp_drift_alarmed(const struct pp_drift_alerts *alerts, pp_drift_links links)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++) {
		const struct pp_drift_alert *alert = links[i];

		if (alerts->rules[i].config && alert &&
		    !strcmp(alerts->rules[i].config->baseline, PATHPROF_BASELINE_ROLLING) &&
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

/* Whether the message that was told last says that the alert fires, and of which build. */
static void read_told(struct pp_drift_alert *alert)
{
	json_t *json = alert->json ? json_loads(alert->json, 0, NULL) : NULL;
	const char *status = json_string_value(json_object_get(json, "status"));
	const char *build_id = json_string_value(json_object_get(json, "build_id"));

	alert->told = status && !strcmp(status, "firing");
	snprintf(alert->build_id, sizeof(alert->build_id), "%s", build_id ? build_id : "");
	json_decref(json);
}

static bool fill_alert(struct pp_drift_alert *alert, const struct pathprof_alert_row *row)
{
	const bool is_told = row->json && row->json[0];

	alert->rule = strdup(row->rule);
	alert->binary = strdup(row->binary);
	alert->container = strdup(row->container);
	alert->baseline = strdup(row->baseline);
	alert->json = is_told ? strdup(row->json) : NULL;
	read_told(alert);
	alert->state = row->state;
	return alert->rule && alert->binary && alert->container && alert->baseline &&
	       (alert->json || !is_told);
}

/* NULL, logged and counted, if there is no memory: the alert is not watched then. */
static struct pp_drift_alert *add_alert(struct pp_drift_alerts *alerts,
					const struct pathprof_alert_row *row)
{
	struct pp_drift_alert *alert = calloc(1, sizeof(*alert));

	if (alert && fill_alert(alert, row) && pp_resize(&alerts->list, alerts->cnt + 1ul) == 0) {
		alerts->list[alerts->cnt++] = alert;
		return alert;
	}
	if (alert)
		free_alert(alert);
	pp_drift_lost(alerts->common, -ENOMEM, "the state of an alert cannot be kept",
		      "out of memory");
	return NULL;
}

static struct pp_drift_alert *find_alert(const struct pp_drift_alerts *alerts, const char *rule,
					 const char *binary, const char *container)
{
	for (uint32_t i = 0; i < alerts->cnt; i++) {
		struct pp_drift_alert *alert = alerts->list[i];

		if (!strcmp(alert->binary, binary) && !strcmp(alert->rule, rule) &&
		    !strcmp(alert->container, container))
			return alert;
	}
	return NULL;
}

struct pp_drift_alert *pp_drift_next_of_cause(const struct pp_drift_alerts *alerts,
					      const struct pp_drift_alert *of,
					      const struct pp_drift_alert *after)
{
	bool is_behind = !after;

	for (uint32_t i = 0; i < alerts->cnt; i++) {
		struct pp_drift_alert *alert = alerts->list[i];

		if (is_behind && !strcmp(alert->binary, of->binary) &&
		    !strcmp(alert->container, of->container) &&
		    !strcmp(alert->baseline, of->baseline))
			return alert;
		is_behind |= alert == after;
	}
	return NULL;
}

struct pp_drift_alert *pp_drift_find_told(const struct pp_drift_alerts *alerts,
					  const struct pp_drift_alert *of)
{
	struct pp_drift_alert *alert = NULL;

	while ((alert = pp_drift_next_of_cause(alerts, of, alert)))
		if (alert->told)
			return alert;
	return NULL;
}

void pp_drift_unlink(pp_drift_links links)
{
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++) {
		if (links[i])
			links[i]->linked_cnt--;
		links[i] = NULL;
	}
}

/* If the rule's baseline was changed since the alert was made, messages name the new one. */
static void follow_baseline(const struct pp_drift_alerts *alerts, struct pp_drift_alert *alert,
			    const char *baseline)
{
	char *copy;

	if (!strcmp(alert->baseline, baseline))
		return;
	copy = strdup(baseline);
	if (!copy) {
		pp_drift_lost(alerts->common, -ENOMEM, "an alert names the baseline it had before",
			      "out of memory");
		return;
	}
	free(alert->baseline);
	alert->baseline = copy;
	alert->changed = true;
}

void pp_drift_link(struct pp_drift_alerts *alerts, const char *binary, const char *container,
		   pp_drift_links links)
{
	pp_drift_unlink(links);
	for (int i = 0; i < PP_CONFIG_ALERT_MAX; i++) {
		const struct pp_config_alert *c = alerts->rules[i].config;
		struct pathprof_alert_row row = {.binary = binary, .container = container};

		if (!c || !matches(c, binary, container))
			continue;
		row.rule = c->name;
		row.baseline = c->baseline;
		links[i] = find_alert(alerts, c->name, binary, container);
		if (!links[i])
			links[i] = add_alert(alerts, &row);
		if (!links[i])
			continue;
		links[i]->linked_cnt++;
		follow_baseline(alerts, links[i], c->baseline);
	}
}

void pp_drift_prune_alerts(struct pp_drift_alerts *alerts)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < alerts->cnt; i++) {
		struct pp_drift_alert *alert = alerts->list[i];
		const struct pathprof_alert_state *s = &alert->state;

		if (s->phase == PATHPROF_ALERT_QUIET && !s->fired_ns && !alert->changed &&
		    !alert->linked_cnt)
			free_alert(alert);
		else
			alerts->list[kept++] = alert;
	}
	alerts->cnt = kept;
}

/* ---------------------------------------------------------------- messages
 *
 * A message is kept until the transaction that writes the state of its alert writes it, too. While
 * the store cannot be written messages wait, up to PP_DRIFT_UNSTORED_MAX.
 */

static void release_message(struct pathprof_message_row *row)
{
	free((char *)row->rule);
	free((char *)row->binary);
	free((char *)row->container);
	free((char *)row->baseline);
	free((char *)row->metric);
	free((char *)row->summary);
	free((char *)row->json);
}

static struct pathprof_message_row copy_message(const struct pp_tell_message *message)
{
	return (struct pathprof_message_row){
		.time_ns = pp_realtime_ns(),
		.fired = message->change == PATHPROF_ALERT_FIRED,
		.rule = strdup(message->rule),
		.binary = strdup(message->binary),
		.container = strdup(message->container),
		.baseline = strdup(message->baseline),
		.metric = strdup(message->metric),
		.value = message->value,
		.threshold = message->threshold,
		.begin_ns = message->begin_ns,
		.end_ns = message->end_ns,
		.summary = strdup(message->summary),
		.json = strdup(message->json),
	};
}

static int keep_message(struct pp_drift_alerts *alerts, const struct pp_tell_message *message)
{
	struct pathprof_message_row *row;

	if (alerts->unstored_cnt == PP_DRIFT_UNSTORED_MAX)
		return -ENOBUFS;
	if (pp_resize(&alerts->unstored, alerts->unstored_cnt + 1ul) < 0)
		return -ENOMEM;
	row = &alerts->unstored[alerts->unstored_cnt];
	*row = copy_message(message);
	if (!row->rule || !row->binary || !row->container || !row->baseline || !row->metric ||
	    !row->summary || !row->json) {
		release_message(row);
		return -ENOMEM;
	}
	alerts->unstored_cnt++;
	return 0;
}

void pp_drift_hand_on(struct pp_drift_alerts *alerts, struct pp_tell *journal,
		      const struct pp_tell_message *message)
{
	int r;

	/* the journal counts what it drops */
	if (journal)
		journal->ops->tell(journal, message);
	r = keep_message(alerts, message);
	if (r < 0)
		pp_drift_lost(alerts->common, r, "alert not told", strerror(-r));
}

static void forget_messages(struct pp_drift_alerts *alerts)
{
	for (uint32_t i = 0; i < alerts->unstored_cnt; i++)
		release_message(&alerts->unstored[i]);
	free(alerts->unstored);
	alerts->unstored = NULL;
	alerts->unstored_cnt = 0;
}

/* ---------------------------------------------------------------- in the store */

static int take_alert(void *context, const struct pathprof_alert_row *row)
{
	struct pp_drift_alerts *alerts = context;

	if (alerts->of_tests == !strcmp(row->rule, PP_CONFIG_RULE_TESTED))
		add_alert(alerts, row);
	return 0;
}

int pp_drift_read_alerts(struct pp_drift_alerts *alerts, struct pathprof_error *error)
{
	return pathprof_store_alerts(alerts->common->store, take_alert, alerts, error);
}

static bool is_over(const struct pp_drift_alert *alert)
{
	const struct pathprof_alert_state *s = &alert->state;

	return s->phase == PATHPROF_ALERT_QUIET && s->fired_ns && s->resolved_ns > 0;
}

static int by_time_over(const void *x, const void *y)
{
	const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return (a > b) - (a < b);
}

/*
 * Alerts that were over by this time are forgotten: those of 30 days ago, and the oldest of more
 * than there is room for, since names of containers may be new in each window.
 */
static int64_t time_to_forget(const struct pp_drift_alerts *alerts, int64_t now_ns)
{
	int64_t *over = malloc((alerts->cnt + 1ul) * sizeof(*over)), time_ns = now_ns - FORGET_NS;
	size_t cnt = 0;

	for (uint32_t i = 0; over && i < alerts->cnt; i++)
		if (is_over(alerts->list[i]))
			over[cnt++] = alerts->list[i]->state.resolved_ns;
	if (cnt > PP_DRIFT_OVER_MAX) {
		qsort(over, cnt, sizeof(*over), by_time_over);
		if (over[cnt - PP_DRIFT_OVER_MAX - 1] > time_ns)
			time_ns = over[cnt - PP_DRIFT_OVER_MAX - 1];
	}
	free(over);
	return time_ns;
}

static void forget_old(const struct pp_drift_alerts *alerts)
{
	int64_t time_ns = time_to_forget(alerts, alerts->common->end_ns);

	for (uint32_t i = 0; i < alerts->cnt; i++) {
		struct pp_drift_alert *alert = alerts->list[i];
		struct pathprof_alert_state *s = &alert->state;

		if (!is_over(alert) || s->resolved_ns > time_ns)
			continue;
		*s = (struct pathprof_alert_state){.seen_ns = s->seen_ns};
		alert->changed = true;
	}
}

void pp_drift_store_alerts(struct pp_drift_alerts *alerts)
{
	struct pathprof_alert_row *rows = calloc(alerts->cnt + 1, sizeof(*rows));
	struct pathprof_error error = {""};
	size_t cnt = 0;
	int r;

	if (!rows) {
		pp_drift_lost(alerts->common, -ENOMEM, "alerts' states not written",
			      "out of memory");
		return;
	}
	forget_old(alerts);
	for (uint32_t i = 0; i < alerts->cnt; i++) {
		const struct pp_drift_alert *alert = alerts->list[i];

		if (alert->changed && !alert->waiting)
			rows[cnt++] = (struct pathprof_alert_row){
				alert->rule,     alert->binary, alert->container,
				alert->baseline, alert->state,  alert->json ? alert->json : ""};
	}
	r = cnt || alerts->unstored_cnt
		    ? pathprof_store_set_alerts(alerts->common->store, rows, cnt, alerts->unstored,
						alerts->unstored_cnt, &error)
		    : 0;
	free(rows);
	if (r < 0) {
		pp_drift_lost(alerts->common, r, "alerts' states not written", error.text);
		return;
	}
	for (uint32_t i = 0; i < alerts->cnt; i++)
		alerts->list[i]->changed &= alerts->list[i]->waiting;
	if (alerts->unstored_cnt && alerts->on_news)
		alerts->on_news(alerts->news_context);
	forget_messages(alerts);
}

void pp_drift_free_alerts(struct pp_drift_alerts *alerts)
{
	forget_messages(alerts);
	for (uint32_t i = 0; i < alerts->cnt; i++)
		free_alert(alerts->list[i]);
	free(alerts->list);
	alerts->list = NULL;
	alerts->cnt = 0;
}
