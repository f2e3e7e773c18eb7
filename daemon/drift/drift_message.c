// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is told of an alert: one JSON object, and one line for people, with the paths that moved
 * most.
 *
 * Workload: a few an hour.
 */
#include "drift_telling.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SUMMARY_BYTES 600

/* ---------------------------------------------------------------- JSON */

static json_t *text_or_null(const char *text)
{
	json_t *string = text ? json_string(text) : NULL;

	/* names out of a binary need not be UTF-8 */
	return string ? string : json_null();
}

static json_t *time_json(int64_t time_ns)
{
	char text[40], full[64];
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm tm;

	if (time_ns <= 0 || !gmtime_r(&seconds, &tm))
		return json_null();
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(full, sizeof(full), "%s.%03dZ", text, (int)(time_ns / 1000000 % 1000));
	return json_string(full);
}

static json_t *paths_json(const struct pp_drift_draft *draft)
{
	json_t *paths = json_array();

	for (size_t i = 0; i < draft->moved_cnt; i++) {
		const struct pp_drift_moved *m = &draft->moved[i];
		json_t *path = json_object();

		json_object_set_new(path, "path_id",
				    m->path_id ? json_integer(m->path_id) : json_null());
		json_object_set_new(path, "function", text_or_null(m->function));
		json_object_set_new(path, "source", text_or_null(m->source));
		json_object_set_new(path, "share", json_real(m->term.p));
		json_object_set_new(path, "baseline_share", json_real(m->term.q));
		json_object_set_new(path, "bits", json_real(m->term.bits));
		json_array_append_new(paths, path);
	}
	return paths;
}

static bool is_over(const struct pp_drift_draft *draft)
{
	return draft->state.phase == PATHPROF_ALERT_FIRING;
}

static void add_figures(const struct pp_drift_draft *draft, json_t *json)
{
	const struct pathprof_drift *d = draft->has_drift ? &draft->drift : NULL;
	bool kl = draft->has_rule && draft->rule.metric == PATHPROF_METRIC_KL_CORRECTED;

	json_object_set_new(json, "value", json_real(draft->state.value));
	json_object_set_new(json, "low", d && kl ? json_real(d->kl_low_bits) : json_null());
	json_object_set_new(json, "high", d && kl ? json_real(d->kl_high_bits) : json_null());
	json_object_set_new(json, "threshold",
			    draft->has_rule ? json_real(draft->rule.threshold) : json_null());
	json_object_set_new(json, "samples", d ? json_real(d->window_samples) : json_null());
	json_object_set_new(json, "matched", d ? json_real(draft->matched) : json_null());
}

static const char *metric_of(const struct pp_drift_draft *draft)
{
	return draft->has_rule ? pathprof_metric_name(draft->rule.metric) : "";
}

static char *make_json(const struct pp_drift_telling *telling, const struct pp_drift_draft *draft)
{
	const struct pp_drift_alert *alert = draft->alert;
	char id[PATHPROF_BUILD_ID_TEXT_LEN] = "";
	json_t *json = json_object();
	char *text;

	if (draft->id.kind != PATHPROF_ID_NONE)
		pathprof_build_id_text(&draft->id, id);
	json_object_set_new(json, "version", json_integer(1));
	json_object_set_new(json, "status", json_string(is_over(draft) ? "firing" : "resolved"));
	json_object_set_new(json, "rule", text_or_null(alert->rule));
	json_object_set_new(json, "metric", json_string(metric_of(draft)));
	add_figures(draft, json);
	json_object_set_new(json, "binary", text_or_null(alert->binary));
	json_object_set_new(json, "build_id", id[0] ? json_string(id) : json_null());
	json_object_set_new(json, "container", text_or_null(alert->container));
	json_object_set_new(json, "host", text_or_null(telling->host));
	json_object_set_new(json, "baseline", text_or_null(alert->baseline));
	json_object_set_new(json, "starts_at", time_json(draft->state.fired_ns));
	json_object_set_new(json, "ends_at",
			    is_over(draft) ? json_null() : time_json(draft->state.resolved_ns));
	json_object_set_new(json, "paths", paths_json(draft));
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

/* ---------------------------------------------------------------- the line for people */

static size_t add_functions(const struct pp_drift_draft *draft, char *text, size_t len, size_t size)
{
	const char *before = "; most in ";

	for (size_t i = 0; i < draft->moved_cnt && len < size; i++) {
		const char *name = draft->moved[i].function;
		bool told = !name;

		for (size_t k = 0; k < i && !told; k++)
			told = draft->moved[k].function && !strcmp(draft->moved[k].function, name);
		if (told)
			continue;
		len += (size_t)snprintf(text + len, size - len, "%s%.80s", before, name);
		before = ", ";
	}
	return len;
}

/* What was measured, and over how much of it. */
static void add_measure(const struct pp_drift_draft *draft, char *text, size_t len, size_t size)
{
	len += (size_t)snprintf(
		text + len, size - len, ": %s %.4g, %s %.4g (%s, %.0f samples", metric_of(draft),
		draft->state.value,
		pathprof_metric_fires_below(draft->rule.metric) ? "wanted at least" : "allowed",
		draft->rule.threshold, draft->alert->rule, draft->drift.window_samples);
	if (draft->matched < 1 && len < size)
		len += (size_t)snprintf(text + len, size - len, ", %.0f %% of it matched",
					100 * draft->matched);
	if (len < size)
		len += (size_t)snprintf(text + len, size - len, ")");
	if (len < size)
		add_functions(draft, text, len, size);
}

static void make_summary(const struct pp_drift_draft *draft, char *text, size_t size)
{
	const struct pp_drift_alert *alert = draft->alert;
	const char *in = alert->container[0] ? " in " : "";
	bool over = is_over(draft), whole = over && draft->has_drift && draft->has_rule;
	int len = snprintf(text, size, "%s%s%s: runs %s baseline %s%s", alert->binary, in,
			   alert->container, over ? "otherwise than" : "as in", alert->baseline,
			   over ? "" : " again");

	if (len < 0 || (size_t)len >= size)
		return;
	if (whole)
		add_measure(draft, text, (size_t)len, size);
	else
		snprintf(text + len, size - (size_t)len, " (%s)", alert->rule);
}

/* ---------------------------------------------------------------- telling */

/* To the journal at once; to others by the store, with the state that it comes of. */
static void hand_on(struct pp_drift_telling *telling, const struct pp_tell_message *message)
{
	int r;

	/* it counts what it drops */
	if (telling->journal)
		telling->journal->ops->tell(telling->journal, message);
	r = pp_drift_keep_message(telling->alerts, message);
	if (r < 0)
		pp_drift_lost(telling->common, r, "alert not told", strerror(-r));
}

static void free_draft(struct pp_drift_draft *draft)
{
	for (size_t i = 0; i < draft->moved_cnt; i++) {
		free(draft->moved[i].function);
		free(draft->moved[i].source);
	}
	free(draft);
}

void pp_drift_send(struct pp_drift_telling *telling, struct pp_drift_draft *draft)
{
	struct pp_drift_alert *alert = draft->alert;
	char summary[SUMMARY_BYTES];
	char *json;

	make_summary(draft, summary, sizeof(summary));
	json = make_json(telling, draft);
	alert->waiting = false;
	if (!json) {
		pp_drift_lost(telling->common, -ENOMEM, "alert not told", "out of memory");
		free_draft(draft);
		return;
	}
	hand_on(telling, &(struct pp_tell_message){
				 .change = draft->change,
				 .rule = alert->rule,
				 .binary = alert->binary,
				 .container = alert->container,
				 .baseline = alert->baseline,
				 .metric = metric_of(draft),
				 .value = draft->state.value,
				 .threshold = draft->has_rule ? draft->rule.threshold : 0,
				 .begin_ns = draft->state.fired_ns,
				 .end_ns = is_over(draft) ? 0 : draft->state.resolved_ns,
				 .json = json,
				 .summary = summary,
			 });
	free(alert->json);
	alert->json = json;
	alert->changed = true;
	free_draft(draft);
}
