// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Lines of a text: see pp_text_lines.h. The buffer holds some reads, so that the rest of a line is
 * moved to its front but once for several of them; where a line is longer it grows, once, to what
 * the longest line needs.
 */
#include "pp_text_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vector.h"

#define READ_BYTES  (64u << 10)
#define FIRST_BYTES (4 * READ_BYTES - 1)
#define MOST_BYTES  (PP_TEXT_LINE_MAX + 2 * READ_BYTES)

int pp_text_lines_init(struct pp_text_lines *ret_lines, int fd)
{
	/* One more for the NUL behind a last line without a newline. */
	char *buffer = malloc(FIRST_BYTES + 1);

	if (!buffer)
		return -ENOMEM;
	*ret_lines = (struct pp_text_lines){.fd = fd, .buffer = buffer, .size = FIRST_BYTES};
	return 0;
}

void pp_text_lines_release(struct pp_text_lines *lines)
{
	free(lines->buffer);
	*lines = (struct pp_text_lines){.fd = -1};
}

/* Reads behind what is there, where there is room. */
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

/* Room for a read behind what is there. */
static int make_room(struct pp_text_lines *lines)
{
	if (lines->size - lines->end >= READ_BYTES)
		return 0;
	move_to_front(lines);
	if (lines->size - lines->end >= READ_BYTES)
		return 0;
	if (pp_resize(&lines->buffer, MOST_BYTES + 1) < 0)
		return -ENOMEM;
	lines->size = MOST_BYTES;
	return 0;
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
		r = make_room(lines);
		if (r == 0)
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
