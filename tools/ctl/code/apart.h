/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who reads files of others. Run by an ordinary user, pathprofctl does so itself: such a file can
 * get no more than that user has. Run with rights it opens the files and has them read by processes
 * that have none (pathprof/apart.h): binaries one each, a counting program with its files of counts
 * as one, and one more for sources and names of C++ and Rust. A process that dies of a file is told
 * of once, and what it would have said is missing. One thread.
 */
#ifndef CTL_APART_H
#define CTL_APART_H

#include <stdbool.h>
#include <stddef.h>

#include "pathprof/code.h"
#include "pathprof/path_counts.h"

struct readable;

/* Whether files are read apart. */
bool apart_is_needed(void);

/* pathprof_code_open(), apart if need be. */
int apart_open_code(struct pathprof_code **ret_code, const char *path,
		    const struct pathprof_build_id *expect, struct pathprof_error *error);
/* pathprof_build_id_read_file(), the same way. */
int apart_read_build_id(struct pathprof_build_id *ret_id, const char *path,
			struct pathprof_error *error);

/* pathprof_counted_open() and pathprof_counts_run(), the same way. */
int apart_open_counted(struct pathprof_counted **ret_counted, const char *path,
		       struct pathprof_error *error);
int apart_read_run(const char *path, struct pathprof_counts_run *ret_run,
		   struct pathprof_error *error);

/* pathprof_apart_died_fn: says why. */
void apart_say_death(void *context, const char *why);

/*
 * Sources and names read by one process for all of a run (texts.c): it has nothing that one
 * file could steal from another.
 */
/* As demangle(); name itself when there is nobody to ask. */
void texts_demangle(const char *name, struct readable *ret_readable);
/* As demangle_ahead(). */
void texts_demangle_ahead(const char *const *names, size_t cnt);
/* As source_text_line_of(); a line is cut where it gets too long for a person. Caller frees. */
char *texts_line(int fd, const char *file, int line);

#endif
