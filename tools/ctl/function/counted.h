/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths that programs counted themselves (pathprof/path_counts.h): found by their number, shown as
 * the lines of source that they ran over, and their functions with the flow that was compiled.
 * Names of functions are in the store, lines in the program's file, which must be the same build.
 */
#ifndef CTL_COUNTED_H
#define CTL_COUNTED_H

#include <stdbool.h>

#include "../view/view.h"
#include "pathprof/path_counts.h"
#include "target.h"

struct counted_way {
	struct pathprof_counted *counted; /* the program whose lines are printed */
	struct pathprof_code *code;       /* whose sources are shown; NULL: they are not */
	const struct pathprof_counted_line **lines;
	size_t cnt;
};

/* -errno, error filled; release it in any case. */
int counted_way_load(struct counted_way *ret_way, const struct pathprof_path_row *row,
		     struct pathprof_error *error);
void counted_way_release(struct counted_way *way);
void counted_way_print(FILE *out, const struct counted_way *way);
json_t *counted_way_json(const struct counted_way *way);

/* Whether a function is meant: by the name that tables show, or by the linker's, which JSON has. */
bool counted_is_named(const struct symbol *symbol, const char *name);
/*
 * The function of that name among those that counted their paths. 1; 0: none has it, *ret_target is
 * untouched; -errno, error filled: it is there and cannot be shown.
 */
int counted_open_function(struct target *ret_target, struct view_query *query, const char *name,
			  struct pathprof_error *error);
/* Whether a counted function of that name is among what is selected. -errno, error filled. */
int counted_has_function(struct view_query *query, const char *name, struct pathprof_error *error);
/* The counted path FUNCTION:NUMBER; *ret_id 0: there is none. -errno, error filled. */
int counted_find_path(struct view_query *query, const char *word, int64_t *ret_id,
		      struct pathprof_error *error);

#endif
