// SPDX-License-Identifier: GPL-2.0-or-later
/* The process apart for texts, both ends of it: see apart.h. */
#include "../code/apart.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../code/demangle.h"
#include "../code/source_text.h"
#include "../text/cleanup.h"
#include "base/table.h"

#define TEXT_BYTES_MAX 4096
#define NAMES_BYTES    8192 /* size of a question: readable names are longer */

enum {
	ASK_NAMES = 1, /* answered as far as there is room */
	ASK_LINE,
};

/* ---------------------------------------------------------------- answering */

static void answer_text(struct pathprof_apart_message *m, const char *text)
{
	m->code = text ? 0 : -1;
	m->bytes = 0;
	if (text)
		pathprof_apart_add(m, text, (uint32_t)strnlen(text, TEXT_BYTES_MAX));
}

/* Adds both forms of a name, cut where they are too long for people. Returns false without room. */
static bool answer_name(struct pathprof_apart_message *m, const char *name)
{
	struct readable readable;
	bool answered;

	demangle_here(name, &readable);
	readable.brief[strnlen(readable.brief, TEXT_BYTES_MAX)] = 0;
	readable.full[strnlen(readable.full, TEXT_BYTES_MAX)] = 0;
	answered = pathprof_apart_add(m, readable.brief, (uint32_t)strlen(readable.brief) + 1) &&
		   pathprof_apart_add(m, readable.full, (uint32_t)strlen(readable.full) + 1);
	readable_release(&readable);
	return answered;
}

static void answer_names(struct pathprof_apart_message *m)
{
	static struct pathprof_apart_message names;
	const char *name;
	uint32_t at = 0;

	names = *m;
	m->code = 0;
	m->bytes = 0;
	while ((name = pathprof_apart_take(&names, &at)))
		if (!answer_name(m, name))
			return;
}

static void answer(struct pathprof_apart_message *m, int fd)
{
	static struct source_text *source;
	_cleanup_free_ char *line = NULL;

	if (m->kind == ASK_NAMES) {
		answer_names(m);
	} else {
		source = source ? source : source_text_new();
		line = source_text_line_of(source, fd, m->text, (int)m->numbers[0]);
		answer_text(m, line);
	}
	if (fd >= 0)
		close(fd);
}

static const struct pathprof_apart_service service = {.answer = answer};

/* ---------------------------------------------------------------- asking */

static struct pathprof_apart_message message;

static struct pathprof_apart *process(void)
{
	static struct pathprof_apart *apart;

	if (!apart &&
	    pathprof_apart_new(&apart, &service, "sources and names", apart_say_death, NULL) < 0)
		return NULL;
	return apart;
}

/* Whether message is an answer. */
static bool ask(int fd)
{
	struct pathprof_apart *apart = process();

	return apart && pathprof_apart_ask(apart, &message, fd, NULL, NULL) == 0 &&
	       message.code == 0;
}

/* ---------------------------------------------------------------- names */

/* The names that were answered, and their readable forms. */
static struct pp_texts names;
static struct readable *readable_names;
static uint32_t readable_room;

static const struct readable *readable_of(const char *name)
{
	uint32_t number = pp_texts_find(&names, name);

	return number == PP_TABLE_NONE ? NULL : &readable_names[number];
}

static void keep(const char *name, const char *brief, const char *full)
{
	uint32_t number;

	if (readable_of(name))
		return;
	ctl_grow(&readable_names, names.table.cnt, &readable_room);
	if (pp_texts_at(&names, name, &number) < 0)
		ctl_no_memory();
	readable_names[number] = (struct readable){ctl_strdup(brief), ctl_strdup(full)};
}

/* The names of a question. */
static const char *asked[NAMES_BYTES];
static size_t asked_cnt;

/* Asks about some of the cnt names. Returns how many of them are done then. */
static size_t put_names(const char *const *of, size_t cnt)
{
	size_t i;

	message.kind = ASK_NAMES;
	message.bytes = 0;
	asked_cnt = 0;
	for (i = 0; i < cnt && message.bytes < NAMES_BYTES; i++) {
		if (!demangle_is_encoded(of[i]) || readable_of(of[i]))
			continue;
		if (!pathprof_apart_add(&message, of[i], (uint32_t)strlen(of[i]) + 1))
			break;
		asked[asked_cnt++] = of[i];
	}
	return i;
}

/* Names that had no room in the answer are asked for again when they are needed. */
static void take_names(void)
{
	const char *brief, *full;
	uint32_t at = 0;

	for (size_t i = 0; i < asked_cnt; i++) {
		brief = pathprof_apart_take(&message, &at);
		full = brief ? pathprof_apart_take(&message, &at) : NULL;
		if (!full)
			return;
		keep(asked[i], brief, full);
	}
}

void texts_demangle_ahead(const char *const *of, size_t cnt)
{
	while (cnt) {
		size_t done = put_names(of, cnt);

		if (asked_cnt && !ask(-1))
			return;
		take_names();
		of += done;
		cnt -= done;
	}
}

void texts_demangle(const char *name, struct readable *ret_readable)
{
	const struct readable *readable = readable_of(name);

	if (!readable) {
		texts_demangle_ahead(&name, 1);
		readable = readable_of(name);
	}
	ret_readable->brief = ctl_strdup(readable ? readable->brief : name);
	ret_readable->full = ctl_strdup(readable ? readable->full : name);
}

/* ---------------------------------------------------------------- sources */

char *texts_line(int fd, const char *file, int line)
{
	message.kind = ASK_LINE;
	message.numbers[0] = (uint64_t)line;
	message.bytes = 0;
	if (!pathprof_apart_add(&message, file, (uint32_t)strlen(file)) || !ask(fd))
		return NULL;
	return ctl_strdup(message.text);
}
