// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A recording's metadata: host, machine, command, clocks, names of events, build-ids of files. The
 * same bytes are in a file's sections and in a pipe's records.
 *
 * Workload: once a recording; a build-id for each file that was hit, found by name at each mapping.
 * Source: tools/perf/util/header.c, tools/perf/Documentation/perf.data-file-format.txt.
 */
#include "pp_perf.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"

#define NAME_BYTES_MAX    (2u << 20) /* of all names together */
#define BUILD_ID_NAME     36         /* offset of the name in its record */
#define BUILD_ID_BYTES_AT 12
#define BUILD_ID_SIZE_AT  32
#define BUILD_IDS         "build-ids"
#define KERNEL_NAME       "[kernel.kallsyms]"

void pp_perf_told_release(struct pp_perf_told *told)
{
	pp_texts_release(&told->names);
	free(told->ids);
	free(told->hostname);
	free(told->arch);
	free(told->release);
	free(told->cpu);
	free(told->command);
}

/* ---------------------------------------------------------------- strings */

/* Takes a string and its length without padding; NULL when it exceeds the input. */
static const char *take_string(struct pp_perf_cursor *cursor, size_t *ret_len)
{
	uint32_t len = pp_perf_take_u32(cursor);
	const char *text = (const char *)pp_perf_take(cursor, len);

	if (cursor->bad)
		return NULL;
	*ret_len = strnlen(text, len);
	return text;
}

static int set_string(char **string, struct pp_perf_cursor *cursor)
{
	size_t len = 0;
	const char *text = take_string(cursor, &len);
	char *copy = text ? strndup(text, len) : NULL;

	if (!text)
		return 0;
	if (!copy)
		return -ENOMEM;
	free(*string);
	*string = copy;
	return 0;
}

/* The arguments, with blanks between them. */
static int set_command(struct pp_perf_told *told, struct pp_perf_cursor *cursor)
{
	uint32_t cnt = pp_perf_take_u32(cursor);
	char *command = malloc((size_t)pp_perf_left(cursor) + 1), *at = command;

	if (!command)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt && !cursor->bad; i++) {
		size_t len = 0;
		const char *text = take_string(cursor, &len);

		if (!text)
			break;
		if (at > command)
			*at++ = ' ';
		memcpy(at, text, len);
		at += len;
	}
	*at = '\0';
	free(told->command);
	told->command = command;
	return 0;
}

/* Names of events, in their order; each with an attribute and ids that are known already. */
static int set_event_names(struct pp_perf_events *events, struct pp_perf_cursor *cursor)
{
	uint32_t cnt = pp_perf_take_u32(cursor), attr_bytes = pp_perf_take_u32(cursor);
	int r = 0;

	for (uint32_t i = 0; i < cnt && !cursor->bad && r == 0; i++) {
		size_t len = 0;
		const char *name;
		uint32_t id_cnt;

		pp_perf_take(cursor, attr_bytes);
		id_cnt = pp_perf_take_u32(cursor);
		name = take_string(cursor, &len);
		pp_perf_take(cursor, 8ull * id_cnt);
		if (name && len && i < events->cnt)
			r = pp_perf_events_set_name(events, i, name, len);
	}
	return r;
}

static void set_clock(struct pp_perf_told *told, struct pp_perf_cursor *cursor)
{
	uint64_t wall, clock;

	if (pp_perf_take_u32(cursor) != 1)
		return;
	pp_perf_take_u32(cursor);
	wall = pp_perf_take_u64(cursor);
	clock = pp_perf_take_u64(cursor);
	if (!cursor->bad)
		told->realtime_offset_ns = (int64_t)(wall - clock);
}

static void set_last_time(struct pp_perf_told *told, struct pp_perf_cursor *cursor)
{
	uint64_t first, last;

	first = pp_perf_take_u64(cursor);
	last = pp_perf_take_u64(cursor);
	if (!cursor->bad && last >= first)
		told->last_ns = last;
}

/* ---------------------------------------------------------------- build-ids */

static int add_name(struct pp_perf *perf, const char *name, const struct pathprof_build_id *id)
{
	struct pp_perf_told *told = &perf->told;
	uint32_t cnt = told->names.table.cnt, number;
	size_t len = strlen(name) + 1;

	if (cnt == PP_PERF_NAMES_MAX || told->name_bytes + len > NAME_BYTES_MAX) {
		perf->recording->stats.unknown++;
		return 0;
	}
	if (pp_grow(&told->ids, cnt, &told->id_room) < 0 ||
	    pp_texts_at(&told->names, name, &number) < 0)
		return -ENOMEM;
	told->name_bytes += number == cnt ? len : 0;
	told->ids[number] = *id;
	return 0;
}

/* A module's file ends in .ko, or in .ko.xz and the like. */
static bool is_module(const char *name)
{
	const char *slash = strrchr(name, '/'), *end = strstr(slash ? slash : name, ".ko");

	return end && (end[3] == '\0' || end[3] == '.');
}

/* The kernel is entered by the name of its file, and mapped by that of its symbols. */
static bool is_kernel(uint16_t misc, const char *name)
{
	return (misc & PP_PERF_MISC_MODE) == PP_PERF_MODE_KERNEL && name[0] != '[' &&
	       !is_module(name);
}

int pp_perf_build_id(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error)
{
	struct pathprof_build_id id = {.kind = PATHPROF_ID_BUILD_ID,
				       .len_bytes = PATHPROF_BUILD_ID_MAX};
	uint16_t misc = pp_perf_misc(record), size = pp_perf_size(record);
	const char *name;
	int r;

	name = size > BUILD_ID_NAME ? pp_perf_text(record + BUILD_ID_NAME, size - BUILD_ID_NAME)
				    : NULL;
	if (name && misc & PP_PERF_MISC_BUILD_ID_SIZE)
		id.len_bytes = record[BUILD_ID_SIZE_AT];
	if (!name || id.len_bytes > PATHPROF_BUILD_ID_MAX) {
		pp_recording_damaged(perf->recording, BUILD_IDS);
		return 0;
	}
	if (!id.len_bytes)
		return 0;
	memcpy(id.bytes, record + BUILD_ID_BYTES_AT, id.len_bytes);
	r = add_name(perf, name, &id);
	if (r == 0 && is_kernel(misc, name))
		r = add_name(perf, KERNEL_NAME, &id);
	return r < 0 ? pp_recording_no_memory(error) : 0;
}

/* perf 6.12 leaves noughts between records: as many as the head of one has bytes. */
static size_t noughts_before(const uint8_t *bytes, size_t len_bytes)
{
	size_t cnt = 0;

	while (len_bytes - cnt >= PP_PERF_HEADER_BYTES && !pp_perf_type(bytes + cnt) &&
	       !pp_perf_size(bytes + cnt))
		cnt += 4;
	return cnt;
}

/* The entries before the damage are kept. */
static int add_build_ids(struct pp_perf *perf, const uint8_t *bytes, size_t len_bytes,
			 struct pathprof_error *error)
{
	size_t at = noughts_before(bytes, len_bytes);

	while (len_bytes - at >= PP_PERF_HEADER_BYTES) {
		uint16_t size = pp_perf_size(bytes + at);
		int r;

		if (size < PP_PERF_HEADER_BYTES || size > len_bytes - at) {
			pp_recording_damaged(perf->recording, BUILD_IDS);
			return 0;
		}
		r = pp_perf_build_id(perf, bytes + at, error);
		if (r < 0)
			return r;
		at += size;
		at += noughts_before(bytes + at, len_bytes - at);
	}
	return 0;
}

bool pp_perf_told_build_id(const struct pp_perf_told *told, const char *name,
			   struct pathprof_build_id *ret_id)
{
	uint32_t number;

	/* "[kernel.kallsyms]_text": the symbol that was looked at to tell where it was loaded. */
	if (strncmp(name, KERNEL_NAME, sizeof(KERNEL_NAME) - 1) == 0)
		name = KERNEL_NAME;
	number = pp_texts_find(&told->names, name);
	if (number == PP_TABLE_NONE)
		return false;
	*ret_id = told->ids[number];
	return true;
}

/* ---------------------------------------------------------------- one feature */

/* 0: a directory of one file; 1: of a file a CPU beside it. */
static int set_parted(struct pp_perf *perf, struct pp_perf_cursor *cursor,
		      struct pathprof_error *error)
{
	uint64_t version = pp_perf_take_u64(cursor);

	if (version > 1)
		return pathprof_fail(error, -EPROTO, "%s: a directory of version %llu is not read",
				     perf->recording->name, (unsigned long long)version);
	perf->is_parted = version == 1;
	return 0;
}

/* The loss that follows from it, in a user's words. */
static const char *name_of(uint64_t feature)
{
	switch (feature) {
	case PP_PERF_FEATURE_BUILD_ID:
		return BUILD_IDS;
	case PP_PERF_FEATURE_HOSTNAME:
		return "host's name";
	case PP_PERF_FEATURE_OSRELEASE:
		return "kernel's release";
	case PP_PERF_FEATURE_ARCH:
		return "machine";
	case PP_PERF_FEATURE_CPUDESC:
		return "processor";
	case PP_PERF_FEATURE_CMDLINE:
		return "command line";
	case PP_PERF_FEATURE_EVENT_DESC:
		return "names of events";
	case PP_PERF_FEATURE_SAMPLE_TIME:
		return "times of samples";
	case PP_PERF_FEATURE_CLOCK_DATA:
		return "clock";
	}
	return "features";
}

void pp_perf_feature_damaged(struct pp_perf *perf, uint64_t feature)
{
	pp_recording_damaged(perf->recording, name_of(feature));
}

int pp_perf_feature(struct pp_perf *perf, uint64_t feature, const uint8_t *bytes, size_t len_bytes,
		    struct pathprof_error *error)
{
	struct pp_perf_cursor cursor = {.at = bytes, .end = bytes + len_bytes};
	struct pp_perf_told *told = &perf->told;
	int r = 0;

	/* perf could not tell. */
	if (!len_bytes)
		return 0;
	switch (feature) {
	case PP_PERF_FEATURE_BUILD_ID:
		return add_build_ids(perf, bytes, len_bytes, error);
	case PP_PERF_FEATURE_HOSTNAME:
		r = set_string(&told->hostname, &cursor);
		break;
	case PP_PERF_FEATURE_OSRELEASE:
		r = set_string(&told->release, &cursor);
		break;
	case PP_PERF_FEATURE_ARCH:
		r = set_string(&told->arch, &cursor);
		break;
	case PP_PERF_FEATURE_CPUDESC:
		r = set_string(&told->cpu, &cursor);
		break;
	case PP_PERF_FEATURE_CMDLINE:
		r = set_command(told, &cursor);
		break;
	case PP_PERF_FEATURE_EVENT_DESC:
		r = set_event_names(&perf->events, &cursor);
		break;
	case PP_PERF_FEATURE_CLOCK_DATA:
		set_clock(told, &cursor);
		break;
	case PP_PERF_FEATURE_SAMPLE_TIME:
		set_last_time(told, &cursor);
		break;
	case PP_PERF_FEATURE_DIR_FORMAT:
		r = set_parted(perf, &cursor, error);
		if (r < 0)
			return r;
		break;
	}
	if (r < 0)
		return pp_recording_no_memory(error);
	/* Without the directory's format the records cannot be found. */
	if (cursor.bad && feature == PP_PERF_FEATURE_DIR_FORMAT)
		return pp_recording_bad(perf->recording, error,
					"what it says of its directory is cut short");
	if (cursor.bad)
		pp_perf_feature_damaged(perf, feature);
	return 0;
}
