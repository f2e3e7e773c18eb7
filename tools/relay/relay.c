// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprof-relay's parts, and what happens between them: see relay.h. */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "relay_state.h"
#include "tell_failure.h"

/* While pathprofd is away, nobody knows whether an alert still fires: after this time firing alerts
 * are no longer sent again. */
#define AWAY_US UINT64_C(60000000)

bool pp_relay_is_wanted(const struct pp_config *config)
{
	return config->tell_exec[0] || config->tell_alertmanager[0] || config->tell_webhook[0] ||
	       config->metrics_listen[0];
}

/* ---------------------------------------------------------------- what happens */

/* A delivery must be on the disk before anything else can happen to it. */
static void take_notes(struct pp_relay *relay)
{
	bool changed = relay->notes_differ;
	int r;

	relay->notes_differ = false;
	for (int i = 0; i < PP_NOTES_SINK_CNT; i++) {
		struct pp_relay_sink *sink = &relay->sinks[i];
		int64_t settled =
			sink->tell && sink->begun ? pp_relay_settled(sink) : relay->notes.told[i];

		changed |= settled != relay->notes.told[i];
		relay->notes.told[i] = settled;
	}
	if (!changed && !pp_log_any(&relay->notes_trouble))
		return;
	r = pp_notes_save(&relay->notes);
	if (r == 0)
		relay->notes_trouble = (struct pp_log_seen){0};
	else if (pp_log_once(&relay->notes_trouble, r))
		pp_log(LOG_WARNING,
		       "the record of alerts that were told cannot be written: %s: alerts may be "
		       "told again after a restart",
		       strerror(-r));
}

/* Called after every event. */
static int on_after(sd_event_source *source, void *context)
{
	struct pp_relay *relay = context;
	bool hungry = false;

	take_notes(relay);
	for (int i = 0; i < PP_NOTES_SINK_CNT; i++)
		hungry |= pp_relay_is_hungry(&relay->sinks[i]);
	if (hungry)
		pp_relay_feed(relay);
	pp_relay_status(relay);
	return 0;
}

static void follow_pathprofd(struct pp_relay *relay)
{
	struct pp_relay_sink *sink = &relay->sinks[PP_NOTES_ALERTMANAGER];
	uint64_t now_us = pp_tell_now_us();

	if (relay->was_up)
		relay->up_us = now_us;
	relay->was_up = pp_inlet_is_up(relay->inlet);
	if (relay->was_up) {
		/* Alertmanager is told again which alerts fire. */
		sink->begun &= !relay->forgot;
		if (relay->forgot)
			pp_tell_webhook_set_away(sink->tell, false);
		relay->forgot = false;
	} else if (sink->tell && !relay->forgot && now_us - relay->up_us > AWAY_US) {
		pp_tell_webhook_set_away(sink->tell, true);
		relay->forgot = true;
	}
}

static void on_news(void *context)
{
	struct pp_relay *relay = context;

	follow_pathprofd(relay);
	pp_relay_feed(relay);
	pp_relay_status(relay);
}

static void on_figures(void *context, const char *text, size_t len_bytes)
{
	pp_relay_figures(context, text, len_bytes);
}

static void on_question(void *context)
{
	struct pp_relay *relay = context;

	pp_inlet_ask(relay->inlet);
}

/* ---------------------------------------------------------------- setting up */

/* Reports files that cannot be read now. They are read at each try, so they may still appear. */
static void look_at(const char *setting, const char *path)
{
	_cleanup_close_ int fd = -EBADF;
	struct stat status;
	int r = 0;

	if (!path[0])
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		r = -errno;
	else if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		r = -EINVAL;
	if (r < 0)
		pp_log(LOG_WARNING, "%s=%s: %s: alerts wait until pathprof-relay can read it",
		       setting, path, r == -EINVAL ? "not a regular file" : strerror(-r));
}

static int open_webhook(struct pp_relay *relay, const struct pp_config *config,
			enum pp_tell_webhook_kind kind, struct pathprof_error *error)
{
	bool json = kind == PP_TELL_WEBHOOK_JSON;
	const struct pp_tell_webhook_config webhook = {
		.kind = kind,
		.url = json ? config->tell_webhook : config->tell_alertmanager,
		.bearer_file = config->tell_bearer_file[0] ? config->tell_bearer_file : NULL,
		.ca_file = config->tell_ca_file[0] ? config->tell_ca_file : NULL,
	};
	enum pp_notes_sink sink = json ? PP_NOTES_WEBHOOK : PP_NOTES_ALERTMANAGER;

	if (!webhook.url[0])
		return 0;
	return pp_tell_webhook_new(&relay->sinks[sink].tell, relay->event, &webhook, error);
}

/* A sink that is not configured starts anew when it comes back. */
static void forget_unset(struct pp_relay *relay)
{
	for (int i = 0; i < PP_NOTES_SINK_CNT; i++) {
		if (relay->sinks[i].tell || relay->notes.told[i] == PP_NOTES_NONE)
			continue;
		relay->notes.told[i] = PP_NOTES_NONE;
		relay->notes_differ = true;
	}
}

static int open_sinks(struct pp_relay *relay, const struct pp_config *config,
		      struct pathprof_error *error)
{
	const struct pp_tell_exec_config exec = {.command = config->tell_exec};
	int r = 0;

	if (exec.command[0])
		r = pp_tell_exec_new(&relay->sinks[PP_NOTES_EXEC].tell, relay->event, &exec, error);
	if (r == 0)
		r = open_webhook(relay, config, PP_TELL_WEBHOOK_ALERTMANAGER, error);
	if (r == 0)
		r = open_webhook(relay, config, PP_TELL_WEBHOOK_JSON, error);
	forget_unset(relay);
	look_at("BearerFile", config->tell_bearer_file);
	look_at("CAFile", config->tell_ca_file);
	return r;
}

static int open_metrics(struct pp_relay *relay, const struct pp_config *config,
			struct pathprof_error *error)
{
	const struct pp_metrics_config metrics = {
		.address = config->metrics_listen, .ask = on_question, .context = relay};

	if (!config->metrics_listen[0])
		return 0;
	return pp_metrics_new(&relay->metrics, relay->event, &metrics, error);
}

static int open_inlet(struct pp_relay *relay, struct pathprof_error *error)
{
	const struct pp_inlet_config inlet = {.database = relay->database,
					      .notes = relay->notes_path,
					      .on_news = on_news,
					      .on_figures = on_figures,
					      .context = relay};
	int r = pp_inlet_new(&relay->inlet, relay->event, &inlet);

	if (r >= 0)
		r = sd_event_add_post(relay->event, &relay->after, on_after, relay);
	return r < 0 ? pathprof_fail(error, r, "%s: %s", relay->database, strerror(-r)) : 0;
}

int pp_relay_new(struct pp_relay **ret_relay, sd_event *event, const struct pp_config *config,
		 const char *database, const char *state, struct pathprof_error *error)
{
	struct pp_relay *relay = calloc(1, sizeof(*relay));
	int r;

	if (!relay)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	relay->event = sd_event_ref(event);
	relay->up_us = pp_tell_now_us();
	relay->database = strdup(database);
	r = pp_notes_open(&relay->notes, state, error);
	relay->notes_path = realpath(state, NULL);
	if (r == 0)
		r = open_sinks(relay, config, error);
	if (r == 0)
		r = open_metrics(relay, config, error);
	if (r == 0)
		r = relay->database ? open_inlet(relay, error) : -ENOMEM;
	if (r < 0) {
		pp_relay_free(relay, 0);
		return r;
	}
	*ret_relay = relay;
	return 0;
}

void pp_relay_free(struct pp_relay *relay, uint32_t wait_ms)
{
	if (!relay)
		return;
	sd_event_source_disable_unref(relay->after);
	pp_inlet_free(relay->inlet);
	pp_metrics_free(relay->metrics);
	for (int i = 0; i < PP_NOTES_SINK_CNT; i++)
		if (relay->sinks[i].tell && wait_ms)
			relay->sinks[i].tell->ops->finish(relay->sinks[i].tell, wait_ms);
	if (wait_ms)
		take_notes(relay);
	for (int i = 0; i < PP_NOTES_SINK_CNT; i++)
		if (relay->sinks[i].tell)
			relay->sinks[i].tell->ops->free(relay->sinks[i].tell);
	pp_notes_release(&relay->notes);
	sd_event_unref(relay->event);
	free(relay->notes_path);
	free((char *)relay->database);
	free(relay);
}
