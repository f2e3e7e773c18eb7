/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue of messages to be sent by HTTP.
 *
 *     JSON          entries are messages: the first goes out, each leaves when it was taken
 *     Alertmanager  entries are alerts in their last state: those that are due go in one request;
 *                   one that fires stays, and is due again every resend_us; one that has resolved
 *                   leaves when that was taken
 *
 * A message that nobody takes is tried again: without end for alerts, 32 times for a JSON message,
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
	bool away;                  /* whether alerts go on nobody knows: each is told once */
};

/* -ENOMEM. Released either way. */
int pp_tell_queue_init(struct pp_tell_queue *queue, enum pp_tell_webhook_kind kind,
		       uint32_t entry_max, uint64_t resend_us);
/* It may be all zero. */
void pp_tell_queue_release(struct pp_tell_queue *queue);

/* -ENOBUFS, -ENOMEM: dropped, and counted. */
int pp_tell_queue_add(struct pp_tell_queue *queue, const struct pp_tell_message *message);

/* The body of the next request, of what is due (there is some), which is in it until settled or
 * put back. The caller's; NULL: out of memory. */
char *pp_tell_queue_body(struct pp_tell_queue *queue);
/* The receiver has taken what went out, or never will. */
void pp_tell_queue_settle(struct pp_tell_queue *queue, bool taken);
/* Back among those that are due, but for messages that have been tried often enough. */
void pp_tell_queue_put_back(struct pp_tell_queue *queue);

bool pp_tell_queue_any_due(const struct pp_tell_queue *queue);
/* Messages whose time has come are due; of the others, UINT64_MAX or when the next will be. */
uint64_t pp_tell_queue_renew(struct pp_tell_queue *queue, uint64_t now_us);
/* Messages that nobody has taken yet. */
uint32_t pp_tell_queue_untold(const struct pp_tell_queue *queue);
/* Id up to which all are told or dropped. */
int64_t pp_tell_queue_settled(const struct pp_tell_queue *queue);
/* Alerts that fire and were told are forgotten. */
void pp_tell_queue_forget_told(struct pp_tell_queue *queue);

#endif
