// SPDX-License-Identifier: GPL-2.0-or-later
#include "programs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "../text/cleanup.h"
#include "apart.h"

/* Says that the file is another build than the one that counted. Either can be selected. */
static int refuse_build(const char *file, const struct pathprof_build_id *counted,
			const struct pathprof_build_id *there, struct pathprof_error *error)
{
	char counted_text[PATHPROF_BUILD_ID_TEXT_LEN], there_text[PATHPROF_BUILD_ID_TEXT_LEN];

	pathprof_build_id_text(counted, counted_text);
	pathprof_build_id_text(there, there_text);
	return pathprof_fail(error, -ESTALE,
			     "%s: another build than the one that counted (%.16s): put that build "
			     "in its place, or take only the counts of the one that is there: "
			     "--binary %.16s",
			     file, counted_text, there_text);
}

static int open_program(const struct programs *programs, const struct pathprof_path_row *row,
			struct program *ret_program, struct pathprof_error *error)
{
	const char *file = programs->file ? programs->file : row->binary_name;
	struct pathprof_build_id id;
	int r = apart_open_counted(&ret_program->counted, file, error);

	if (r < 0)
		return r;
	if (pathprof_counted_identity(ret_program->counted, &id) < 0)
		r = pathprof_fail(error, -ESTALE,
				  "%s: it has no build-id, and the build that counted had one: put "
				  "that build in its place",
				  file);
	else if (!pathprof_build_id_equal(&id, &row->binary_id))
		r = refuse_build(file, &row->binary_id, &id, error);
	if (r < 0) {
		pathprof_counted_free(ret_program->counted);
		return r;
	}
	ret_program->id = row->binary_id;
	ret_program->name = ctl_strdup(row->binary_name);
	ret_program->functions =
		pathprof_counted_functions(ret_program->counted, &ret_program->function_cnt);
	ret_program->marks = ctl_alloc(((size_t)ret_program->function_cnt + 1) * sizeof(uint32_t));
	return 0;
}

static void release_program(struct program *program)
{
	pathprof_counted_free(program->counted);
	free(program->name);
	free(program->marks);
}

static int add_program(struct programs *programs, const struct pathprof_path_row *row,
		       struct pathprof_error *error)
{
	struct program program = {.counted = NULL};
	int r = open_program(programs, row, &program, error);

	if (r < 0)
		return r;
	if (pp_vector_add(&programs->list, &program))
		return 0;
	release_program(&program);
	return pathprof_fail(error, -ENOMEM, "out of memory");
}

static uint32_t number_of(const struct programs *programs, const struct pathprof_build_id *id)
{
	uint32_t number = 0;

	while (number < programs->list.cnt &&
	       !pathprof_build_id_equal(&PP_AT(programs->list, struct program, number)->id, id))
		number++;
	return number;
}

int programs_find(struct programs *programs, const struct pathprof_path_row *row,
		  uint32_t *ret_program, uint32_t *ret_function, struct pathprof_error *error)
{
	uint32_t function = pathprof_counted_function_of(row->start);
	uint32_t number = number_of(programs, &row->binary_id);
	int r = 0;

	if (!pathprof_is_counted(&row->binary_id, row->binary_name))
		return -ENOENT;
	if (number == programs->list.cnt)
		r = add_program(programs, row, error);
	if (r < 0)
		return r == -ENOENT ? -EBADMSG : r;
	if (function >= PP_AT(programs->list, struct program, number)->function_cnt)
		return pathprof_fail(error, -EBADMSG, "%s: has no function %" PRIu32,
				     row->binary_name, function);
	*ret_program = number;
	*ret_function = function;
	return 0;
}

void programs_release(struct programs *programs)
{
	for (size_t i = 0; i < programs->list.cnt; i++)
		release_program(PP_AT(programs->list, struct program, i));
	free(programs->list.data);
}
