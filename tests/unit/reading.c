// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes down the records that a reader of recordings hands on: see reading.h. */
#include "reading.h"

#include "unit.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int note_mapping(void *context, const struct pathprof_recorded_mapping *m)
{
	struct reading *r = context;
	char id[PATHPROF_BUILD_ID_TEXT_LEN] = "-";

	if (m->id.kind)
		pathprof_build_id_text(&m->id, id);
	fprintf(r->log, "map %" PRIu64 " %d %" PRIx64 "-%" PRIx64 "@%" PRIx64 " %s %s %s\n",
		m->time_ns, (int)m->pid, m->start, m->end, m->offset, m->executable ? "x" : "-", id,
		m->name);
	return 0;
}

static int note_process(void *context, const struct pathprof_recorded_process *p)
{
	static const char *const changes[] = {"?", "comm", "exec", "fork", "exit"};
	struct reading *r = context;

	fprintf(r->log, "%s %" PRIu64 " %d of %d %s\n", changes[p->change], p->time_ns, (int)p->pid,
		(int)p->parent, p->comm ? p->comm : "-");
	return 0;
}

void reading_note_branch(FILE *log, const struct pathprof_recorded_branch *b)
{
	fprintf(log, " %" PRIx64 ">%" PRIx64 "%s%s%s%s%s", b->from, b->to,
		b->flags & PATHPROF_RECORDED_PREDICTED ? "P" : "",
		b->flags & PATHPROF_RECORDED_MISPREDICTED ? "M" : "",
		b->flags & PATHPROF_RECORDED_NOT_TAKEN ? "N" : "",
		b->flags & PATHPROF_RECORDED_IN_TX ? "X" : "",
		b->flags & PATHPROF_RECORDED_ABORT ? "A" : "");
	if (b->cycles)
		fprintf(log, "c%u", b->cycles);
	if (b->kind || b->spec)
		fprintf(log, "k%u.%u.%u", b->kind, b->new_kind, b->spec);
}

static int note_sample(void *context, const struct pathprof_recorded_sample *s)
{
	struct reading *r = context;

	fprintf(r->log, "%s %" PRIu64 " %d/%d cpu %d event %u*%" PRIu64 " ip %" PRIx64 " x%" PRIu64,
		s->user ? "user" : "kernel", s->time_ns, (int)s->pid, (int)s->tid, (int)s->cpu,
		s->event, s->period, s->ip, s->repeats + 1);
	for (uint32_t i = 0; i < s->branch_cnt; i++)
		reading_note_branch(r->log, &s->branches[i]);
	fprintf(r->log, "\n");
	CU_ASSERT_EQUAL(s->hw_idx, -1);
	return 0;
}

static void note_place(FILE *log, const struct pathprof_recorded_place *p)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	if (p->outside) {
		fprintf(log, " out");
		return;
	}
	fprintf(log, " ");
	if (p->symbol)
		fprintf(log, "{%s}+", p->symbol);
	if (p->id.kind)
		fprintf(log, "%s:", pathprof_build_id_text(&p->id, id));
	fprintf(log, "%" PRIx64, p->address);
}

static int note_count(void *context, const struct pathprof_recorded_count *c)
{
	static const char *const kinds[] = {"?", "branch", "range", "trace", "address"};
	struct reading *r = context;

	fprintf(r->log, "%s%s", c->after_call ? "call-" : "", kinds[c->kind]);
	note_place(r->log, &c->from);
	if (c->kind != PATHPROF_RECORDED_ADDRESS)
		note_place(r->log, &c->to);
	if (c->kind == PATHPROF_RECORDED_TRACE)
		note_place(r->log, &c->end);
	fprintf(r->log, " %" PRIu64 " %" PRIu64 "\n", c->count, c->mispredicted);
	return 0;
}

static void note_info(struct reading *r, const struct pathprof_recording *recording)
{
	struct pathprof_recording_info info;

	pathprof_recording_info(recording, &info);
	snprintf(r->hostname, sizeof(r->hostname), "%s", info.hostname ? info.hostname : "-");
	r->event_cnt = info.event_cnt;
	if (info.event_cnt)
		snprintf(r->event, sizeof(r->event), "%s", pathprof_recording_event(recording, 0));
	CU_ASSERT_PTR_NULL(pathprof_recording_event(recording, info.event_cnt));
}

struct reading reading_of_fd(enum pathprof_format format, int fd)
{
	struct reading r = {0};
	struct pathprof_recording_sink sink = {&r, note_mapping, note_process, note_sample,
					       note_count};
	struct pathprof_recording *recording;

	r.log = open_memstream(&r.text, &r.text_bytes);
	r.result = pathprof_recording_open(&recording, format, fd, "FILE", &sink, &r.error);
	if (r.result == 0) {
		do
			r.result = pathprof_recording_read(recording, &r.error);
		while (r.result > 0);
		pathprof_recording_stats(recording, &r.stats);
		note_info(&r, recording);
		pathprof_recording_free(recording);
	}
	fclose(r.log);
	return r;
}

int reading_file(const char *text, size_t len)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, len), (ssize_t)len);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

struct reading reading_of_bytes(enum pathprof_format format, const char *text, size_t len)
{
	int fd = reading_file(text, len);
	struct reading r = reading_of_fd(format, fd);

	close(fd);
	return r;
}

struct reading reading_of_text(enum pathprof_format format, const char *text)
{
	return reading_of_bytes(format, text, strlen(text));
}

/* Checks that text is read as the expected lines; prints the difference. */
void reading_is(enum pathprof_format format, const char *text, const char *expected)
{
	struct reading r;

	r = reading_of_text(format, text);
	if (r.result != 0 || strcmp(r.text, expected) != 0)
		printf("\n%s--- read as\n%s--- instead of\n%s--- %s\n", text, r.text, expected,
		       r.error.text);
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_STRING_EQUAL(r.text, expected);
	CU_ASSERT_EQUAL(r.stats.bytes, strlen(text));
	CU_ASSERT_EQUAL(r.stats.bytes_total, strlen(text));
	CU_ASSERT_FALSE(r.stats.truncated);
	free(r.text);
}

void reading_fails(enum pathprof_format format, int code, const struct bad_line *bad, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		struct reading r;

		r = reading_of_text(format, bad[i].text);
		if (r.result != code || !strstr(r.error.text, bad[i].error))
			printf("\n%s--- is %d \"%s\" instead of %d \"%s\"\n", bad[i].text, r.result,
			       r.error.text, code, bad[i].error);
		CU_ASSERT_EQUAL(r.result, code);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.error.text, bad[i].error));
		CU_ASSERT_EQUAL(strncmp(r.error.text, "FILE:", 5), 0);
		CU_ASSERT_PTR_NULL(strchr(r.error.text, '\n'));
		free(r.text);
	}
}

char *reading_repeated(const char *before, const char *text, size_t cnt, const char *after)
{
	char *all;
	size_t bytes;
	FILE *file = open_memstream(&all, &bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(before, file);
	while (cnt--)
		fputs(text, file);
	fputs(after, file);
	fclose(file);
	return all;
}
