// SPDX-License-Identifier: GPL-2.0-or-later
#include "path_feed.h"

#include <string.h>

/*
 * The path stack adds up one number a branch; three are packed into it. A branch brings at most
 * BROUGHT_MAX of the latter two. The 32 branches of a path and some dozens of calls and returns
 * leave room for more, so none runs over.
 */
#define INSN_BITS   28
#define METRIC_BITS 18
#define BROUGHT_MAX 4095u
#define MASK(bits)  ((1u << (bits)) - 1)

static uint32_t at_most(uint32_t value, uint32_t bound)
{
	return value < bound ? value : bound;
}

static uint64_t pack(uint32_t insn_cnt, uint32_t l2_misses, bool mispredicted)
{
	return (uint64_t)at_most(insn_cnt, 1u << 20) |
	       (uint64_t)at_most(l2_misses, BROUGHT_MAX) << INSN_BITS |
	       (uint64_t)mispredicted << (INSN_BITS + METRIC_BITS);
}

static struct lab_path unpack(const struct pathprof_path_popped *p)
{
	struct lab_path path = {.start = p->start,
				.length = p->length,
				.outcomes = p->outcomes,
				.insn_cnt = p->events & MASK(INSN_BITS)};

	path.metric[LAB_METRIC_FREQUENCY] = 1;
	path.metric[LAB_METRIC_L2_MISSES] = p->events >> INSN_BITS & MASK(METRIC_BITS);
	path.metric[LAB_METRIC_MISPREDICTIONS] = (uint32_t)(p->events >> (INSN_BITS + METRIC_BITS));
	return path;
}

int lab_path_feed_init(struct lab_path_feed *feed, const struct pathprof_path_settings *settings,
		       bool simulate, lab_brought_fn *fn, void *context)
{
	int r;

	memset(feed, 0, sizeof(*feed));
	feed->simulate = simulate;
	feed->fn = fn;
	feed->context = context;
	lab_predictor_init(&feed->predictor);
	r = lab_memory_init(&feed->memory);
	for (size_t i = 0; i < LAB_FEED_HANDLERS && r >= 0; i++)
		r = pathprof_path_stack_new(&feed->stacks[i], settings);
	if (r < 0)
		lab_path_feed_release(feed);
	return r;
}

void lab_path_feed_release(struct lab_path_feed *feed)
{
	lab_memory_release(&feed->memory);
	for (size_t i = 0; i < LAB_FEED_HANDLERS; i++) {
		pathprof_path_stack_free(feed->stacks[i]);
		feed->stacks[i] = NULL;
	}
}

static void drop_paths(struct lab_path_feed *feed)
{
	struct pathprof_path_popped path;

	while (pathprof_path_stack_drain(feed->stacks[feed->handler], &path))
		;
}

static void step_branch(struct lab_path_feed *feed, const struct pathprof_trace_event *event)
{
	const struct pathprof_branch *b = &event->branch;
	struct lab_brought brought = {.branch = b, .insn_cnt = event->insn_cnt};
	struct pathprof_path_popped popped;
	struct lab_path path;

	if (feed->simulate) {
		feed->pending_misses += lab_memory_fetch(
			&feed->memory, feed->run_start ? feed->run_start : b->from, b->from);
		brought.mispredicted = lab_predictor_step(&feed->predictor, b);
	}
	brought.l2_misses = feed->pending_misses;
	feed->pending_misses = 0;
	feed->run_start = b->next;
	feed->insn_cnt += event->insn_cnt;
	feed->branch_cnt++;
	if (pathprof_path_stack_step(feed->stacks[feed->handler], b,
				     pack(event->insn_cnt, brought.l2_misses, brought.mispredicted),
				     &popped)) {
		path = unpack(&popped);
		brought.path = &path;
	}
	feed->fn(feed->context, &brought);
}

static void step_break(struct lab_path_feed *feed, const struct pathprof_trace_event *event)
{
	feed->run_start = event->branch.next;
	if (event->type == PATHPROF_TRACE_EVENT_SIGNAL) {
		if (feed->handler + 1 < LAB_FEED_HANDLERS)
			feed->handler++;
		drop_paths(feed);
	} else if (event->type == PATHPROF_TRACE_EVENT_SIGRETURN) {
		drop_paths(feed);
		if (feed->handler)
			feed->handler--;
	} else {
		drop_paths(feed);
	}
}

void lab_path_feed_step(struct lab_path_feed *feed, const struct pathprof_trace_event *events,
			size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct pathprof_trace_event *e = &events[i];

		if (e->type == PATHPROF_TRACE_EVENT_BRANCH)
			step_branch(feed, e);
		else if (e->type != PATHPROF_TRACE_EVENT_ACCESS)
			step_break(feed, e);
		else if (feed->simulate)
			feed->pending_misses += lab_memory_access(&feed->memory, e->access.address,
								  e->access.size_bytes);
	}
}
