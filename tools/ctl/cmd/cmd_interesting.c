// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl interesting: the paths that programs built with pathprof-cc ran, as a file for the
 * next build (pathprof/interesting.h). Paths of windows that others took are none of these.
 */
#include "../ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/output.h"
#include "base/vector.h"
#include "pathprof/interesting.h"
#include "pathprof/path_counts.h"

#define HOT_DEFAULT 256

/* A program whose functions the paths are of. */
struct program {
	struct pathprof_build_id id;
	struct pathprof_counted *counted;
	const struct pathprof_counted_function *functions;
	uint32_t function_cnt;
	uint32_t *written_cnt; /* by function */
};

struct interesting {
	FILE *file;
	uint32_t hot;              /* paths of a function */
	struct pp_vector programs; /* struct program */
	uint64_t path_cnt, function_cnt;
	struct pathprof_error *error;
};

static int open_program(struct interesting *in, const struct pathprof_path_row *row,
			struct program *ret_program)
{
	struct pathprof_build_id id;
	int r = pathprof_counted_open(&ret_program->counted, row->binary_name, in->error);

	if (r < 0)
		return r;
	if (pathprof_counted_identity(ret_program->counted, &id) < 0 ||
	    !pathprof_build_id_equal(&id, &row->binary_id)) {
		pathprof_counted_free(ret_program->counted);
		return pathprof_fail(in->error, -ESTALE,
				     "%s: another build than the one that counted: import its "
				     "counts again, or put that build in its place",
				     row->binary_name);
	}
	ret_program->id = row->binary_id;
	ret_program->functions =
		pathprof_counted_functions(ret_program->counted, &ret_program->function_cnt);
	ret_program->written_cnt =
		ctl_alloc(((size_t)ret_program->function_cnt + 1) * sizeof(uint32_t));
	return 0;
}

static const struct program *find_program(const struct interesting *in,
					  const struct pathprof_build_id *id)
{
	for (size_t i = 0; i < in->programs.cnt; i++) {
		const struct program *program = PP_AT(in->programs, struct program, i);

		if (pathprof_build_id_equal(&program->id, id))
			return program;
	}
	return NULL;
}

static void release_program(struct program *program)
{
	pathprof_counted_free(program->counted);
	free(program->written_cnt);
}

/* NULL: it cannot be read, error filled. */
static const struct program *program_of(struct interesting *in, const struct pathprof_path_row *row)
{
	const struct program *found = find_program(in, &row->binary_id);
	struct program program = {.counted = NULL};

	if (found)
		return found;
	if (open_program(in, row, &program) < 0)
		return NULL;
	found = pp_vector_add(&in->programs, &program);
	if (!found) {
		pathprof_fail(in->error, -ENOMEM, "out of memory");
		release_program(&program);
	}
	return found;
}

/* Rows come with the hottest first. */
static int write_path(void *context, const struct pathprof_path_row *row)
{
	struct interesting *in = context;
	uint32_t function = pathprof_counted_function_of(row->start);
	const struct pathprof_counted_function *f;
	const struct program *program;

	if (!pathprof_is_counted(&row->binary_id, row->binary_name))
		return 0;
	program = program_of(in, row);
	if (!program)
		return -EBADMSG;
	if (function >= program->function_cnt)
		return pathprof_fail(in->error, -EBADMSG, "%s: has no function %" PRIu32,
				     row->binary_name, function);
	if (program->written_cnt[function] >= in->hot)
		return 0;
	f = &program->functions[function];
	in->function_cnt += !program->written_cnt[function]++;
	in->path_cnt++;
	pathprof_interesting_print(in->file, &(struct pathprof_interesting_path){
						     .function = f->name,
						     .unit = f->is_local ? f->unit : "",
						     .shape = pathprof_interesting_shape(
							     f->node_cnt, f->arcs, f->arc_cnt),
						     .id = pathprof_counted_number_of(row->start),
						     .count = row->samples,
					     });
	return 0;
}

static int write_paths(struct interesting *in, const struct ctl_options *options,
		       struct pathprof_store *store)
{
	struct pathprof_filter filter = options->filter;
	int r;

	filter.limit = 0;
	pathprof_interesting_print_head(in->file);
	r = pathprof_store_paths(store, &filter, write_path, in, in->error);
	if (r == 0 && !in->path_cnt)
		return pathprof_fail(in->error, -ENOENT,
				     "nothing that is selected was counted by a program itself: "
				     "build it with pathprof-cc, run it, and read its files with "
				     "`pathprofctl import -F counts`");
	return r;
}

static void release(struct interesting *in)
{
	for (size_t i = 0; i < in->programs.cnt; i++)
		release_program(PP_AT(in->programs, struct program, i));
	free(in->programs.data);
}

int cmd_interesting(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};
	struct interesting in = {.error = &error,
				 .programs = {.size_bytes = sizeof(struct program)},
				 .hot = options->top ? options->top : HOT_DEFAULT};
	struct output output;
	int r = ctl_no_operands(options);

	if (r)
		return r;
	r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	r = output_begin(&output, options->output, &error);
	if (r == 0) {
		in.file = output.file;
		r = write_paths(&in, options, store);
		r = output_end(&output, r, &error);
	}
	release(&in);
	if (r < 0)
		return ctl_fail_error("interesting", r, &error);
	ctl_note("interesting: %" PRIu64 " paths of %" PRIu64 " functions", in.path_cnt,
		 in.function_cnt);
	return CTL_OK;
}
