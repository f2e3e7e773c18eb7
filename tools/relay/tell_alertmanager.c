// SPDX-License-Identifier: GPL-2.0-or-later
/* Alertmanager's JSON: see sinks.h. */
#include "sinks.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define NS_PER_S INT64_C(1000000000)

/* RFC 3339 in UTC. */
static json_t *time_json(int64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	char text[40];
	struct tm parts;

	if (wall_ns < 0 || !gmtime_r(&seconds, &parts) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts))
		return NULL;
	return json_sprintf("%s.%03dZ", text, (int)(wall_ns % NS_PER_S / 1000000));
}

/* Leaves out an empty text, since an empty label is none to Alertmanager. */
static void add_text(json_t *to, const char *name, const char *value)
{
	if (value && *value)
		json_object_set_new(to, name, pp_utf8_json(value));
}

static json_t *labels_of(const struct pp_tell_message *message, const char *host)
{
	json_t *labels = json_object();

	add_text(labels, "alertname", message->rule);
	add_text(labels, "binary", message->binary);
	add_text(labels, "container", message->container);
	add_text(labels, "baseline", message->baseline);
	add_text(labels, "metric", message->metric);
	add_text(labels, "instance", host);
	return labels;
}

static void write_path(FILE *to, json_t *path)
{
	const char *function = json_string_value(json_object_get(path, "function"));
	const char *source = json_string_value(json_object_get(path, "source"));
	json_t *share = json_object_get(path, "share");
	json_t *before = json_object_get(path, "baseline_share");

	fprintf(to, "%s", function && *function ? function : "?");
	if (source && *source)
		fprintf(to, " (%s)", source);
	if (json_is_number(share) && json_is_number(before))
		fprintf(to, ": %.1f %% of paths, %.1f %% before", 100 * json_number_value(share),
			100 * json_number_value(before));
	fputc('\n', to);
}

/* The paths that changed, one in each line. */
static char *paths_of(const struct pp_tell_message *message)
{
	json_t *all = message->json ? json_loads(message->json, 0, NULL) : NULL;
	json_t *paths = json_object_get(all, "paths");
	char *text = NULL;
	size_t len_bytes;
	FILE *to = open_memstream(&text, &len_bytes);

	if (to) {
		for (size_t i = 0; i < json_array_size(paths); i++)
			write_path(to, json_array_get(paths, i));
		fclose(to);
	}
	json_decref(all);
	return text;
}

static json_t *annotations_of(const struct pp_tell_message *message)
{
	json_t *annotations = json_object();
	_cleanup_free_ char *paths = paths_of(message);
	char number[32];

	add_text(annotations, "summary", message->summary);
	add_text(annotations, "description", paths);
	snprintf(number, sizeof(number), "%.6g", message->value);
	add_text(annotations, "value", number);
	snprintf(number, sizeof(number), "%.6g", message->threshold);
	add_text(annotations, "threshold", number);
	return annotations;
}

json_t *pp_alertmanager_alert(const struct pp_tell_message *message, const char *host)
{
	json_t *alert = json_object();
	json_t *starts = message->begin_ns > 0 ? time_json(message->begin_ns) : NULL;

	json_object_set_new(alert, "labels", labels_of(message, host));
	json_object_set_new(alert, "annotations", annotations_of(message));
	if (starts)
		json_object_set_new(alert, "startsAt", starts);
	if (message->change == PATHPROF_ALERT_RESOLVED)
		json_object_set_new(alert, "endsAt", time_json(message->end_ns));
	return alert;
}

int pp_alertmanager_set_end(json_t *alert, int64_t wall_ns)
{
	return json_object_set_new(alert, "endsAt", time_json(wall_ns)) ? -ENOMEM : 0;
}
