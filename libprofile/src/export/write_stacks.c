// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Stacks by names: see pathprof/export.h.
 *
 * Workload: once an export; 10^5 stacks of 30 frames, all in memory: that is how protobuf packs.
 * Source: google/pprof, proto/profile.proto.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/utf8.h"
#include "pathprof/export.h"
#include "pp_export.h"
#include "pp_pprof.h"

/* A frame is a function and a location at once: number n of frames is n + 1 of each. */
struct image {
	const struct pathprof_export_stacks *in;
	struct pp_texts frames, binaries, strings;
	uint64_t *ids; /* of all stacks, one behind the other, the innermost first */
	PpPprof__Sample *samples, **sample_at;
	PpPprof__Function *functions, **function_at;
	PpPprof__Line *lines, **line_at;
	PpPprof__Location *locations, **location_at;
	PpPprof__Mapping *mappings, **mapping_at;
	int64_t *values;
	PpPprof__ValueType type, *type_at;
	PpPprof__Profile profile;
};

static size_t frames_of(const char *stack)
{
	size_t cnt = 1;

	for (; *stack; stack++)
		cnt += *stack == ';';
	return cnt;
}

/* Its binary is numbered with it. */
static int number_frame(struct image *image, const char *frame, uint64_t *ret_id)
{
	const char *binary = strchr(frame, '\t');
	uint32_t number, ignored;
	int r = pp_texts_at(&image->frames, frame, &number);

	if (r == 0 && binary)
		r = pp_texts_at(&image->binaries, binary + 1, &ignored);
	*ret_id = r == 0 ? number + 1ul : 0;
	return r;
}

/* ids points behind the stack's last. */
static int number_frames(struct image *image, const char *stack, uint64_t *ids)
{
	char *text = strdup(stack), *rest = text, *frame;
	int r = text ? 0 : -ENOMEM;

	while (r == 0 && (frame = strsep(&rest, ";")))
		r = number_frame(image, frame, --ids);
	free(text);
	return r;
}

static int number_stacks(struct image *image)
{
	const struct pathprof_export_stacks *in = image->in;
	size_t sum = 0, at = 0;
	int r = 0;

	for (size_t i = 0; i < in->stack_cnt; i++)
		sum += frames_of(in->stacks[i].frames);
	image->ids = calloc(sum + 1, sizeof(*image->ids));
	if (!image->ids)
		return -ENOMEM;
	for (size_t i = 0; i < in->stack_cnt && r == 0; i++) {
		at += frames_of(in->stacks[i].frames);
		r = number_frames(image, in->stacks[i].frames, image->ids + at);
	}
	return r;
}

static void *array(size_t cnt, size_t size, int *r)
{
	void *made = calloc(cnt + 1, size);

	if (!made)
		*r = -ENOMEM;
	return made;
}

static int make_room(struct image *image)
{
	size_t stack_cnt = image->in->stack_cnt, frame_cnt = image->frames.table.cnt;
	size_t mapping_cnt = image->binaries.table.cnt + 1ul;
	int r = 0;

	image->samples = array(stack_cnt, sizeof(*image->samples), &r);
	image->sample_at = array(stack_cnt, sizeof(void *), &r);
	image->values = array(stack_cnt, sizeof(*image->values), &r);
	image->functions = array(frame_cnt, sizeof(*image->functions), &r);
	image->function_at = array(frame_cnt, sizeof(void *), &r);
	image->lines = array(frame_cnt, sizeof(*image->lines), &r);
	image->line_at = array(frame_cnt, sizeof(void *), &r);
	image->locations = array(frame_cnt, sizeof(*image->locations), &r);
	image->location_at = array(frame_cnt, sizeof(void *), &r);
	image->mappings = array(mapping_cnt, sizeof(*image->mappings), &r);
	image->mapping_at = array(mapping_cnt, sizeof(void *), &r);
	return r;
}

/* The text's number in the string table; -ENOMEM. */
static int64_t string_of(struct image *image, const char *text)
{
	uint32_t number;
	int r = pp_texts_at(&image->strings, text, &number);

	return r < 0 ? r : (int64_t)number;
}

/* Readers take the first mapping for the main program's. There is none, so it has no name. */
static uint64_t mapping_of(const struct image *image, const char *binary)
{
	return pp_texts_find(&image->binaries, binary) + 2ul;
}

static int fill_mapping(struct image *image, PpPprof__Mapping *mapping, const char *binary)
{
	char *text = strdup(binary), *id = text, *file = strsep(&id, "\t");
	int r = text ? 0 : -ENOMEM;

	*mapping = (PpPprof__Mapping)PP_PPROF__MAPPING__INIT;
	if (r == 0) {
		mapping->id = (uint64_t)(mapping - image->mappings) + 1;
		mapping->has_functions = 1;
		mapping->filename = string_of(image, file);
		mapping->build_id = string_of(image, id ?: "");
		r = mapping->filename < 0 || mapping->build_id < 0 ? -ENOMEM : 0;
	}
	free(text);
	return r;
}

static int fill_mappings(struct image *image)
{
	int r = fill_mapping(image, &image->mappings[0], "");

	image->mapping_at[0] = &image->mappings[0];
	for (uint32_t i = 0; i < image->binaries.table.cnt && r == 0; i++) {
		image->mapping_at[i + 1] = &image->mappings[i + 1];
		r = fill_mapping(image, &image->mappings[i + 1], image->binaries.texts[i]);
	}
	return r;
}

/* The binary stands for the source file, which is not known: readers join functions that have name
 * and file in common. In brackets, so that no reader opens it to show lines. -ENOMEM. */
static int64_t file_of(struct image *image, const char *binary)
{
	char *text;
	int64_t number;

	if (binary[0] == '[')
		return string_of(image, binary);
	if (asprintf(&text, "[%s]", binary) < 0)
		return -ENOMEM;
	number = string_of(image, text);
	free(text);
	return number;
}

static int fill_function(struct image *image, uint32_t number)
{
	PpPprof__Function *function = &image->functions[number];
	PpPprof__Location *location = &image->locations[number];
	char *text = strdup(image->frames.texts[number]), *binary = text;
	char *name = strsep(&binary, "\t");

	if (!text)
		return -ENOMEM;
	*function = (PpPprof__Function)PP_PPROF__FUNCTION__INIT;
	*location = (PpPprof__Location)PP_PPROF__LOCATION__INIT;
	function->id = location->id = number + 1ul;
	function->name = function->system_name = string_of(image, name);
	if (binary) {
		location->mapping_id = mapping_of(image, binary);
		function->filename = file_of(image, strsep(&binary, "\t"));
	}
	free(text);
	return function->name < 0 || function->filename < 0 ? -ENOMEM : 0;
}

static int fill_functions(struct image *image)
{
	int r = 0;

	for (uint32_t i = 0; i < image->frames.table.cnt && r == 0; i++) {
		r = fill_function(image, i);
		image->function_at[i] = &image->functions[i];
		image->lines[i] = (PpPprof__Line)PP_PPROF__LINE__INIT;
		image->lines[i].function_id = i + 1ul;
		image->line_at[i] = &image->lines[i];
		image->locations[i].n_line = 1;
		image->locations[i].line = &image->line_at[i];
		image->location_at[i] = &image->locations[i];
	}
	return r;
}

static void fill_samples(struct image *image)
{
	uint64_t *ids = image->ids;

	for (size_t i = 0; i < image->in->stack_cnt; i++) {
		const struct pathprof_export_stack *stack = &image->in->stacks[i];

		image->values[i] = stack->count > INT64_MAX ? INT64_MAX : (int64_t)stack->count;
		image->samples[i] = (PpPprof__Sample)PP_PPROF__SAMPLE__INIT;
		image->samples[i].n_location_id = frames_of(stack->frames);
		image->samples[i].location_id = ids;
		image->samples[i].n_value = 1;
		image->samples[i].value = &image->values[i];
		image->sample_at[i] = &image->samples[i];
		ids += image->samples[i].n_location_id;
	}
}

static int fill_type(struct image *image)
{
	const bool timed = strcmp(image->in->figure, "time") == 0;

	image->type = (PpPprof__ValueType)PP_PPROF__VALUE_TYPE__INIT;
	image->type.type = string_of(image, timed ? "cpu" : image->in->figure);
	image->type.unit = string_of(image, timed ? "nanoseconds" : "count");
	image->type_at = &image->type;
	return image->type.type < 0 || image->type.unit < 0 ? -ENOMEM : 0;
}

static void fill_profile(struct image *image)
{
	const struct pathprof_export_stacks *in = image->in;
	PpPprof__Profile *p = &image->profile;

	p->n_sample_type = 1;
	p->sample_type = &image->type_at;
	p->period_type = &image->type;
	p->period = 1;
	p->n_sample = in->stack_cnt;
	p->sample = image->sample_at;
	p->n_mapping = image->binaries.table.cnt + 1ul;
	p->mapping = image->mapping_at;
	p->n_location = p->n_function = image->frames.table.cnt;
	p->location = image->location_at;
	p->function = image->function_at;
	p->n_string_table = image->strings.table.cnt;
	p->string_table = image->strings.texts;
	p->time_nanos = in->begin_ns;
	if (in->begin_ns > 0 && in->end_ns > in->begin_ns)
		p->duration_nanos = in->end_ns - in->begin_ns;
}

static void release(struct image *image)
{
	pp_texts_release(&image->frames);
	pp_texts_release(&image->binaries);
	pp_texts_release(&image->strings);
	free(image->ids);
	free(image->samples);
	free(image->sample_at);
	free(image->values);
	free(image->functions);
	free(image->function_at);
	free(image->lines);
	free(image->line_at);
	free(image->locations);
	free(image->location_at);
	free(image->mappings);
	free(image->mapping_at);
}

static int write_pprof(const struct pathprof_export_stacks *stacks, FILE *file)
{
	struct image image = {.in = stacks, .profile = PP_PPROF__PROFILE__INIT};
	int r = number_stacks(&image);

	if (r == 0)
		r = make_room(&image);
	if (r == 0 && string_of(&image, "") < 0)
		r = -ENOMEM;
	if (r == 0)
		r = fill_mappings(&image);
	if (r == 0)
		r = fill_functions(&image);
	if (r == 0)
		r = fill_type(&image);
	if (r == 0) {
		fill_samples(&image);
		fill_profile(&image);
		r = pp_pprof_write(&image.profile, file);
	}
	release(&image);
	return r;
}

/* How many bytes the control character has that stands there: U+0080 to U+009F have two. 0: none.
 */
static size_t control_bytes(const unsigned char *at)
{
	if (*at < ' ' || *at == 0x7f)
		return 1;
	return at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f ? 2 : 0;
}

void pathprof_export_frame(FILE *file, const char *name)
{
	const unsigned char *at = (const unsigned char *)name;

	while (*at) {
		size_t len = control_bytes(at);

		if (len || *at == ';') {
			fputs(len == 2 ? "__" : len ? "_" : ":", file);
			at += len ? len : 1;
		} else {
			at += pp_utf8_put((const char *)at, file);
		}
	}
}

int pathprof_export_stacks(enum pathprof_format format, const struct pathprof_export_stacks *stacks,
			   FILE *file, struct pathprof_error *error)
{
	int r = 0;

	if (format == PATHPROF_FORMAT_PPROF)
		r = write_pprof(stacks, file);
	else if (format != PATHPROF_FORMAT_FOLDED)
		return pathprof_fail(error, -EOPNOTSUPP, "%s holds no stacks",
				     pathprof_format_name(format) ?: "this");
	else
		for (size_t i = 0; i < stacks->stack_cnt; i++)
			fprintf(file, "%s %" PRIu64 "\n", stacks->stacks[i].frames,
				stacks->stacks[i].count);
	return r < 0 ? pathprof_fail(error, r, "stacks: %s", strerror(-r))
		     : pp_export_finish(file, format, error);
}
