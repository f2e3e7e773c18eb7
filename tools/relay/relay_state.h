/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State that the files relay*.c share. Everything is owned by the event loop's thread. */
#ifndef PP_RELAY_STATE_H
#define PP_RELAY_STATE_H

#include "../../daemon/shared/log.h"
#include "inlet.h"
#include "metrics.h"
#include "notes.h"
#include "relay.h"
#include "sinks.h"

struct pp_relay_sink {
	struct pp_tell *tell; /* NULL: not configured */
	bool begun;           /* it knows what fired before */
	bool has_more;        /* the store has messages that it had no room for */
	int64_t fed;          /* id of the last message of the store that it was given */
	int64_t start;        /* of a new one: up to this id it is given only what fires */
	uint64_t missed;      /* messages that went from the store before it could take them */
};

struct pp_relay {
	sd_event *event;
	const char *database;
	char *notes_path; /* absolute; NULL: not known */
	struct pp_inlet *inlet;
	struct pp_metrics *metrics; /* NULL: no endpoint */
	struct pp_notes notes;
	bool notes_differ; /* from those on the disk */
	struct pp_relay_sink sinks[PP_NOTES_SINK_CNT];
	sd_event_source *after; /* behind every event: what has become of the messages */
	bool forgot;            /* pathprofd was away for so long that nothing is said to fire */
	bool was_up;            /* pathprofd, when it was looked for last */
	uint64_t up_us;         /* CLOCK_MONOTONIC when it was there last */
	struct pp_log_seen store_trouble, notes_trouble;
	char status[1024]; /* what systemd was told last */
};

/* relay_feed.c */
/* Reads the store into the sinks that have room. */
void pp_relay_feed(struct pp_relay *relay);
/* Id up to which the sink is done with every message. */
int64_t pp_relay_settled(const struct pp_relay_sink *sink);
/* It has room again for a good part of what it had none for. */
bool pp_relay_is_hungry(const struct pp_relay_sink *sink);

/* relay_tell.c: what the relay says of itself. */
void pp_relay_status(struct pp_relay *relay);
/* The endpoint's answer: pathprofd's figures, or NULL, and the relay's own. */
void pp_relay_figures(struct pp_relay *relay, const char *text, size_t len_bytes);

#endif
