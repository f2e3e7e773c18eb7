// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Telling by HTTP, to an Alertmanager or to anything that takes JSON.
 *
 *     JSON          entries are messages: the first is under way, each leaves when it was taken
 *     Alertmanager  entries are alerts in their last state: those that are due go in one request;
 *                   one that fires stays, and is due again every resend_ms; one that has resolved
 *                   leaves when that was taken
 *
 * Either way one request at a time. After a failure all wait, longer each time. A receiver that
 * refuses what it was sent (most of 4xx) would refuse it again: that message is given up. One that
 * cannot be reached or may yet be set right (5xx, 401, 403, 404, 408, 429) is tried again: without
 * end for alerts, 32 times for a JSON message, so that none holds up the rest for ever.
 *
 * Workload: a few messages an hour, hundreds at once when a fleet rolls out; entries are looked
 * through one by one. One owner, the event loop.
 */
#include "tell.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../log.h"
#include "tell_alertmanager.h"
#include "tell_http.h"
#include "tell_pause.h"

#define RESEND_MS      60000
#define QUEUE_MAX      256
#define TIMEOUT_MS     15000
#define RETRY_MS       1000
#define PAUSE_MOST_US  UINT64_C(300000000)
#define TRIES_MAX      32
#define BATCH_MAX      64
#define RESENDS_TO_END 4
#define API_PATH       "/api/v2/alerts"

struct entry {
	char *body; /* JSON: the message */
	/* Alertmanager, else NULL: the alert, and the names it is found by */
	json_t *alert;
	char *rule, *binary, *container;
	bool firing;
	uint64_t again_us; /* firing, and told: when it is due again */

	bool due, sent;              /* sent: in the request under way */
	uint32_t untold_cnt, failed; /* messages in it that nobody has taken; tries */
	uint32_t sent_cnt;           /* of the untold those in the request under way */
};

struct webhook {
	struct pp_tell tell;
	enum pp_tell_webhook_kind kind;
	struct pp_tell_http *http;
	sd_event_source *timer;
	char host[HOST_NAME_MAX + 1];
	uint64_t resend_us, retry_us;

	struct entry **entries; /* in the order told */
	uint32_t entry_cnt, entry_max;
	struct pp_tell_stats stats;
	uint32_t failed_cnt; /* requests in a row */
	uint64_t wait_until_us;
	bool closing; /* nothing is sent but by the one that closes */
};

static void schedule(struct webhook *hook);

/* ---------------------------------------------------------------- entries */

static void free_entry(struct entry *entry)
{
	if (!entry)
		return;
	json_decref(entry->alert);
	free(entry->body);
	free(entry->rule);
	free(entry->binary);
	free(entry->container);
	free(entry);
}

static void remove_entry(struct webhook *hook, uint32_t index)
{
	free_entry(hook->entries[index]);
	hook->entry_cnt--;
	memmove(hook->entries + index, hook->entries + index + 1,
		(hook->entry_cnt - index) * sizeof(*hook->entries));
}

static const char *named(const char *name)
{
	return name ? name : "";
}

static struct entry *find(const struct webhook *hook, const struct pp_tell_message *message)
{
	for (uint32_t i = 0; i < hook->entry_cnt; i++) {
		struct entry *entry = hook->entries[i];

		if (!strcmp(entry->rule, named(message->rule)) &&
		    !strcmp(entry->binary, named(message->binary)) &&
		    !strcmp(entry->container, named(message->container)))
			return entry;
	}
	return NULL;
}

static int add_entry(struct webhook *hook, struct entry **ret_entry)
{
	struct entry *entry;

	if (hook->entry_cnt == hook->entry_max)
		return -ENOBUFS;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	hook->entries[hook->entry_cnt++] = entry;
	*ret_entry = entry;
	return 0;
}

static int add_named(struct webhook *hook, const struct pp_tell_message *message,
		     struct entry **ret_entry)
{
	struct entry *entry;
	int r = add_entry(hook, &entry);

	if (r < 0)
		return r;
	entry->rule = strdup(named(message->rule));
	entry->binary = strdup(named(message->binary));
	entry->container = strdup(named(message->container));
	if (!entry->rule || !entry->binary || !entry->container) {
		remove_entry(hook, hook->entry_cnt - 1);
		return -ENOMEM;
	}
	*ret_entry = entry;
	return 0;
}

/* What Alertmanager knows an alert by stays as it was told first, whatever has changed since. */
static void keep_labels(json_t *alert, const json_t *told)
{
	json_t *labels = json_object_get(told, "labels");
	json_t *starts = json_object_get(told, "startsAt");

	if (labels)
		json_object_set(alert, "labels", labels);
	if (starts)
		json_object_set(alert, "startsAt", starts);
}

static int take_alert(struct webhook *hook, const struct pp_tell_message *message)
{
	struct entry *entry = find(hook, message);
	json_t *alert = pp_alertmanager_alert(message, hook->host);
	int r = alert ? 0 : -ENOMEM;

	if (r == 0 && !entry)
		r = add_named(hook, message, &entry);
	if (r < 0) {
		json_decref(alert);
		return r;
	}
	if (message->change == PATHPROF_ALERT_RESOLVED)
		keep_labels(alert, entry->alert);
	json_decref(entry->alert);
	entry->alert = alert;
	entry->firing = message->change != PATHPROF_ALERT_RESOLVED;
	entry->due = true;
	entry->sent = false;
	entry->untold_cnt += message->change != PATHPROF_ALERT_SAME;
	return 0;
}

static int take_message(struct webhook *hook, const struct pp_tell_message *message)
{
	struct entry *entry;
	char *body;
	int r;

	if (message->change == PATHPROF_ALERT_SAME)
		return 0;
	body = strdup(message->json);
	r = body ? add_entry(hook, &entry) : -ENOMEM;
	if (r < 0) {
		free(body);
		return r;
	}
	entry->body = body;
	entry->due = true;
	entry->untold_cnt = 1;
	return 0;
}

/* ---------------------------------------------------------------- requests */

static int64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void mark_sent(struct entry *entry)
{
	entry->sent = true;
	entry->sent_cnt = entry->untold_cnt;
}

/* All that are due, so many at a time. NULL: out of memory. */
static char *batch(struct webhook *hook)
{
	int64_t end_ns = wall_ns() + (int64_t)hook->resend_us * 1000 * RESENDS_TO_END;
	json_t *alerts = json_array();
	uint32_t cnt = 0;
	char *text;

	for (uint32_t i = 0; i < hook->entry_cnt && cnt < BATCH_MAX; i++) {
		struct entry *entry = hook->entries[i];

		if (!entry->due)
			continue;
		if (entry->firing)
			pp_alertmanager_set_end(entry->alert, end_ns);
		json_array_append(alerts, entry->alert);
		mark_sent(entry);
		cnt++;
	}
	text = json_dumps(alerts, JSON_COMPACT);
	json_decref(alerts);
	return text;
}

static char *next_body(struct webhook *hook)
{
	if (hook->kind == PP_TELL_WEBHOOK_ALERTMANAGER)
		return batch(hook);
	mark_sent(hook->entries[0]);
	return strdup(hook->entries[0]->body);
}

static bool any_due(const struct webhook *hook)
{
	for (uint32_t i = 0; i < hook->entry_cnt; i++)
		if (hook->entries[i]->due)
			return true;
	return false;
}

static void give_up(struct webhook *hook, struct entry *entry, uint32_t cnt)
{
	hook->stats.dropped += cnt;
	entry->untold_cnt -= cnt;
	entry->failed = 0;
}

/* The receiver has taken it, or never will. False: nothing is left of it. */
static bool settle(struct webhook *hook, struct entry *entry, bool taken)
{
	uint32_t cnt = entry->sent_cnt;

	if (taken) {
		hook->stats.told += cnt;
		entry->untold_cnt -= cnt;
		entry->failed = 0;
	} else {
		give_up(hook, entry, cnt);
	}
	entry->sent_cnt = 0;
	/* it has changed since it was sent */
	if (!entry->sent)
		return true;
	entry->sent = false;
	entry->due = false;
	entry->again_us = pp_tell_now_us() + hook->resend_us;
	return entry->firing;
}

static void settle_sent(struct webhook *hook, bool taken)
{
	for (uint32_t i = hook->entry_cnt; i-- > 0;) {
		struct entry *entry = hook->entries[i];

		if ((entry->sent || entry->sent_cnt) && !settle(hook, entry, taken))
			remove_entry(hook, i);
	}
}

/* Back among those that are due, but for messages that have been tried often enough. */
static void put_back(struct webhook *hook)
{
	for (uint32_t i = hook->entry_cnt; i-- > 0;) {
		struct entry *entry = hook->entries[i];

		if (!entry->sent && !entry->sent_cnt)
			continue;
		entry->sent = false;
		entry->sent_cnt = 0;
		if (!entry->body || ++entry->failed < TRIES_MAX)
			continue;
		give_up(hook, entry, entry->untold_cnt);
		remove_entry(hook, i);
	}
}

static void pause_after_failure(struct webhook *hook, uint32_t retry_after_s)
{
	uint64_t pause_us, asked_us = (uint64_t)retry_after_s * 1000000;

	hook->stats.failed_tries++;
	hook->failed_cnt += hook->failed_cnt < UINT32_MAX;
	pause_us = pp_tell_pause_us(hook->retry_us, PAUSE_MOST_US, hook->failed_cnt);
	if (asked_us > PAUSE_MOST_US)
		asked_us = PAUSE_MOST_US;
	hook->wait_until_us = pp_tell_now_us() + (asked_us > pause_us ? asked_us : pause_us);
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

/* The first of failures in a row, and the end of them. */
static void log_reply(const struct webhook *hook, const struct pp_tell_http_reply *reply)
{
	const char *name = hook->tell.ops->name;

	if (taken(reply->status)) {
		if (hook->failed_cnt)
			pp_log(LOG_NOTICE, "%s: alerts are taken again", name);
	} else if (hook->failed_cnt) {
		return;
	} else if (refused(reply->status)) {
		pp_log(LOG_WARNING, "%s: refused what it was sent with status %ld: given up", name,
		       reply->status);
	} else if (reply->status) {
		pp_log(LOG_WARNING, "%s: answered with status %ld; tried again", name,
		       reply->status);
	} else {
		pp_log(LOG_WARNING, "%s: %s; tried again", name, reply->why);
	}
}

static void on_reply(void *context, const struct pp_tell_http_reply *reply)
{
	struct webhook *hook = context;

	log_reply(hook, reply);
	if (taken(reply->status)) {
		settle_sent(hook, true);
		hook->failed_cnt = 0;
		hook->wait_until_us = 0;
	} else {
		if (refused(reply->status))
			settle_sent(hook, false);
		else
			put_back(hook);
		pause_after_failure(hook, reply->retry_after_s);
	}
	schedule(hook);
}

static void send_due(struct webhook *hook)
{
	struct pp_tell_http_reply none = {.why = NULL};
	char *body = next_body(hook);
	int r = body ? pp_tell_http_post(hook->http, body) : -ENOMEM;

	if (r == 0)
		return;
	none.why = r == -ENOMEM ? strerror(-r) : "the token's file cannot be used";
	on_reply(hook, &none);
}

/* ---------------------------------------------------------------- when */

static void wake_at(struct webhook *hook, uint64_t at_us)
{
	if (sd_event_source_set_time(hook->timer, at_us) >= 0)
		sd_event_source_set_enabled(hook->timer, SD_EVENT_ONESHOT);
}

/* Those whose time has come are due; of the others, UINT64_MAX or when the next will be. */
static uint64_t renew(struct webhook *hook, uint64_t now_us)
{
	uint64_t next_us = UINT64_MAX;

	for (uint32_t i = 0; i < hook->entry_cnt; i++) {
		struct entry *entry = hook->entries[i];

		if (entry->due || !entry->firing)
			continue;
		entry->due = entry->again_us <= now_us;
		if (!entry->due && entry->again_us < next_us)
			next_us = entry->again_us;
	}
	return next_us;
}

/* Never sends itself: the timer does, so that a failure at once is no recursion. */
static void schedule(struct webhook *hook)
{
	uint64_t next_us;

	if (hook->closing || pp_tell_http_busy(hook->http))
		return;
	next_us = renew(hook, pp_tell_now_us());
	if (any_due(hook))
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
	renew(hook, pp_tell_now_us());
	if (any_due(hook) && pp_tell_now_us() >= hook->wait_until_us)
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
		r = hook->kind == PP_TELL_WEBHOOK_ALERTMANAGER ? take_alert(hook, message)
							       : take_message(hook, message);
	if (r < 0) {
		hook->stats.dropped++;
		return r;
	}
	schedule(hook);
	return 0;
}

static void webhook_stats(struct pp_tell *tell, struct pp_tell_stats *ret_stats)
{
	struct webhook *hook = (struct webhook *)tell;

	*ret_stats = hook->stats;
	ret_stats->queued = 0;
	for (uint32_t i = 0; i < hook->entry_cnt; i++)
		ret_stats->queued += hook->entries[i]->untold_cnt;
}

static bool any_untold(const struct webhook *hook)
{
	for (uint32_t i = 0; i < hook->entry_cnt; i++)
		if (hook->entries[i]->untold_cnt)
			return true;
	return false;
}

/* One try each: the first that fails ends it. */
static void last_tries(struct webhook *hook, uint32_t wait_ms)
{
	uint64_t until_us = pp_tell_now_us() + (uint64_t)wait_ms * 1000;
	uint64_t failed = hook->stats.failed_tries;

	hook->closing = true;
	while (any_untold(hook) && hook->stats.failed_tries == failed &&
	       pp_tell_now_us() < until_us) {
		if (!pp_tell_http_busy(hook->http))
			send_due(hook);
		pp_tell_http_wait(hook->http, until_us);
	}
}

static void webhook_free(struct pp_tell *tell, uint32_t wait_ms)
{
	struct webhook *hook = (struct webhook *)tell;

	if (!hook)
		return;
	if (hook->http && wait_ms)
		last_tries(hook, wait_ms);
	pp_tell_http_free(hook->http);
	sd_event_source_disable_unref(hook->timer);
	while (hook->entry_cnt)
		remove_entry(hook, hook->entry_cnt - 1);
	free(hook->entries);
	free(hook);
}

static const struct pp_tell_ops webhook_ops[] = {
	[PP_TELL_WEBHOOK_ALERTMANAGER] = {.name = "alertmanager",
					  .tell = webhook_tell,
					  .stats = webhook_stats,
					  .free = webhook_free},
	[PP_TELL_WEBHOOK_JSON] = {.name = "webhook",
				  .tell = webhook_tell,
				  .stats = webhook_stats,
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

static void set_limits(struct webhook *hook, const struct pp_tell_webhook_config *config)
{
	hook->kind = config->kind;
	hook->tell.ops = &webhook_ops[config->kind];
	hook->resend_us = UINT64_C(1000) * (config->resend_ms ? config->resend_ms : RESEND_MS);
	hook->retry_us = UINT64_C(1000) * (config->retry_ms ? config->retry_ms : RETRY_MS);
	hook->entry_max = config->queue_max ? config->queue_max : QUEUE_MAX;
	if (gethostname(hook->host, sizeof(hook->host)) < 0)
		hook->host[0] = '\0';
	hook->host[HOST_NAME_MAX] = '\0';
}

int pp_tell_webhook_new(struct pp_tell **ret_tell, sd_event *event,
			const struct pp_tell_webhook_config *config, struct pathprof_error *error)
{
	struct webhook *hook = calloc(1, sizeof(*hook));
	int r;

	if (!hook)
		return -ENOMEM;
	set_limits(hook, config);
	hook->entries = calloc(hook->entry_max, sizeof(struct entry *));
	if (!hook->entries) {
		free(hook);
		return -ENOMEM;
	}
	r = open_http(hook, event, config, error);
	if (r >= 0)
		r = sd_event_add_time(event, &hook->timer, CLOCK_MONOTONIC, 0, 1000, on_timer,
				      hook);
	if (r >= 0)
		r = sd_event_source_set_enabled(hook->timer, SD_EVENT_OFF);
	if (r < 0) {
		webhook_free(&hook->tell, 0);
		return r;
	}
	*ret_tell = &hook->tell;
	return 0;
}
