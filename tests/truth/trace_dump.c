// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An exact trace as text (lines.h), a section a stream, through the public reader: what is held
 * against trace_truth.
 *
 *     trace_dump [-m NAME] [-f SEED] TRACE OUT
 *     trace_dump -c TRACE
 *
 * -m: of the module whose file name begins with NAME, instead of the program itself. -f: first
 * falsifies one field of one branch of every stream, a different one by SEED. -c: only counts, and
 * prints `branches N bits_per_branch X threads N whole 0|1`. Exit status 0, or 125 for trouble.
 *
 * Workload: a million events as text, hundreds of millions counted.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "pathprof/trace.h"

#define EXIT_TROUBLE 125
#define EVENT_CNT    4096

struct dump {
	const struct pathprof_trace *trace;
	const char *module_name; /* NULL: the program */
	char program[4096];
	long seed;    /* < 0: the truth */
	uint64_t at;  /* branches of this stream to the falsified one */
	bool counts;  /* and writes nothing */
	uint64_t sum; /* branches */
	struct lines lines;
	struct pathprof_trace_event events[EVENT_CNT];
};

static bool wanted(const struct dump *dump, const char *path)
{
	const char *name = strrchr(path, '/');

	if (!dump->module_name)
		return !strcmp(path, dump->program);
	return name && !strncmp(name + 1, dump->module_name, strlen(dump->module_name));
}

static uint64_t offset_of(const struct dump *dump, uint32_t process, uint64_t address)
{
	const struct pathprof_trace_module_info *module =
		pathprof_trace_locate(dump->trace, process, address);

	if (!module || !wanted(dump, module->name))
		return LINES_OUTSIDE;
	return address - module->start + module->offset;
}

static void falsify(struct line *line, long seed)
{
	switch (seed % 5) {
	case 0:
		line->from ^= 2;
		break;
	case 1:
		line->next += 1;
		break;
	case 2:
		line->kind = line->kind % 6 + 1;
		break;
	case 3:
		line->target ^= 1;
		break;
	default:
		line->taken ^= 1;
	}
}

static void write_branch(struct dump *dump, uint32_t process,
			 const struct pathprof_trace_event *event)
{
	struct line line = {
		.from = offset_of(dump, process, event->branch.from),
		.target = offset_of(dump, process, event->branch.target),
		.next = offset_of(dump, process, event->branch.next),
		.kind = event->branch.kind,
		.taken = event->branch.taken,
		.insn_cnt = event->insn_cnt,
	};
	bool shows = line.from != LINES_OUTSIDE && line.next != LINES_OUTSIDE &&
		     line.target != LINES_OUTSIDE;

	if (dump->seed >= 0 && shows && dump->at-- == 0)
		falsify(&line, dump->seed);
	lines_branch(&dump->lines, &line);
}

static void write_event(struct dump *dump, uint32_t process,
			const struct pathprof_trace_event *event)
{
	uint64_t next;

	if (event->type == PATHPROF_TRACE_EVENT_BRANCH) {
		write_branch(dump, process, event);
		return;
	}
	if (event->type == PATHPROF_TRACE_EVENT_ACCESS)
		return;
	next = offset_of(dump, process, event->branch.next);
	if (event->type == PATHPROF_TRACE_EVENT_SIGNAL)
		lines_leap(&dump->lines, "signal", next);
	else if (event->type == PATHPROF_TRACE_EVENT_SIGRETURN)
		lines_leap(&dump->lines, "sigreturn", next);
	else
		lines_leap(&dump->lines, "jump", next);
}

static void take_events(struct dump *dump, uint32_t process, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		dump->sum += dump->events[i].type == PATHPROF_TRACE_EVENT_BRANCH;
		if (!dump->counts)
			write_event(dump, process, &dump->events[i]);
	}
}

static int dump_stream(struct dump *dump, uint32_t stream, struct pathprof_error *error)
{
	const struct pathprof_trace_stream_info *info = pathprof_trace_stream(dump->trace, stream);
	struct pathprof_trace_cursor *cursor;
	ssize_t cnt;
	int err = pathprof_trace_cursor_new(&cursor, dump->trace, stream, error);

	if (err)
		return err;
	dump->lines.inside = false;
	dump->at = dump->seed >= 0 ? (uint64_t)dump->seed * 7 : 0;
	if (!dump->counts)
		fprintf(dump->lines.out, "stream %u %u\n", info->process, info->thread);
	while ((cnt = pathprof_trace_read(cursor, dump->events, EVENT_CNT, error)) > 0)
		take_events(dump, info->process, (size_t)cnt);
	pathprof_trace_cursor_free(cursor);
	return (int)cnt;
}

static int dump_all(struct dump *dump, struct pathprof_error *error)
{
	const struct pathprof_trace_info *info = pathprof_trace_info(dump->trace);

	if (!dump->counts && !realpath(info->command[0], dump->program))
		return pathprof_fail(error, -1, "%s: is no file", info->command[0]);
	for (uint32_t i = 0; i < info->stream_cnt; i++) {
		int err = dump_stream(dump, i, error);

		if (err)
			return err;
	}
	if (dump->counts)
		printf("branches %llu bits_per_branch %.3f threads %u whole %d\n",
		       (unsigned long long)dump->sum,
		       8.0 * (double)info->file_bytes / (double)(dump->sum ? dump->sum : 1),
		       info->stream_cnt, info->whole);
	return 0;
}

/* Index of the first word that is no option; < 0: usage. */
static int read_options(struct dump *dump, int argc, char **argv)
{
	int option;

	dump->seed = -1;
	while ((option = getopt(argc, argv, "cm:f:")) != -1) {
		if (option == 'c')
			dump->counts = true;
		else if (option == 'm')
			dump->module_name = optarg;
		else if (option == 'f')
			dump->seed = strtol(optarg, NULL, 10);
		else
			return -1;
	}
	return argc - optind == 2 - dump->counts ? optind : -1;
}

int main(int argc, char **argv)
{
	static struct dump dump;
	struct pathprof_error error = {0};
	struct pathprof_trace *trace;
	int first = read_options(&dump, argc, argv);
	int err;

	if (first < 0) {
		fprintf(stderr, "usage: trace_dump [-m NAME] [-f SEED] TRACE OUT | -c TRACE\n");
		return EXIT_TROUBLE;
	}
	dump.lines.out = dump.counts ? stdout : fopen(argv[first + 1], "we");
	if (!dump.lines.out) {
		perror(argv[first + 1]);
		return EXIT_TROUBLE;
	}
	err = pathprof_trace_open(&trace, argv[first], &error);
	if (!err) {
		dump.trace = trace;
		err = dump_all(&dump, &error);
		pathprof_trace_free(trace);
	}
	if (err)
		fprintf(stderr, "trace_dump: %s\n", error.text);
	return err || fclose(dump.lines.out) ? EXIT_TROUBLE : 0;
}
