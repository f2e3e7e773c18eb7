// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages of alerts: see alert_text.h. */
#include "alert_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/shared/tell_words.h"
#include "base/clock.h"
#include "base/controls.h"
#include "base/utf8.h"

#define ID_DIGITS 12

static bool is_firing(const struct hub_alert_event *event)
{
	return event->state->phase == PATHPROF_ALERT_FIRING;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static json_t *copy_of(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return value ? json_incref(value) : json_null();
}

/* ---------------------------------------------------------------- JSON */

static json_t *paths_json(const json_t *found)
{
	json_t *functions = json_object_get(found, "functions"), *paths = json_array();

	for (size_t i = 0; i < json_array_size(functions); i++) {
		json_t *path = json_deep_copy(json_array_get(functions, i));

		json_object_set_new(path, "path_id", json_null());
		json_object_set_new(path, "source", json_null());
		json_object_set_new(path, "start", json_null());
		json_array_append_new(paths, path);
	}
	return paths;
}

static void add_figures(const struct hub_alert_event *event, json_t *object)
{
	static const char *const figures[] = {
		"low",   "high",         "samples",   "matched", "build_id", "before_build_id",
		"hosts", "before_hosts", "hosts_out", "usual",   NULL};

	json_object_set_new(object, "metric", json_string("kl_corrected"));
	json_object_set_new(object, "value", json_real(event->state->value));
	json_object_set_new(object, "threshold",
			    event->is_ruleless
				    ? json_null()
				    : json_real((double)event->rule->threshold_ppm / 1e6));
	for (size_t i = 0; figures[i]; i++)
		json_object_set_new(object, figures[i], copy_of(event->found, figures[i]));
}

/* The file's name if it is harmless in a shell, else "". */
static const char *shell_name(const char *binary)
{
	const char *slash = strrchr(binary, '/'), *name = slash ? slash + 1 : binary;

	return *name == '-' || name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
						 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")]
		       ? ""
		       : name;
}

/* The command, quoted for a shell. The caller frees; NULL: no memory. */
static char *command_of(const struct hub_alert_event *event)
{
	const char *build = text_of(event->found, "build_id"), *name = shell_name(event->binary);
	int64_t first_s = json_integer_value(json_object_get(event->found, "first"));
	char *command = NULL;
	int r;

	if (event->rule->scope == PP_CONFIG_SCOPE_HOST)
		r = asprintf(&command,
			     "pathprofctl --hub URL outliers --binary %.*s --since @%" PRId64
			     " --until @%" PRId64,
			     ID_DIGITS, build, event->since_s, event->until_s);
	else if (*name)
		r = asprintf(&command,
			     "pathprofctl --hub URL compare %s@%.*s %s@%.*s --since @%" PRId64,
			     name, ID_DIGITS, text_of(event->found, "before_build_id"), name,
			     ID_DIGITS, build, first_s - 2 * (event->until_s - event->since_s));
	else
		r = asprintf(&command, "pathprofctl --hub URL releases --since @%" PRId64,
			     first_s - 2 * (event->until_s - event->since_s));
	return r < 0 ? NULL : command;
}

static const char *reason_of(const struct hub_alert_event *event)
{
	if (event->is_gone)
		return "build gone";
	return event->is_stale || event->is_ruleless ? "not measured" : "as before";
}

char *hub_alert_json(const struct hub_alert_event *event)
{
	char *command = event->found ? command_of(event) : NULL, *text;
	json_t *object = json_object();

	json_object_set_new(object, "version", json_integer(1));
	json_object_set_new(object, "status",
			    json_string(is_firing(event) ? "firing" : "resolved"));
	json_object_set_new(object, "rule", json_string(event->rule->name));
	json_object_set_new(
		object, "scope",
		json_string(event->rule->scope == PP_CONFIG_SCOPE_HOST ? "host" : "release"));
	add_figures(event, object);
	json_object_set_new(object, "binary", pp_utf8_json(event->binary));
	json_object_set_new(object, "container", pp_utf8_json(event->where));
	json_object_set_new(
		object, "host",
		pp_utf8_json(strncmp(event->where, "host:", 5) == 0 ? event->where + 5 : NULL));
	json_object_set_new(object, "baseline", json_string(event->baseline));
	json_object_set_new(object, "starts_at", pp_tell_time_json(event->state->fired_ns));
	json_object_set_new(object, "ends_at",
			    is_firing(event) ? json_null()
					     : pp_tell_time_json(event->state->resolved_ns));
	json_object_set_new(object, "reason",
			    is_firing(event) ? json_null() : json_string(reason_of(event)));
	json_object_set_new(object, "command", command ? json_string(command) : json_null());
	json_object_set_new(object, "paths", paths_json(event->found));
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	free(command);
	return text;
}

/* ---------------------------------------------------------------- the line for people */

static void put_figure(const struct hub_alert_event *event, const char *from, FILE *to)
{
	const json_t *found = event->found;

	fprintf(to, "; %.3g bits (95 %%: %.3g to %.3g) from the %s, limit %.4g (rule \"%s\")",
		event->state->value, json_number_value(json_object_get(found, "low")),
		json_number_value(json_object_get(found, "high")), from,
		(double)event->rule->threshold_ppm / 1e6, event->rule->name);
}

/* there, here: the words before the two shares. */
static void put_functions(const struct hub_alert_event *event, const char *there, const char *here,
			  FILE *to)
{
	json_t *functions = json_object_get(event->found, "functions");

	for (size_t i = 0; i < json_array_size(functions); i++) {
		const json_t *function = json_array_get(functions, i);

		fputs(i ? ", " : ": most in ", to);
		fputs(text_of(function, "function"), to);
		fprintf(to, " (%s %.3g %%, %s %.3g %%)", there,
			100 * json_number_value(json_object_get(function, "baseline_share")), here,
			100 * json_number_value(json_object_get(function, "share")));
	}
}

static void put_host(const struct hub_alert_event *event, FILE *to)
{
	fputs(" on host ", to);
	fputs(text_of(event->found, "host"), to);
	fprintf(to, " runs differently than on the %lld others with this build, since ",
		json_integer_value(json_object_get(event->found, "hosts")) - 1);
	pp_tell_put_time(event->state->fired_ns, to);
	put_functions(event, "elsewhere", "on this host", to);
	put_figure(event, "closest other host", to);
}

static void put_release(const struct hub_alert_event *event, FILE *to)
{
	const json_t *found = event->found;
	int64_t first_s = json_integer_value(json_object_get(found, "first"));

	fprintf(to,
		" in build %.*s runs differently than in build %.*s before it, on %lld of %lld "
		"hosts, since ",
		ID_DIGITS, text_of(found, "build_id"), ID_DIGITS, text_of(found, "before_build_id"),
		json_integer_value(json_object_get(found, "hosts_out")),
		json_integer_value(json_object_get(found, "hosts")));
	pp_tell_put_time(first_s * (int64_t)PP_NSEC_PER_SEC, to);
	put_functions(event, "was", "now", to);
	put_figure(event, "closest host of the build before", to);
	fprintf(to, ", where hosts of that build are %.2g bits apart; %.0f %% could be compared",
		json_number_value(json_object_get(found, "usual")),
		100 * json_number_value(json_object_get(found, "matched")));
}

static void put_firing(const struct hub_alert_event *event, FILE *to)
{
	char *command = command_of(event);

	if (event->rule->scope == PP_CONFIG_SCOPE_HOST)
		put_host(event, to);
	else
		put_release(event, to);
	fprintf(to, ", %.0f samples", json_number_value(json_object_get(event->found, "samples")));
	fprintf(to, "; see %s", command ? command : "pathprofctl --hub URL alerts");
	free(command);
}

static void put_resolved(const struct hub_alert_event *event, FILE *to)
{
	fputs(", ", to);
	fputs(event->where, to);
	fprintf(to, ", %s: the alert of rule \"%s\" that fired at ",
		event->is_ruleless ? "is not judged any more"
		: event->is_gone   ? "runs no more, while another build does"
		: event->is_stale  ? "was not judged for a day"
				   : "no longer stands out",
		event->rule->name);
	pp_tell_put_time(event->state->fired_ns, to);
	fputs(event->is_ruleless ? " is closed, since the hub has no such rule any more"
	      : event->is_stale  ? " is closed, and nobody knows whether it still does"
				 : " is over",
	      to);
}

char *hub_alert_summary(const struct hub_alert_event *event)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return NULL;
	fputs(event->binary, to);
	if (is_firing(event))
		put_firing(event, to);
	else
		put_resolved(event, to);
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	/* Names come from hosts, and may be made to harm a terminal. */
	pp_controls_replace(text, len, '?');
	return text;
}
