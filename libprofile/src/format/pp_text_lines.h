/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A text read line by line from a descriptor, in bounded memory.
 *
 * Workload: gigabytes, a pipe or a file, once from front to end. A line is handed out where it lies
 * in the buffer, so nothing is copied but the line that a read cuts in two.
 *
 * Locking: one object, one thread. Ownership: the descriptor is the caller's; a line is valid until
 * the next one is asked for, and may be written to.
 */
#ifndef PP_TEXT_LINES_H
#define PP_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/error.h"

/* A branch stack of 1024 entries with long file names stays below. */
#define PP_TEXT_LINE_MAX (1u << 20)

struct pp_text_lines {
	int fd;
	char *buffer;
	size_t size;
	size_t start, end; /* what was read and not handed out */
	size_t searched;   /* up to here there is no newline */
	uint64_t bytes;    /* handed out, newlines included */
	uint64_t number;   /* of the line handed out last; the first is 1 */
	bool at_end;       /* of the file */
};

int pp_text_lines_init(struct pp_text_lines *ret_lines, int fd);
void pp_text_lines_release(struct pp_text_lines *lines);

/*
 * The next line, its newline replaced by a NUL. 1; 0: the end. ret_whole is false for a last line
 * that has no newline. -errno of reading; -E2BIG: longer than PP_TEXT_LINE_MAX; -EILSEQ: it has a
 * NUL in it. In the last two cases `number` is that line's.
 */
int pp_text_lines_next(struct pp_text_lines *lines, char **ret_line, size_t *ret_len,
		       bool *ret_whole);

#endif
