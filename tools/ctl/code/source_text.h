/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of source files, for show. File names come from debug information, so only regular files
 * of a bearable size are read; one that is not there is simply not shown. Keeps every file read
 * until freed: a path crosses a handful.
 */
#ifndef CTL_SOURCE_TEXT_H
#define CTL_SOURCE_TEXT_H

#include "pathprof/code.h"

struct source_text;

struct source_text *source_text_new(void);
/* NULL-safe. */
void source_text_free(struct source_text *source);
/*
 * Line `line` (from 1) without its newline; NULL when unknown. Caller frees. binary is whose debug
 * information names the file: with rights, as root, the file is opened as the owner of the binary
 * would open it, without the groups of either.
 */
char *source_text_line(struct source_text *source, const struct pathprof_code *binary,
		       const char *file, int line);
/* The same in this process whoever runs it, of a file that is open: fd remains the caller's. */
char *source_text_line_of(struct source_text *source, int fd, const char *file, int line);

#endif
