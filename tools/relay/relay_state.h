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
	bool begun;           /* it was given the alerts that fired before */
	bool has_more;        /* the store has messages for which the sink had no room */
	int64_t fed;          /* id of the last message of the store that it was given */
	int64_t start;        /* of a new sink: up to this id it gets only firing alerts */
	bool is_mixed;        /* its queue may have messages of before the store was replaced */
	int64_t common;       /* if so: the last id that means the same before and after */
	uint64_t missed;      /* messages that retention removed before the sink could take them */
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
	sd_event_source *after; /* called after every event: notes the results of messages */
	bool forgot;            /* pathprofd was away so long that firing alerts were forgotten */
	bool was_up;            /* whether pathprofd was there at the last look */
	uint64_t up_us;         /* CLOCK_MONOTONIC when it was there last */
	struct pp_log_seen store_trouble, notes_trouble;
	char status[1024]; /* the last status sent to systemd */
};

/* relay_feed.c */
/* Reads the store into the sinks that have room. */
void pp_relay_feed(struct pp_relay *relay);
/* The id up to which the sink is done with every message of the store that there is now. */
int64_t pp_relay_settled(struct pp_relay_sink *sink);
/* Whether it has room for a good part of the messages that had none. */
bool pp_relay_is_hungry(const struct pp_relay_sink *sink);

/* relay_tell.c: the relay's own status. */
void pp_relay_status(struct pp_relay *relay);
/* The endpoint's answer: pathprofd's figures, or NULL, and the relay's own. */
void pp_relay_figures(struct pp_relay *relay, const char *text, size_t len_bytes);

#endif
