// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Lines of a text: see pp_text_lines.h. The buffer holds the longest line and a read beyond it, so
 * a line is moved at most once for each read.
 */
#include "pp_text_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES   (256u << 10)
#define BUFFER_BYTES (PP_TEXT_LINE_MAX + READ_BYTES)

int pp_text_lines_init(struct pp_text_lines *ret_lines, int fd)
{
	/* One more for the NUL behind a last line without a newline. */
	char *buffer = malloc(BUFFER_BYTES + 1);

	if (!buffer)
		return -ENOMEM;
	*ret_lines = (struct pp_text_lines){.fd = fd, .buffer = buffer};
	return 0;
}

void pp_text_lines_release(struct pp_text_lines *lines)
{
	free(lines->buffer);
	*lines = (struct pp_text_lines){.fd = -1};
}

/* Reads behind what is there; the caller made room. */
static int fill(struct pp_text_lines *lines)
{
	ssize_t got;

	do
		got = read(lines->fd, lines->buffer + lines->end, READ_BYTES);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	lines->end += (size_t)got;
	lines->at_end = got == 0;
	return 0;
}

static void move_to_front(struct pp_text_lines *lines)
{
	memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
	lines->end -= lines->start;
	lines->searched -= lines->start;
	lines->start = 0;
}

/* The newline of the line at start, reading on until it is there; NULL at the end of the file. */
static int find_newline(struct pp_text_lines *lines, char **ret_newline)
{
	for (;;) {
		char *newline =
			memchr(lines->buffer + lines->searched, '\n', lines->end - lines->searched);
		int r;

		lines->searched = lines->end;
		if (newline || lines->at_end) {
			*ret_newline = newline;
			return 0;
		}
		if (lines->end - lines->start > PP_TEXT_LINE_MAX)
			return -E2BIG;
		if (lines->end > BUFFER_BYTES - READ_BYTES)
			move_to_front(lines);
		r = fill(lines);
		if (r < 0)
			return r;
	}
}

int pp_text_lines_next(struct pp_text_lines *lines, char **ret_line, size_t *ret_len,
		       bool *ret_whole)
{
	char *line, *newline = NULL, *end;
	size_t len;
	int r;

	r = find_newline(lines, &newline);
	if (r == 0 && !newline && lines->start == lines->end)
		return 0;
	lines->number++;
	if (r < 0)
		return r;
	line = lines->buffer + lines->start;
	end = newline ? newline : lines->buffer + lines->end;
	len = (size_t)(end - line);
	if (len > PP_TEXT_LINE_MAX)
		return -E2BIG;
	if (memchr(line, '\0', len))
		return -EILSEQ;
	*end = '\0';
	lines->bytes += len + (newline != NULL);
	lines->start += len + (newline != NULL);
	lines->searched = lines->start;
	*ret_line = line;
	*ret_len = len;
	*ret_whole = newline != NULL;
	return 1;
}
