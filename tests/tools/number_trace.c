// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program that tests/scenario/number_trace.sh runs: every path that a program really ran, as
 * the path stack finds them in an exact trace, must have its number in the graph of its file.
 *
 *     number_trace TRACE [plant]
 *
 * Paths with no number of their own are counted by why: 32 branches, begun behind such a one, over
 * an edge cut against overflow. A path that runs on into another function must consist of numbered
 * parts. `plant` flips the first outcome of each path. Prints one line; exit 1 when a path of a
 * file's code has none of these.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/src/path/pp_function_paths.h"
#include "pathprof/code.h"
#include "pathprof/flow.h"
#include "pathprof/function_paths.h"
#include "pathprof/graph.h"
#include "pathprof/paths.h"
#include "pathprof/trace.h"

#define ROOM       (1u << 20) /* distinct paths, at half load */
#define LENGTH_MAX 32
#define IS_BEHIND  UINT32_MAX /* instead of a length: a path of 32 branches ended here */
#define EVENTS     4096

struct seen {
	uint64_t start, cnt; /* cnt 0: a free place */
	uint32_t process, length, outcomes;
};

struct numbering {
	uint32_t function;
	struct pathprof_flow flow;
	struct pathprof_function_paths *paths; /* NULL: none yet */
};

struct run {
	struct pathprof_trace *trace;
	struct seen *seen;
	size_t seen_cnt;
	bool plant;
	/* The current file. */
	char file[512];
	struct pathprof_graph *graph; /* NULL: not a file's code */
	struct numbering numbering;
	/* Paths by what became of them. */
	uint64_t numbered, run_on, long_, behind, over_cut, no_file, wrong;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "number_trace: %s: %s\n", what, why);
	exit(1);
}

/* ---------------------------------------------------------------- what was run */

static struct seen *find(struct run *run, const struct seen *wanted)
{
	uint64_t hash =
		wanted->start * UINT64_C(0x9E3779B97F4A7C15) ^
		((uint64_t)wanted->length << 32 | wanted->outcomes) * UINT64_C(0xD6E8FEB86659FD93) ^
		wanted->process;

	for (size_t i = (hash ^ hash >> 29) % ROOM;; i = (i + 1) % ROOM) {
		struct seen *s = &run->seen[i];

		if (!s->cnt || (s->start == wanted->start && s->process == wanted->process &&
				s->length == wanted->length && s->outcomes == wanted->outcomes))
			return s;
	}
}

static void see(struct run *run, const struct seen *path)
{
	struct seen *s = find(run, path);
	uint64_t cnt = s->cnt;

	if (!cnt && ++run->seen_cnt > ROOM / 2)
		die("paths", "too many distinct ones");
	*s = *path;
	s->cnt = cnt + 1;
}

static struct pathprof_path_stack *fresh_stack(struct pathprof_path_stack *old)
{
	const struct pathprof_path_settings settings = {PATHPROF_MAPPING_BL, LENGTH_MAX,
							PATHPROF_EXTEND_NONE, 0};
	struct pathprof_path_stack *stack;

	pathprof_path_stack_free(old);
	if (pathprof_path_stack_new(&stack, &settings) < 0)
		die("path stack", "no memory");
	return stack;
}

/* A path that ended with this branch. */
static void see_popped(struct run *run, const struct pathprof_path_popped *popped,
		       const struct pathprof_branch *branch, uint32_t process)
{
	const struct seen path = {.start = popped->start,
				  .process = process,
				  .length = popped->length,
				  .outcomes = popped->outcomes},
			  behind = {.start = branch->next, .process = process, .length = IS_BEHIND};

	see(run, &path);
	if (popped->length == LENGTH_MAX)
		see(run, &behind);
}

static struct pathprof_path_stack *step(struct run *run, struct pathprof_path_stack *stack,
					const struct pathprof_trace_event *event, uint32_t process)
{
	struct pathprof_path_popped popped;

	if (event->type == PATHPROF_TRACE_EVENT_ACCESS)
		return stack;
	if (event->type != PATHPROF_TRACE_EVENT_BRANCH)
		return fresh_stack(stack);
	if (pathprof_path_stack_step(stack, &event->branch, 1, &popped))
		see_popped(run, &popped, &event->branch, process);
	return stack;
}

static void read_stream(struct run *run, uint32_t stream)
{
	static struct pathprof_trace_event events[EVENTS];
	uint32_t process = pathprof_trace_stream(run->trace, stream)->process;
	struct pathprof_path_stack *stack = fresh_stack(NULL);
	struct pathprof_trace_cursor *cursor;
	struct pathprof_error error;
	ssize_t cnt;

	if (pathprof_trace_cursor_new(&cursor, run->trace, stream, &error) < 0)
		die("trace", error.text);
	while ((cnt = pathprof_trace_read(cursor, events, EVENTS, &error)) > 0)
		for (ssize_t i = 0; i < cnt; i++)
			stack = step(run, stack, &events[i], process);
	if (cnt < 0)
		die("trace", error.text);
	pathprof_trace_cursor_free(cursor);
	pathprof_path_stack_free(stack);
}

/* ---------------------------------------------------------------- numbers */

static void forget(struct numbering *n)
{
	if (!n->paths)
		return;
	pathprof_function_paths_free(n->paths);
	pathprof_flow_release(&n->flow);
	n->paths = NULL;
}

static void number(struct run *run, struct numbering *n, uint32_t function)
{
	if (n->paths && n->function == function)
		return;
	forget(n);
	if (pathprof_flow_init(&n->flow, run->graph, function) < 0)
		die(run->file, "a function without a flow");
	if (pathprof_function_paths_new(&n->paths, &n->flow, PATHPROF_CUT_BRANCHES) < 0)
		die(run->file, "no memory");
	n->function = function;
}

static void open_file(struct run *run, const char *file)
{
	struct pathprof_code *code;
	struct pathprof_error error;

	if (!strcmp(run->file, file))
		return;
	forget(&run->numbering);
	pathprof_graph_free(run->graph);
	run->graph = NULL;
	snprintf(run->file, sizeof(run->file), "%s", file);
	if (file[0] != '/')
		return;
	if (pathprof_code_open(&code, file, NULL, &error) < 0 ||
	    pathprof_graph_build(&run->graph, code, NULL, NULL, &error) < 0)
		die(file, error.text);
	pathprof_code_free(code);
}

/* The rest of a path that ran on, part by part. */
static bool is_made_of_parts(struct run *run, uint64_t start, uint32_t length, uint32_t outcomes)
{
	struct numbering other = {.paths = NULL};
	bool more = true;

	while (more && start != UINT64_MAX) {
		uint32_t block = pathprof_graph_block_at(run->graph, start), used;
		uint64_t id;
		int r;

		if (block == PATHPROF_GRAPH_NONE)
			break;
		number(run, &other, run->graph->blocks[block].function);
		r = pathprof_function_paths_split_descriptor(other.paths, run->graph, start, length,
							     outcomes, &id, &used, &start);
		/* Into the middle of another function: no path of its begins there. */
		if (r < 0 && run->graph->functions[other.function].entry == block)
			more = false;
		if (r != 1)
			break;
		length -= used;
		outcomes = used < LENGTH_MAX ? outcomes >> used : 0;
	}
	forget(&other);
	return more;
}

static bool has_descriptor(const struct run *run, uint64_t id, const struct seen *s,
			   uint64_t offset)
{
	uint32_t length, outcomes;
	uint64_t start;

	return pathprof_function_paths_descriptor(run->numbering.paths, run->graph, id, &start,
						  &length, &outcomes) == 0 &&
	       start == offset && length == s->length && outcomes == s->outcomes;
}

/* Why it may have no number; NULL: no reason. */
static uint64_t *excuse(struct run *run, const struct seen *s)
{
	const struct seen behind = {.start = s->start, .process = s->process, .length = IS_BEHIND};

	if (s->length == LENGTH_MAX)
		return &run->long_;
	if (find(run, &behind)->cnt)
		return &run->behind;
	if (run->numbering.paths->overflow_cut_cnt)
		return &run->over_cut;
	return NULL;
}

/* The counter for a path of the current file; NULL: it has no number but should have one. */
static uint64_t *verdict(struct run *run, const struct seen *s, uint64_t offset)
{
	uint32_t block = pathprof_graph_block_at(run->graph, offset), used;
	uint32_t outcomes = s->outcomes ^ (run->plant && s->length);
	uint64_t id, next;
	int r;

	if (block == PATHPROF_GRAPH_NONE)
		return NULL;
	number(run, &run->numbering, run->graph->blocks[block].function);
	r = pathprof_function_paths_split_descriptor(run->numbering.paths, run->graph, offset,
						     s->length, outcomes, &id, &used, &next);
	if (r == 0 && has_descriptor(run, id, s, offset))
		return &run->numbered;
	if (r == 1 &&
	    is_made_of_parts(run, next, s->length - used, used < LENGTH_MAX ? outcomes >> used : 0))
		return &run->run_on;
	return excuse(run, s);
}

static void judge(struct run *run, const struct seen *s, uint64_t offset)
{
	uint64_t *counter = verdict(run, s, offset);

	if (counter) {
		*counter += s->cnt;
		return;
	}
	if (!run->wrong)
		fprintf(stderr,
			"number_trace: %s: 0x%" PRIx64 " length %" PRIu32 " outcomes 0x%" PRIx32
			", %" PRIu64 " times: no number\n",
			run->file, offset, s->length, s->outcomes, s->cnt);
	run->wrong += s->cnt;
}

static void judge_all(struct run *run, const struct pathprof_trace_module_info *module)
{
	for (size_t i = 0; i < ROOM; i++) {
		const struct seen *s = &run->seen[i];

		if (!s->cnt || s->length == IS_BEHIND ||
		    pathprof_trace_locate(run->trace, s->process, s->start) != module)
			continue;
		if (module)
			open_file(run, module->name);
		if (module && run->graph)
			judge(run, s, s->start - module->start + module->offset);
		else
			run->no_file += s->cnt;
	}
}

static void print(const struct run *run)
{
	printf("%" PRIu64 " paths with their number, %" PRIu64
	       " run on into another function, %" PRIu64 " have 32 branches, %" PRIu64
	       " begin behind these, %" PRIu64 " meet a cut against overflow, %" PRIu64
	       " in no file, %" PRIu64 " without a number\n",
	       run->numbered, run->run_on, run->long_, run->behind, run->over_cut, run->no_file,
	       run->wrong);
}

int main(int argc, char **argv)
{
	struct run run = {.plant = argc == 3 && !strcmp(argv[2], "plant")};
	const struct pathprof_trace_info *info;
	struct pathprof_error error;

	if (argc != 2 && !run.plant)
		die("usage", "number_trace TRACE [plant]");
	if (pathprof_trace_open(&run.trace, argv[1], &error) < 0)
		die("trace", error.text);
	run.seen = calloc(ROOM, sizeof(*run.seen));
	if (!run.seen)
		die("paths", "no memory");
	info = pathprof_trace_info(run.trace);
	for (uint32_t stream = 0; stream < info->stream_cnt; stream++)
		read_stream(&run, stream);
	judge_all(&run, NULL);
	for (uint32_t m = 0; m < info->module_cnt; m++)
		judge_all(&run, pathprof_trace_module(run.trace, m));
	print(&run);
	forget(&run.numbering);
	pathprof_graph_free(run.graph);
	pathprof_trace_free(run.trace);
	free(run.seen);
	return run.wrong || !run.numbered ? 1 : 0;
}
