// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl interesting: the paths that programs built with pathprof-cc ran, as a file for the
 * next build (pathprof/interesting.h). Paths of windows that others took are none of these. Several
 * builds of one program are each written in full: readers add up the counts of a path.
 */
#include "../ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../code/programs.h"
#include "../text/cleanup.h"
#include "../text/output.h"
#include "../text/text.h"
#include "base/plural.h"
#include "pathprof/interesting.h"

#define HOT_DEFAULT 256

struct interesting {
	FILE *file;
	uint32_t hot;             /* paths of a function */
	struct programs programs; /* marks the paths that are written */
	uint64_t path_cnt, function_cnt;
	struct pathprof_error *error;
};

/* Rows come with the hottest first. */
static int write_path(void *context, const struct pathprof_path_row *row)
{
	struct interesting *in = context;
	const struct pathprof_counted_function *f;
	struct program *program;
	uint32_t number, function;
	int r = programs_find(&in->programs, row, &number, &function, in->error);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	program = PP_AT(in->programs.list, struct program, number);
	if (program->marks[function] >= in->hot)
		return 0;
	f = &program->functions[function];
	in->function_cnt += !program->marks[function]++;
	if (!in->path_cnt++)
		pathprof_interesting_print_head(in->file);
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
	r = pathprof_store_paths(store, &filter, write_path, in, in->error);
	if (r == 0 && !in->path_cnt)
		return pathprof_fail(in->error, -ENOENT,
				     "nothing that is selected was counted by a program itself: "
				     "build it with pathprof-cc, run it, and read its files with "
				     "`pathprofctl import -F counts`");
	return r;
}

/* Returns an earlier program in the list with the same file name, or NULL. */
static const struct program *earlier_build(const struct programs *programs, size_t own)
{
	const char *name = text_base_name(PP_AT(programs->list, struct program, own)->name);

	for (size_t i = 0; i < own; i++) {
		const struct program *other = PP_AT(programs->list, struct program, i);

		if (strcmp(text_base_name(other->name), name) == 0)
			return other;
	}
	return NULL;
}

static void tell_builds(const struct interesting *in)
{
	for (size_t i = 1; i < in->programs.list.cnt; i++) {
		const struct program *other = earlier_build(&in->programs, i);

		if (other)
			ctl_note("interesting: %s and %s: two builds, and the counts of functions "
				 "that are the same in both add up; --binary FILE takes one",
				 other->name, PP_AT(in->programs.list, struct program, i)->name);
	}
}

int cmd_interesting(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};
	struct interesting in = {.error = &error,
				 .programs = PROGRAMS_INIT,
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
	if (r == 0)
		tell_builds(&in);
	programs_release(&in.programs);
	if (r < 0)
		return ctl_fail_error("interesting", r, &error);
	ctl_note("interesting: %" PRIu64 " %s of %" PRIu64 " %s", in.path_cnt,
		 pp_plural(in.path_cnt, "path", "paths"), in.function_cnt,
		 pp_plural(in.function_cnt, "function", "functions"));
	return CTL_OK;
}
