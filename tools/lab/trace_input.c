// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The input of the algorithms: lines of text, or the events of an exact trace. The beginning of a
 * file says which of the two it is.
 *
 * Workload: files of any size, one pass, events in batches. Everything belongs to the call.
 */
#include "lab.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/trace_format.h"

#define BATCH 4096

static struct pathprof_trace_cursor *cursor(const struct pathprof_trace *trace, uint32_t stream)
{
	struct pathprof_trace_cursor *c;
	struct pathprof_error error;

	if (pathprof_trace_cursor_new(&c, trace, stream, &error) < 0)
		lab_fail("%s", error.text);
	return c;
}

void lab_trace_stream_each(const struct pathprof_trace *trace, uint32_t stream, lab_event_fn *fn,
			   void *context)
{
	struct pathprof_trace_cursor *c = cursor(trace, stream);
	struct pathprof_trace_event *events = calloc(BATCH, sizeof(*events));
	struct pathprof_error error;
	ssize_t cnt;

	if (!events)
		lab_fail("out of memory");
	while ((cnt = pathprof_trace_read(c, events, BATCH, &error)) > 0)
		for (ssize_t i = 0; i < cnt; i++)
			fn(context, &events[i]);
	if (cnt < 0)
		lab_fail("%s", error.text);
	free(events);
	pathprof_trace_cursor_free(c);
}

struct pathprof_trace *lab_trace_open(const char *path)
{
	struct pathprof_trace *trace;
	struct pathprof_error error;

	if (pathprof_trace_open(&trace, path, &error) < 0)
		lab_fail("%s", error.text);
	return trace;
}

static void feed_trace(const char *path, const struct lab_feed *feed)
{
	struct pathprof_trace *trace = lab_trace_open(path);
	uint32_t stream_cnt = pathprof_trace_info(trace)->stream_cnt;

	for (uint32_t stream = 0; stream < stream_cnt; stream++) {
		if (feed->stream)
			feed->stream(feed->context, trace, stream);
		lab_trace_stream_each(trace, stream, feed->event, feed->context);
	}
	pathprof_trace_free(trace);
}

static void feed_text(char **file, int file_cnt, const struct lab_feed *feed)
{
	struct lab_input in;

	lab_input_init(&in, file, file_cnt);
	while (lab_input_next(&in))
		feed->line(feed->context, &in);
	lab_input_release(&in);
}

void lab_feed(char **files, int file_cnt, const struct lab_feed *feed)
{
	if (file_cnt == 0)
		feed_text(files, 0, feed);
	for (int i = 0; i < file_cnt; i++) {
		if (strcmp(files[i], "-") != 0 && pathprof_trace_is(files[i]))
			feed_trace(files[i], feed);
		else
			feed_text(&files[i], 1, feed);
	}
}

/* ---------------------------------------------------------------- tuples of RPS */

enum lab_tuples lab_tuples_option(const char *text)
{
	static const char *const words[] = {"edges", "calls", "loads", NULL};

	for (unsigned int i = 0; words[i]; i++)
		if (strcmp(text, words[i]) == 0)
			return (enum lab_tuples)i;
	lab_usage("--tuples: '%s' is none of edges calls loads", text);
}

void lab_tuples_expect(enum lab_tuples tuples, const struct pathprof_trace *trace)
{
	if (tuples == LAB_TUPLES_LOADS &&
	    !(pathprof_trace_info(trace)->flags & PATHPROF_TRACE_HAS_LOADS))
		lab_fail("--tuples loads: the trace has none; take it with pathprof-trace --loads");
}

static bool branch_is(enum lab_tuples tuples, uint32_t kind)
{
	if (tuples == LAB_TUPLES_EDGES)
		return kind == PERF_BR_COND || kind == PERF_BR_IND;
	return tuples == LAB_TUPLES_CALLS && (kind == PERF_BR_CALL || kind == PERF_BR_IND_CALL);
}

bool lab_tuple_of(enum lab_tuples tuples, const struct pathprof_trace_event *event,
		  uint64_t *ret_pc, uint64_t *ret_word)
{
	if (event->type == PATHPROF_TRACE_EVENT_BRANCH && branch_is(tuples, event->branch.kind)) {
		*ret_pc = event->branch.from;
		*ret_word = event->branch.next;
		return true;
	}
	if (event->type == PATHPROF_TRACE_EVENT_ACCESS && tuples == LAB_TUPLES_LOADS &&
	    !event->access.store) {
		*ret_pc = event->access.pc;
		*ret_word = event->access.value;
		return true;
	}
	return false;
}

/* ---------------------------------------------------------------- paths of a thread */

static struct pathprof_path_stack *new_stack(const struct lab_paths_feed *f)
{
	struct pathprof_path_stack *stack;

	if (pathprof_path_stack_new(&stack, &f->settings) < 0)
		lab_fail("out of memory");
	return stack;
}

void lab_paths_begin(struct lab_paths_feed *f)
{
	lab_paths_end(f);
	f->stack[0] = new_stack(f);
	f->stack_cnt = 1;
}

void lab_paths_end(struct lab_paths_feed *f)
{
	while (f->stack_cnt)
		pathprof_path_stack_free(f->stack[--f->stack_cnt]);
}

static void enter_handler(struct lab_paths_feed *f)
{
	if (f->stack_cnt == LAB_STREAM_HANDLERS_MAX) {
		pathprof_path_stack_free(f->stack[0]);
		memmove(f->stack, f->stack + 1, --f->stack_cnt * sizeof(f->stack[0]));
	}
	f->stack[f->stack_cnt++] = new_stack(f);
}

static void forget(struct lab_paths_feed *f)
{
	struct pathprof_path_stack **top = &f->stack[f->stack_cnt - 1];

	pathprof_path_stack_free(*top);
	*top = new_stack(f);
}

/* If the stream began in the handler, the paths of the interrupted code are not known. */
static void leave_handler(struct lab_paths_feed *f)
{
	if (f->stack_cnt > 1)
		pathprof_path_stack_free(f->stack[--f->stack_cnt]);
	else
		forget(f);
}

bool lab_paths_event(struct lab_paths_feed *f, const struct pathprof_trace_event *event,
		     struct pathprof_path_popped *ret_path)
{
	switch (event->type) {
	case PATHPROF_TRACE_EVENT_BRANCH:
		return pathprof_path_stack_step(f->stack[f->stack_cnt - 1], &event->branch, 1,
						ret_path);
	case PATHPROF_TRACE_EVENT_SIGNAL:
		enter_handler(f);
		return false;
	case PATHPROF_TRACE_EVENT_SIGRETURN:
		leave_handler(f);
		return false;
	case PATHPROF_TRACE_EVENT_JUMP:
		forget(f);
		return false;
	default:
		return false;
	}
}

bool lab_paths_drain(struct lab_paths_feed *f, struct pathprof_path_popped *ret_path)
{
	for (size_t i = f->stack_cnt; i-- > 0;)
		if (pathprof_path_stack_drain(f->stack[i], ret_path))
			return true;
	return false;
}
