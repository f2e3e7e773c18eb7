/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Going through an exact trace, for test tools: its events one by one, and places to cut windows
 * at. fail does not return.
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "pathprof/trace.h"

#define TRACE_EVENTS_ROOM 4096

static inline void trace_each_event(const struct pathprof_trace *trace, uint32_t stream,
				    void (*take)(void *context,
						 const struct pathprof_trace_event *event),
				    void *context, void (*fail)(const char *what))
{
	static struct pathprof_trace_event events[TRACE_EVENTS_ROOM];
	struct pathprof_trace_cursor *cursor;
	struct pathprof_error error = {""};
	ssize_t cnt;

	if (pathprof_trace_cursor_new(&cursor, trace, stream, &error) < 0)
		fail(error.text);
	while ((cnt = pathprof_trace_read(cursor, events, TRACE_EVENTS_ROOM, &error)) > 0)
		for (ssize_t i = 0; i < cnt; i++)
			take(context, &events[i]);
	if (cnt < 0)
		fail(error.text);
	pathprof_trace_cursor_free(cursor);
}

/* The kernel led it elsewhere: what ran before says nothing of what follows. */
static inline bool trace_breaks(const struct pathprof_trace_event *event)
{
	return event->type == PATHPROF_TRACE_EVENT_SIGNAL ||
	       event->type == PATHPROF_TRACE_EVENT_SIGRETURN ||
	       event->type == PATHPROF_TRACE_EVENT_JUMP;
}

static inline int trace_compare_places(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Draws cnt numbers below `below`, ascending, by xorshift64* from a fixed seed: the same trace
 * gives the same windows. The caller frees them.
 */
static inline uint64_t *trace_choose_places(size_t cnt, uint64_t below,
					    void (*fail)(const char *what))
{
	uint64_t random = 88172645463325252ull;
	uint64_t *places = calloc(cnt, sizeof(*places));

	if (!places || !below)
		fail("nothing to cut");
	for (size_t i = 0; i < cnt; i++) {
		random ^= random >> 12;
		random ^= random << 25;
		random ^= random >> 27;
		places[i] = (random * 0x2545f4914f6cdd1dull >> 11) % below;
	}
	qsort(places, cnt, sizeof(*places), trace_compare_places);
	return places;
}

#endif
