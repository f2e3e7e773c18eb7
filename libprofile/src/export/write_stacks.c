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

/* A name is a string, a function and a location at once: number n of names is n + 1 of each. */
struct image {
	const struct pathprof_export_stacks *in;
	struct pp_texts names;
	uint64_t *ids; /* of all stacks, one behind the other, the innermost first */
	PpPprof__Sample *samples, **sample_at;
	PpPprof__Function *functions, **function_at;
	PpPprof__Line *lines, **line_at;
	PpPprof__Location *locations, **location_at;
	char **strings;
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

/* ids points behind the stack's last. */
static int number_frames(struct image *image, const char *stack, uint64_t *ids)
{
	char *text = strdup(stack), *rest = text, *name;
	uint32_t number;
	int r = text ? 0 : -ENOMEM;

	while (r == 0 && (name = strsep(&rest, ";"))) {
		r = pp_texts_at(&image->names, name, &number);
		*--ids = number + 1ul;
	}
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
	size_t stack_cnt = image->in->stack_cnt, name_cnt = image->names.table.cnt;
	int r = 0;

	image->samples = array(stack_cnt, sizeof(*image->samples), &r);
	image->sample_at = array(stack_cnt, sizeof(void *), &r);
	image->values = array(stack_cnt, sizeof(*image->values), &r);
	image->functions = array(name_cnt, sizeof(*image->functions), &r);
	image->function_at = array(name_cnt, sizeof(void *), &r);
	image->lines = array(name_cnt, sizeof(*image->lines), &r);
	image->line_at = array(name_cnt, sizeof(void *), &r);
	image->locations = array(name_cnt, sizeof(*image->locations), &r);
	image->location_at = array(name_cnt, sizeof(void *), &r);
	image->strings = array(name_cnt + 3, sizeof(char *), &r);
	return r;
}

static void fill_names(struct image *image)
{
	image->strings[0] = (char *)"";
	for (uint32_t i = 0; i < image->names.table.cnt; i++) {
		image->strings[i + 1] = image->names.texts[i];
		image->functions[i] = (PpPprof__Function)PP_PPROF__FUNCTION__INIT;
		image->functions[i].id = i + 1ul;
		image->functions[i].name = image->functions[i].system_name = i + 1ll;
		image->function_at[i] = &image->functions[i];
		image->lines[i] = (PpPprof__Line)PP_PPROF__LINE__INIT;
		image->lines[i].function_id = i + 1ul;
		image->line_at[i] = &image->lines[i];
		image->locations[i] = (PpPprof__Location)PP_PPROF__LOCATION__INIT;
		image->locations[i].id = i + 1ul;
		image->locations[i].n_line = 1;
		image->locations[i].line = &image->line_at[i];
		image->location_at[i] = &image->locations[i];
	}
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

static void fill_profile(struct image *image)
{
	const struct pathprof_export_stacks *in = image->in;
	const bool timed = strcmp(in->figure, "time") == 0;
	const uint32_t name_cnt = image->names.table.cnt;
	PpPprof__Profile *p = &image->profile;

	image->strings[name_cnt + 1] = timed ? (char *)"cpu" : (char *)in->figure;
	image->strings[name_cnt + 2] = timed ? (char *)"nanoseconds" : (char *)"count";
	image->type = (PpPprof__ValueType)PP_PPROF__VALUE_TYPE__INIT;
	image->type.type = name_cnt + 1ll;
	image->type.unit = name_cnt + 2ll;
	image->type_at = &image->type;
	p->n_sample_type = 1;
	p->sample_type = &image->type_at;
	p->period_type = &image->type;
	p->period = 1;
	p->n_sample = in->stack_cnt;
	p->sample = image->sample_at;
	p->n_location = p->n_function = name_cnt;
	p->location = image->location_at;
	p->function = image->function_at;
	p->n_string_table = name_cnt + 3ul;
	p->string_table = image->strings;
	p->time_nanos = in->begin_ns;
	if (in->begin_ns > 0 && in->end_ns > in->begin_ns)
		p->duration_nanos = in->end_ns - in->begin_ns;
}

static void release(struct image *image)
{
	pp_texts_release(&image->names);
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
	free(image->strings);
}

static int write_pprof(const struct pathprof_export_stacks *stacks, FILE *file)
{
	struct image image = {.in = stacks, .profile = PP_PPROF__PROFILE__INIT};
	int r = number_stacks(&image);

	if (r == 0)
		r = make_room(&image);
	if (r == 0) {
		fill_names(&image);
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
