// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The message of an alert that fires or resolves: one JSON object, and one line for people, with
 * the paths that moved most.
 *
 * Workload: a few an hour.
 */
#include "drift_telling.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/tell_words.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "base/utf8.h"
#include "pathprof/judge.h"

/* A binary's name could be made to do harm in a shell, so the command has its build-id. */
static void put_command(const struct pp_drift_telling *telling, const struct pp_drift_draft *draft,
			FILE *to)
{
	const char *baseline = draft->alert->baseline;
	bool is_pinned = strcmp(baseline, PATHPROF_BASELINE_ROLLING) != 0;
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	if (draft->id.kind == PATHPROF_ID_NONE)
		fputs("pathprofctl alerts", to);
	else
		fprintf(to, "pathprofctl drift --binary %.12s%s%s",
			pathprof_build_id_text(&draft->id, id), is_pinned ? " --baseline " : "",
			is_pinned ? baseline : "");
	pp_tell_put_db(&telling->common->config, to);
}

/* null: no memory. */
static json_t *command_json(const struct pp_drift_telling *telling,
			    const struct pp_drift_draft *draft)
{
	char *text = NULL;
	size_t len_bytes;
	FILE *to = open_memstream(&text, &len_bytes);
	json_t *json;

	if (!to)
		return json_null();
	put_command(telling, draft, to);
	json = pp_utf8_json(fclose(to) == 0 ? text : NULL);
	free(text);
	return json;
}

/* ---------------------------------------------------------------- JSON */

static json_t *paths_json(const struct pp_drift_draft *draft)
{
	json_t *paths = json_array();

	for (size_t i = 0; i < draft->moved_cnt; i++) {
		const struct pp_drift_moved *m = &draft->moved[i];
		json_t *path = json_object();
		char start[24];

		json_object_set_new(path, "path_id",
				    m->path_id ? json_integer(m->path_id) : json_null());
		json_object_set_new(path, "function", pp_utf8_json(m->function));
		json_object_set_new(path, "source", pp_utf8_json(m->source));
		snprintf(start, sizeof(start), "0x%llx", (unsigned long long)m->path.start);
		json_object_set_new(path, "start", m->path_id ? json_string(start) : json_null());
		json_object_set_new(path, "share", json_real(m->term.p));
		json_object_set_new(path, "baseline_share", json_real(m->term.q));
		json_object_set_new(path, "bits", json_real(m->term.moved_bits));
		json_array_append_new(paths, path);
	}
	return paths;
}

static bool is_firing(const struct pp_drift_draft *draft)
{
	return draft->state.phase == PATHPROF_ALERT_FIRING;
}

static bool is_kl_corrected(const struct pp_drift_draft *draft)
{
	return draft->has_rule && draft->rule.metric == PATHPROF_METRIC_KL_CORRECTED;
}

/* Corrected bits below 0 are less than chance alone makes: no drift, so they are told as 0. */
static double value_of(const struct pp_drift_draft *draft)
{
	return is_kl_corrected(draft) ? fmax(0, draft->state.value) : draft->state.value;
}

/* Why the alert is over; NULL: it fires. */
static const char *reason_of(const struct pp_drift_draft *draft)
{
	if (is_firing(draft))
		return NULL;
	if (draft->is_build_gone)
		return "build gone";
	if (!draft->has_drift)
		return "not measured";
	return draft->is_new_normal ? "new normal" : "as before";
}

static void add_figures(const struct pp_drift_draft *draft, json_t *json)
{
	const struct pathprof_drift *d = draft->has_drift ? &draft->drift : NULL;
	bool kl = is_kl_corrected(draft);

	json_object_set_new(json, "value", json_real(value_of(draft)));
	json_object_set_new(json, "low", d && kl ? json_real(d->kl_low_bits) : json_null());
	json_object_set_new(json, "high",
			    d && kl ? json_real(fmax(0, d->kl_high_bits)) : json_null());
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
	else if (draft->is_build_gone)
		memcpy(id, alert->build_id, sizeof(id));
	json_object_set_new(json, "version", json_integer(1));
	json_object_set_new(json, "status", json_string(is_firing(draft) ? "firing" : "resolved"));
	json_object_set_new(json, "rule", pp_utf8_json(alert->rule));
	json_object_set_new(json, "metric", json_string(metric_of(draft)));
	add_figures(draft, json);
	json_object_set_new(json, "binary", pp_utf8_json(alert->binary));
	json_object_set_new(json, "build_id", id[0] ? json_string(id) : json_null());
	json_object_set_new(json, "container", pp_utf8_json(alert->container));
	json_object_set_new(json, "host", pp_utf8_json(telling->host));
	json_object_set_new(json, "baseline", pp_utf8_json(alert->baseline));
	json_object_set_new(json, "starts_at", pp_tell_time_json(draft->state.fired_ns));
	json_object_set_new(json, "ends_at",
			    is_firing(draft) ? json_null()
					     : pp_tell_time_json(draft->state.resolved_ns));
	json_object_set_new(json, "reason", pp_utf8_json(reason_of(draft)));
	json_object_set_new(json, "paths", paths_json(draft));
	json_object_set_new(json, "command", command_json(telling, draft));
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

/* ---------------------------------------------------------------- the line for people */

struct place {
	char name[96];
	double before, now; /* shares */
	double moved;       /* how far its paths' shares moved, whichever way, in all */
	const struct pp_drift_moved *most; /* the path that moved most */
};

/* The function, else where the path begins in the binary; empty: the store does not know it. */
static void set_place(struct place *ret_place, const struct pp_drift_draft *draft,
		      const struct pp_drift_moved *moved)
{
	const char *binary = draft->alert->binary, *slash = strrchr(binary, '/');

	*ret_place = (struct place){.before = moved->term.q,
				    .now = moved->term.p,
				    .moved = fabs(moved->term.p - moved->term.q),
				    .most = moved};
	if (moved->function)
		snprintf(ret_place->name, sizeof(ret_place->name), "%.80s", moved->function);
	else if (moved->path_id)
		snprintf(ret_place->name, sizeof(ret_place->name), "%.60s+0x%llx",
			 slash ? slash + 1 : binary, (unsigned long long)moved->path.start);
}

/* Names are cut to fit: two functions that begin alike are two places. */
static bool is_one_place(const struct place *a, const struct place *b)
{
	const char *of_a = a->most->function, *of_b = b->most->function;

	return strcmp(of_a && of_b ? of_a : a->name, of_a && of_b ? of_b : b->name) == 0;
}

/* Paths of one place are told together: the later ones become empty. */
static void join_places(struct place *places, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		for (size_t k = i + 1; k < cnt; k++) {
			if (!is_one_place(&places[i], &places[k]))
				continue;
			places[i].before += places[k].before;
			places[i].now += places[k].now;
			places[i].moved += places[k].moved;
			places[k].name[0] = '\0';
		}
}

/* A place that runs as much as before, but in another way, is told by the path that moved most. */
static void put_place(const struct place *place, FILE *to)
{
	bool otherwise =
		place->most->path_id && fabs(place->now - place->before) < place->moved / 2;
	const char *source = otherwise ? place->most->source : NULL;

	fputs(place->name, to);
	if (otherwise)
		fprintf(to, " on path %lld", (long long)place->most->path_id);
	if (source)
		fprintf(to, " at %s", source);
	fprintf(to, " (was %.3g %%, now %.3g %%",
		100 * (otherwise ? place->most->term.q : place->before),
		100 * (otherwise ? place->most->term.p : place->now));
}

/* ": most in NAME (was 12 %, now 40 % of its runs), ...": shares before and now, of the paths that
 * are told. Places that moved by less than a tenth of the first are left out. */
static void put_places(const struct pp_drift_draft *draft, FILE *to)
{
	struct place places[PP_DRIFT_MOVED_MAX];
	const struct place *first = NULL;

	for (size_t i = 0; i < draft->moved_cnt; i++)
		set_place(&places[i], draft, &draft->moved[i]);
	join_places(places, draft->moved_cnt);
	for (size_t i = 0; i < draft->moved_cnt; i++) {
		if (!places[i].name[0] || (first && places[i].moved < first->moved / 10))
			continue;
		fputs(first ? ", " : ": most in ", to);
		put_place(&places[i], to);
		fputs(first ? ")" : " of its runs)", to);
		first = first ? first : &places[i];
	}
}

static bool is_baseline(const struct pp_drift_draft *draft, const char *name)
{
	return !strcmp(draft->alert->baseline, name);
}

static const char *rolling_span(const struct pp_drift_telling *telling, char *text, size_t size)
{
	pp_span_format(telling->common->config.rolling_ns, text, size);
	return text;
}

/* Names the baseline in words that follow "differently than". */
static void put_baseline(const struct pp_drift_telling *telling, const struct pp_drift_draft *draft,
			 FILE *to)
{
	char span[64];

	if (is_baseline(draft, PATHPROF_BASELINE_ROLLING))
		fprintf(to, "in its last %s before", rolling_span(telling, span, sizeof(span)));
	else if (is_baseline(draft, PATHPROF_BASELINE_PREVIOUS))
		fputs("in its previous build", to);
	else
		fprintf(to, "in baseline \"%s\"", draft->alert->baseline);
}

static void put_rule(const struct pp_drift_draft *draft, FILE *to)
{
	fprintf(to, "rule \"%s\"", draft->alert->rule);
}

/* "kl_corrected 1.41 bits, limit 0.2 (rule "fast")". */
static void put_figure(const struct pp_drift_draft *draft, FILE *to)
{
	const struct pathprof_alert_rule *rule = &draft->rule;
	bool bits =
		rule->metric == PATHPROF_METRIC_KL_CORRECTED || rule->metric == PATHPROF_METRIC_KL;

	fprintf(to, "; %s %.4g%s, limit %.4g (", metric_of(draft), value_of(draft),
		bits ? " bits" : "", rule->threshold);
	put_rule(draft, to);
	fputs(")", to);
}

static void put_firing(const struct pp_drift_telling *telling, const struct pp_drift_draft *draft,
		       FILE *to)
{
	fputs(" runs differently than ", to);
	put_baseline(telling, draft, to);
	fputs(", since ", to);
	pp_tell_put_time(draft->state.fired_ns, to);
	put_places(draft, to);
	put_figure(draft, to);
	fprintf(to, ", %.0f samples", draft->drift.window_samples);
	if (draft->matched < 1)
		fprintf(to, ", of which %.0f %% could be compared", 100 * draft->matched);
	fputs("; see ", to);
	put_command(telling, draft, to);
}

/* Names the rule of the alert that is over, and the time when it fired. */
static void put_alert(const struct pp_drift_draft *draft, FILE *to)
{
	fputs("the alert of ", to);
	put_rule(draft, to);
	fputs(" that fired at ", to);
	pp_tell_put_time(draft->state.fired_ns, to);
}

static void put_resolved(const struct pp_drift_telling *telling, const struct pp_drift_draft *draft,
			 FILE *to)
{
	char span[64];

	rolling_span(telling, span, sizeof(span));
	if (draft->is_new_normal) {
		fprintf(to,
			" still runs differently, which counts as normal from now on, since it "
			"has lasted for %s: ",
			span);
		put_alert(draft, to);
		fputs(" is closed", to);
	} else if (draft->has_drift && draft->has_rule) {
		fputs(" runs again as ", to);
		put_baseline(telling, draft, to);
		fputs(": ", to);
		put_alert(draft, to);
		fputs(" is over at ", to);
		pp_tell_put_time(draft->state.resolved_ns, to);
		put_figure(draft, to);
	} else if (draft->is_build_gone) {
		fprintf(to, " no longer runs as build %.12s, but as another one: ",
			draft->alert->build_id);
		put_alert(draft, to);
		fputs(" is closed", to);
	} else {
		fprintf(to, " was not measured for %s: ", span);
		put_alert(draft, to);
		fputs(" is closed, and nobody knows whether it runs as before", to);
	}
}

/* NULL: no memory. The caller frees. */
static char *make_summary(const struct pp_drift_telling *telling,
			  const struct pp_drift_draft *draft)
{
	const struct pp_drift_alert *alert = draft->alert;
	char *text = NULL;
	size_t len_bytes;
	FILE *to = open_memstream(&text, &len_bytes);

	if (!to)
		return NULL;
	fprintf(to, "%s%s%s%s%s", alert->binary, alert->container[0] ? " in " : "",
		alert->container, telling->host[0] ? " on " : "", telling->host);
	if (is_firing(draft))
		put_firing(telling, draft, to);
	else
		put_resolved(telling, draft, to);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

/* ---------------------------------------------------------------- telling */

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
	_cleanup_free_ char *summary = make_summary(telling, draft);
	struct pp_drift_alert *alert = draft->alert;
	char *json = make_json(telling, draft);

	alert->waiting = false;
	if (!json || !summary) {
		free(json);
		pp_drift_lost(telling->common, -ENOMEM, "alert not told", "out of memory");
		free_draft(draft);
		return;
	}
	pp_drift_hand_on(telling->alerts, telling->journal,
			 &(struct pp_tell_message){
				 .change = draft->change,
				 .rule = alert->rule,
				 .binary = alert->binary,
				 .container = alert->container,
				 .baseline = alert->baseline,
				 .metric = metric_of(draft),
				 .value = value_of(draft),
				 .threshold = draft->has_rule ? draft->rule.threshold : 0,
				 .begin_ns = draft->state.fired_ns,
				 .end_ns = is_firing(draft) ? 0 : draft->state.resolved_ns,
				 .json = json,
				 .summary = summary,
			 });
	free(alert->json);
	alert->json = json;
	alert->changed = true;
	free_draft(draft);
}
