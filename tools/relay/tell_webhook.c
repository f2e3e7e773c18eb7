// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Telling by HTTP, to an Alertmanager or to anything that takes JSON: the queue is in tell_queue.h.
 *
 * One request at a time. After a failure all wait, longer each time. A receiver that refuses a
 * message (most of 4xx) would refuse it again: that message is given up. If the receiver cannot be
 * reached, or may yet be set right (5xx, 401, 403, 404, 408, 429), it is tried again.
 *
 * One owner, the event loop.
 */
#include "sinks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/shared/log.h"
#include "tell_failure.h"
#include "tell_http.h"
#include "tell_queue.h"

#define RESEND_MS     60000
#define QUEUE_MAX     256
#define TIMEOUT_MS    15000
#define RETRY_MS      1000
#define PAUSE_MOST_US UINT64_C(300000000)
#define API_PATH      "/api/v2/alerts"

struct webhook {
	struct pp_tell tell;
	struct pp_tell_queue queue;
	struct pp_tell_http *http;
	sd_event_source *timer;
	uint64_t retry_us;
	uint32_t failed_cnt; /* requests in a row */
	uint64_t wait_until_us;
	bool closing; /* nothing more is sent */
	struct pp_tell_failure failure;
};

static void schedule(struct webhook *hook);

/* ---------------------------------------------------------------- requests */

static void pause_after_failure(struct webhook *hook, uint32_t retry_after_s)
{
	uint64_t pause_us, asked_us = (uint64_t)retry_after_s * 1000000;

	hook->queue.stats.failed_tries++;
	hook->failed_cnt += hook->failed_cnt < UINT32_MAX;
	pause_us = pp_tell_pause_us(hook->retry_us, PAUSE_MOST_US, hook->failed_cnt);
	if (asked_us > PAUSE_MOST_US)
		asked_us = PAUSE_MOST_US;
	hook->wait_until_us = pp_tell_now_us() + (asked_us > pause_us ? asked_us : pause_us);
}

/* Keeps the failure for the status of this sink; log_reply() writes the log. */
static void note_failure(struct webhook *hook, const struct pp_tell_http_reply *reply)
{
	if (reply->status)
		pp_tell_failure_note(&hook->failure, "it answered with status %ld", reply->status);
	else
		pp_tell_failure_note(&hook->failure, "%s", reply->why);
}

static bool taken(long status)
{
	return status >= 200 && status < 300;
}

static bool refused(long status)
{
	switch (status) {
	case 401:
	case 403:
	case 404:
	case 408:
	case 425:
	case 429:
		return false;
	default:
		return status >= 300 && status < 500;
	}
}

/* Logs the first failure in a row, and the end of failures. */
static void log_reply(const struct webhook *hook, const struct pp_tell_http_reply *reply)
{
	const char *name = hook->tell.ops->name;

	if (taken(reply->status)) {
		if (hook->failed_cnt)
			pp_log(LOG_NOTICE, "%s: the receiver takes alerts again", name);
	} else if (hook->failed_cnt) {
		return;
	} else if (refused(reply->status)) {
		pp_log(LOG_WARNING,
		       "%s: the receiver refused alerts with HTTP status %ld; these messages are "
		       "given up: see the receiver's log",
		       name, reply->status);
	} else if (reply->status) {
		pp_log(LOG_WARNING, "%s: the receiver answered with HTTP status %ld; trying again",
		       name, reply->status);
	} else {
		pp_log(LOG_WARNING, "%s: %s; trying again", name, reply->why);
	}
}

static void on_reply(void *context, const struct pp_tell_http_reply *reply)
{
	struct webhook *hook = context;

	log_reply(hook, reply);
	if (taken(reply->status)) {
		pp_tell_queue_settle(&hook->queue, true);
		hook->failed_cnt = 0;
		pp_tell_failure_end(&hook->failure);
		hook->wait_until_us = 0;
	} else {
		if (refused(reply->status))
			pp_tell_queue_settle(&hook->queue, false);
		else
			pp_tell_queue_put_back(&hook->queue);
		note_failure(hook, reply);
		pause_after_failure(hook, reply->retry_after_s);
	}
	schedule(hook);
}

static const char *token_error(int code)
{
	switch (code) {
	case -ENODATA:
		return "the file is empty";
	case -EBADMSG:
		return "the file has more than one word";
	case -E2BIG:
		return "the file is too long";
	default:
		return strerror(-code);
	}
}

static void send_due(struct webhook *hook)
{
	char *body = pp_tell_queue_body(&hook->queue);
	int r = body ? pp_tell_http_post(hook->http, body) : -ENOMEM;
	char why[PP_TELL_FAILURE_WHY_MAX];

	if (r == 0)
		return;
	if (r == -ENOMEM)
		snprintf(why, sizeof(why), "%s", strerror(-r));
	else
		snprintf(why, sizeof(why), "BearerFile= gives no token: %s", token_error(r));
	on_reply(hook, &(struct pp_tell_http_reply){.why = why});
}

/* ---------------------------------------------------------------- when */

static void wake_at(struct webhook *hook, uint64_t at_us)
{
	if (sd_event_source_set_time(hook->timer, at_us) >= 0)
		sd_event_source_set_enabled(hook->timer, SD_EVENT_ONESHOT);
}

/* Sets the timer, which sends: so a failure at once does not lead to recursion. */
static void schedule(struct webhook *hook)
{
	uint64_t next_us;

	if (hook->closing || pp_tell_http_busy(hook->http))
		return;
	next_us = pp_tell_queue_renew(&hook->queue, pp_tell_now_us());
	if (pp_tell_queue_any_due(&hook->queue))
		wake_at(hook, hook->wait_until_us);
	else if (next_us != UINT64_MAX)
		wake_at(hook, next_us);
	else
		sd_event_source_set_enabled(hook->timer, SD_EVENT_OFF);
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *context)
{
	struct webhook *hook = context;

	if (pp_tell_http_busy(hook->http))
		return 0;
	pp_tell_queue_renew(&hook->queue, pp_tell_now_us());
	if (pp_tell_queue_any_due(&hook->queue) && pp_tell_now_us() >= hook->wait_until_us)
		send_due(hook);
	else
		schedule(hook);
	return 0;
}

/* ---------------------------------------------------------------- as a sink */

static int webhook_tell(struct pp_tell *tell, const struct pp_tell_message *message)
{
	struct webhook *hook = (struct webhook *)tell;
	int r = 0;

	if (message->change == PATHPROF_ALERT_FIRED || message->change == PATHPROF_ALERT_RESOLVED ||
	    message->change == PATHPROF_ALERT_SAME)
		r = pp_tell_queue_add(&hook->queue, message);
	if (r == 0)
		schedule(hook);
	return r;
}

static void webhook_stats(struct pp_tell *tell, struct pp_tell_stats *ret_stats)
{
	struct webhook *hook = (struct webhook *)tell;

	*ret_stats = hook->queue.stats;
	ret_stats->queued = pp_tell_queue_untold(&hook->queue);
	ret_stats->settled = pp_tell_queue_settled(&hook->queue);
	pp_tell_failure_show(&hook->failure, ret_stats);
}

static void webhook_finish(struct pp_tell *tell, uint32_t wait_ms)
{
	struct webhook *hook = (struct webhook *)tell;

	hook->closing = true;
	pp_tell_http_wait(hook->http, pp_tell_now_us() + (uint64_t)wait_ms * 1000);
}

static void webhook_free(struct pp_tell *tell)
{
	struct webhook *hook = (struct webhook *)tell;

	if (!hook)
		return;
	pp_tell_http_free(hook->http);
	sd_event_source_disable_unref(hook->timer);
	pp_tell_queue_release(&hook->queue);
	free(hook);
}

void pp_tell_webhook_forget(struct pp_tell *tell)
{
	struct webhook *hook = (struct webhook *)tell;

	pp_tell_queue_forget_told(&hook->queue);
	schedule(hook);
}

void pp_tell_webhook_set_away(struct pp_tell *tell, bool away)
{
	struct webhook *hook = (struct webhook *)tell;

	hook->queue.away = away;
	if (away)
		pp_tell_webhook_forget(tell);
}

static const struct pp_tell_ops webhook_ops[] = {
	[PP_TELL_WEBHOOK_ALERTMANAGER] = {.name = "alertmanager",
					  .tell = webhook_tell,
					  .stats = webhook_stats,
					  .finish = webhook_finish,
					  .free = webhook_free},
	[PP_TELL_WEBHOOK_JSON] = {.name = "webhook",
				  .tell = webhook_tell,
				  .stats = webhook_stats,
				  .finish = webhook_finish,
				  .free = webhook_free},
};

/* ---------------------------------------------------------------- setting up */

static char *url_of(const struct pp_tell_webhook_config *config)
{
	size_t len_bytes = strlen(config->url);
	char *url = NULL;

	if (config->kind == PP_TELL_WEBHOOK_JSON)
		return strdup(config->url);
	while (len_bytes && config->url[len_bytes - 1] == '/')
		len_bytes--;
	if (asprintf(&url, "%.*s%s", (int)len_bytes, config->url, API_PATH) < 0)
		return NULL;
	return url;
}

static int open_http(struct webhook *hook, sd_event *event,
		     const struct pp_tell_webhook_config *config, struct pathprof_error *error)
{
	char *url = url_of(config);
	const struct pp_tell_http_config http = {
		.url = url,
		.bearer_file = config->bearer_file,
		.ca_file = config->ca_file,
		.timeout_ms = config->timeout_ms ? config->timeout_ms : TIMEOUT_MS,
	};
	int r = url ? pp_tell_http_new(&hook->http, event, &http, on_reply, hook, error) : -ENOMEM;

	free(url);
	return r;
}

static int make(struct webhook *hook, const struct pp_tell_webhook_config *config)
{
	hook->tell.ops = &webhook_ops[config->kind];
	hook->retry_us = UINT64_C(1000) * (config->retry_ms ? config->retry_ms : RETRY_MS);
	return pp_tell_queue_init(
		&hook->queue, config->kind, config->queue_max ? config->queue_max : QUEUE_MAX,
		UINT64_C(1000) * (config->resend_ms ? config->resend_ms : RESEND_MS));
}

int pp_tell_webhook_new(struct pp_tell **ret_tell, sd_event *event,
			const struct pp_tell_webhook_config *config, struct pathprof_error *error)
{
	struct webhook *hook = calloc(1, sizeof(*hook));
	int r;

	if (!hook)
		return -ENOMEM;
	r = make(hook, config);
	if (r >= 0)
		r = open_http(hook, event, config, error);
	if (r >= 0)
		r = sd_event_add_time(event, &hook->timer, CLOCK_MONOTONIC, 0, 1000, on_timer,
				      hook);
	if (r >= 0)
		r = sd_event_source_set_enabled(hook->timer, SD_EVENT_OFF);
	if (r < 0) {
		webhook_free(&hook->tell);
		return r;
	}
	*ret_tell = &hook->tell;
	return 0;
}
