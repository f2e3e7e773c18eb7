// SPDX-License-Identifier: GPL-2.0-or-later
/* The queue of messages to be sent by HTTP: see tell_queue.h. */
#include "tell_queue.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sinks.h"
#include "tell_failure.h"

#define TRIES_MAX      32
#define BATCH_MAX      64
#define RESENDS_TO_END 4

struct pp_tell_entry {
	char *body; /* JSON: the message */
	/* Alertmanager, else NULL: the alert, and the names it is found by */
	json_t *alert;
	char *rule, *binary, *container;
	bool firing;
	uint64_t again_us; /* if it fires and was sent: when it is due again */

	bool due, sent;              /* sent: it is in the request under way */
	uint32_t untold_cnt, failed; /* its messages that nobody has taken; failed tries */
	uint32_t sent_cnt;           /* those of the untold that are in the request under way */
	int64_t untold_id;           /* id of the first of the untold, or of one before it */
};

/* ---------------------------------------------------------------- entries */

static void free_entry(struct pp_tell_entry *entry)
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

static void remove_entry(struct pp_tell_queue *queue, uint32_t index)
{
	free_entry(queue->entries[index]);
	queue->entry_cnt--;
	memmove(queue->entries + index, queue->entries + index + 1,
		(queue->entry_cnt - index) * sizeof(*queue->entries));
}

static const char *named(const char *name)
{
	return name ? name : "";
}

static struct pp_tell_entry *find(const struct pp_tell_queue *queue,
				  const struct pp_tell_message *message)
{
	for (uint32_t i = 0; i < queue->entry_cnt; i++) {
		struct pp_tell_entry *entry = queue->entries[i];

		if (!strcmp(entry->rule, named(message->rule)) &&
		    !strcmp(entry->binary, named(message->binary)) &&
		    !strcmp(entry->container, named(message->container)))
			return entry;
	}
	return NULL;
}

static int add_entry(struct pp_tell_queue *queue, struct pp_tell_entry **ret_entry)
{
	struct pp_tell_entry *entry;

	if (queue->entry_cnt == queue->entry_max)
		return -ENOBUFS;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	queue->entries[queue->entry_cnt++] = entry;
	*ret_entry = entry;
	return 0;
}

static int add_named(struct pp_tell_queue *queue, const struct pp_tell_message *message,
		     struct pp_tell_entry **ret_entry)
{
	struct pp_tell_entry *entry;
	int r = add_entry(queue, &entry);

	if (r < 0)
		return r;
	entry->rule = strdup(named(message->rule));
	entry->binary = strdup(named(message->binary));
	entry->container = strdup(named(message->container));
	if (!entry->rule || !entry->binary || !entry->container) {
		remove_entry(queue, queue->entry_cnt - 1);
		return -ENOMEM;
	}
	*ret_entry = entry;
	return 0;
}

/* Keeps the labels and startsAt with which the alert was told before, whatever has changed since:
 * Alertmanager knows it by them. */
static void keep_labels(json_t *alert, const json_t *told)
{
	json_t *labels = json_object_get(told, "labels");
	json_t *starts = json_object_get(told, "startsAt");

	if (labels)
		json_object_set(alert, "labels", labels);
	if (starts)
		json_object_set(alert, "startsAt", starts);
}

static int take_alert(struct pp_tell_queue *queue, const struct pp_tell_message *message)
{
	struct pp_tell_entry *entry = find(queue, message);
	json_t *alert = pp_alertmanager_alert(message, queue->host);
	int r = alert ? 0 : -ENOMEM;

	if (r == 0 && !entry)
		r = add_named(queue, message, &entry);
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
	if (message->change == PATHPROF_ALERT_SAME)
		return 0;
	if (!entry->untold_cnt++)
		entry->untold_id = message->id;
	return 0;
}

static int take_message(struct pp_tell_queue *queue, const struct pp_tell_message *message)
{
	struct pp_tell_entry *entry;
	char *body;
	int r;

	if (message->change == PATHPROF_ALERT_SAME)
		return 0;
	body = strdup(message->json);
	r = body ? add_entry(queue, &entry) : -ENOMEM;
	if (r < 0) {
		free(body);
		return r;
	}
	entry->body = body;
	entry->due = true;
	entry->untold_cnt = 1;
	entry->untold_id = message->id;
	return 0;
}

int pp_tell_queue_add(struct pp_tell_queue *queue, const struct pp_tell_message *message)
{
	int r = queue->kind == PP_TELL_WEBHOOK_ALERTMANAGER ? take_alert(queue, message)
							    : take_message(queue, message);

	queue->stats.dropped += r < 0;
	if (message->id > queue->newest)
		queue->newest = message->id;
	return r;
}

/* ---------------------------------------------------------------- what goes out */

static void mark_sent(struct pp_tell_entry *entry)
{
	entry->sent = true;
	entry->sent_cnt = entry->untold_cnt;
}

/* Returns a request with the alerts that are due, at most BATCH_MAX. NULL: out of memory. */
static char *batch(struct pp_tell_queue *queue)
{
	int64_t end_ns = pp_realtime_ns() + (int64_t)queue->resend_us * 1000 * RESENDS_TO_END;
	json_t *alerts = json_array();
	uint32_t cnt = 0;
	char *text;

	for (uint32_t i = 0; i < queue->entry_cnt && cnt < BATCH_MAX; i++) {
		struct pp_tell_entry *entry = queue->entries[i];

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

char *pp_tell_queue_body(struct pp_tell_queue *queue)
{
	if (queue->kind == PP_TELL_WEBHOOK_ALERTMANAGER)
		return batch(queue);
	mark_sent(queue->entries[0]);
	return strdup(queue->entries[0]->body);
}

/* ---------------------------------------------------------------- what becomes of it */

static void give_up(struct pp_tell_queue *queue, struct pp_tell_entry *entry, uint32_t cnt)
{
	queue->stats.dropped += cnt;
	entry->untold_cnt -= cnt;
	entry->failed = 0;
}

/* The receiver has taken it, or never will. Returns false if the entry is to be removed. */
static bool settle(struct pp_tell_queue *queue, struct pp_tell_entry *entry, bool taken)
{
	uint32_t cnt = entry->sent_cnt;

	if (taken) {
		queue->stats.told += cnt;
		entry->untold_cnt -= cnt;
		entry->failed = 0;
	} else {
		give_up(queue, entry, cnt);
	}
	entry->sent_cnt = 0;
	/* the alert has changed since it was sent */
	if (!entry->sent)
		return true;
	entry->sent = false;
	entry->due = false;
	entry->again_us = pp_tell_now_us() + queue->resend_us;
	return entry->firing && !queue->away;
}

void pp_tell_queue_settle(struct pp_tell_queue *queue, bool taken)
{
	for (uint32_t i = queue->entry_cnt; i-- > 0;) {
		struct pp_tell_entry *entry = queue->entries[i];

		if ((entry->sent || entry->sent_cnt) && !settle(queue, entry, taken))
			remove_entry(queue, i);
	}
}

void pp_tell_queue_put_back(struct pp_tell_queue *queue)
{
	for (uint32_t i = queue->entry_cnt; i-- > 0;) {
		struct pp_tell_entry *entry = queue->entries[i];

		if (!entry->sent && !entry->sent_cnt)
			continue;
		entry->sent = false;
		entry->sent_cnt = 0;
		if (!entry->body || ++entry->failed < TRIES_MAX)
			continue;
		give_up(queue, entry, entry->untold_cnt);
		remove_entry(queue, i);
	}
}

/* ---------------------------------------------------------------- when */

bool pp_tell_queue_any_due(const struct pp_tell_queue *queue)
{
	for (uint32_t i = 0; i < queue->entry_cnt; i++)
		if (queue->entries[i]->due)
			return true;
	return false;
}

uint64_t pp_tell_queue_renew(struct pp_tell_queue *queue, uint64_t now_us)
{
	uint64_t next_us = UINT64_MAX;

	for (uint32_t i = 0; i < queue->entry_cnt; i++) {
		struct pp_tell_entry *entry = queue->entries[i];

		if (entry->due || !entry->firing)
			continue;
		entry->due = entry->again_us <= now_us;
		if (!entry->due && entry->again_us < next_us)
			next_us = entry->again_us;
	}
	return next_us;
}

uint32_t pp_tell_queue_untold(const struct pp_tell_queue *queue)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < queue->entry_cnt; i++)
		cnt += queue->entries[i]->untold_cnt;
	return cnt;
}

int64_t pp_tell_queue_settled(const struct pp_tell_queue *queue)
{
	int64_t settled = queue->newest;

	for (uint32_t i = 0; i < queue->entry_cnt; i++) {
		const struct pp_tell_entry *entry = queue->entries[i];

		if (entry->untold_cnt && entry->untold_id - 1 < settled)
			settled = entry->untold_id - 1;
	}
	return settled;
}

void pp_tell_queue_forget_told(struct pp_tell_queue *queue)
{
	for (uint32_t i = queue->entry_cnt; i-- > 0;) {
		struct pp_tell_entry *entry = queue->entries[i];

		if (entry->untold_cnt)
			continue;
		/* an entry in the request under way is removed with that */
		entry->firing = false;
		if (!entry->sent)
			remove_entry(queue, i);
	}
}

/* ---------------------------------------------------------------- life */

int pp_tell_queue_init(struct pp_tell_queue *queue, enum pp_tell_webhook_kind kind,
		       uint32_t entry_max, uint64_t resend_us)
{
	*queue = (struct pp_tell_queue){
		.kind = kind,
		.resend_us = resend_us,
		.entry_max = entry_max,
		.entries = calloc(entry_max, sizeof(struct pp_tell_entry *)),
	};
	if (gethostname(queue->host, sizeof(queue->host)) < 0)
		queue->host[0] = '\0';
	queue->host[HOST_NAME_MAX] = '\0';
	return queue->entries ? 0 : -ENOMEM;
}

void pp_tell_queue_release(struct pp_tell_queue *queue)
{
	while (queue->entry_cnt)
		remove_entry(queue, queue->entry_cnt - 1);
	free(queue->entries);
}
