/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one way by which pathprofctl writes a file that the user named.
 *
 * | what is there                     | what happens                                              |
 * |-----------------------------------|-----------------------------------------------------------|
 * | nothing, a regular file           | a draft is written beside it and renamed when it is whole |
 * | a device, a pipe                  | written into                                              |
 * | a symbolic link                   | the same for what it leads to, which may not exist yet    |
 * | -, /dev/stdout, /dev/fd/N         | that descriptor is written into, whatever it is open on   |
 * | a directory, a socket             | refused                                                   |
 *
 * A regular file keeps its owner, group and mode; when the caller may not give them to the draft,
 * or may not write to the file, it is refused. Hard links to it keep the old text. The draft has a
 * random name and is created with O_EXCL, so no link that lies there is followed. What fails, and
 * an end by exit(), SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU or SIGXFSZ, removes the draft and
 * leaves the old file.
 *
 * Workload: one file a command, a few bytes to some hundred megabytes. One thread; one output at a
 * time, because the handler that removes the draft knows only one.
 */
#ifndef CTL_OUTPUT_H
#define CTL_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "pathprof/error.h"

/* Must not be moved between output_begin and output_end: the stream refers to it. */
struct output {
	FILE *file; /* written to by the caller */

	const char *path;
	int directory; /* with a draft, else -1 */
	char *name;    /* in the directory */
	char draft[32];
	int fd;
	int code; /* negative errno of the first write that failed, else 0 */
};

/*
 * path NULL: stdout itself, whose errors main.c looks at; that its reader went away is none.
 * Returns 0, or a negative errno and a line that says what, where and why; only after 0 is
 * output_end to be called.
 */
int output_begin(struct output *ret_output, const char *path, struct pathprof_error *error);
/*
 * result: 0 puts the draft in its place, a negative errno throws it away. Returns result, or the
 * negative errno of what could not be written with a line in error.
 */
int output_end(struct output *output, int result, struct pathprof_error *error);

/* Whether output to path goes to standard output. path may be NULL: false. */
bool output_is_stdout(const char *path);

#endif
