/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choice of the process that reads other people's files. If an ordinary user runs pathprofctl, it
 * reads them itself: a malicious file gains no more than that user's rights. With more rights it
 * opens the files and has them read by processes that have none (pathprof/apart.h): binaries one
 * each, a counting program with its files of counts as one, and one more for sources and names of
 * C++ and Rust. If a file kills its process, that is reported once, and the process's answers are
 * missing. One thread.
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

/* A pathprof_apart_died_fn that prints why. */
void apart_say_death(void *context, const char *why);

/*
 * Sources and names read by one process for all of a run (texts.c): it has nothing that one
 * file could steal from another.
 */
/* Like demangle(), but asks the process apart. Without an answer both forms are name itself. */
void texts_demangle(const char *name, struct readable *ret_readable);
/* Like demangle_ahead(), but asks the process apart. */
void texts_demangle_ahead(const char *const *names, size_t cnt);
/* Like source_text_line_of(), but asks the process apart. Very long lines are cut. Caller frees. */
char *texts_line(int fd, const char *file, int line);

#endif
