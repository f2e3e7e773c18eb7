/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records that a reader of recordings hands on, as text: for the tests of text formats. */
#ifndef READING_H
#define READING_H

#include <stdio.h>

#include "pathprof/recording.h"

struct reading {
	FILE *log;
	char *text;
	size_t text_bytes;
	int result; /* of open or the last read */
	struct pathprof_error error;
	struct pathprof_recording_stats stats;
	char hostname[64], event[64]; /* of the first event */
	uint32_t event_cnt;
};

/* By what the reader hands on of an open file, of a file of these bytes, of that text. */
struct reading reading_of_fd(enum pathprof_format format, int fd);
struct reading reading_of_bytes(enum pathprof_format format, const char *text, size_t len);
struct reading reading_of_text(enum pathprof_format format, const char *text);
/* An open file of that text. */
int reading_file(const char *text, size_t len);

/* Asserts that the text reads as expected. */
void reading_is(enum pathprof_format format, const char *text, const char *expected);
struct bad_line {
	const char *text, *error; /* error: part of the line said */
};

/* Asserts that each line ends the reading with its error. */
void reading_fails(enum pathprof_format format, int code, const struct bad_line *bad, size_t cnt);
#define READING_FAILS(format, code, bad)                                                           \
	reading_fails(format, code, bad, sizeof(bad) / sizeof((bad)[0]))

/* Writes a branch in the form in which samples have it in the log. */
void reading_note_branch(FILE *log, const struct pathprof_recorded_branch *b);
/* before, text cnt times, after; the caller frees it. */
char *reading_repeated(const char *before, const char *text, size_t cnt, const char *after);

#endif
