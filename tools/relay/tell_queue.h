/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue of messages to be sent by HTTP.
 *
 *     JSON          entries are messages: the first goes out, each leaves when it was taken
 *     Alertmanager  entries are alerts in their last state: those that are due go in one request;
 *                   one that fires stays, and is due again every resend_us; one that has resolved
 *                   leaves when that was taken
 *
 * A message that is not taken is tried again: without end for alerts, 32 times for a JSON message,
 * so that none holds up the rest for ever.
 *
 * Workload: a few messages an hour, hundreds at once when a fleet rolls out; entries are looked
 * through one by one. One owner, the event loop.
 */
#ifndef PP_TELL_QUEUE_H
#define PP_TELL_QUEUE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "sinks.h"

struct pp_tell_entry;

struct pp_tell_queue {
	enum pp_tell_webhook_kind kind;
	char host[HOST_NAME_MAX + 1];
	uint64_t resend_us;
	struct pp_tell_entry **entries; /* in the order told */
	uint32_t entry_cnt, entry_max;
	struct pp_tell_stats stats; /* told and dropped */
	int64_t newest;             /* id of the last message taken in */
	bool away;                  /* nobody knows whether alerts still fire: each is sent once */
};

/* -ENOMEM. Released either way. */
int pp_tell_queue_init(struct pp_tell_queue *queue, enum pp_tell_webhook_kind kind,
		       uint32_t entry_max, uint64_t resend_us);
/* It may be all zero. */
void pp_tell_queue_release(struct pp_tell_queue *queue);

/* -ENOBUFS, -ENOMEM: dropped, and counted. */
int pp_tell_queue_add(struct pp_tell_queue *queue, const struct pp_tell_message *message);

/* Returns the body of the next request, with the entries that are due (at least one), which belong
 * to it until settled or put back. Caller frees. NULL: out of memory. */
char *pp_tell_queue_body(struct pp_tell_queue *queue);
/* The receiver has taken the request, or never will. */
void pp_tell_queue_settle(struct pp_tell_queue *queue, bool taken);
/* Makes the request's entries due again, except for messages that were tried too often,
 * which are dropped. */
void pp_tell_queue_put_back(struct pp_tell_queue *queue);

bool pp_tell_queue_any_due(const struct pp_tell_queue *queue);
/* Makes firing alerts due again whose time has come. Returns when the next will be, or UINT64_MAX.
 */
uint64_t pp_tell_queue_renew(struct pp_tell_queue *queue, uint64_t now_us);
/* The number of messages that nobody has taken yet. */
uint32_t pp_tell_queue_untold(const struct pp_tell_queue *queue);
/* The id up to which all messages are sent or dropped. */
int64_t pp_tell_queue_settled(const struct pp_tell_queue *queue);
/* Forgets alerts that fire and were sent. */
void pp_tell_queue_forget_told(struct pp_tell_queue *queue);

#endif
