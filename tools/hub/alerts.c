// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules and states of a fleet's alerts: see alerts.h. */
#include "alerts.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alert_text.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/vector.h"
#include "pathprof/parcel.h"

/* An alert ends this long after its last judgement, and is forgotten this long after it ended. */
#define STALE_NS  INT64_C(86400000000000)
#define FORGET_NS INT64_C(2592000000000000)
#define ID_DIGITS 12

/* ---------------------------------------------------------------- rules */

/* An hour at a time, two hours in a row. Hosts that only scatter are mostly nearer than that. */
static const char *const built_in[][3] = {
	{"Alert host", "Scope", "host"},       {"Alert host", "Pooled", "12"},
	{"Alert host", "Threshold", "0.05"},   {"Alert host", "Hysteresis", "0.025"},
	{"Alert release", "Scope", "release"}, {"Alert release", "Pooled", "12"},
};

int64_t hub_rule_span_s(const struct pp_config_alert *rule)
{
	return (int64_t)rule->pooled * PATHPROF_PARCEL_SLOT_S;
}

int hub_rules_load(struct hub_rules *ret_rules, const char *file, struct pathprof_error *error)
{
	struct pp_config *config = malloc(sizeof(*config));
	int r = 0;

	*ret_rules = (struct hub_rules){.cnt = 0};
	if (!config)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	pp_config_defaults(config);
	for (size_t i = 0; r == 0 && i < sizeof(built_in) / sizeof(built_in[0]); i++)
		r = pp_config_set(config, built_in[i][0], built_in[i][1], built_in[i][2], error);
	if (r == 0 && file)
		r = pp_config_load(config, file, true, error);
	for (size_t i = 0; r == 0 && i < PP_CONFIG_ALERT_MAX; i++) {
		const struct pp_config_alert *alert = &config->alerts[i];

		if (!alert->name[0] || !alert->enabled || alert->scope == PP_CONFIG_SCOPE_MACHINE)
			continue;
		ret_rules->list[ret_rules->cnt++] = *alert;
		if (alert->metric != PATHPROF_METRIC_KL_CORRECTED)
			r = pathprof_fail(error, -EINVAL,
					  "[Alert %s]: a hub judges Metric=kl_corrected alone",
					  alert->name);
	}
	free(config);
	return r;
}

static struct pathprof_alert_rule rule_of(const struct pp_config_alert *c)
{
	return (struct pathprof_alert_rule){
		.metric = PATHPROF_METRIC_KL_CORRECTED,
		.threshold = (double)c->threshold_ppm / 1e6,
		.hysteresis = (double)c->hysteresis_ppm / 1e6,
		.samples_min = (double)c->samples_min,
		.windows_pooled = (uint32_t)c->pooled,
		.windows_to_fire = (uint32_t)c->windows,
		.windows_to_resolve = (uint32_t)c->resolve_windows,
		.cool_down_ns = (int64_t)c->cool_down_ns,
	};
}

static const char *scope_of(const struct pp_config_alert *rule)
{
	return rule->scope == PP_CONFIG_SCOPE_HOST ? "host" : "release";
}

static bool matches(const struct pp_config_alert *rule, const char *binary)
{
	const char *slash = strrchr(binary, '/');

	return fnmatch(rule->binary, binary, 0) == 0 ||
	       (slash && fnmatch(rule->binary, slash + 1, 0) == 0);
}

/* ---------------------------------------------------------------- alerts */

struct alert {
	char *rule, *binary, *where, *baseline, *json;
	struct pathprof_alert_state state;
	bool changed, is_seen; /* is_seen: this judgement has a figure for it */
	bool is_gone;          /* of a build: this judgement saw another one in its place */
	bool is_stale;         /* not judged for a long time */
	bool is_ruleless;      /* not judged any more: its rule is gone */
};

struct alerts {
	struct alert *list;
	size_t cnt, room;
	struct pathprof_message_row *messages;
	size_t message_cnt, message_room;
	const json_t *judgement;
	int64_t since_s, until_s;
	struct hub_alert_counts *counts;
};

static int64_t until_ns(const struct alerts *a)
{
	return a->until_s * (int64_t)PP_NSEC_PER_SEC;
}

static void release_alert(struct alert *alert)
{
	free(alert->rule);
	free(alert->binary);
	free(alert->where);
	free(alert->baseline);
	free(alert->json);
}

static void release(struct alerts *a)
{
	for (size_t i = 0; i < a->cnt; i++)
		release_alert(&a->list[i]);
	for (size_t i = 0; i < a->message_cnt; i++) {
		free((void *)(uintptr_t)a->messages[i].summary);
		free((void *)(uintptr_t)a->messages[i].json);
	}
	free(a->list);
	free(a->messages);
}

/* NULL: no memory. Valid until the next one is added. */
static struct alert *add_alert(struct alerts *a, const struct pathprof_alert_row *row)
{
	struct alert alert = {.rule = strdup(row->rule),
			      .binary = strdup(row->binary),
			      .where = strdup(row->container),
			      .baseline = strdup(row->baseline),
			      .json = strdup(row->json ? row->json : ""),
			      .state = row->state};

	if (!alert.rule || !alert.binary || !alert.where || !alert.baseline || !alert.json ||
	    pp_grow(&a->list, a->cnt, &a->room) < 0) {
		release_alert(&alert);
		return NULL;
	}
	a->list[a->cnt] = alert;
	return &a->list[a->cnt++];
}

static int take_row(void *context, const struct pathprof_alert_row *row)
{
	return add_alert(context, row) ? 0 : -ENOMEM;
}

static struct alert *find_alert(const struct alerts *a, const char *rule, const char *binary,
				const char *where)
{
	for (size_t i = 0; i < a->cnt; i++)
		if (!strcmp(a->list[i].rule, rule) && !strcmp(a->list[i].binary, binary) &&
		    !strcmp(a->list[i].where, where))
			return &a->list[i];
	return NULL;
}

static size_t active_of(const struct alerts *a, const char *rule)
{
	size_t cnt = 0;

	for (size_t i = 0; i < a->cnt; i++)
		cnt += !strcmp(a->list[i].rule, rule) &&
		       a->list[i].state.phase != PATHPROF_ALERT_QUIET;
	return cnt;
}

/* ---------------------------------------------------------------- what is told */

static int add_message(struct alerts *a, const struct pp_config_alert *rule, struct alert *alert,
		       const json_t *found)
{
	const struct hub_alert_event event = {.rule = rule,
					      .binary = alert->binary,
					      .where = alert->where,
					      .baseline = alert->baseline,
					      .state = &alert->state,
					      .found = found,
					      .is_gone = alert->is_gone,
					      .is_stale = alert->is_stale,
					      .is_ruleless = alert->is_ruleless,
					      .since_s = a->since_s,
					      .until_s = a->until_s};
	struct pathprof_message_row *row;
	char *json = hub_alert_json(&event), *summary = hub_alert_summary(&event);
	char *told = json ? strdup(json) : NULL;

	if (!told || !summary || pp_grow(&a->messages, a->message_cnt, &a->message_room) < 0) {
		free(json);
		free(summary);
		free(told);
		return -ENOMEM;
	}
	free(alert->json);
	alert->json = told;
	row = &a->messages[a->message_cnt++];
	*row = (struct pathprof_message_row){
		.time_ns = pp_realtime_ns(),
		.fired = alert->state.phase == PATHPROF_ALERT_FIRING,
		.rule = alert->rule,
		.metric = pathprof_metric_name(PATHPROF_METRIC_KL_CORRECTED),
		.value = alert->state.value,
		.threshold = (double)rule->threshold_ppm / 1e6,
		.begin_ns = alert->state.fired_ns,
		.end_ns =
			alert->state.phase == PATHPROF_ALERT_FIRING ? 0 : alert->state.resolved_ns,
		.summary = summary,
		.json = json,
	};
	return 0;
}

/* found NULL: the host or build does not stand out. */
static int take_figure(struct alerts *a, const struct pp_config_alert *config, struct alert *alert,
		       const json_t *found)
{
	struct pathprof_alert_rule rule = rule_of(config);
	const struct pathprof_alert_input input = {
		.time_ns = until_ns(a),
		.samples = found ? json_number_value(json_object_get(found, "samples"))
				 : rule.samples_min,
		.value = found ? json_number_value(json_object_get(found, "value")) : 0,
		.value_low = found ? json_number_value(json_object_get(found, "low")) : 0,
	};
	enum pathprof_alert_change change;

	/* One quiet window is enough to end an alert that is not judged any more. */
	if (alert->is_stale)
		rule.windows_to_resolve = 1;
	change = pathprof_alert_take(&alert->state, &rule, &input);
	alert->is_seen = true;
	alert->changed = true;
	a->counts->fired += change == PATHPROF_ALERT_FIRED;
	a->counts->resolved += change == PATHPROF_ALERT_RESOLVED;
	if (change == PATHPROF_ALERT_FIRED || change == PATHPROF_ALERT_RESOLVED)
		return add_message(a, config, alert, found);
	return 0;
}

/* ---------------------------------------------------------------- a judgement */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* "host:NAME" or "build:ID", which tells apart the alerts of one rule and binary. */
static void where_of(const json_t *object, const char *scope, char *where, size_t size)
{
	if (!strcmp(scope, "host"))
		snprintf(where, size, "host:%s", text_of(object, "host"));
	else
		snprintf(where, size, "build:%.*s", ID_DIGITS, text_of(object, "build_id"));
}

static int take_found(struct alerts *a, const struct pp_config_alert *rule, const json_t *found)
{
	char where[PATHPROF_PARCEL_HOST_BYTES + sizeof("host:")];
	const char *binary = text_of(found, "binary");
	struct alert *alert;

	if (strcmp(text_of(found, "scope"), scope_of(rule)) != 0 || !matches(rule, binary))
		return 0;
	where_of(found, scope_of(rule), where, sizeof(where));
	alert = find_alert(a, rule->name, binary, where);
	if ((!alert || alert->state.phase == PATHPROF_ALERT_QUIET) &&
	    active_of(a, rule->name) >= HUB_ALERTS_MAX) {
		a->counts->left_out++;
		return 0;
	}
	if (!alert) {
		const struct pathprof_alert_row row = {
			.rule = rule->name,
			.binary = binary,
			.container = where,
			.baseline = rule->scope == PP_CONFIG_SCOPE_HOST ? "fleet" : "previous"};

		alert = add_alert(a, &row);
		if (!alert)
			return -ENOMEM;
	}
	return take_figure(a, rule, alert, found);
}

static bool has_member(const json_t *row, const char *where)
{
	json_t *members = json_object_get(row, "members");

	for (size_t i = 0; i < json_array_size(members); i++) {
		const char *host = json_string_value(json_array_get(members, i));

		if (host && !strncmp(where, "host:", 5) && !strcmp(where + 5, host))
			return true;
	}
	return false;
}

/* Whether the alert's program was judged on its host or, for a release, in its build. */
static bool is_judged(const struct alerts *a, const struct pp_config_alert *rule,
		      const struct alert *alert)
{
	json_t *judged = json_object_get(a->judgement, "judged");
	char where[64];

	for (size_t i = 0; i < json_array_size(judged); i++) {
		const json_t *row = json_array_get(judged, i);

		if (strcmp(text_of(row, "scope"), scope_of(rule)) != 0 ||
		    strcmp(text_of(row, "binary"), alert->binary) != 0)
			continue;
		where_of(row, "release", where, sizeof(where));
		if (rule->scope == PP_CONFIG_SCOPE_HOST ? has_member(row, alert->where)
							: !strcmp(where, alert->where))
			return true;
	}
	return false;
}

static bool is_build_of(const char *id, const struct alert *alert)
{
	char where[sizeof("build:") + ID_DIGITS];

	snprintf(where, sizeof(where), "build:%.*s", ID_DIGITS, id);
	return !strcmp(where, alert->where);
}

/*
 * Whether this judgement saw other builds of the program, and its own nowhere: after a rollback no
 * judgement compares it any more. A build that was forgotten may run.
 */
static bool is_gone(const struct alerts *a, const struct pp_config_alert *rule,
		    const struct alert *alert)
{
	json_t *builds = json_object_get(a->judgement, "builds"), *build;
	bool is_known = false, runs = false, do_others = false;
	const char *id;

	if (rule->scope != PP_CONFIG_SCOPE_RELEASE)
		return false;
	json_object_foreach(builds, id, build)
	{
		const bool is_seen =
			json_integer_value(json_object_get(build, "seen")) >= a->until_s;

		if (strcmp(text_of(build, "name"), alert->binary) != 0)
			continue;
		if (is_build_of(id, alert)) {
			is_known = true;
			runs |= is_seen;
		} else {
			do_others |= is_seen;
		}
	}
	return is_known && !runs && do_others;
}

static void forget_old(const struct alerts *a, struct alert *alert)
{
	struct pathprof_alert_state *state = &alert->state;

	if (state->resolved_ns <= 0 || until_ns(a) - state->resolved_ns <= FORGET_NS)
		return;
	*state = (struct pathprof_alert_state){.seen_ns = state->seen_ns};
	alert->changed = true;
}

/* Handles an alert that was found before and is not found now. If its host or build was not judged,
 * the alert waits. */
static int take_rest(struct alerts *a, const struct pp_config_alert *rule, struct alert *alert)
{
	struct pathprof_alert_state *state = &alert->state;

	if (alert->is_seen || strcmp(alert->rule, rule->name) != 0)
		return 0;
	if (state->phase == PATHPROF_ALERT_QUIET) {
		forget_old(a, alert);
		return 0;
	}
	alert->is_gone = is_gone(a, rule, alert);
	alert->is_stale = !alert->is_gone && !is_judged(a, rule, alert);
	if (alert->is_stale && until_ns(a) - state->seen_ns <= STALE_NS)
		return 0;
	return take_figure(a, rule, alert, NULL);
}

static int take_rule(struct alerts *a, const struct pp_config_alert *rule)
{
	json_t *found = json_object_get(a->judgement, "found");
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(found); i++)
		r = take_found(a, rule, json_array_get(found, i));
	for (size_t i = 0; r == 0 && i < a->cnt; i++)
		r = take_rest(a, rule, &a->list[i]);
	return r;
}

/* ---------------------------------------------------------------- rules that are gone */

static bool has_rule(const struct hub_rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->cnt; i++)
		if (!strcmp(rules->list[i].name, name))
			return true;
	return false;
}

/* Reports the end of an alert whose rule is gone. The alert keeps only the rule's name, and its
 * scope. */
static int tell_ruleless(struct alerts *a, struct alert *alert)
{
	struct pp_config_alert rule = {.scope = strncmp(alert->where, "host:", 5) == 0
							? PP_CONFIG_SCOPE_HOST
							: PP_CONFIG_SCOPE_RELEASE};

	snprintf(rule.name, sizeof(rule.name), "%s", alert->rule);
	a->counts->resolved++;
	return add_message(a, &rule, alert, NULL);
}

static int end_ruleless(struct alerts *a, struct alert *alert)
{
	struct pathprof_alert_state *state = &alert->state;
	const bool fired = state->phase == PATHPROF_ALERT_FIRING;
	const int64_t now_ns = pp_realtime_ns();

	if (state->phase == PATHPROF_ALERT_QUIET) {
		forget_old(a, alert);
		return 0;
	}
	/* A clock that was set back must not let it end before it began. */
	if (now_ns > state->seen_ns)
		state->seen_ns = now_ns;
	state->phase = PATHPROF_ALERT_QUIET;
	state->streak_cnt = 0;
	state->since_ns = state->seen_ns;
	alert->is_ruleless = alert->changed = true;
	if (!fired)
		return 0;
	state->resolved_ns = state->seen_ns;
	return tell_ruleless(a, alert);
}

/* Ends the alerts whose rule was renamed, removed or switched off, since it judges them no more. */
static int end_all_ruleless(struct alerts *a, const struct hub_rules *rules)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->cnt; i++)
		if (!has_rule(rules, a->list[i].rule))
			r = end_ruleless(a, &a->list[i]);
	return r;
}

/* ---------------------------------------------------------------- in the database */

/* Messages refer to the alerts in the list, which do not move from here on. */
static void name_messages(struct alerts *a)
{
	for (size_t i = 0; i < a->message_cnt; i++) {
		struct pathprof_message_row *row = &a->messages[i];

		for (size_t k = 0; k < a->cnt; k++)
			if (!strcmp(a->list[k].json, row->json)) {
				row->binary = a->list[k].binary;
				row->container = a->list[k].where;
				row->baseline = a->list[k].baseline;
			}
	}
}

static int store_alerts(struct alerts *a, struct pathprof_store *store,
			struct pathprof_error *error)
{
	struct pathprof_alert_row *rows = calloc(a->cnt + 1, sizeof(*rows));
	size_t cnt = 0;
	int r = 0;

	if (!rows)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	name_messages(a);
	for (size_t i = 0; i < a->cnt; i++)
		if (a->list[i].changed)
			rows[cnt++] = (struct pathprof_alert_row){
				a->list[i].rule,     a->list[i].binary, a->list[i].where,
				a->list[i].baseline, a->list[i].state,  a->list[i].json};
	if (cnt)
		r = pathprof_store_set_alerts(store, rows, cnt, a->messages, a->message_cnt, error);
	free(rows);
	return r;
}

static int load(struct alerts *a, struct pathprof_store *store, const struct hub_rules *rules,
		struct pathprof_error *error)
{
	int r = pathprof_store_alerts(store, take_row, a, error);

	return r < 0 ? r : end_all_ruleless(a, rules);
}

/* Writes everything to the database in one transaction. Releases a, and adds what it counted to
 * counts. */
static int finish(struct alerts *a, struct pathprof_store *store, int r,
		  struct hub_alert_counts *counts, struct pathprof_error *error)
{
	if (r == 0)
		r = store_alerts(a, store, error);
	if (r == 0) {
		*counts = *a->counts;
		for (size_t i = 0; i < a->message_cnt; i++)
			hub_note("%s: %s", a->messages[i].fired ? "alert" : "alert is over",
				 a->messages[i].summary);
	} else if (!error->text[0]) {
		pathprof_fail(error, r, "%s", strerror(-r));
	}
	release(a);
	return r;
}

int hub_alerts_begin(struct pathprof_store *store, const struct hub_rules *rules,
		     struct hub_alert_counts *counts, struct pathprof_error *error)
{
	const int64_t now_s = pp_realtime_ns() / (int64_t)PP_NSEC_PER_SEC;
	struct hub_alert_counts now = *counts;
	struct alerts a = {.since_s = now_s, .until_s = now_s, .counts = &now};
	int r = load(&a, store, rules, error);

	return finish(&a, store, r, counts, error);
}

int hub_alerts_take(struct pathprof_store *store, const struct hub_rules *rules,
		    const json_t *judgement, struct hub_alert_counts *counts,
		    struct pathprof_error *error)
{
	struct hub_alert_counts now = *counts;
	struct alerts a = {
		.judgement = judgement,
		.since_s = json_integer_value(json_object_get(judgement, "since")),
		.until_s = json_integer_value(json_object_get(judgement, "until")),
		.counts = &now,
	};
	int r = load(&a, store, rules, error);

	for (size_t i = 0; r == 0 && i < rules->cnt; i++)
		if (hub_rule_span_s(&rules->list[i]) == a.until_s - a.since_s)
			r = take_rule(&a, &rules->list[i]);
	return finish(&a, store, r, counts, error);
}

/* ---------------------------------------------------------------- for readers */

static int list_row(void *context, const struct pathprof_alert_row *row)
{
	const struct pathprof_alert_state *s = &row->state;
	json_t *object = json_pack(
		"{s:o, s:o, s:o, s:o, s:o}", "rule", pp_utf8_json(row->rule), "binary",
		pp_utf8_json(row->binary), "container", pp_utf8_json(row->container), "baseline",
		pp_utf8_json(row->baseline), "told", pp_utf8_json(row->json ? row->json : ""));

	json_object_set_new(object, "phase", json_integer(s->phase));
	json_object_set_new(object, "streak", json_integer(s->streak_cnt));
	json_object_set_new(object, "since_ns", json_integer(s->since_ns));
	json_object_set_new(object, "fired_ns", json_integer(s->fired_ns));
	json_object_set_new(object, "resolved_ns", json_integer(s->resolved_ns));
	json_object_set_new(object, "seen_ns", json_integer(s->seen_ns));
	json_object_set_new(object, "value", json_real(s->value));
	return json_array_append_new(context, object) ? -ENOMEM : 0;
}

unsigned int hub_alerts_answer(struct pathprof_store *store, json_t **ret_object)
{
	struct pathprof_error error = {""};
	json_t *rows = json_array();
	int r = pathprof_store_alerts(store, list_row, rows, &error);

	if (r < 0) {
		json_decref(rows);
		*ret_object = json_pack("{s:o}", "error", pp_utf8_json(error.text));
		return 503;
	}
	*ret_object = json_pack("{s:o}", "alerts", rows);
	return 200;
}
