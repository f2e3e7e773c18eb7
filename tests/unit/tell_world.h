/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The surroundings of the tests of telling: an event loop with a timer that fires every 5 ms, so
 * that anything that blocks the loop is noticed, and a small HTTP server on the same loop. Its
 * answers are set beforehand, one for each request; the last one is repeated.
 */
#ifndef TELL_WORLD_H
#define TELL_WORLD_H

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "../../tools/relay/sinks.h"

#define WORLD_REQUESTS_MAX 64

enum world_answer {
	ANSWER_RESET = 1, /* else a status of HTTP */
	ANSWER_HANG,      /* takes the request and says nothing */
	ANSWER_SLOW,      /* 200, a byte every 2 ms */
	ANSWER_GARBAGE,
	ANSWER_ENDLESS, /* 200, and a body that does not end */
	ANSWER_LATER,   /* 503 with Retry-After: 1 */
	ANSWER_THITHER, /* 307 to another place of this server */
};

struct world {
	sd_event *event;
	uint64_t beat_us;           /* the last one */
	uint64_t ran_us, waited_us; /* on a CPU and for one, since the beginning, at that beat */
	bool was_held_up;           /* between two beats, and not by the machine */
	int listener;
	unsigned int port;
	int answers[WORLD_REQUESTS_MAX];
	char *bodies[WORLD_REQUESTS_MAX]; /* in the order they came in */
	char *heads[WORLD_REQUESTS_MAX];
	uint64_t came_us[WORLD_REQUESTS_MAX];
	size_t request_cnt;
	struct world_client *clients;
};

void world_init(struct world *world);
void world_release(struct world *world);
/* "http://127.0.0.1:PORT"; static. */
const char *world_url(const struct world *world);

typedef bool world_condition(void *context);
/* Runs the loop until it holds; false: it did not within five minutes. */
bool world_until(struct world *world, world_condition *condition, void *context);
bool world_until_requests(struct world *world, size_t cnt);
/* until the sink has told or dropped so many */
bool world_until_done(struct world *world, struct pp_tell *tell, uint64_t cnt);
void world_run(struct world *world, uint64_t for_us);
bool world_was_held_up(const struct world *world);

struct pp_tell_stats world_stats(struct pp_tell *tell);
/* A message about `binary` with valid JSON; static but for what is passed. Ids grow by one. */
struct pp_tell_message world_message(const char *binary, enum pathprof_alert_change change);

#endif
