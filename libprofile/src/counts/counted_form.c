// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A description as it comes from a process apart: records of fixed size, one behind the other. Both
 * ends are one program, so records are as they lie in memory. Sizes are checked against what is
 * left before memory is allocated, and every number against its range.
 *
 *   form_head, texts ended by a NUL each, u32[missing_cnt] texts, and for each function
 *   form_function, u64[slot_cnt], told[told_cnt], form_line[node_cnt], form_arc[arc_cnt],
 *   place[place_cnt]
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pp_counted_apart.h"

struct form_head {
	uint64_t image_bytes, left_out_cnt;
	uint32_t function_cnt, missing_cnt, text_cnt;
	struct pathprof_build_id build_id;
};

/* Texts are numbers from 1 on; 0: "". */
struct form_function {
	uint64_t counter, path_cnt, profile_hash;
	uint32_t name, unit, profile_name, is_local, counting;
	uint32_t slot_cnt, told_cnt, node_cnt, arc_cnt, place_cnt, profile_counter_cnt;
	uint32_t site_cnt[PATHPROF_VALUE_KINDS];
};

struct form_line {
	uint32_t file, line, column, crossing, function;
};

struct form_arc {
	uint32_t from, to, cut;
};

/* ---------------------------------------------------------------- writing */

static int by_address(const void *x, const void *y)
{
	uintptr_t a = (uintptr_t) * (char *const *)x, b = (uintptr_t) * (char *const *)y;

	return (a > b) - (a < b);
}

/* Texts are in the order of their addresses. A name that is no text of its own is "". */
static uint32_t text_number(const struct pathprof_counted *counted, const char *text)
{
	char *const *found = counted->text_cnt ? bsearch(&text, counted->texts, counted->text_cnt,
							 sizeof(*counted->texts), by_address)
					       : NULL;

	return found ? (uint32_t)(found - counted->texts) + 1 : 0;
}

static void put(FILE *out, const void *records, size_t cnt, size_t bytes)
{
	if (cnt)
		fwrite(records, bytes, cnt, out);
}

static void put_head(const struct pathprof_counted *counted, FILE *out)
{
	const struct form_head head = {
		.image_bytes = counted->image_bytes,
		.left_out_cnt = counted->left_out_cnt,
		.function_cnt = counted->function_cnt,
		.missing_cnt = (uint32_t)counted->missing_cnt,
		.text_cnt = (uint32_t)counted->text_cnt,
		.build_id = counted->build_id,
	};

	put(out, &head, 1, sizeof(head));
	for (size_t i = 0; i < counted->text_cnt; i++)
		put(out, counted->texts[i], strlen(counted->texts[i]) + 1, 1);
	for (size_t i = 0; i < counted->missing_cnt; i++) {
		uint32_t text = text_number(counted, counted->missing[i]);

		put(out, &text, 1, sizeof(text));
	}
}

static void put_lines(const struct pathprof_counted *counted,
		      const struct pathprof_counted_function *f, FILE *out)
{
	for (uint32_t i = 0; i < f->node_cnt; i++) {
		const struct pathprof_counted_line *line = &f->lines[i];
		const struct form_line own = {
			.file = text_number(counted, line->file),
			.line = line->line,
			.column = line->column,
			.crossing = line->crossing,
			.function = text_number(counted, line->function),
		};

		put(out, &own, 1, sizeof(own));
	}
}

static void put_arcs(const struct pathprof_counted_function *f, FILE *out)
{
	for (uint32_t i = 0; i < f->arc_cnt; i++) {
		const struct form_arc own = {f->arcs[i].from, f->arcs[i].to, f->arcs[i].cut};

		put(out, &own, 1, sizeof(own));
	}
}

static void put_function(const struct pathprof_counted *counted,
			 const struct pathprof_counted_function *f, FILE *out)
{
	struct form_function own = {
		.counter = f->counter,
		.path_cnt = f->path_cnt,
		.profile_hash = f->profile_hash,
		.name = text_number(counted, f->name),
		.unit = text_number(counted, f->unit),
		.profile_name = text_number(counted, f->profile_name),
		.is_local = f->is_local,
		.counting = f->counting,
		.slot_cnt = f->slot_cnt,
		.told_cnt = f->told_cnt,
		.node_cnt = f->node_cnt,
		.arc_cnt = f->arc_cnt,
		.place_cnt = f->place_cnt,
		.profile_counter_cnt = f->profile_counter_cnt,
	};

	memcpy(own.site_cnt, f->site_cnt, sizeof(own.site_cnt));
	put(out, &own, 1, sizeof(own));
	put(out, f->slots, f->slot_cnt, sizeof(*f->slots));
	put(out, f->told, f->told_cnt, sizeof(*f->told));
	put_lines(counted, f, out);
	put_arcs(f, out);
	put(out, f->places, f->place_cnt, sizeof(*f->places));
}

int pp_form_write(struct pathprof_counted *counted, FILE *out)
{
	if (counted->text_cnt)
		qsort(counted->texts, counted->text_cnt, sizeof(*counted->texts), by_address);
	put_head(counted, out);
	for (uint32_t i = 0; i < counted->function_cnt; i++)
		put_function(counted, &counted->functions[i], out);
	return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

/* ---------------------------------------------------------------- reading */

struct form {
	struct pathprof_counted *counted;
	const char *at, *end;
	size_t bytes; /* of all of it */
	int error;    /* the first */
};

static size_t left(const struct form *form)
{
	return (size_t)(form->end - form->at);
}

static void fail(struct form *form, int error)
{
	form->error = form->error ? form->error : error;
}

/* Takes cnt records; NULL, and the form fails, if there are fewer. */
static const void *take(struct form *form, size_t cnt, size_t bytes)
{
	const char *at = form->at;

	if (form->error || cnt > left(form) / bytes) {
		fail(form, -EBADMSG);
		return NULL;
	}
	form->at += cnt * bytes;
	return at;
}

/* The same as a copy, which is the caller's. */
static void *take_copy(struct form *form, size_t cnt, size_t bytes)
{
	const void *at = take(form, cnt, bytes);
	void *copy = at ? malloc(cnt * bytes + 1) : NULL;

	if (copy)
		memcpy(copy, at, cnt * bytes);
	else
		fail(form, -ENOMEM);
	return copy;
}

static const char *text_of(struct form *form, uint32_t number)
{
	if (number > form->counted->text_cnt)
		fail(form, -EBADMSG);
	return number && number <= form->counted->text_cnt ? form->counted->texts[number - 1] : "";
}

static void take_text(struct form *form)
{
	size_t len = strnlen(form->at, left(form));
	const char *text = take(form, len + 1, 1);

	if (text && !pp_counted_keep_text(form->counted, text, len))
		fail(form, -ENOMEM);
}

static void take_missing(struct form *form, uint32_t cnt)
{
	struct pathprof_counted *counted = form->counted;
	const char *numbers = take(form, cnt, sizeof(uint32_t));

	counted->missing = numbers ? calloc((size_t)cnt + 1, sizeof(*counted->missing)) : NULL;
	if (!counted->missing)
		return fail(form, -ENOMEM);
	for (; counted->missing_cnt < cnt; counted->missing_cnt++) {
		uint32_t number;

		memcpy(&number, numbers + counted->missing_cnt * sizeof(number), sizeof(number));
		counted->missing[counted->missing_cnt] = text_of(form, number);
	}
}

static struct pathprof_counted_line *take_lines(struct form *form, uint32_t cnt)
{
	const char *at = take(form, cnt, sizeof(struct form_line));
	struct pathprof_counted_line *lines = at ? calloc((size_t)cnt + 1, sizeof(*lines)) : NULL;

	if (!lines)
		fail(form, -ENOMEM);
	for (uint32_t i = 0; lines && i < cnt; i++) {
		struct form_line own;

		memcpy(&own, at + i * sizeof(own), sizeof(own));
		if (own.crossing > PATHPROF_CROSSING_RETURN)
			fail(form, -EBADMSG);
		lines[i] = (struct pathprof_counted_line){text_of(form, own.file), own.line,
							  own.column, own.crossing,
							  text_of(form, own.function)};
	}
	return lines;
}

static struct pathprof_flow_arc *take_arcs(struct form *form, uint32_t cnt)
{
	const char *at = take(form, cnt, sizeof(struct form_arc));
	struct pathprof_flow_arc *arcs = at ? calloc((size_t)cnt + 1, sizeof(*arcs)) : NULL;

	if (!arcs)
		fail(form, -ENOMEM);
	for (uint32_t i = 0; arcs && i < cnt; i++) {
		struct form_arc own;

		memcpy(&own, at + i * sizeof(own), sizeof(own));
		arcs[i] = (struct pathprof_flow_arc){own.from, own.to, own.cut != 0};
	}
	return arcs;
}

static struct pathprof_counted_function function_of(struct form *form,
						    const struct form_function *own)
{
	struct pathprof_counted_function f = {
		.counter = own->counter,
		.path_cnt = own->path_cnt,
		.profile_hash = own->profile_hash,
		.name = text_of(form, own->name),
		.unit = text_of(form, own->unit),
		.profile_name = text_of(form, own->profile_name),
		.is_local = own->is_local != 0,
		.counting = own->counting,
		.slot_cnt = own->slot_cnt,
		.told_cnt = own->told_cnt,
		.node_cnt = own->node_cnt,
		.arc_cnt = own->arc_cnt,
		.place_cnt = own->place_cnt,
		.profile_counter_cnt = own->profile_counter_cnt,
	};

	memcpy(f.site_cnt, own->site_cnt, sizeof(f.site_cnt));
	return f;
}

/* Counters of clang's have a place each, so the form has bytes for as many. */
static bool is_sound(const struct form *form, const struct pathprof_counted_function *f)
{
	return f->profile_counter_cnt <= form->bytes / sizeof(struct pathprof_counted_place) &&
	       pp_counted_is_sound(form->counted, f);
}

static void take_function(struct form *form, struct pathprof_counted_function *f)
{
	const void *at = take(form, 1, sizeof(struct form_function));
	struct form_function own;

	if (!at)
		return;
	memcpy(&own, at, sizeof(own));
	*f = function_of(form, &own);
	f->slots = take_copy(form, f->slot_cnt, sizeof(*f->slots));
	f->told = take_copy(form, f->told_cnt, sizeof(*f->told));
	f->lines = take_lines(form, f->node_cnt);
	f->arcs = take_arcs(form, f->arc_cnt);
	f->places = take_copy(form, f->place_cnt, sizeof(*f->places));
	if (!form->error && !is_sound(form, f))
		fail(form, -EBADMSG);
}

static void take_functions(struct form *form, uint32_t cnt)
{
	struct pathprof_counted *counted = form->counted;

	if (cnt > left(form) / sizeof(struct form_function))
		return fail(form, -EBADMSG);
	counted->functions = calloc((size_t)cnt + 1, sizeof(*counted->functions));
	if (!counted->functions)
		return fail(form, -ENOMEM);
	for (; counted->function_cnt < cnt && !form->error; counted->function_cnt++)
		take_function(form, &counted->functions[counted->function_cnt]);
}

int pp_form_read(struct pathprof_counted *counted, const void *bytes, size_t len)
{
	struct form form = {counted, bytes, (const char *)bytes + len, len, 0};
	const void *at = take(&form, 1, sizeof(struct form_head));
	struct form_head head;

	if (!at)
		return form.error;
	memcpy(&head, at, sizeof(head));
	if (head.build_id.len_bytes > sizeof(head.build_id.bytes))
		return -EBADMSG;
	counted->build_id = head.build_id;
	counted->image_bytes = head.image_bytes;
	counted->left_out_cnt = head.left_out_cnt;
	for (uint32_t i = 0; i < head.text_cnt && !form.error; i++)
		take_text(&form);
	take_missing(&form, head.missing_cnt);
	take_functions(&form, head.function_cnt);
	if (left(&form))
		fail(&form, -EBADMSG);
	return form.error;
}
