// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the store to the sinks. Each sink is given the messages after the last one that it had, as
 * long as it has room; the store is the queue. It is opened for each reading, so that no snapshot
 * of it is held, and a database that was replaced is noticed.
 *
 * A new sink begins with the alerts that fire now, as it has room. After a start, a sink that
 * repeats firing alerts is given those that it sent before.
 */
#include "relay_state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "pathprof/store.h"

#define ROOM 32 /* messages in a sink's queue at a time; that of none is smaller */

static uint32_t room_of(const struct pp_relay_sink *sink)
{
	struct pp_tell_stats stats = {0};

	sink->tell->ops->stats(sink->tell, &stats);
	return stats.queued < ROOM ? ROOM - (uint32_t)stats.queued : 0;
}

bool pp_relay_is_hungry(const struct pp_relay_sink *sink)
{
	return sink->tell && sink->has_more && room_of(sink) >= ROOM / 2;
}

int64_t pp_relay_settled(struct pp_relay_sink *sink)
{
	struct pp_tell_stats stats = {0};

	sink->tell->ops->stats(sink->tell, &stats);
	if (!stats.queued) {
		sink->is_mixed = false;
		return sink->fed;
	}
	return sink->is_mixed && sink->common < stats.settled ? sink->common : stats.settled;
}

/* The store was replaced: of what the sink was given only ids up to this one are the store's. */
static void go_back_to(struct pp_relay_sink *sink, int64_t id)
{
	if (!sink->is_mixed || id < sink->common)
		sink->common = id;
	sink->is_mixed = true;
	sink->fed = id;
}

/* ---------------------------------------------------------------- one sink */

struct feeding {
	struct pp_relay_sink *sink;
	enum pathprof_alert_change fired; /* the change as which a firing alert is given */
	uint32_t room;
	int64_t until; /* id of the last message that was sent before and is to be given */
	bool more;
};

static void give(const struct feeding *feeding, const struct pathprof_message_row *row)
{
	struct pp_tell *tell = feeding->sink->tell;

	/* a sink counts what it drops */
	(void)tell->ops->tell(
		tell, &(struct pp_tell_message){
			      .change = row->fired ? feeding->fired : PATHPROF_ALERT_RESOLVED,
			      .id = row->id,
			      .rule = row->rule,
			      .binary = row->binary,
			      .container = row->container,
			      .baseline = row->baseline,
			      .metric = row->metric,
			      .value = row->value,
			      .threshold = row->threshold,
			      .begin_ns = row->begin_ns,
			      .end_ns = row->end_ns,
			      .json = row->json,
			      .summary = row->summary,
		      });
}

/* Returns 1 if there is no room for it. */
static int give_next(struct feeding *feeding, const struct pathprof_message_row *row)
{
	if (!feeding->room) {
		feeding->more = true;
		return 1;
	}
	give(feeding, row);
	feeding->sink->fed = row->id;
	feeding->room--;
	return 0;
}

/* Gives a firing alert that the sink reported before. */
static int take_same(void *context, const struct pathprof_message_row *row)
{
	const struct feeding *feeding = context;

	if (row->id <= feeding->until)
		give(feeding, row);
	return 0;
}

static int take_firing(void *context, const struct pathprof_message_row *row)
{
	struct feeding *feeding = context;
	const struct pp_relay_sink *sink = feeding->sink;

	return row->id > sink->fed && row->id <= sink->start ? give_next(feeding, row) : 0;
}

static int take_message(void *context, const struct pathprof_message_row *row)
{
	struct feeding *feeding = context;
	struct pp_relay_sink *sink = feeding->sink;
	int64_t before = sink->fed;
	int r = give_next(feeding, row);

	/* ids have no gaps except where retention removed messages */
	if (r == 0)
		sink->missed += (uint64_t)(row->id - before - 1);
	return r;
}

/* Gives a new sink the firing alerts, until it has had all of them. */
static int feed_firing(struct pp_relay_sink *sink, struct pathprof_store *store,
		       struct pathprof_error *error)
{
	struct feeding feeding = {
		.sink = sink, .fired = PATHPROF_ALERT_FIRED, .room = room_of(sink)};
	int r = pathprof_store_firing(store, take_firing, &feeding, error);

	sink->has_more = feeding.more;
	if (r == 0)
		sink->fed = sink->start;
	return r < 0 ? r : 0;
}

static int begin_sink(struct pp_relay_sink *sink, int64_t told, int64_t newest,
		      struct pathprof_store *store, struct pathprof_error *error)
{
	struct feeding same = {.sink = sink, .fired = PATHPROF_ALERT_SAME, .until = told};
	int r;

	if (told == PP_NOTES_NONE) {
		sink->start = newest;
		r = feed_firing(sink, store, error);
	} else {
		r = pathprof_store_firing(store, take_same, &same, error);
	}
	sink->begun = r == 0;
	/* messages that it was given before and has not sent yet are not given again */
	if (sink->fed < told)
		sink->fed = told;
	return r;
}

static int feed_sink(struct pp_relay_sink *sink, struct pathprof_store *store,
		     struct pathprof_error *error)
{
	struct feeding feeding = {.sink = sink, .fired = PATHPROF_ALERT_FIRED};
	int r = sink->fed < sink->start ? feed_firing(sink, store, error) : 0;

	if (r < 0 || sink->fed < sink->start)
		return r;
	feeding.room = room_of(sink);
	r = pathprof_store_messages(store, sink->fed, take_message, &feeding, error);
	sink->has_more = feeding.more;
	return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- the store */

/* Ids of another store mean nothing here: all messages of this one are sent, and the alerts that
 * fired before are forgotten. */
static void begin_anew(struct pp_relay *relay)
{
	struct pp_tell *alertmanager = relay->sinks[PP_NOTES_ALERTMANAGER].tell;

	pp_log(LOG_NOTICE, "%s is not the database of before: all its messages are told",
	       relay->database);
	for (int i = 0; i < PP_NOTES_SINK_CNT; i++) {
		go_back_to(&relay->sinks[i], 0);
		relay->sinks[i].start = 0;
		if (relay->notes.told[i] != PP_NOTES_NONE)
			relay->notes.told[i] = 0;
	}
	relay->notes_differ = true;
	if (alertmanager)
		pp_tell_webhook_forget(alertmanager);
}

/* The database was put back to an earlier state, so ids continue from there. */
static void go_back(struct pp_relay *relay, int64_t newest)
{
	for (int i = 0; i < PP_NOTES_SINK_CNT; i++) {
		struct pp_relay_sink *sink = &relay->sinks[i];

		if (sink->fed > newest)
			go_back_to(sink, newest);
		if (sink->start > newest)
			sink->start = newest;
		if (relay->notes.told[i] <= newest)
			continue;
		relay->notes.told[i] = newest;
		relay->notes_differ = true;
	}
}

static int feed_from(struct pp_relay *relay, struct pathprof_store *store,
		     struct pathprof_error *error)
{
	char identity[PATHPROF_STORE_IDENTITY_LEN];
	int64_t newest = 0;
	int r = pathprof_store_newest_message(store, &newest, identity, error);

	if (r < 0)
		return r;
	if (relay->notes.identity[0] && strcmp(identity, relay->notes.identity) != 0)
		begin_anew(relay);
	memcpy(relay->notes.identity, identity, sizeof(identity));
	go_back(relay, newest);
	for (int i = 0; i < PP_NOTES_SINK_CNT && r == 0; i++) {
		struct pp_relay_sink *sink = &relay->sinks[i];

		if (sink->tell && !sink->begun)
			r = begin_sink(sink, relay->notes.told[i], newest, store, error);
		if (sink->tell && r == 0)
			r = feed_sink(sink, store, error);
	}
	return r;
}

void pp_relay_feed(struct pp_relay *relay)
{
	struct pathprof_error error = {""};
	struct pathprof_store *store = NULL;
	int r = pathprof_store_open(&store, relay->database, PATHPROF_STORE_FOLLOW, &error);

	if (r == 0)
		r = feed_from(relay, store, &error);
	pathprof_store_free(store);
	if (r == 0)
		relay->store_trouble = (struct pp_log_seen){0};
	else if (pp_log_once(&relay->store_trouble, r))
		pp_log(r == -ENOENT ? LOG_NOTICE : LOG_WARNING, "%s; trying again", error.text);
}
