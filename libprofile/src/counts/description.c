// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The section that describes functions, read from front to end. A reader that has come to the end
 * too early gives zeros from there on and knows it; every number that memory is asked for is held
 * against what is left first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pp_counted.h"

struct reader {
	const uint8_t *at, *end;
	bool broken;
	int error; /* -ENOMEM */
};

static const void *take(struct reader *r, size_t bytes)
{
	const void *at = r->at;

	if (r->broken || bytes > (size_t)(r->end - r->at)) {
		r->broken = true;
		return NULL;
	}
	r->at += bytes;
	return at;
}

static uint32_t take_u32(struct reader *r)
{
	uint32_t value = 0;
	const void *at = take(r, sizeof(value));

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t take_u64(struct reader *r)
{
	uint64_t value = 0;
	const void *at = take(r, sizeof(value));

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

/* How many records of a size follow. */
static uint32_t take_cnt(struct reader *r, size_t record_bytes)
{
	uint32_t cnt = take_u32(r);

	if ((size_t)(r->end - r->at) / record_bytes >= cnt)
		return cnt;
	r->broken = true;
	return 0;
}

static const char *take_string(struct reader *r, struct pathprof_counted *counted)
{
	uint32_t bytes = take_cnt(r, 1);
	const char *at = take(r, bytes);
	const char *text = at ? pp_counted_keep_text(counted, at, bytes) : NULL;

	if (at && !text)
		r->error = -ENOMEM;
	return text ? text : "";
}

static void *allocate(struct reader *r, size_t cnt, size_t size)
{
	void *memory = calloc(cnt ? cnt : 1, size);

	if (!memory)
		r->error = -ENOMEM;
	return memory;
}

/* ---------------------------------------------------------------- a function */

static void take_lines(struct reader *r, struct pathprof_counted *counted,
		       struct pathprof_counted_function *f)
{
	uint32_t file_cnt = take_cnt(r, sizeof(uint32_t));
	const char **files = allocate(r, file_cnt, sizeof(*files));

	for (uint32_t i = 0; files && i < file_cnt; i++)
		files[i] = take_string(r, counted);
	f->node_cnt = take_cnt(r, 3 * sizeof(uint32_t));
	f->lines = allocate(r, f->node_cnt, sizeof(*f->lines));
	for (uint32_t i = 0; files && f->lines && i < f->node_cnt; i++) {
		uint32_t file = take_u32(r);

		f->lines[i] = (struct pathprof_counted_line){file < file_cnt ? files[file] : "",
							     take_u32(r), 0, 0, ""};
		f->lines[i].column = take_u32(r);
	}
	free(files);
}

static void take_arcs(struct reader *r, struct pathprof_counted_function *f)
{
	f->arc_cnt = take_cnt(r, 3 * sizeof(uint32_t));
	f->arcs = allocate(r, f->arc_cnt, sizeof(*f->arcs));
	for (uint32_t i = 0; f->arcs && i < f->arc_cnt; i++) {
		f->arcs[i].from = take_u32(r);
		f->arcs[i].to = take_u32(r);
		f->arcs[i].cut = (take_u32(r) & ~PATHPROF_EDGE_SILENT) != 0;
	}
}

static void take_slots(struct reader *r, struct pathprof_counted_function *f)
{
	f->slot_cnt = take_cnt(r, sizeof(uint64_t));
	f->slots = allocate(r, f->slot_cnt, sizeof(*f->slots));
	for (uint32_t i = 0; f->slots && i < f->slot_cnt; i++)
		f->slots[i] = take_u64(r);
}

static void take_told(struct reader *r, struct pathprof_counted_function *f)
{
	f->told_cnt = take_cnt(r, 2 * sizeof(uint64_t));
	f->told = allocate(r, f->told_cnt, sizeof(*f->told));
	for (uint32_t i = 0; f->told && i < f->told_cnt; i++) {
		f->told[i].id = take_u64(r);
		f->told[i].count = take_u64(r);
	}
}

struct names {
	const char **names;
	uint32_t cnt;
};

static struct names take_names(struct reader *r, struct pathprof_counted *counted)
{
	struct names names = {.cnt = take_cnt(r, sizeof(uint32_t))};

	names.names = allocate(r, names.cnt, sizeof(*names.names));
	for (uint32_t i = 0; names.names && i < names.cnt; i++)
		names.names[i] = take_string(r, counted);
	return names;
}

static void take_crossing(struct reader *r, const struct names *names,
			  struct pathprof_counted_function *f)
{
	uint32_t node = take_u32(r), kind = take_u32(r), name = take_u32(r);

	if (node >= f->node_cnt || name >= names->cnt ||
	    (kind != PATHPROF_CROSSING_CALL && kind != PATHPROF_CROSSING_RETURN)) {
		r->broken = true;
		return;
	}
	f->lines[node].crossing = kind;
	f->lines[node].function = names->names[name];
}

static void take_crossings(struct reader *r, const struct names *names,
			   struct pathprof_counted_function *f)
{
	uint32_t cnt = take_cnt(r, 3 * sizeof(uint32_t));

	for (uint32_t i = 0; i < cnt && !r->broken && !r->error; i++)
		take_crossing(r, names, f);
}

static void take_places(struct reader *r, struct pathprof_counted_function *f)
{
	f->place_cnt = take_cnt(r, 2 * sizeof(uint32_t));
	f->places = allocate(r, f->place_cnt, sizeof(*f->places));
	for (uint32_t i = 0; f->places && i < f->place_cnt; i++) {
		f->places[i].counter = take_u32(r);
		f->places[i].node = take_u32(r);
	}
}

/* Each counter has a place, so there are no more than what follows has bytes for. */
static void take_profile(struct reader *r, struct pathprof_counted *counted,
			 struct pathprof_counted_function *f)
{
	f->profile_name = take_string(r, counted);
	f->profile_hash = take_u64(r);
	f->profile_counter_cnt = take_cnt(r, 2 * sizeof(uint32_t));
	for (uint32_t k = 0; k < PATHPROF_VALUE_KINDS; k++)
		f->site_cnt[k] = take_u32(r);
	take_places(r, f);
}

static void take_function(struct reader *r, struct pathprof_counted *counted,
			  const struct names *names, struct pathprof_counted_function *f)
{
	f->name = take_string(r, counted);
	f->is_local = take_u32(r) != 0;
	f->counter = take_u64(r);
	f->path_cnt = take_u64(r);
	f->counting = take_u32(r);
	take_slots(r, f);
	take_told(r, f);
	take_lines(r, counted, f);
	take_arcs(r, f);
	take_crossings(r, names, f);
	take_profile(r, counted, f);
}

/* Turns the number of its counter in the table into a distance. */
static bool place_function(const struct pathprof_counted *counted, uint64_t table,
			   uint64_t counter_cnt, struct pathprof_counted_function *f)
{
	uint64_t cnt = pp_counted_counter_cnt(f);

	if (f->counter > counter_cnt || cnt > counter_cnt - f->counter)
		return false;
	f->counter = table + f->counter * sizeof(uint64_t);
	return pp_counted_is_sound(counted, f);
}

/* ---------------------------------------------------------------- a unit */

static struct pathprof_counted_function *new_function(struct pathprof_counted *counted)
{
	if (pp_grow(&counted->functions, counted->function_cnt, &counted->function_room) < 0)
		return NULL;
	counted->functions[counted->function_cnt] = (struct pathprof_counted_function){0};
	return &counted->functions[counted->function_cnt++];
}

static void take_missing(struct reader *r, struct pathprof_counted *counted)
{
	uint32_t cnt = take_cnt(r, sizeof(uint32_t));

	for (uint32_t i = 0; i < cnt && !r->broken && !r->error; i++) {
		if (pp_grow(&counted->missing, counted->missing_cnt, &counted->missing_room) < 0)
			r->error = -ENOMEM;
		else
			counted->missing[counted->missing_cnt++] = take_string(r, counted);
	}
}

static void take_functions(struct reader *r, struct pathprof_counted *counted, const char *unit,
			   uint32_t cnt, uint64_t table, uint64_t counter_cnt)
{
	struct names names = take_names(r, counted);

	take_missing(r, counted);
	for (uint32_t i = 0; i < cnt && !r->broken && !r->error; i++) {
		struct pathprof_counted_function *f = new_function(counted);

		if (!f) {
			r->error = -ENOMEM;
			break;
		}
		take_function(r, counted, &names, f);
		f->unit = unit;
		if (!r->broken && !r->error && !place_function(counted, table, counter_cnt, f))
			r->broken = true;
	}
	free(names.names);
}

/* A table that the linker threw away, since nothing of its unit is left, is not in the section. */
static void take_unit(struct reader *r, struct pathprof_counted *counted)
{
	uint64_t table = take_u64(r) - counted->section_address, counter_cnt = take_u64(r);
	const char *unit = take_string(r, counted);
	uint32_t cnt = take_u32(r);

	counted->left_out_cnt += take_u32(r);
	if (!pp_counted_has_counters(counted, table, counter_cnt))
		return;
	take_functions(r, counted, unit, cnt, table, counter_cnt);
	r->broken |= r->at != r->end;
}

static void take_units(struct reader *r, struct pathprof_counted *counted)
{
	while (r->at < r->end && !r->broken && !r->error) {
		bool known = take_u32(r) == PATHPROF_UNIT_MAGIC;
		struct reader unit = {0};
		uint64_t bytes;

		known &= take_u32(r) == PATHPROF_UNIT_VERSION;
		bytes = take_u64(r);
		unit.at = known ? take(r, bytes) : NULL;
		if (!unit.at) {
			r->broken = true;
			return;
		}
		unit.end = unit.at + bytes;
		take_unit(&unit, counted);
		r->broken |= unit.broken;
		r->error = unit.error;
	}
}

int pp_description_read(struct pathprof_counted *counted, const void *section, size_t bytes,
			const char *path, struct pathprof_error *error)
{
	struct reader r = {.at = section, .end = (const uint8_t *)section + bytes};

	take_units(&r, counted);
	if (!r.error && !r.broken)
		r.error = pp_counted_join_copies(counted);
	if (r.error)
		return pathprof_fail(error, r.error, "%s: out of memory", path);
	if (r.broken)
		return pathprof_fail(
			error, -EBADMSG,
			"%s: section %s is damaged, or of another version of pathprof: "
			"build the program anew",
			path, PATHPROF_DESCRIPTION_SECTION);
	return 0;
}
