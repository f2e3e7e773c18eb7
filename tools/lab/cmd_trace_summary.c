// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Figures about an exact trace, and about one function in it: how often it was called, how many
 * paths began in it, how many branches it executed.
 *
 * Workload: one pass over all streams. The function's addresses are looked up first, in every
 * module that has a symbol of that name.
 */
#include "lab.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pathprof/code.h"
#include "pathprof/trace_format.h"

#define KIND_CNT 7

/* The function's addresses in one module that has it. */
struct place {
	uint64_t start, end;
	const struct pathprof_trace_module_info *module;
};

struct summary {
	const struct pathprof_trace *trace;
	uint32_t process; /* of the stream in hand */
	uint64_t kinds[KIND_CNT];
	uint64_t taken, insn_cnt, signals, jumps, accesses, words;

	const char *function; /* NULL: none asked for */
	struct place *places;
	size_t place_cnt;
	struct lab_paths_feed feed;
	uint64_t calls, paths, branches;
};

/* ---------------------------------------------------------------- where the function lies */

static void add_place(struct summary *s, const struct pathprof_trace_module_info *m, uint64_t start,
		      uint64_t end)
{
	uint64_t size = m->end - m->start;

	if (start < m->offset || start - m->offset >= size)
		return;
	if (pp_resize(&s->places, s->place_cnt + 1) < 0)
		lab_fail("out of memory");
	s->places[s->place_cnt++] = (struct place){.start = m->start + (start - m->offset),
						   .end = m->start + (end - m->offset),
						   .module = m};
}

static void look_in_module(struct summary *s, const struct pathprof_trace_module_info *m)
{
	const struct pathprof_build_id *expect = m->build_id.len_bytes ? &m->build_id : NULL;
	struct pathprof_code *code;
	struct pathprof_error error;
	uint64_t start, end;
	int r;

	if (m->name[0] != '/')
		return;
	r = pathprof_code_open(&code, m->name, expect, &error);
	if (r == -ESTALE)
		fprintf(stderr, "# %s is another file now\n", m->name);
	if (r < 0)
		return;
	if (pathprof_code_find_function(code, s->function, &start, &end) == 0)
		add_place(s, m, start, end);
	pathprof_code_free(code);
}

static void find_function(struct summary *s, const char *path)
{
	uint32_t cnt = pathprof_trace_info(s->trace)->module_cnt;

	for (uint32_t i = 0; i < cnt; i++)
		look_in_module(s, pathprof_trace_module(s->trace, i));
	if (!s->place_cnt)
		lab_fail("%s: no module has a symbol '%s'", path, s->function);
}

/* The place an address lies in, where its module is still the one mapped there. */
static const struct place *place_of(const struct summary *s, uint64_t address)
{
	for (size_t i = 0; i < s->place_cnt; i++) {
		const struct place *p = &s->places[i];

		if (address >= p->start && address < p->end &&
		    pathprof_trace_locate(s->trace, s->process, address) == p->module)
			return p;
	}
	return NULL;
}

/* ---------------------------------------------------------------- counting */

/* A call, or a jump from elsewhere: calls of other files' functions go by way of PLT entries. */
static bool comes_in(const struct summary *s, const struct pathprof_branch *b)
{
	const struct place *p = b->kind == PERF_BR_RET || !b->taken ? NULL : place_of(s, b->next);

	if (!p || b->next != p->start)
		return false;
	return b->kind == PERF_BR_CALL || b->kind == PERF_BR_IND_CALL || place_of(s, b->from) != p;
}

static void count_in_function(struct summary *s, const struct pathprof_trace_event *event)
{
	struct pathprof_path_popped path;

	if (event->type == PATHPROF_TRACE_EVENT_BRANCH) {
		s->branches += place_of(s, event->branch.from) != NULL;
		s->calls += comes_in(s, &event->branch);
	}
	if (lab_paths_event(&s->feed, event, &path))
		s->paths += place_of(s, path.start) != NULL;
}

static void count_event(void *context, const struct pathprof_trace_event *event)
{
	struct summary *s = context;

	switch (event->type) {
	case PATHPROF_TRACE_EVENT_BRANCH:
		s->kinds[event->branch.kind % KIND_CNT]++;
		s->taken += event->branch.taken;
		s->insn_cnt += event->insn_cnt;
		break;
	case PATHPROF_TRACE_EVENT_ACCESS:
		s->accesses++;
		break;
	case PATHPROF_TRACE_EVENT_SIGNAL:
		s->signals++;
		break;
	case PATHPROF_TRACE_EVENT_JUMP:
		s->jumps++;
		break;
	default:
		break;
	}
	if (s->function)
		count_in_function(s, event);
}

static void count_streams(struct summary *s)
{
	uint32_t cnt = pathprof_trace_info(s->trace)->stream_cnt;

	for (uint32_t i = 0; i < cnt; i++) {
		const struct pathprof_trace_stream_info *stream =
			pathprof_trace_stream(s->trace, i);

		s->process = stream->process;
		s->words += stream->word_cnt;
		if (s->function)
			lab_paths_begin(&s->feed);
		lab_trace_stream_each(s->trace, i, count_event, s);
	}
	lab_paths_end(&s->feed);
}

/* ---------------------------------------------------------------- printing */

static void print(const char *name, uint64_t value)
{
	printf("%s %" PRIu64 "\n", name, value);
}

static void print_branches(const struct summary *s)
{
	static const char *const names[KIND_CNT] = {NULL,   "cond",  "jmp", "ijmp",
						    "call", "icall", "ret"};
	uint64_t transfers = 0;

	for (size_t i = 1; i < KIND_CNT; i++)
		transfers += s->kinds[i];
	print("transfers", transfers);
	print("taken", s->taken);
	for (size_t i = 1; i < KIND_CNT; i++)
		print(names[i], s->kinds[i]);
	print("instructions", s->insn_cnt);
	print("signals", s->signals);
	print("jumps", s->jumps);
	print("accesses", s->accesses);
	if (transfers)
		printf("bits_per_transfer %.3f\n",
		       8.0 * (double)pathprof_trace_info(s->trace)->file_bytes / (double)transfers);
}

static void print_file(const struct summary *s)
{
	const struct pathprof_trace_info *info = pathprof_trace_info(s->trace);

	print("threads", info->stream_cnt);
	print("processes", info->process_cnt);
	print("modules", info->module_cnt);
	print("blocks", info->block_cnt);
	print("words", s->words);
	print("file_bytes", info->file_bytes);
	print("executed_elsewhere", info->exec_cnt);
	print("whole", info->whole);
}

static void print_function(const struct summary *s)
{
	print("calls", s->calls);
	print("paths", s->paths);
	print("branches", s->branches);
}

int lab_trace_summary(int argc, char **argv)
{
	static const struct option options[] = {{"function", required_argument, NULL, 'f'}, {0}};
	struct summary s = {.feed = {.settings = {.max_length = 32, .extensions = 1}}};
	struct pathprof_trace *trace;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'f')
			lab_usage("trace-summary: bad option");
		s.function = optarg;
	}
	if (argc - optind != 1)
		lab_usage("trace-summary: one trace, please");
	trace = lab_trace_open(argv[optind]);
	s.trace = trace;
	if (s.function)
		find_function(&s, argv[optind]);
	count_streams(&s);
	print_branches(&s);
	print_file(&s);
	if (s.function)
		print_function(&s);
	free(s.places);
	pathprof_trace_free(trace);
	lab_finish_output();
	return 0;
}
