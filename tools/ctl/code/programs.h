/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs whose own counts are in a database (pathprof/path_counts.h), found by rows of paths.
 * Each is opened once, and must be the build that counted.
 *
 *     struct programs programs = PROGRAMS_INIT;
 *     r = programs_find(&programs, row, &program, &error);    ...for each row
 *     programs_release(&programs);
 *
 * Workload: a handful of programs, 10^6 rows.
 */
#ifndef CTL_PROGRAMS_H
#define CTL_PROGRAMS_H

#include "base/vector.h"
#include "pathprof/path_counts.h"
#include "pathprof/store.h"

struct program {
	struct pathprof_build_id id;
	char *name; /* path of the ELF file, as the database has it */
	struct pathprof_counted *counted;
	const struct pathprof_counted_function *functions;
	uint32_t function_cnt;
	uint32_t *marks; /* by function; 0 at first, for the caller's use */
};

struct programs {
	struct pp_vector list; /* struct program */
	const char *file;      /* read instead of where they ran; NULL: none is */
};
#define PROGRAMS_INIT                                                                              \
	{                                                                                          \
		.list = {.size_bytes = sizeof(struct program) }                                    \
	}

/*
 * The number of the program of a row, by which it is PP_AT(programs->list, struct program, number),
 * and *ret_function of the row's path in it. -ENOENT: the row is of none, error is untouched;
 * -errno, error filled: it cannot be read, or is another build.
 */
int programs_find(struct programs *programs, const struct pathprof_path_row *row,
		  uint32_t *ret_program, uint32_t *ret_function, struct pathprof_error *error);
void programs_release(struct programs *programs);

#endif
