// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The events of a recording: what their records hold, and whose a record is. Attributes of any size
 * are read: fields that one is too old for are zero, those that are newer than this do not change
 * where anything that is read lies.
 *
 * Workload: one event mostly, hundreds at most, with an id for each CPU and event; a look-up a
 * record where there are several.
 *
 * Source: tools/perf/util/evsel.c and evlist.c for names and for where ids lie.
 */
#include "pp_perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/vector.h"

#define ATTR_BYTES_MIN 64
#define ATTR_BYTES_OUR 96 /* as far as it is read */

/* Offsets in an attribute, and bits of its flags. */
enum {
	ATTR_TYPE = 0,
	ATTR_SIZE = 4,
	ATTR_CONFIG = 8,
	ATTR_PERIOD = 16,
	ATTR_SAMPLE_TYPE = 24,
	ATTR_READ_FORMAT = 32,
	ATTR_FLAGS = 40,
	ATTR_BRANCH_TYPE = 72,
	ATTR_CLOCKID = 92,
};
#define FLAG_EXCLUDE_USER   (1ull << 4)
#define FLAG_EXCLUDE_KERNEL (1ull << 5)
#define FLAG_EXCLUDE_HV     (1ull << 6)
#define FLAG_FREQ           (1ull << 10)
#define FLAG_PRECISE_SHIFT  15
#define FLAG_SAMPLE_ID_ALL  (1ull << 18)
#define FLAG_EXCLUDE_HOST   (1ull << 19)
#define FLAG_EXCLUDE_GUEST  (1ull << 20)
#define FLAG_USE_CLOCKID    (1ull << 25)
#define FLAG_BUILD_ID       (1ull << 34)

enum { TYPE_HARDWARE = 0, TYPE_SOFTWARE = 1, TYPE_TRACEPOINT = 2, TYPE_RAW = 4 };

void pp_perf_events_release(struct pp_perf_events *events)
{
	for (uint32_t i = 0; i < events->cnt; i++)
		free(events->events[i].name);
	free(events->events);
	pp_map_release(&events->ids);
}

/* ---------------------------------------------------------------- names */

/* ":u", ":ppp", ...: which rings, how exactly, host or guest. */
static void modifiers(char *text, uint64_t flags)
{
	unsigned precise = flags >> FLAG_PRECISE_SHIFT & 3;
	bool rings = flags & (FLAG_EXCLUDE_USER | FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HV);
	bool exclude_guest = flags & FLAG_EXCLUDE_GUEST;
	char *at = text;

	*at++ = ':';
	if (rings && !(flags & FLAG_EXCLUDE_KERNEL))
		*at++ = 'k';
	if (rings && !(flags & FLAG_EXCLUDE_USER))
		*at++ = 'u';
	if (rings && !(flags & FLAG_EXCLUDE_HV))
		*at++ = 'h';
	for (unsigned i = 0; i < precise; i++)
		*at++ = 'p';
	if (flags & FLAG_EXCLUDE_HOST || exclude_guest == (rings || precise)) {
		if (!(flags & FLAG_EXCLUDE_HOST))
			*at++ = 'H';
		if (!exclude_guest)
			*at++ = 'G';
	}
	*at = '\0';
	if (at == text + 1)
		*text = '\0';
}

static const char *known_name(uint32_t type, uint64_t config)
{
	static const char *const hardware[] = {"cycles",
					       "instructions",
					       "cache-references",
					       "cache-misses",
					       "branches",
					       "branch-misses",
					       "bus-cycles",
					       "stalled-cycles-frontend",
					       "stalled-cycles-backend",
					       "ref-cycles"};
	static const char *const software[] = {
		"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy"};

	if (type == TYPE_HARDWARE && config < sizeof(hardware) / sizeof(hardware[0]))
		return hardware[config];
	if (type == TYPE_SOFTWARE && config < sizeof(software) / sizeof(software[0]))
		return software[config];
	return NULL;
}

static char *make_name(const struct pp_perf_event *event)
{
	const char *known = known_name(event->type, event->config);
	char rest[16], *name = NULL;
	int r;

	modifiers(rest, event->flags);
	if (known)
		r = asprintf(&name, "%s%s", known, rest);
	else if (event->type == TYPE_RAW)
		r = asprintf(&name, "raw 0x%llx%s", (unsigned long long)event->config, rest);
	else if (event->type == TYPE_TRACEPOINT)
		r = asprintf(&name, "unknown tracepoint");
	else
		r = asprintf(&name, "type %u 0x%llx%s", event->type,
			     (unsigned long long)event->config, rest);
	return r < 0 ? NULL : name;
}

int pp_perf_events_set_name(struct pp_perf_events *events, uint32_t event, const char *name,
			    size_t len_bytes)
{
	char *copy = strndup(name, len_bytes);

	if (!copy)
		return -ENOMEM;
	free(events->events[event].name);
	events->events[event].name = copy;
	return 0;
}

/* ---------------------------------------------------------------- where things lie */

static int words(uint64_t bits)
{
	return __builtin_popcountll(bits);
}

/* The position of the id in a sample, in words behind its header; -1: it has none. */
static int id_in_sample(uint64_t type)
{
	if (type & PP_PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(type & PP_PERF_SAMPLE_ID))
		return -1;
	return words(type & (PP_PERF_SAMPLE_IP | PP_PERF_SAMPLE_TID | PP_PERF_SAMPLE_TIME |
			     PP_PERF_SAMPLE_ADDR));
}

/* The same from the end of any other record. */
static int id_in_trailer(uint64_t type)
{
	if (type & PP_PERF_SAMPLE_IDENTIFIER)
		return 1;
	if (!(type & PP_PERF_SAMPLE_ID))
		return -1;
	return 1 + words(type & (PP_PERF_SAMPLE_CPU | PP_PERF_SAMPLE_STREAM_ID));
}

static bool has_trailer(const struct pp_perf_event *event)
{
	return event->flags & FLAG_SAMPLE_ID_ALL;
}

size_t pp_perf_trailer_bytes(const struct pp_perf_event *event)
{
	if (!has_trailer(event))
		return 0;
	return 8 *
	       (size_t)words(event->sample_type & (PP_PERF_SAMPLE_TID | PP_PERF_SAMPLE_TIME |
						   PP_PERF_SAMPLE_ID | PP_PERF_SAMPLE_STREAM_ID |
						   PP_PERF_SAMPLE_CPU | PP_PERF_SAMPLE_IDENTIFIER));
}

/* If there are several events, all of them must have the id at the same place. */
static void place_ids(struct pp_perf_events *events, const struct pp_perf_event *event)
{
	int sample = id_in_sample(event->sample_type), trailer = id_in_trailer(event->sample_type);

	if (events->cnt == 0) {
		events->sample_id_at = sample;
		events->trailer_id_at = trailer;
		return;
	}
	if (sample < 0 || sample != events->sample_id_at || trailer != events->trailer_id_at ||
	    has_trailer(event) != has_trailer(&events->events[0]))
		events->undecided = true;
}

/* ---------------------------------------------------------------- adding */

static void read_attr(struct pp_perf_event *event, const uint8_t *attr)
{
	uint64_t flags = pp_perf_u64(attr + ATTR_FLAGS);

	*event = (struct pp_perf_event){
		.type = pp_perf_u32(attr + ATTR_TYPE),
		.config = pp_perf_u64(attr + ATTR_CONFIG),
		.sample_type = pp_perf_u64(attr + ATTR_SAMPLE_TYPE),
		.read_format = pp_perf_u64(attr + ATTR_READ_FORMAT),
		.branch_type = pp_perf_u64(attr + ATTR_BRANCH_TYPE),
		.flags = flags,
		.period = flags & FLAG_FREQ ? 0 : pp_perf_u64(attr + ATTR_PERIOD),
	};
}

/* All of our fields, zero where the attribute is older. */
static int complete_attr(struct pathprof_recording *recording, uint8_t *ret_attr,
			 const uint8_t *attr, size_t len_bytes, struct pathprof_error *error)
{
	size_t size;

	if (len_bytes < ATTR_BYTES_MIN)
		return pp_recording_bad(recording, error, "an event's description of %zu bytes",
					len_bytes);
	size = pp_perf_u32(attr + ATTR_SIZE);
	if (!size)
		size = ATTR_BYTES_MIN;
	if (size < ATTR_BYTES_MIN || size > len_bytes)
		return pp_recording_bad(recording, error,
					"an event's description says that it has %zu bytes of %zu",
					size, len_bytes);
	memset(ret_attr, 0, ATTR_BYTES_OUR);
	memcpy(ret_attr, attr, size < ATTR_BYTES_OUR ? size : ATTR_BYTES_OUR);
	return 0;
}

int pp_perf_events_add(struct pathprof_recording *recording, struct pp_perf_events *events,
		       const uint8_t *attr, size_t len_bytes, uint32_t *ret_event,
		       struct pathprof_error *error)
{
	uint8_t whole[ATTR_BYTES_OUR];
	struct pp_perf_event event;
	int r = complete_attr(recording, whole, attr, len_bytes, error);

	if (r < 0)
		return r;
	if (events->cnt == PP_PERF_EVENTS_MAX)
		return pathprof_fail(error, -EPROTO, "%s: more than %u events", recording->name,
				     PP_PERF_EVENTS_MAX);
	read_attr(&event, whole);
	if (!(events->cnt & (events->cnt - 1)) &&
	    pp_resize(&events->events, events->cnt ? 2 * (size_t)events->cnt : 1) < 0)
		return pp_recording_no_memory(error);
	event.name = make_name(&event);
	if (!event.name)
		return pp_recording_no_memory(error);
	place_ids(events, &event);
	events->asks_build_ids |= (event.flags & FLAG_BUILD_ID) != 0;
	events->is_realtime = event.flags & FLAG_USE_CLOCKID &&
			      pp_perf_u32(whole + ATTR_CLOCKID) == CLOCK_REALTIME;
	*ret_event = events->cnt;
	events->events[events->cnt++] = event;
	return 0;
}

int pp_perf_events_add_ids(struct pathprof_recording *recording, struct pp_perf_events *events,
			   uint32_t event, const uint8_t *ids, size_t cnt,
			   struct pathprof_error *error)
{
	for (size_t i = 0; i < cnt; i++) {
		uint64_t id = pp_perf_u64(ids + 8 * i);

		if (!id)
			continue;
		if (events->ids.table.cnt == PP_PERF_IDS_MAX)
			return pathprof_fail(error, -EPROTO, "%s: more than %u ids of events",
					     recording->name, PP_PERF_IDS_MAX);
		if (pp_map_put(&events->ids, id, event) < 0)
			return pp_recording_no_memory(error);
	}
	return 0;
}

/* ---------------------------------------------------------------- whose a record is */

struct pp_perf_event *pp_perf_events_by_id(const struct pp_perf_events *events, uint64_t id)
{
	uint32_t event;

	/* Records that perf itself synthesised have no id. */
	if (!id)
		return events->cnt ? &events->events[0] : NULL;
	event = pp_map_get(&events->ids, id);
	return event == PP_TABLE_NONE ? NULL : &events->events[event];
}

/* A word of the record, counted from its header's end or (negative) from the record's; else 0. */
static uint64_t word_at(const uint8_t *record, int word)
{
	size_t size = pp_perf_size(record), at = PP_PERF_HEADER_BYTES + 8 * (size_t)word;

	if (word < 0) {
		if (size < PP_PERF_HEADER_BYTES + 8 * (size_t)-word)
			return 0;
		at = size - 8 * (size_t)-word;
	}
	return at + 8 <= size ? pp_perf_u64(record + at) : 0;
}

static const struct pp_perf_event *whose(const struct pp_perf_events *events, const uint8_t *record)
{
	bool sample = pp_perf_type(record) == PP_PERF_SAMPLE;
	const struct pp_perf_event *first = &events->events[0];

	if (events->cnt == 1 || (!sample && !has_trailer(first)))
		return first;
	return pp_perf_events_by_id(
		events, word_at(record, sample ? events->sample_id_at : -events->trailer_id_at));
}

static uint64_t time_of(const struct pp_perf_event *event, const uint8_t *record)
{
	uint64_t type = event->sample_type;
	int before;

	if (!(type & PP_PERF_SAMPLE_TIME))
		return 0;
	if (pp_perf_type(record) == PP_PERF_SAMPLE)
		return word_at(record, words(type & (PP_PERF_SAMPLE_IDENTIFIER | PP_PERF_SAMPLE_IP |
						     PP_PERF_SAMPLE_TID)));
	if (!has_trailer(event))
		return 0;
	before = (type & PP_PERF_SAMPLE_TID) != 0;
	return word_at(record, before - (int)(pp_perf_trailer_bytes(event) / 8));
}

const struct pp_perf_event *pp_perf_events_of(const struct pp_perf_events *events,
					      const uint8_t *record, uint64_t *ret_time_ns)
{
	const struct pp_perf_event *event = whose(events, record);

	if (event)
		*ret_time_ns = pp_perf_told_time(time_of(event, record));
	return event;
}
