// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is told of an alert: one JSON object, and one line for people, with the paths that moved
 * most.
 *
 * Workload: a few an hour. Events' keys are hashes, so the paths of the binary that the store knows
 * are walked once to find which ones they are; names and source lines are read from the binary's
 * file where it is still the same build.
 */
#include "drift_state.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cleanup.h"
#include "pathprof/code.h"
#include "pathprof/events.h"

#define TERMS_MAX     5
#define SUMMARY_BYTES 600

/* A term, and what it is. */
struct moved {
	struct pathprof_drift_term term;
	int64_t path_id; /* 0: the store does not know it any more */
	uint64_t start;
	char *function; /* NULL: unknown */
	char *source;   /* file:line, NULL: unknown */
};

struct moved_list {
	uint64_t group;
	struct moved moved[TERMS_MAX];
	size_t cnt, found_cnt;
};

/* ---------------------------------------------------------------- what moved */

static int find_path(void *context, const struct pathprof_path_row *row)
{
	struct moved_list *list = context;
	struct pathprof_event event;

	pathprof_event_of_path(&event, list->group, row->start, row->length, row->outcomes, 0);
	for (size_t i = 0; i < list->cnt; i++)
		if (!list->moved[i].path_id && list->moved[i].term.key_lo == event.key_lo) {
			list->moved[i].path_id = row->id;
			list->moved[i].start = row->start;
			list->found_cnt++;
		}
	return list->found_cnt == list->cnt;
}

static void name_place(struct pathprof_code *code, struct moved *moved)
{
	const char *name = NULL, *file = NULL;
	uint64_t start = 0;
	int line = 0;

	if (pathprof_code_function(code, moved->start, &name, &start) == 0 && name)
		moved->function = strdup(name);
	if (pathprof_code_line(code, moved->start, &file, &line) == 0 && file &&
	    asprintf(&moved->source, "%s:%d", file, line) < 0)
		moved->source = NULL;
}

static void name_places(const struct pp_drift_subject *subject, struct moved_list *list)
{
	struct pathprof_code *code = NULL;

	if (subject->name[0] != '/' ||
	    pathprof_code_open(&code, subject->name, &subject->id, NULL) < 0)
		return;
	for (size_t i = 0; i < list->cnt; i++)
		if (list->moved[i].path_id)
			name_place(code, &list->moved[i]);
	pathprof_code_free(code);
}

static void find_moved(struct pp_drift *drift, const struct pp_drift_news *news,
		       struct moved_list *ret_list)
{
	struct pathprof_drift_term terms[TERMS_MAX];
	size_t cnt = 0;

	if (!news->subject || !news->window || news->change != PATHPROF_ALERT_FIRED ||
	    pathprof_drift_terms(terms, TERMS_MAX, &cnt, news->window, news->base, 0) < 0)
		return;
	ret_list->group = news->subject->group;
	for (size_t i = 0; i < cnt; i++)
		ret_list->moved[i].term = terms[i];
	ret_list->cnt = cnt;
	if (cnt)
		pathprof_store_known_paths(drift->store, &news->subject->id, find_path, ret_list,
					   NULL);
	name_places(news->subject, ret_list);
}

static void release_moved(struct moved_list *list)
{
	for (size_t i = 0; i < list->cnt; i++) {
		free(list->moved[i].function);
		free(list->moved[i].source);
	}
}

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

static json_t *paths_json(const struct moved_list *list)
{
	json_t *paths = json_array();

	for (size_t i = 0; i < list->cnt; i++) {
		const struct moved *m = &list->moved[i];
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

static bool is_over(const struct pp_drift_news *news)
{
	return news->alert->state.phase == PATHPROF_ALERT_FIRING;
}

static void add_figures(const struct pp_drift_news *news, json_t *json)
{
	const struct pathprof_drift *d = news->drift;
	bool kl = news->rule && news->rule->metric == PATHPROF_METRIC_KL_CORRECTED;

	json_object_set_new(json, "value", json_real(news->alert->state.value));
	json_object_set_new(json, "low", d && kl ? json_real(d->kl_low_bits) : json_null());
	json_object_set_new(json, "high", d && kl ? json_real(d->kl_high_bits) : json_null());
	json_object_set_new(json, "threshold",
			    news->rule ? json_real(news->rule->threshold) : json_null());
	json_object_set_new(json, "samples", d ? json_real(d->window_samples) : json_null());
}

static const char *metric_of(const struct pp_drift_news *news)
{
	return news->rule ? pathprof_metric_name(news->rule->metric) : "";
}

static char *make_json(const struct pp_drift *drift, const struct pp_drift_news *news,
		       const struct moved_list *list)
{
	const struct pp_drift_alert *alert = news->alert;
	char id[PATHPROF_BUILD_ID_TEXT_LEN] = "";
	json_t *json = json_object();
	char *text;

	if (news->subject)
		pathprof_build_id_text(&news->subject->id, id);
	json_object_set_new(json, "version", json_integer(1));
	json_object_set_new(json, "status", json_string(is_over(news) ? "firing" : "resolved"));
	json_object_set_new(json, "rule", text_or_null(alert->rule));
	json_object_set_new(json, "metric", json_string(metric_of(news)));
	add_figures(news, json);
	json_object_set_new(json, "binary", text_or_null(alert->binary));
	json_object_set_new(json, "build_id", id[0] ? json_string(id) : json_null());
	json_object_set_new(json, "container", text_or_null(alert->container));
	json_object_set_new(json, "host", text_or_null(drift->host));
	json_object_set_new(json, "baseline", text_or_null(alert->baseline));
	json_object_set_new(json, "starts_at", time_json(alert->state.fired_ns));
	json_object_set_new(json, "ends_at",
			    is_over(news) ? json_null() : time_json(alert->state.resolved_ns));
	json_object_set_new(json, "paths", paths_json(list));
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

/* ---------------------------------------------------------------- the line for people */

static void add_functions(const struct moved_list *list, char *text, size_t size)
{
	size_t len = strlen(text);
	const char *before = "; most in ";

	for (size_t i = 0; i < list->cnt && len < size; i++) {
		const char *name = list->moved[i].function;
		bool told = !name;

		for (size_t k = 0; k < i && !told; k++)
			told = list->moved[k].function && !strcmp(list->moved[k].function, name);
		if (told)
			continue;
		len += (size_t)snprintf(text + len, size - len, "%s%.80s", before, name);
		before = ", ";
	}
}

static void make_summary(const struct pp_drift_news *news, const struct moved_list *list,
			 char *text, size_t size)
{
	const struct pp_drift_alert *alert = news->alert;
	const struct pathprof_drift *d = news->drift;
	const char *in = alert->container[0] ? " in " : "";

	if (!is_over(news)) {
		snprintf(text, size, "%s%s%s: runs as in baseline %s again (%s)", alert->binary, in,
			 alert->container, alert->baseline, alert->rule);
		return;
	}
	if (!d || !news->rule) {
		snprintf(text, size, "%s%s%s: runs otherwise than baseline %s (%s)", alert->binary,
			 in, alert->container, alert->baseline, alert->rule);
		return;
	}
	snprintf(text, size,
		 "%s%s%s: runs otherwise than baseline %s: %s %.4g, %s %.4g (%s, %.0f "
		 "samples)",
		 alert->binary, in, alert->container, alert->baseline, metric_of(news),
		 alert->state.value,
		 pathprof_metric_fires_below(news->rule->metric) ? "wanted at least" : "allowed",
		 news->rule->threshold, alert->rule, d->window_samples);
	add_functions(list, text, size);
}

/* ---------------------------------------------------------------- telling */

static void hand_on(struct pp_drift *drift, const struct pp_tell_message *message)
{
	/* a sink counts what it drops */
	for (uint32_t i = 0; i < drift->sink_cnt; i++)
		drift->sinks[i]->ops->tell(drift->sinks[i], message);
}

void pp_drift_tell(struct pp_drift *drift, const struct pp_drift_news *news)
{
	struct pp_drift_alert *alert = news->alert;
	struct moved_list list = {0};
	char summary[SUMMARY_BYTES];
	char *json;

	find_moved(drift, news, &list);
	make_summary(news, &list, summary, sizeof(summary));
	/* what fires since before the start is told in the words of then */
	json = news->change == PATHPROF_ALERT_SAME && alert->json ? strdup(alert->json)
								  : make_json(drift, news, &list);
	release_moved(&list);
	if (!json) {
		pp_drift_lost(drift, -ENOMEM, "alert not told", "out of memory");
		return;
	}
	hand_on(drift, &(struct pp_tell_message){
			       .change = news->change,
			       .rule = alert->rule,
			       .binary = alert->binary,
			       .container = alert->container,
			       .baseline = alert->baseline,
			       .metric = metric_of(news),
			       .value = alert->state.value,
			       .threshold = news->rule ? news->rule->threshold : 0,
			       .begin_ns = alert->state.fired_ns,
			       .end_ns = is_over(news) ? 0 : alert->state.resolved_ns,
			       .json = json,
			       .summary = summary,
		       });
	free(alert->json);
	alert->json = json;
	alert->changed = true;
}
