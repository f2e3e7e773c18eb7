// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The message of an alert on the untested share: one JSON object with the members that those of
 * drift have (daemon/shared/tell.h), and one line for people.
 *
 * Workload: a few a day.
 */
#include "tested_state.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/tell_words.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"

#define BUILD_ID_DIGITS 12
#define MINUTE_NS       INT64_C(60000000000)

/* The message, and the binary that it is about. */
struct telling {
	const struct pp_tested_alerts *alerts;
	const struct pp_drift_alert *alert;
	const struct pp_tested_subject *subject; /* NULL: not measured any more */
	struct pp_tested_build build;            /* where there is a subject */
};

static bool is_firing(const struct telling *t)
{
	return t->alert->state.phase == PATHPROF_ALERT_FIRING;
}

static const char *metric_of(const struct telling *t)
{
	return t->subject ? pathprof_metric_name(PATHPROF_METRIC_UNTESTED) : "";
}

static double threshold_of(const struct telling *t)
{
	return t->subject ? t->alerts->alerts.rules[0].rule.threshold : 0;
}

/* ---------------------------------------------------------------- the command */

/*
 * The set that the command takes; returns what is to be said behind the command. One set of several
 * would call untested what the others tested.
 */
static const char *put_set(const struct telling *t, FILE *to)
{
	const struct pp_config *config = &t->alerts->common.config;

	if (t->build.set_cnt > 1) {
		fputs("ALL", to);
		return ", where ALL is what pathprofctl tested merge makes of the sets";
	}
	if (!pp_tell_is_plain(config->tested) || !pp_tell_is_plain(t->build.set)) {
		fputs("SET", to);
		return ", where SET is the set's file, in quotes";
	}
	fprintf(to, "%s/%s", config->tested, t->build.set);
	return "";
}

static void put_command(const struct telling *t, FILE *to)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN], span[64];
	const char *behind;

	if (!t->subject) {
		fputs("pathprofctl alerts", to);
		pp_tell_put_db(&t->alerts->common.config, to);
		return;
	}
	pp_span_format(t->alerts->common.config.tested_span_ns, span, sizeof(span));
	fputs("pathprofctl untested ", to);
	behind = put_set(t, to);
	fprintf(to, " --since -%s --binary %.*s", span, BUILD_ID_DIGITS,
		pathprof_build_id_text(t->build.id, id));
	pp_tell_put_db(&t->alerts->common.config, to);
	fputs(behind, to);
}

static char *command_of(const struct telling *t)
{
	char *text = NULL;
	size_t len_bytes;
	FILE *to = open_memstream(&text, &len_bytes);

	if (!to)
		return NULL;
	put_command(t, to);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

/* ---------------------------------------------------------------- JSON */

static void add_figures(const struct telling *t, json_t *json)
{
	const struct pp_tested_subject *s = t->subject;

	json_object_set_new(json, "value", json_real(t->alert->state.value));
	json_object_set_new(json, "low", s ? json_real(s->share.low) : json_null());
	json_object_set_new(json, "high", s ? json_real(s->share.high) : json_null());
	json_object_set_new(json, "threshold", s ? json_real(threshold_of(t)) : json_null());
	json_object_set_new(json, "samples", s ? json_real(s->sum.samples) : json_null());
	json_object_set_new(json, "matched", json_null());
}

static void add_binary(const struct telling *t, json_t *json)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	json_object_set_new(json, "binary", pp_utf8_json(t->alert->binary));
	json_object_set_new(json, "build_id",
			    t->subject ? json_string(pathprof_build_id_text(t->build.id, id))
				       : json_null());
	json_object_set_new(json, "container", json_string(""));
	json_object_set_new(json, "host", pp_utf8_json(t->alerts->host));
	json_object_set_new(json, "baseline", pp_utf8_json(t->alert->baseline));
}

static const char *reason_of(const struct telling *t)
{
	if (is_firing(t))
		return NULL;
	return t->subject ? "as before" : "not measured";
}

static char *make_json(const struct telling *t, const char *command)
{
	const struct pathprof_alert_state *state = &t->alert->state;
	json_t *json = json_object();
	char *text;

	json_object_set_new(json, "version", json_integer(1));
	json_object_set_new(json, "status", json_string(is_firing(t) ? "firing" : "resolved"));
	json_object_set_new(json, "rule", pp_utf8_json(t->alert->rule));
	json_object_set_new(json, "metric", json_string(metric_of(t)));
	add_figures(t, json);
	add_binary(t, json);
	json_object_set_new(json, "starts_at", pp_tell_time_json(state->fired_ns));
	json_object_set_new(json, "ends_at",
			    is_firing(t) ? json_null() : pp_tell_time_json(state->resolved_ns));
	json_object_set_new(json, "reason", pp_utf8_json(reason_of(t)));
	json_object_set_new(json, "paths", json_array());
	json_object_set_new(json, "since",
			    t->subject ? pp_tell_time_json(t->subject->begin_ns) : json_null());
	json_object_set_new(json, "command", pp_utf8_json(command));
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

/* ---------------------------------------------------------------- the line for people */

/* "2.31 % (95 %: 1.9 to 2.8 %) of what it ran in the last 23h are paths that no test ran, limit 1 %
 * (AlertShare=)". */
static void put_figure(const struct telling *t, FILE *to)
{
	const struct pp_tested_subject *s = t->subject;
	int64_t length_ns = t->alerts->common.end_ns - s->begin_ns;
	int64_t span_ns = (int64_t)t->alerts->common.config.tested_span_ns;
	char span[64], share[32];

	length_ns -= length_ns % (length_ns > MINUTE_NS ? MINUTE_NS : (int64_t)PP_NSEC_PER_SEC);
	pp_span_format((uint64_t)(length_ns < span_ns ? length_ns : span_ns), span, sizeof(span));
	pp_percent_format(t->alerts->common.config.tested_alert_ppm, share, sizeof(share));
	fprintf(to,
		"%.3g %% (95 %%: %.3g to %.3g %%) of what it ran in the last %s are paths that no "
		"test ran; limit %s (AlertShare=), tested set \"%s\"",
		100 * s->share.value, 100 * s->share.low, 100 * s->share.high, span, share,
		t->build.set);
	if (t->build.set_cnt > 1)
		fprintf(to, " and %u more", t->build.set_cnt - 1);
	fprintf(to, ", %.0f samples", s->sum.samples);
}

static void put_line(const struct telling *t, const char *command, FILE *to)
{
	char span[64];

	fprintf(to, "%s on %s: ", t->alert->binary, t->alerts->host);
	pp_span_format(t->alerts->common.config.tested_span_ns, span, sizeof(span));
	if (t->subject)
		put_figure(t, to);
	else
		fprintf(to,
			"not held against a tested set for %s: the alert on its untested share is "
			"closed, and nobody knows what it is now",
			span);
	if (is_firing(t))
		fputs("; above it since ", to);
	else
		fputs(t->subject ? "; no longer above it, as it was from " : "; it fired at ", to);
	pp_tell_put_time(t->alert->state.fired_ns, to);
	fprintf(to, "; see %s", command);
}

static char *make_summary(const struct telling *t, const char *command)
{
	char *text = NULL;
	size_t len_bytes;
	FILE *to = open_memstream(&text, &len_bytes);

	if (!to)
		return NULL;
	put_line(t, command, to);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

/* ---------------------------------------------------------------- telling */

/* The set is what it is held against, as a baseline is for drift. */
static void name_set(struct pp_drift_alert *alert, const char *set)
{
	char *copy = strdup(set);

	if (!copy)
		return;
	free(alert->baseline);
	alert->baseline = copy;
}

static void hand_on(struct pp_tested_alerts *alerts, const struct telling *t,
		    enum pathprof_alert_change change, const char *json, const char *summary)
{
	const struct pp_drift_alert *alert = t->alert;

	pp_drift_hand_on(&alerts->alerts, alerts->journal,
			 &(struct pp_tell_message){
				 .change = change,
				 .rule = alert->rule,
				 .binary = alert->binary,
				 .container = alert->container,
				 .baseline = alert->baseline,
				 .metric = metric_of(t),
				 .value = alert->state.value,
				 .threshold = threshold_of(t),
				 .begin_ns = alert->state.fired_ns,
				 .end_ns = is_firing(t) ? 0 : alert->state.resolved_ns,
				 .json = json,
				 .summary = summary,
			 });
}

void pp_tested_tell(struct pp_tested_alerts *alerts, struct pp_drift_alert *alert,
		    enum pathprof_alert_change change, const struct pp_tested_subject *subject)
{
	struct telling t = {.alerts = alerts, .alert = alert, .subject = subject};
	_cleanup_free_ char *command = NULL, *summary = NULL;
	char *json;

	if (subject) {
		t.build = pp_tested_sets_build(alerts->sets, subject->build);
		name_set(alert, t.build.set);
	}
	command = command_of(&t);
	summary = command ? make_summary(&t, command) : NULL;
	json = command ? make_json(&t, command) : NULL;
	if (!json || !summary) {
		free(json);
		pp_drift_lost(&alerts->common, -ENOMEM, "alert not told", "out of memory");
		return;
	}
	hand_on(alerts, &t, change, json, summary);
	free(alert->json);
	alert->json = json;
	alert->told = change == PATHPROF_ALERT_FIRED;
	alert->changed = true;
}
