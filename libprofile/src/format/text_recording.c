// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The part of reading a text that is the same for all formats: its lines, its events' names, what
 * the comments at its beginning say. See pp_scan.h.
 */
#include "pp_scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A call of read() ends with the line that reaches so many, so that progress can be shown. */
#define STEP_BYTES (1u << 20)

static int make_text(struct pp_scan *text, const struct pp_scan_format *format, int fd)
{
	int r = pp_text_lines_init(&text->lines, fd);

	if (r < 0)
		return r;
	text->format = format;
	text->state = calloc(1, format->state_bytes ? format->state_bytes : 1);
	return text->state ? 0 : -ENOMEM;
}

int pp_scan_recording_open(const struct pp_scan_format *format,
			   struct pathprof_recording *recording, struct pathprof_error *error)
{
	struct pp_scan *text = calloc(1, sizeof(*text));

	recording->reader = text;
	if (!text || make_text(text, format, recording->fd) < 0)
		return pp_recording_no_memory(error);
	text->recording = recording;
	return 0;
}

void pp_scan_recording_free(struct pathprof_recording *recording)
{
	struct pp_scan *text = recording->reader;

	if (!text)
		return;
	for (uint32_t i = 0; i < text->event_cnt; i++)
		free(text->events[i]);
	free(text->hostname);
	free(text->release);
	free(text->arch);
	free(text->cpu);
	free(text->command);
	free(text->state);
	pp_text_lines_release(&text->lines);
	free(text);
}

static int no_line(struct pp_scan *text, int r)
{
	if (r == -E2BIG)
		return pp_scan_refuse(text, -EBADMSG, "the line is longer than a MiB");
	if (r == -EILSEQ)
		return pp_scan_refuse(text, -EBADMSG, "a NUL byte: this is not a text");
	return pathprof_fail(text->error, r, "%s: cannot read it: %s", text->recording->name,
			     strerror(-r));
}

/* The last line has no newline. 1: read it all the same; 0: that was it. */
static int cut_line(struct pp_scan *text)
{
	switch (text->format->cut) {
	case PP_SCAN_CUT_TAKEN:
		return 1;
	case PP_SCAN_CUT_LEFT:
		text->recording->stats.truncated = true;
		return 0;
	default:
		return pp_scan_refuse(text, -EBADMSG,
				      "the last line has no newline: the file was cut off");
	}
}

/* One line. 1: there may be more; 0: that was the last. */
static int read_line(struct pp_scan *text)
{
	struct pathprof_recording_stats *stats = &text->recording->stats;
	bool whole;
	int r = pp_text_lines_next(&text->lines, &text->line, &text->line_len, &whole);

	if (r <= 0)
		return r < 0 ? no_line(text, r) : 0;
	stats->bytes = text->lines.bytes;
	stats->records++;
	if (!whole) {
		r = cut_line(text);
		if (r <= 0)
			return r;
	}
	r = text->format->line(text, text->line);
	return r < 0 ? r : 1;
}

int pp_scan_recording_read(struct pathprof_recording *recording, struct pathprof_error *error)
{
	struct pp_scan *text = recording->reader;
	uint64_t until = text->lines.bytes + STEP_BYTES;
	int r;

	text->error = error;
	do
		r = read_line(text);
	while (r > 0 && text->lines.bytes < until);
	if (r == 0 && text->format->end)
		r = text->format->end(text);
	text->error = NULL;
	return r;
}

void pp_scan_recording_info(const struct pathprof_recording *recording,
			    struct pathprof_recording_info *ret_info)
{
	const struct pp_scan *text = recording->reader;

	ret_info->hostname = text->hostname;
	ret_info->release = text->release;
	ret_info->arch = text->arch;
	ret_info->cpu = text->cpu;
	ret_info->command = text->command;
	ret_info->event_cnt = text->event_cnt;
}

const char *pp_scan_recording_event(const struct pathprof_recording *recording, uint32_t event)
{
	const struct pp_scan *text = recording->reader;

	return event < text->event_cnt ? text->events[event] : NULL;
}

static bool is_event(const struct pp_scan *text, uint32_t event, const char *name, size_t len)
{
	const char *known = text->events[event];

	return strncmp(known, name, len) == 0 && known[len] == '\0';
}

static int add_event(struct pp_scan *text, const char *name, size_t len, uint32_t *ret_event)
{
	if (len == 0 || len > PP_SCAN_EVENT_NAME_MAX)
		return pp_scan_expected(text, name, "the name of an event, of at most 255 bytes");
	if (text->event_cnt == PP_SCAN_EVENTS_MAX)
		return pp_scan_refuse(text, -EBADMSG, "more than 256 events");
	text->events[text->event_cnt] = strndup(name, len);
	if (!text->events[text->event_cnt])
		return pp_recording_no_memory(text->error);
	text->last_event = text->event_cnt;
	*ret_event = text->event_cnt++;
	return 0;
}

int pp_scan_event_of(struct pp_scan *text, const char *name, size_t len, uint32_t *ret_event)
{
	if (text->event_cnt == 0)
		return add_event(text, name, len, ret_event);
	for (uint32_t i = text->last_event, tried = 0; tried < text->event_cnt; tried++) {
		if (is_event(text, i, name, len)) {
			text->last_event = i;
			*ret_event = i;
			return 0;
		}
		i = i + 1 < text->event_cnt ? i + 1 : 0;
	}
	return add_event(text, name, len, ret_event);
}
