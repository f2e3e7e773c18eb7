// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Names that were not told yet: see pathprof/parcel_names.h. Of each name that was told only its
 * place is kept, 16 bytes a function and 8 a path, so a host that sends for weeks keeps some
 * hundred KiB.
 */
#include "pathprof/parcel_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "pathprof/code.h"
#include "pp_parcel_builds.h"

/* The most names of all builds that are remembered as told; others are told each time or never. */
#define TOLD_MAX 500000

/* [start, start + len_bytes) is told, or has no name. */
struct range {
	uint64_t start, len_bytes;
};

struct told {
	struct pathprof_build_id id;
	bool unreadable; /* its file is not there, or is another one */
	bool keys;       /* the functions that it has at all */
	struct range *ranges;
	size_t range_cnt, range_room;
	uint64_t *paths; /* ascending */
	size_t path_cnt, path_room;
};

struct pathprof_namer {
	struct told *list;
	size_t cnt, room;
	size_t told_cnt; /* ranges and paths of all */
};

int pathprof_namer_new(struct pathprof_namer **ret_namer)
{
	*ret_namer = calloc(1, sizeof(**ret_namer));
	return *ret_namer ? 0 : -ENOMEM;
}

void pathprof_namer_forget(struct pathprof_namer *namer)
{
	for (size_t i = 0; i < namer->cnt; i++) {
		free(namer->list[i].ranges);
		free(namer->list[i].paths);
	}
	free(namer->list);
	*namer = (struct pathprof_namer){.cnt = 0};
}

void pathprof_namer_free(struct pathprof_namer *namer)
{
	if (!namer)
		return;
	pathprof_namer_forget(namer);
	free(namer);
}

/* NULL: no memory. */
static struct told *told_of(struct pathprof_namer *namer, const struct pathprof_build_id *id)
{
	for (size_t i = 0; i < namer->cnt; i++)
		if (pathprof_build_id_equal(&namer->list[i].id, id))
			return &namer->list[i];
	if (pp_grow(&namer->list, namer->cnt, &namer->room) < 0)
		return NULL;
	namer->list[namer->cnt] = (struct told){.id = *id};
	return &namer->list[namer->cnt++];
}

/* ---------------------------------------------------------------- what was told */

/* Index of the first range that starts after offset. */
static size_t range_after(const struct told *told, uint64_t offset)
{
	return pp_first(i, 0, told->range_cnt, told->ranges[i].start > offset);
}

static bool is_told(const struct told *told, uint64_t offset)
{
	size_t at = range_after(told, offset);

	return at && told->ranges &&
	       offset - told->ranges[at - 1].start < told->ranges[at - 1].len_bytes;
}

static void tell_range(struct pathprof_namer *namer, struct told *told, uint64_t start,
		       uint64_t len_bytes)
{
	size_t at = range_after(told, start);

	if (at && told->ranges[at - 1].start == start) {
		if (told->ranges[at - 1].len_bytes < len_bytes)
			told->ranges[at - 1].len_bytes = len_bytes;
		return;
	}
	if (namer->told_cnt >= TOLD_MAX ||
	    pp_grow(&told->ranges, told->range_cnt, &told->range_room) < 0)
		return;
	memmove(&told->ranges[at + 1], &told->ranges[at],
		(told->range_cnt - at) * sizeof(*told->ranges));
	told->ranges[at] = (struct range){start, len_bytes};
	told->range_cnt++;
	namer->told_cnt++;
}

static void tell_path(struct pathprof_namer *namer, struct told *told, uint64_t path)
{
	size_t at = pp_first(i, 0, told->path_cnt, told->paths[i] >= path);

	if ((at < told->path_cnt && told->paths[at] == path) || namer->told_cnt >= TOLD_MAX ||
	    pp_grow(&told->paths, told->path_cnt, &told->path_room) < 0)
		return;
	memmove(&told->paths[at + 1], &told->paths[at],
		(told->path_cnt - at) * sizeof(*told->paths));
	told->paths[at] = path;
	told->path_cnt++;
	namer->told_cnt++;
}

void pathprof_namer_told(struct pathprof_namer *namer, const struct pathprof_parcel *parcel)
{
	for (uint32_t i = 0; i < parcel->name_cnt; i++) {
		const struct pathprof_parcel_names *names = &parcel->names[i];
		struct told *told = told_of(namer, &names->id);

		for (uint32_t j = 0; told && j < names->function_cnt; j++)
			tell_range(namer, told, names->functions[j].start,
				   names->functions[j].len_bytes);
		for (uint32_t j = 0; told && j < names->portable_cnt; j++)
			tell_path(namer, told,
				  pp_build_path(names->portables[j].start,
						names->portables[j].length,
						names->portables[j].outcomes));
		if (told && names->key_cnt)
			told->keys = true;
	}
}

/* ---------------------------------------------------------------- what the store gave */

/* The last place of a function that the store knows. */
static bool is_function_told(const struct told *told,
			     const struct pathprof_parcel_function *function)
{
	return is_told(told, function->start) &&
	       (!function->len_bytes || is_told(told, function->start + function->len_bytes - 1));
}

static void leave_out_functions(struct pathprof_parcel *parcel, struct pathprof_parcel_names *names,
				const struct told *told)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < names->function_cnt; i++)
		if (is_function_told(told, &names->functions[i]))
			free(names->functions[i].name);
		else
			names->functions[kept++] = names->functions[i];
	parcel->function_cnt -= names->function_cnt - kept;
	names->function_cnt = kept;
}

static void leave_out_portables(struct pathprof_parcel *parcel, struct pathprof_parcel_names *names,
				const struct told *told)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < names->portable_cnt; i++) {
		const struct pathprof_parcel_portable *p = &names->portables[i];

		if (!pp_build_has(told->paths, told->path_cnt,
				  pp_build_path(p->start, p->length, p->outcomes)))
			names->portables[kept++] = *p;
	}
	parcel->portable_cnt -= names->portable_cnt - kept;
	names->portable_cnt = kept;
	if (told->keys) {
		free(names->keys);
		names->keys = NULL;
		names->key_cnt = 0;
	}
}

/* ---------------------------------------------------------------- what files say */

static void say_nothing(void *context, const char *why)
{
	(void)context;
	(void)why;
}

/* A place without a symbol has no name, and is not asked for again. */
static int name_offset(struct pathprof_namer *namer, struct told *told,
		       struct pathprof_parcel *parcel, struct pathprof_parcel_names *names,
		       struct pathprof_code *code, uint64_t offset)
{
	struct pathprof_parcel_function *last =
		names->function_cnt ? &names->functions[names->function_cnt - 1] : NULL;
	const char *name = NULL;
	uint64_t start = offset;
	int code_of = pathprof_code_function(code, offset, &name, &start);

	if (code_of < 0 || !name || start > offset) {
		tell_range(namer, told, offset, 1);
		return code_of == -EOWNERDEAD ? code_of : 0;
	}
	if (last && last->start == start) {
		last->len_bytes = offset - start + 1;
		return 0;
	}
	code_of = pathprof_parcel_add_function(parcel, names, start, offset - start + 1, name);
	return code_of == -E2BIG ? 0 : code_of;
}

/* By ascending offsets, so that places of one function follow one another. */
static int name_offsets(struct pathprof_namer *namer, struct told *told,
			struct pathprof_parcel *parcel, const struct pp_build *build,
			struct pathprof_code *code)
{
	struct pathprof_parcel_names *names = pathprof_parcel_names_of(parcel, &build->id);
	int r = names ? 0 : -ENOMEM;

	if (r == 0)
		r = pathprof_code_functions_ahead(code, build->offsets, build->offset_cnt);
	for (size_t i = 0; r == 0 && i < build->offset_cnt; i++)
		if (!is_told(told, build->offsets[i]))
			r = name_offset(namer, told, parcel, names, code, build->offsets[i]);
	return r;
}

static bool has_untold(const struct told *told, const struct pp_build *build)
{
	for (size_t i = 0; i < build->offset_cnt; i++)
		if (!is_told(told, build->offsets[i]))
			return true;
	return false;
}

/* Only a file of the very build is believed. */
static int name_build(struct pathprof_namer *namer, struct told *told,
		      struct pathprof_parcel *parcel, const struct pp_build *build)
{
	struct pathprof_code *code = NULL;
	struct pathprof_error error;
	int r;

	if (told->unreadable || build->id.kind == PATHPROF_ID_JIT || !build->name ||
	    build->name[0] != '/' || !has_untold(told, build))
		return 0;
	if (pathprof_code_open_apart(&code, build->name, &build->id, say_nothing, NULL, &error) <
	    0) {
		told->unreadable = true;
		return 0;
	}
	r = name_offsets(namer, told, parcel, build, code);
	pathprof_code_free(code);
	if (r == 0 || r == -ENOMEM)
		return r;
	told->unreadable = true;
	return 0;
}

int pathprof_namer_name(struct pathprof_namer *namer, struct pathprof_parcel *parcel)
{
	struct pp_builds builds = {.cnt = 0};
	int r = pp_builds_of(&builds, parcel);

	for (uint32_t i = 0; r == 0 && i < parcel->name_cnt; i++) {
		struct told *told = told_of(namer, &parcel->names[i].id);

		if (!told)
			r = -ENOMEM;
		else
			leave_out_functions(parcel, &parcel->names[i], told);
		if (told)
			leave_out_portables(parcel, &parcel->names[i], told);
	}
	for (size_t i = 0; r == 0 && i < builds.cnt; i++) {
		struct told *told = told_of(namer, &builds.list[i].id);

		r = told ? name_build(namer, told, parcel, &builds.list[i]) : -ENOMEM;
	}
	pp_builds_release(&builds);
	return r;
}
