// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof-hub fetch: the work of a reader. Asks the hub which hosts there are, gets one parcel of
 * each with what it ran in a span of time, and adds these up in a database of its own, which
 * pathprofctl reads as any other. `pathprofctl --hub` runs this, so that pathprofctl itself speaks
 * to no network. --alerts: the alerts alone, of which the database gets the states.
 *
 * The database is written beside and renamed: there is all of it or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/plural.h"
#include "client.h"
#include "files.h"
#include "pathprof/parcel_store.h"

#define QUIET_NS   (2 * PP_NSEC_PER_SEC)
#define PATH_BYTES 2048 /* of a request, with its arguments */

#define _cleanup_answer_ _cleanup_(hub_answer_release)

struct fetch {
	const struct hub_options *options;
	struct hub_client client;
	uint64_t begin_ns;
	size_t done, total, added; /* hosts' databases */
	bool shown;
};

static void show_progress(struct fetch *fetch)
{
	if (pp_monotonic_ns() - fetch->begin_ns < QUIET_NS || !isatty(STDERR_FILENO))
		return;
	fetch->shown = true;
	fprintf(stderr, "\rpathprof-hub: %zu of %zu %s", fetch->done, fetch->total,
		pp_plural(fetch->total, "host", "hosts"));
}

static void clear_progress(const struct fetch *fetch)
{
	if (fetch->shown)
		fputs("\r\033[K", stderr);
}

/* -EIO, said: the hub did not answer, or refused. */
static int refuse(const struct fetch *fetch, const char *what, const struct hub_answer *answer)
{
	clear_progress(fetch);
	hub_client_say(&fetch->client, what, answer);
	return -EIO;
}

/* Appends "name=value&", escaped, to path; nothing if value is NULL. -ENAMETOOLONG, -ENOMEM. */
static int add_argument(struct fetch *fetch, char path[PATH_BYTES], const char *name,
			const char *value)
{
	size_t len = strlen(path), room = PATH_BYTES - len;
	char *escaped = value ? curl_easy_escape(fetch->client.curl, value, 0) : NULL;
	int needed;

	if (!escaped)
		return value ? -ENOMEM : 0;
	needed = snprintf(path + len, room, "%s=%s&", name, escaped);
	curl_free(escaped);
	return needed < 0 || (size_t)needed >= room ? -ENAMETOOLONG : 0;
}

/* ---------------------------------------------------------------- one host */

static int add_parcel(const struct fetch *fetch, struct pathprof_store *store, const char *id,
		      const struct hub_answer *answer, struct pathprof_error *error)
{
	struct pathprof_parcel parcel = {.slot_s = 0};
	enum pathprof_parcel_added added;
	char have[HUB_STORE_TEXT];
	uint64_t cut;
	int r = pathprof_parcel_read(&parcel, answer->text, answer->bytes, error);

	if (r == 0 && strcmp(hub_store_text(parcel.store, have), id) != 0)
		r = pathprof_fail(error, -EBADMSG, "%s: it answered with another host's parcel",
				  fetch->options->hub);
	if (r == 0)
		r = pathprof_store_add_parcel(store, &parcel, &added, error);
	if (r == 0)
		r = pathprof_store_add_names(store, &parcel, &cut, error);
	pathprof_parcel_release(&parcel);
	return r;
}

/* Skips a host that sent nothing for that time. host is NULL if the hub is too old to name it. */
static int fetch_host(struct fetch *fetch, struct pathprof_store *store, const char *id,
		      const char *host, struct pathprof_error *error)
{
	_cleanup_answer_ struct hub_answer answer = {NULL, 0, 0, 0};
	char path[PATH_BYTES] = "/v1/profile?";
	int r = add_argument(fetch, path, "store", id);

	if (r == 0)
		r = add_argument(fetch, path, "host", host);
	if (r == 0)
		r = add_argument(fetch, path, "since", fetch->options->since);
	if (r == 0)
		r = add_argument(fetch, path, "until", fetch->options->until);
	if (r < 0)
		return pathprof_fail(error, r, "the question: %s", strerror(-r));
	hub_client_ask(&fetch->client, path, NULL, 0, &answer);
	fetch->done++;
	show_progress(fetch);
	if (answer.status == 404)
		return 0;
	if (answer.status != 200)
		return refuse(fetch, "a host's profile", &answer);
	fetch->added++;
	return add_parcel(fetch, store, id, &answer, error);
}

/* ---------------------------------------------------------------- all of them */

static int fetch_each(struct fetch *fetch, struct pathprof_store *store, const json_t *stores,
		      struct pathprof_error *error)
{
	const json_t *row;
	size_t i;
	int r = 0;

	fetch->total = json_array_size(stores);
	json_array_foreach(stores, i, row)
	{
		const char *id = json_string_value(json_object_get(row, "store"));

		if (r == 0)
			r = fetch_host(fetch, store, id ? id : "",
				       json_string_value(json_object_get(row, "host")), error);
	}
	return r;
}

static int none_sent(const struct fetch *fetch, struct pathprof_error *error)
{
	const char *host = fetch->options->host;

	if (!host && !fetch->options->labels && !fetch->total)
		return pathprof_fail(error, -ENODATA, "%s: no host has sent to this hub yet",
				     fetch->options->hub);
	if (fetch->options->labels && !fetch->total)
		return pathprof_fail(error, -ENODATA,
				     "%s: no host with the labels %s sent to this hub",
				     fetch->options->hub, fetch->options->labels);
	if (host && !fetch->total)
		return pathprof_fail(error, -ENODATA, "%s: no host %s sent to this hub",
				     fetch->options->hub, host);
	return pathprof_fail(error, -ENODATA,
			     "%s: %s sent nothing of that time, of %zu that sent at all: ask of an "
			     "earlier or a longer one",
			     fetch->options->hub, host ? host : "hosts", fetch->total);
}

/* Keeps the hub's list of hosts for commands that show hosts: the database of a span does not show
 * what else the hub keeps. */
static int keep_list(const struct fetch *fetch, const json_t *stores, struct pathprof_error *error)
{
	const char *to = fetch->options->hosts;

	if (!to || json_dump_file(stores, to, JSON_COMPACT) == 0)
		return 0;
	return pathprof_fail(error, -EIO, "--hosts %s: cannot be written: %s", to, strerror(errno));
}

static int fetch_all(void *context, struct pathprof_store *store, struct pathprof_error *error)
{
	struct fetch *fetch = context;
	_cleanup_answer_ struct hub_answer answer = {NULL, 0, 0, 0};
	char path[PATH_BYTES] = "/v1/hosts?";
	json_t *object = NULL;
	int r = add_argument(fetch, path, "host", fetch->options->host);

	if (r == 0)
		r = add_argument(fetch, path, "labels", fetch->options->labels);
	if (r < 0)
		return pathprof_fail(error, r, "the question: %s", strerror(-r));
	hub_client_ask(&fetch->client, path, NULL, 0, &answer);
	if (answer.status == 200)
		object = hub_answer_json(&answer);
	if (!json_is_array(json_object_get(object, "stores")))
		r = refuse(fetch, "its hosts", &answer);
	else
		r = keep_list(fetch, json_object_get(object, "stores"), error);
	if (r == 0)
		r = fetch_each(fetch, store, json_object_get(object, "stores"), error);
	json_decref(object);
	clear_progress(fetch);
	return r == 0 && !fetch->added ? none_sent(fetch, error) : r;
}

/* ---------------------------------------------------------------- alerts */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int64_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* The store refuses a state that cannot be. */
static struct pathprof_alert_row row_of(const json_t *object)
{
	return (struct pathprof_alert_row){
		.rule = text_of(object, "rule"),
		.binary = text_of(object, "binary"),
		.container = text_of(object, "container"),
		.baseline = text_of(object, "baseline"),
		.json = text_of(object, "told"),
		.state = {.phase = (uint32_t)number_of(object, "phase"),
			  .streak_cnt = (uint32_t)number_of(object, "streak"),
			  .since_ns = number_of(object, "since_ns"),
			  .fired_ns = number_of(object, "fired_ns"),
			  .resolved_ns = number_of(object, "resolved_ns"),
			  .seen_ns = number_of(object, "seen_ns"),
			  .value = json_number_value(json_object_get(object, "value"))},
	};
}

static int add_alerts(struct pathprof_store *store, const json_t *alerts,
		      struct pathprof_error *error)
{
	const json_t *object;
	size_t i;
	int r = 0;

	json_array_foreach(alerts, i, object)
	{
		const struct pathprof_alert_row row = row_of(object);

		if (r == 0)
			r = pathprof_store_set_alerts(store, &row, 1, NULL, 0, error);
	}
	return r;
}

static int fetch_alerts(void *context, struct pathprof_store *store, struct pathprof_error *error)
{
	struct fetch *fetch = context;
	_cleanup_answer_ struct hub_answer answer = {NULL, 0, 0, 0};
	json_t *object = NULL;
	int r;

	hub_client_ask(&fetch->client, "/v1/alerts", NULL, 0, &answer);
	if (answer.status == 200)
		object = hub_answer_json(&answer);
	if (!json_is_array(json_object_get(object, "alerts")))
		r = refuse(fetch, "its alerts", &answer);
	else
		r = add_alerts(store, json_object_get(object, "alerts"), error);
	json_decref(object);
	return r;
}

/* ---------------------------------------------------------------- the file of a build */

/* The file's build-id is not checked here; its reader compares it. */
static int fetch_file(struct fetch *fetch)
{
	_cleanup_answer_ struct hub_answer answer = {NULL, 0, 0, 0};
	const char *to = fetch->options->db;
	_cleanup_close_ int fd =
		open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	char path[PATH_BYTES];

	if (fd < 0)
		return hub_fail("%s: %s", to, strerror(errno));
	snprintf(path, sizeof(path), "/v1/files/%.64s", fetch->options->build);
	hub_client_save(&fetch->client, path, fd, HUB_FILE_BYTES, &answer);
	if (answer.status == 200 && !fetch->client.why[0])
		return HUB_OK;
	hub_client_say(&fetch->client, fetch->options->build, &answer);
	unlink(to);
	return HUB_FAILURE;
}

int hub_fetch(const struct hub_options *options)
{
	struct fetch fetch = {.options = options, .begin_ns = pp_monotonic_ns()};
	struct pathprof_error error = {""};
	int r = options->argc ? hub_usage(options, "%s: not expected", options->argv[0])
			      : hub_client_check(options);

	if (r)
		return r;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	r = hub_client_open(&fetch.client, options);
	if (r == 0 && options->build) {
		r = fetch_file(&fetch);
		hub_client_close(&fetch.client);
		return r;
	}
	if (r == 0)
		r = pathprof_store_make(options->db, false,
					options->alerts ? fetch_alerts : fetch_all, &fetch, &error);
	hub_client_close(&fetch.client);
	if (r < 0 && error.text[0])
		hub_note("%s", error.text);
	return r < 0 ? HUB_FAILURE : HUB_OK;
}
