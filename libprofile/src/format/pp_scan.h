/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Declarations that the readers of text formats share: an open text, the current line, scanning it,
 * and reporting errors in it. A format is one function called for each line.
 *
 * Scanning moves *at only when it succeeds. A line ends with a NUL and has none inside.
 *
 * Locking: one object, one thread. Ownership: the text is the recording's reader; `state` is the
 * format's, made with the text and freed with it.
 */
#ifndef PP_SCAN_H
#define PP_SCAN_H

#include <errno.h>

#include "pp_recording.h"
#include "pp_text_lines.h"

/* Names of events in one recording. */
#define PP_SCAN_EVENTS_MAX     256
#define PP_SCAN_EVENT_NAME_MAX 255

struct pp_scan;

/* A last line without a newline. */
enum pp_scan_cut {
	PP_SCAN_CUT_REFUSED, /* an error: a number may have lost digits */
	PP_SCAN_CUT_TAKEN,   /* a line like another: the format says itself how many there are */
	PP_SCAN_CUT_LEFT,    /* not read; the recording is said to be truncated */
};

struct pp_scan_format {
	size_t state_bytes; /* zeroed when the text is opened */
	enum pp_scan_cut cut;
	int (*line)(struct pp_scan *text, char *line);
	/* After the last line; NULL: nothing is left to do. */
	int (*end)(struct pp_scan *text);
};

struct pp_scan {
	const struct pp_scan_format *format;
	struct pathprof_recording *recording;
	struct pathprof_error *error; /* of the call that is going on */
	struct pp_text_lines lines;
	char *line; /* the one being read */
	size_t line_len;
	void *state;
	char *events[PP_SCAN_EVENTS_MAX];
	uint32_t event_cnt;
	uint32_t last_event; /* the one looked up last */
	/* Metadata from comment lines at the beginning; NULL: none. */
	char *hostname, *release, *arch, *cpu, *command;
};

/* The operations of a text format, for pp_recording_ops. */
int pp_scan_recording_open(const struct pp_scan_format *format,
			   struct pathprof_recording *recording, struct pathprof_error *error);
int pp_scan_recording_read(struct pathprof_recording *recording, struct pathprof_error *error);
void pp_scan_recording_free(struct pathprof_recording *recording);
void pp_scan_recording_info(const struct pathprof_recording *recording,
			    struct pathprof_recording_info *ret_info);
const char *pp_scan_recording_event(const struct pathprof_recording *recording, uint32_t event);

/* -EBADMSG: "FILE:LINE: expected WHAT at column N, found ...". `at` lies in the line. */
int pp_scan_expected(struct pp_scan *text, const char *at, const char *what);
/* CODE: "FILE:LINE: WHAT". */
int pp_scan_refuse(struct pp_scan *text, int code, const char *what);

/* The index of an event of that name, a new one when it was not seen before. -errno. */
int pp_scan_event_of(struct pp_scan *text, const char *name, size_t len, uint32_t *ret_event);

/* ---------------------------------------------------------------- scanning */

bool pp_scan_decimal(const char **at, uint64_t *ret_value);
/* A decimal number of at most `max`. */
bool pp_scan_number(const char **at, uint64_t max, uint64_t *ret_value);
/* Hex digits of either case, without 0x. */
bool pp_scan_hex(const char **at, uint64_t *ret_value);
/* 0x and hex digits. */
bool pp_scan_0x(const char **at, uint64_t *ret_value);

/* Pairs of hex digits, 1 to 20. */
bool pp_scan_build_id(const char **at, struct pathprof_build_id *ret_id);

static inline bool pp_scan_char(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* The characters of word. */
static inline bool pp_scan_word(const char **at, const char *word)
{
	const char *p = *at;

	while (*word && *p == *word)
		p++, word++;
	if (*word)
		return false;
	*at = p;
	return true;
}

static inline void pp_scan_blanks(const char **at)
{
	while (**at == ' ')
		++*at;
}

static inline bool pp_scan_is_space(char c)
{
	return c == ' ' || c == '\t';
}

#endif
