// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * pprof's profile: protobuf (pprof.proto, by protobuf-c) in gzip, read by `go tool pprof` and
 * whatever else speaks it. Values of each sample: CPU time where a clock ran, instructions
 * that ran, branches taken, mispredictions. A stack is one location, what was inlined there, and
 * the function's callers where they are known: a location each without address and mapping.
 * Addresses are the ELF file's, the mapping says so and carries the build-id.
 *
 * Workload: once an export; 10^4 to 10^6 locations, all in memory: that is how protobuf packs.
 * Ownership: struct image owns all arrays; messages point into them.
 *
 * Source: google/pprof, proto/profile.proto.
 */
#include "pp_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../code/pp_code.h"
#include "base/table.h"
#include "base/utf8.h"
#include "base/vector.h"
#include "pathprof/profile.h"
#include "pp_callers.h"
#include "pp_pprof.h"
#include "pp_source_pieces.h"

/* CPU first: without a clock the list begins behind it. */
enum value { CPU, INSTRUCTIONS, BRANCHES, MISPREDICTED, VALUE_CNT };

static const struct {
	const char *name, *unit;
} value_types[VALUE_CNT] = {
	[CPU] = {"cpu", "nanoseconds"},
	[INSTRUCTIONS] = {"instructions", "count"},
	[BRANCHES] = {"branches", "count"},
	[MISPREDICTED] = {"mispredicted", "count"},
};

struct place {
	uint64_t address;
	uint32_t first_line, line_cnt, mapping;
};

/* The counts of one place under one chain of callers. */
struct part {
	uint32_t place, chain;
	int64_t values[VALUE_CNT];
};

struct line {
	uint32_t function; /* from 0 */
	uint32_t line;
};

struct function {
	int64_t name, system_name, file, start_line;
};

/* Arrays that grow. */
struct image {
	const struct pp_export *x;
	struct place *places;
	struct line *lines;
	struct part *parts;
	struct pp_texts strings;
	struct pp_keyed functions; /* struct function, all of it the key */
	struct pp_keyed callers;   /* numbers of functions that called: a location each */
	struct pp_callers split;
	uint32_t place_cnt, line_cnt, part_cnt;
	bool lined; /* a line is known, so debug information is there */
	enum value first;
};

/* Room for one more: arrays have room for a power of two. */
static int room(void *array_at, uint32_t cnt, size_t size)
{
	if (cnt & (cnt - 1))
		return 0;
	return cnt > UINT32_MAX / 2 ? -ENOMEM
				    : pp_array_resize(array_at, cnt ? 2 * (size_t)cnt : 1, size);
}

/* ---------------------------------------------------------------- strings and functions */

/* The text's number in the string table; -ENOMEM. A protobuf string is UTF-8. */
static int64_t string_of(struct image *image, const char *text)
{
	char *valid = pp_utf8_text(text);
	int64_t number = -ENOMEM;
	uint32_t at;

	if (valid && pp_texts_at(&image->strings, valid, &at) >= 0)
		number = at;
	free(valid);
	return number;
}

/* Uses whole path names, so that readers find the source from any directory. */
static int64_t file_of(struct image *image, const struct pathprof_source_frame *frame)
{
	int64_t number;
	char *path;

	if (!frame->dir[0] || !frame->file[0] || frame->file[0] == '/')
		return string_of(image, frame->file);
	if (asprintf(&path, "%s/%s", frame->dir, frame->file) < 0)
		return -ENOMEM;
	number = string_of(image, path);
	free(path);
	return number;
}

/* From 0; -ENOMEM. */
static int64_t function_of(struct image *image, const struct pathprof_source_frame *frame)
{
	struct function key = {
		/* The same twice: then readers demangle it. */
		.name = string_of(image, frame->linkage_name),
		.system_name = string_of(image, frame->linkage_name),
		.file = file_of(image, frame),
		.start_line = frame->start_line,
	};
	uint32_t number;

	if (key.name < 0 || key.system_name < 0 || key.file < 0)
		return -ENOMEM;
	return pp_keyed_at(&image->functions, &key, &number) < 0 ? -ENOMEM : (int64_t)number;
}

/* ---------------------------------------------------------------- places */

static int64_t clipped(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static uint32_t mapping_of(const struct pathprof_code *code, uint64_t offset)
{
	for (uint32_t i = 0; i < code->segment_cnt; i++)
		if (offset - code->segments[i].offset < code->segments[i].len_bytes)
			return i;
	return 0;
}

static int add_part(void *context, const struct pp_piece *piece, uint32_t chain)
{
	struct image *image = context;

	if (room(&image->parts, image->part_cnt, sizeof(struct part)))
		return -ENOMEM;
	image->parts[image->part_cnt++] = (struct part){
		.place = image->place_cnt - 1,
		.chain = chain,
		.values = {[CPU] = clipped(piece->time_ns),
			   [INSTRUCTIONS] = clipped(piece->instructions),
			   [BRANCHES] = clipped(piece->branches),
			   [MISPREDICTED] = clipped(piece->mispredicted)},
	};
	return 0;
}

static int add_place(void *context, const struct pp_piece *piece)
{
	struct image *image = context;
	struct place place = {
		.address = pp_export_address(image->x, piece->offset),
		.first_line = image->line_cnt,
		.line_cnt = piece->frame_cnt,
		.mapping = mapping_of(image->x->code, piece->offset),
	};

	for (uint32_t i = 0; i < piece->frame_cnt; i++) {
		int64_t function = function_of(image, &piece->frames[i]);

		if (function < 0 || room(&image->lines, image->line_cnt, sizeof(struct line)))
			return -ENOMEM;
		image->lines[image->line_cnt++] =
			(struct line){(uint32_t)function, piece->frames[i].line};
		image->lined |= piece->frames[i].line != 0;
	}
	if (room(&image->places, image->place_cnt, sizeof(struct place)))
		return -ENOMEM;
	image->places[image->place_cnt++] = place;
	return pp_callers_split(&image->split, piece, add_part, image);
}

static void release(struct image *image)
{
	pp_texts_release(&image->strings);
	pp_keyed_release(&image->functions);
	pp_keyed_release(&image->callers);
	pp_callers_close(&image->split);
	free(image->places);
	free(image->lines);
	free(image->parts);
}

/* ---------------------------------------------------------------- callers */

static const struct pathprof_export_chain *chain_of(const struct image *image, uint32_t chain)
{
	static const struct pathprof_export_chain none;

	return chain == PATHPROF_NO_CHAIN ? &none : &image->x->options.callers->chains[chain];
}

/* The number of the caller's location behind those of places, from 0; -ENOMEM. */
static int64_t caller_of(struct image *image, const char *name)
{
	const struct pathprof_source_frame frame = {.linkage_name = name, .dir = "", .file = ""};
	int64_t function = function_of(image, &frame);
	uint32_t key = (uint32_t)function, number;

	if (function < 0 || pp_keyed_at(&image->callers, &key, &number) < 0)
		return -ENOMEM;
	return number;
}

/* All are known before messages are made, which point into arrays. */
static int add_callers(struct image *image)
{
	for (uint32_t i = 0; i < image->part_cnt; i++) {
		const struct pathprof_export_chain *chain = chain_of(image, image->parts[i].chain);

		for (uint32_t k = 0; k < chain->name_cnt; k++)
			if (caller_of(image, chain->names[k]) < 0)
				return -ENOMEM;
	}
	return 0;
}

static size_t stack_sum(const struct image *image)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < image->part_cnt; i++)
		sum += 1 + (size_t)chain_of(image, image->parts[i].chain)->name_cnt;
	return sum;
}

/* ---------------------------------------------------------------- messages */

struct messages {
	PpPprof__Profile profile;
	PpPprof__ValueType *types, **type_at, period_type;
	PpPprof__Sample *samples, **sample_at;
	PpPprof__Mapping *mappings, **mapping_at;
	PpPprof__Location *locations, **location_at;
	PpPprof__Line *lines, **line_at;
	PpPprof__Function *functions, **function_at;
	uint64_t *location_ids;
	int64_t *comments;
};

static void *array(size_t cnt, size_t size, bool *failed)
{
	void *made = calloc(cnt + 1, size);

	*failed |= !made;
	return made;
}

static int make_messages(struct messages *m, const struct image *image)
{
	uint32_t mapping_cnt = image->x->code->segment_cnt, caller_cnt = image->callers.cnt;
	size_t location_cnt = (size_t)image->place_cnt + caller_cnt;
	size_t line_cnt = (size_t)image->line_cnt + caller_cnt;
	bool failed = false;

	m->types = array(VALUE_CNT, sizeof(*m->types), &failed);
	m->type_at = array(VALUE_CNT, sizeof(void *), &failed);
	m->samples = array(image->part_cnt, sizeof(*m->samples), &failed);
	m->sample_at = array(image->part_cnt, sizeof(void *), &failed);
	m->mappings = array(mapping_cnt, sizeof(*m->mappings), &failed);
	m->mapping_at = array(mapping_cnt, sizeof(void *), &failed);
	m->locations = array(location_cnt, sizeof(*m->locations), &failed);
	m->location_at = array(location_cnt, sizeof(void *), &failed);
	m->lines = array(line_cnt, sizeof(*m->lines), &failed);
	m->line_at = array(line_cnt, sizeof(void *), &failed);
	m->functions = array(image->functions.cnt, sizeof(*m->functions), &failed);
	m->function_at = array(image->functions.cnt, sizeof(void *), &failed);
	m->location_ids = array(stack_sum(image), sizeof(*m->location_ids), &failed);
	return failed ? -ENOMEM : 0;
}

static void release_messages(struct messages *m)
{
	free(m->types);
	free(m->type_at);
	free(m->samples);
	free(m->sample_at);
	free(m->mappings);
	free(m->mapping_at);
	free(m->locations);
	free(m->location_at);
	free(m->lines);
	free(m->line_at);
	free(m->functions);
	free(m->function_at);
	free(m->location_ids);
	free(m->comments);
}

static void fill_places(struct messages *m, struct image *image)
{
	for (uint32_t i = 0; i < image->line_cnt; i++) {
		m->lines[i] = (PpPprof__Line)PP_PPROF__LINE__INIT;
		m->lines[i].function_id = image->lines[i].function + 1ul;
		m->lines[i].line = image->lines[i].line;
		m->line_at[i] = &m->lines[i];
	}
	for (uint32_t i = 0; i < image->place_cnt; i++) {
		const struct place *place = &image->places[i];

		m->locations[i] = (PpPprof__Location)PP_PPROF__LOCATION__INIT;
		m->locations[i].id = i + 1ul;
		m->locations[i].mapping_id = place->mapping + 1ul;
		m->locations[i].address = place->address;
		m->locations[i].n_line = place->line_cnt;
		m->locations[i].line = &m->line_at[place->first_line];
		m->location_at[i] = &m->locations[i];
	}
}

/* Locations behind those of places, each with one line. */
static void fill_callers(struct messages *m, const struct image *image)
{
	for (uint32_t i = 0; i < image->callers.cnt; i++) {
		const uint32_t *function = pp_keyed_item(&image->callers, i);
		uint32_t line = image->line_cnt + i, location = image->place_cnt + i;

		m->lines[line] = (PpPprof__Line)PP_PPROF__LINE__INIT;
		m->lines[line].function_id = *function + 1ul;
		m->line_at[line] = &m->lines[line];
		m->locations[location] = (PpPprof__Location)PP_PPROF__LOCATION__INIT;
		m->locations[location].id = location + 1ul;
		m->locations[location].n_line = 1;
		m->locations[location].line = &m->line_at[line];
		m->location_at[location] = &m->locations[location];
	}
}

/* The innermost location comes first. */
static int fill_samples(struct messages *m, struct image *image)
{
	uint64_t *ids = m->location_ids;

	for (uint32_t i = 0; i < image->part_cnt; i++) {
		struct part *part = &image->parts[i];
		const struct pathprof_export_chain *chain = chain_of(image, part->chain);

		m->samples[i] = (PpPprof__Sample)PP_PPROF__SAMPLE__INIT;
		m->samples[i].n_location_id = 1 + (size_t)chain->name_cnt;
		m->samples[i].location_id = ids;
		*ids++ = part->place + 1ul;
		for (uint32_t k = chain->name_cnt; k-- > 0;) {
			int64_t caller = caller_of(image, chain->names[k]);

			if (caller < 0)
				return -ENOMEM;
			*ids++ = image->place_cnt + (uint64_t)caller + 1;
		}
		m->samples[i].n_value = VALUE_CNT - image->first;
		m->samples[i].value = &part->values[image->first];
		m->sample_at[i] = &m->samples[i];
	}
	return 0;
}

static void fill_functions(struct messages *m, const struct image *image)
{
	for (uint32_t i = 0; i < image->functions.cnt; i++) {
		const struct function *f = pp_keyed_item(&image->functions, i);

		m->functions[i] = (PpPprof__Function)PP_PPROF__FUNCTION__INIT;
		m->functions[i].id = i + 1ul;
		m->functions[i].name = f->name;
		m->functions[i].system_name = f->system_name;
		m->functions[i].filename = f->file;
		m->functions[i].start_line = f->start_line;
		m->function_at[i] = &m->functions[i];
	}
}

static int fill_mappings(struct messages *m, struct image *image)
{
	const struct pathprof_code *code = image->x->code;
	const struct pathprof_branch_origin *o = &image->x->profile->origin;
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	int64_t build_id = string_of(image, pathprof_build_id_text(&image->x->graph->build_id, id));
	int64_t name = string_of(image, o->binary ? o->binary : code->path);

	if (build_id < 0 || name < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->segment_cnt; i++) {
		const struct pp_segment *s = &code->segments[i];

		m->mappings[i] = (PpPprof__Mapping)PP_PPROF__MAPPING__INIT;
		m->mappings[i].id = i + 1ul;
		m->mappings[i].memory_start = s->vaddr;
		m->mappings[i].memory_limit = s->vaddr + s->len_bytes;
		m->mappings[i].file_offset = s->offset;
		m->mappings[i].filename = name;
		m->mappings[i].build_id = build_id;
		m->mappings[i].has_functions = 1;
		m->mappings[i].has_filenames = image->lined;
		m->mappings[i].has_line_numbers = m->mappings[i].has_inline_frames = image->lined;
		m->mapping_at[i] = &m->mappings[i];
	}
	return 0;
}

static int fill_types(struct messages *m, struct image *image)
{
	for (int i = 0; i < VALUE_CNT; i++) {
		int64_t name = string_of(image, value_types[i].name);
		int64_t unit = string_of(image, value_types[i].unit);

		if (name < 0 || unit < 0)
			return -ENOMEM;
		m->types[i] = (PpPprof__ValueType)PP_PPROF__VALUE_TYPE__INIT;
		m->types[i].type = name;
		m->types[i].unit = unit;
		m->type_at[i] = &m->types[i];
	}
	m->period_type = m->types[image->first == CPU ? CPU : BRANCHES];
	return 0;
}

/* The origin, a comment a line. */
static int fill_comments(struct messages *m, struct image *image)
{
	char *text = NULL, *rest, *line;
	size_t size, cnt = 0;
	FILE *file = open_memstream(&text, &size);
	int r = 0;

	if (!file)
		return -ENOMEM;
	pp_export_origin(image->x, file, "", "\n");
	if (fclose(file)) {
		free(text);
		return -ENOMEM;
	}
	m->comments = calloc(size + 1, sizeof(*m->comments));
	rest = text;
	while (m->comments && !r && (line = strsep(&rest, "\n"))) {
		if (!line[0])
			continue;
		m->comments[cnt] = string_of(image, line);
		r = m->comments[cnt++] < 0 ? -ENOMEM : 0;
	}
	free(text);
	m->profile.n_comment = cnt;
	m->profile.comment = m->comments;
	return m->comments ? r : -ENOMEM;
}

static void fill_profile(struct messages *m, const struct image *image)
{
	const struct pathprof_branch_origin *o = &image->x->profile->origin;
	PpPprof__Profile *p = &m->profile;

	p->n_sample_type = VALUE_CNT - image->first;
	p->sample_type = &m->type_at[image->first];
	p->n_sample = image->part_cnt;
	p->sample = m->sample_at;
	p->n_mapping = image->x->code->segment_cnt;
	p->mapping = m->mapping_at;
	p->n_location = (size_t)image->place_cnt + image->callers.cnt;
	p->location = m->location_at;
	p->n_function = image->functions.cnt;
	p->function = m->function_at;
	p->n_string_table = image->strings.table.cnt;
	p->string_table = image->strings.texts;
	p->time_nanos = o->begin_ns;
	if (o->end_ns > o->begin_ns && o->begin_ns &&
	    __builtin_sub_overflow(o->end_ns, o->begin_ns, &p->duration_nanos))
		p->duration_nanos = INT64_MAX;
	p->period_type = &m->period_type;
	p->period = 1;
	p->default_sample_type =
		m->types[image->x->options.runs ? INSTRUCTIONS : image->first].type;
}

/* ---------------------------------------------------------------- the profile */

static int write_image(struct image *image)
{
	struct messages m = {.profile = PP_PPROF__PROFILE__INIT};
	int r = make_messages(&m, image);

	if (!r)
		r = fill_types(&m, image);
	if (!r)
		r = fill_mappings(&m, image);
	if (!r)
		r = fill_comments(&m, image);
	if (!r) {
		fill_places(&m, image);
		fill_callers(&m, image);
		r = fill_samples(&m, image);
	}
	if (!r) {
		fill_functions(&m, image);
		fill_profile(&m, image);
		r = pp_pprof_write(&m.profile, image->x->file);
	}
	release_messages(&m);
	return r;
}

int pp_write_pprof(const struct pp_export *x)
{
	struct image image = {.x = x, .first = x->profile->time_cnt ? CPU : INSTRUCTIONS};
	int r = string_of(&image, "") < 0 ? -ENOMEM : 0;

	pp_keyed_init(&image.functions, sizeof(struct function), sizeof(struct function),
		      PP_TABLE_MAX, 0);
	pp_keyed_init(&image.callers, sizeof(uint32_t), sizeof(uint32_t), PP_TABLE_MAX, 0);
	if (!r)
		r = pp_callers_open(&image.split, x);
	if (!r)
		r = pp_source_pieces_each(x, add_place, &image);
	if (!r)
		r = add_callers(&image);
	if (!r)
		r = write_image(&image);
	release(&image);
	return r ? pathprof_fail(x->error, r, "pprof: %s", strerror(-r)) : 0;
}
