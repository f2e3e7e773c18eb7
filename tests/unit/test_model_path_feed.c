// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths with what happened along them, over streams written by hand, and over random ones against
 * a naive feed: a stack for each number that it adds up, nothing packed.
 */
#include "unit.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/lab/model/path_feed.h"
#include "oracle_path.h"

#define PATHS_MAX 16

struct seen {
	struct lab_path paths[PATHS_MAX];
	size_t path_cnt, branch_cnt;
	uint32_t l2_misses, mispredicted;
};

static void note(void *context, const struct lab_brought *brought)
{
	struct seen *seen = context;

	seen->branch_cnt++;
	seen->l2_misses += brought->l2_misses;
	seen->mispredicted += brought->mispredicted;
	if (brought->path && seen->path_cnt < PATHS_MAX)
		seen->paths[seen->path_cnt++] = *brought->path;
}

static struct pathprof_trace_event branch(uint32_t kind, uint64_t from, uint64_t next,
					  uint32_t insn_cnt)
{
	return (struct pathprof_trace_event){
		.type = PATHPROF_TRACE_EVENT_BRANCH,
		.insn_cnt = insn_cnt,
		.branch = {.from = from, .target = next, .next = next, .kind = kind, .taken = 1}};
}

static struct pathprof_trace_event load(uint64_t address)
{
	return (struct pathprof_trace_event){.type = PATHPROF_TRACE_EVENT_ACCESS,
					     .access = {.address = address, .size_bytes = 8}};
}

static struct pathprof_trace_event turn(uint32_t type, uint64_t next)
{
	return (struct pathprof_trace_event){.type = type, .branch = {.next = next}};
}

static struct seen feed(const struct pathprof_trace_event *events, size_t cnt, bool simulate)
{
	static const struct pathprof_path_settings settings = {
		.mapping = PATHPROF_MAPPING_BL, .max_length = 32, .extensions = 0};
	struct lab_path_feed *f = malloc(sizeof(*f));
	struct seen seen = {.path_cnt = 0};

	CU_ASSERT_EQUAL_FATAL(lab_path_feed_init(f, &settings, simulate, note, &seen), 0);
	for (size_t i = 0; i < cnt; i++)
		lab_path_feed_step(f, &events[i], 1);
	lab_path_feed_release(f);
	free(f);
	return seen;
}

#define FEED(events, simulate) feed(events, sizeof(events) / sizeof((events)[0]), simulate)

/* main calls f, which jumps ahead once and returns; main loops. */
static void test_sums(void)
{
	const struct pathprof_trace_event events[] = {
		branch(PERF_BR_CALL, 0x1000, 0x2000, 3),
		load(0x700000),
		load(0x700008),
		branch(PERF_BR_UNCOND, 0x2004, 0x2010, 5),
		load(0x800000),
		branch(PERF_BR_RET, 0x2014, 0x1005, 7),
	};
	struct seen seen = FEED(events, true);

	CU_ASSERT_EQUAL(seen.branch_cnt, 3);
	CU_ASSERT_EQUAL_FATAL(seen.path_cnt, 1);
	CU_ASSERT_EQUAL(seen.paths[0].start, 0x2000);
	CU_ASSERT_EQUAL(seen.paths[0].length, 1);
	CU_ASSERT_EQUAL(seen.paths[0].outcomes, 1);
	CU_ASSERT_EQUAL(seen.paths[0].insn_cnt, 12);
	CU_ASSERT_EQUAL(seen.paths[0].metric[LAB_METRIC_FREQUENCY], 1);
	/* Two lines of data and one of code; main's own is not on the path. */
	CU_ASSERT_EQUAL(seen.paths[0].metric[LAB_METRIC_L2_MISSES], 3);
	CU_ASSERT_EQUAL(seen.paths[0].metric[LAB_METRIC_MISPREDICTIONS], 0);
	CU_ASSERT_EQUAL(seen.l2_misses, 4);
	CU_ASSERT_EQUAL(lab_path_word(&seen.paths[0]), 1ull << 32 | 1);
}

static void test_mispredictions(void)
{
	const struct pathprof_trace_event events[] = {
		branch(PERF_BR_CALL, 0x1000, 0x2000, 1), branch(PERF_BR_IND, 0x2004, 0x3000, 1),
		branch(PERF_BR_IND, 0x3004, 0x2000, 1),  branch(PERF_BR_IND, 0x2004, 0x3000, 1),
		branch(PERF_BR_RET, 0x3004, 0x9999, 1),
	};
	struct seen seen = FEED(events, true);

	CU_ASSERT_EQUAL_FATAL(seen.path_cnt, 4);
	CU_ASSERT_EQUAL(seen.paths[0].metric[LAB_METRIC_MISPREDICTIONS], 1);
	CU_ASSERT_EQUAL(seen.paths[1].metric[LAB_METRIC_MISPREDICTIONS], 1);
	CU_ASSERT_EQUAL(seen.paths[2].metric[LAB_METRIC_MISPREDICTIONS], 0);
	CU_ASSERT_EQUAL(seen.paths[3].metric[LAB_METRIC_MISPREDICTIONS], 1);
	CU_ASSERT_EQUAL(FEED(events, false).mispredicted, 0);
}

/* A handler comes between a call and its return: the path goes on after it. */
static void test_handler(void)
{
	const struct pathprof_trace_event events[] = {
		branch(PERF_BR_CALL, 0x1000, 0x2000, 1),
		turn(PATHPROF_TRACE_EVENT_SIGNAL, 0x5000),
		branch(PERF_BR_CALL, 0x5000, 0x6000, 1),
		branch(PERF_BR_RET, 0x6008, 0x5005, 9),
		branch(PERF_BR_RET, 0x5010, 0x7000, 9),
		turn(PATHPROF_TRACE_EVENT_SIGRETURN, 0x2004),
		branch(PERF_BR_RET, 0x2008, 0x1005, 4),
	};
	struct seen seen = FEED(events, false);

	CU_ASSERT_EQUAL_FATAL(seen.path_cnt, 2);
	CU_ASSERT_EQUAL(seen.paths[0].start, 0x6000);
	CU_ASSERT_EQUAL(seen.paths[1].start, 0x2000);
	CU_ASSERT_EQUAL(seen.paths[1].insn_cnt, 4);
}

static void test_gap(void)
{
	const struct pathprof_trace_event events[] = {
		branch(PERF_BR_CALL, 0x1000, 0x2000, 1), turn(PATHPROF_TRACE_EVENT_JUMP, 0x5000),
		branch(PERF_BR_RET, 0x5008, 0x1005, 4),  branch(PERF_BR_CALL, 0x1010, 0x2000, 1),
		branch(PERF_BR_RET, 0x2008, 0x1015, 2),
	};
	struct seen seen = FEED(events, false);

	CU_ASSERT_EQUAL_FATAL(seen.path_cnt, 1);
	CU_ASSERT_EQUAL(seen.paths[0].insn_cnt, 2);
}

/* More handlers within handlers than there are stacks, and more returns than handlers. */
static void test_deep_handlers(void)
{
	struct pathprof_trace_event events[6 * LAB_FEED_HANDLERS];
	size_t cnt = 0;

	for (uint64_t i = 0; i < 2 * LAB_FEED_HANDLERS; i++)
		events[cnt++] = turn(PATHPROF_TRACE_EVENT_SIGNAL, 0x5000);
	for (uint64_t i = 0; i < 3 * LAB_FEED_HANDLERS; i++)
		events[cnt++] = turn(PATHPROF_TRACE_EVENT_SIGRETURN, 0x1000);
	events[cnt++] = branch(PERF_BR_CALL, 0x1000, 0x2000, 1);
	events[cnt++] = branch(PERF_BR_RET, 0x2008, 0x1005, 2);
	CU_ASSERT_EQUAL(feed(events, cnt, true).path_cnt, 1);
}

/* ---------------------------------------------------------------- against a naive feed */

#define RANDOM_EVENTS 40000
#define NUMBER_CNT    LAB_METRIC_CNT /* instructions stand where the frequency would */

enum fault { FAULT_NONE, FAULT_LATE_MISSES, FAULT_ONE_STACK };

struct naive {
	struct lab_memory memory;
	struct lab_predictor predictor;
	struct oracle_path_stack stacks[LAB_FEED_HANDLERS][NUMBER_CNT];
	size_t handler;
	enum fault fault;
	uint64_t run_start, misses, late;
};

struct naive_answer {
	uint64_t misses, mispredicted;
	bool popped;
	struct oracle_path path[NUMBER_CNT];
};

static void naive_init(struct naive *n, enum fault fault)
{
	static const struct oracle_path_config config = {.max_length = 32, .depth = 32};

	*n = (struct naive){.fault = fault};
	lab_predictor_init(&n->predictor);
	CU_ASSERT_EQUAL_FATAL(lab_memory_init(&n->memory), 0);
	for (size_t i = 0; i < LAB_FEED_HANDLERS; i++)
		for (size_t k = 0; k < NUMBER_CNT; k++)
			oracle_path_stack_init(&n->stacks[i][k], &config);
}

static void naive_release(struct naive *n)
{
	lab_memory_release(&n->memory);
	for (size_t i = 0; i < LAB_FEED_HANDLERS; i++)
		for (size_t k = 0; k < NUMBER_CNT; k++)
			oracle_path_stack_release(&n->stacks[i][k]);
}

static void naive_branch(struct naive *n, const struct oracle_branch *b,
			 const struct pathprof_trace_event *event, struct naive_answer *ret_answer)
{
	uint64_t numbers[NUMBER_CNT] = {event->insn_cnt};

	n->misses += lab_memory_fetch(&n->memory, n->run_start ? n->run_start : b->from, b->from);
	n->run_start = b->next;
	ret_answer->mispredicted = lab_predictor_step(&n->predictor, &event->branch);
	ret_answer->misses = n->misses;
	if (n->fault == FAULT_LATE_MISSES) {
		ret_answer->misses = n->late;
		n->late = n->misses;
	}
	n->misses = 0;
	numbers[LAB_METRIC_L2_MISSES] = ret_answer->misses;
	numbers[LAB_METRIC_MISPREDICTIONS] = ret_answer->mispredicted;
	for (size_t k = 0; k < NUMBER_CNT; k++) {
		struct oracle_branch with = *b;

		with.events = numbers[k];
		ret_answer->popped = oracle_path_stack_step(&n->stacks[n->handler][k], &with,
							    &ret_answer->path[k]);
	}
}

static void naive_drop(struct naive *n)
{
	struct oracle_path path;

	for (size_t k = 0; k < NUMBER_CNT; k++)
		while (oracle_path_stack_pop(&n->stacks[n->handler][k], &path))
			;
}

static void naive_break(struct naive *n, const struct pathprof_trace_event *event)
{
	bool stays = n->fault == FAULT_ONE_STACK;

	n->run_start = event->branch.next;
	if (event->type == PATHPROF_TRACE_EVENT_SIGNAL && !stays)
		n->handler++;
	naive_drop(n);
	if (event->type == PATHPROF_TRACE_EVENT_SIGRETURN && !stays && n->handler)
		n->handler--;
}

/* One event in a few is a load, one in hundreds a signal, a return from it or a gap. */
static struct pathprof_trace_event draw_event(struct stream *s, enum branch_mix mix, size_t depth,
					      struct oracle_branch *ret_branch)
{
	static const uint32_t kinds[256] = {
		['c'] = PERF_BR_CALL, ['C'] = PERF_BR_IND_CALL, ['r'] = PERF_BR_RET,
		['i'] = PERF_BR_IND,  ['j'] = PERF_BR_UNCOND,   ['b'] = PERF_BR_COND};
	uint64_t draw = stream_random(&s->random);
	struct pathprof_trace_event event;

	if (draw % 4 == 0) {
		event = load((draw >> 8) % (1u << 21));
		event.access.size_bytes = 1u << (draw >> 32) % 4;
		return event;
	}
	if (draw % 512 == 1 && depth + 1 < LAB_FEED_HANDLERS)
		return turn(PATHPROF_TRACE_EVENT_SIGNAL, 0x5000);
	if (draw % 512 == 2 || draw % 512 == 3)
		return turn(PATHPROF_TRACE_EVENT_SIGRETURN, 0x401000);
	if (draw % 512 == 5)
		return turn(PATHPROF_TRACE_EVENT_JUMP, 0x401100);
	*ret_branch = oracle_branch_draw(s, mix);
	event = branch(kinds[(uint8_t)ret_branch->kind], ret_branch->from, ret_branch->next,
		       1 + (uint32_t)(draw >> 40) % 30);
	event.branch.target = ret_branch->target;
	event.branch.taken = ret_branch->taken;
	return event;
}

struct last_brought {
	struct lab_brought brought;
	struct lab_path path;
};

static void keep(void *context, const struct lab_brought *brought)
{
	struct last_brought *last = context;

	last->brought = *brought;
	if (brought->path)
		last->path = *brought->path;
}

static bool same_answer(const struct last_brought *got, const struct naive_answer *want)
{
	const struct lab_path *path = &got->path;

	if (got->brought.l2_misses != want->misses ||
	    got->brought.mispredicted != want->mispredicted ||
	    (got->brought.path != NULL) != want->popped)
		return false;
	return !want->popped ||
	       (path->start == want->path[0].start && path->length == want->path[0].length &&
		path->outcomes == oracle_path_outcomes(&want->path[0]) &&
		path->insn_cnt == want->path[0].events && path->metric[LAB_METRIC_FREQUENCY] == 1 &&
		path->metric[LAB_METRIC_L2_MISSES] == want->path[LAB_METRIC_L2_MISSES].events &&
		path->metric[LAB_METRIC_MISPREDICTIONS] ==
			want->path[LAB_METRIC_MISPREDICTIONS].events);
}

/* Adds to *path_cnt the paths that were compared. */
static size_t differences(enum branch_mix mix, enum fault fault, size_t *path_cnt)
{
	static const struct pathprof_path_settings settings = {
		.mapping = PATHPROF_MAPPING_BL, .max_length = 32, .extensions = 0};
	struct lab_path_feed *feed = malloc(sizeof(*feed));
	struct naive *naive = malloc(sizeof(*naive));
	struct last_brought last;
	struct stream s;
	size_t different = 0;

	CU_ASSERT_FATAL(feed && naive);
	CU_ASSERT_EQUAL_FATAL(lab_path_feed_init(feed, &settings, true, keep, &last), 0);
	naive_init(naive, fault);
	stream_init(&s, STREAM_UNIFORM, mix % 2, 0, 17 + mix);
	for (size_t i = 0; i < RANDOM_EVENTS; i++) {
		struct naive_answer want = {.popped = false};
		struct oracle_branch b = {0};
		struct pathprof_trace_event event = draw_event(&s, mix, feed->handler, &b);

		lab_path_feed_step(feed, &event, 1);
		if (event.type == PATHPROF_TRACE_EVENT_ACCESS) {
			naive->misses += lab_memory_access(&naive->memory, event.access.address,
							   event.access.size_bytes);
		} else if (event.type == PATHPROF_TRACE_EVENT_BRANCH) {
			naive_branch(naive, &b, &event, &want);
			different += !same_answer(&last, &want);
			*path_cnt += want.popped;
		} else {
			naive_break(naive, &event);
		}
	}
	naive_release(naive);
	lab_path_feed_release(feed);
	free(naive);
	free(feed);
	return different;
}

static size_t differences_of_all(enum fault fault, size_t *ret_path_cnt)
{
	size_t different = 0;

	*ret_path_cnt = 0;
	for (enum branch_mix mix = 0; mix < BRANCH_MIX_CNT; mix++)
		different += differences(mix, fault, ret_path_cnt);
	return different;
}

static void test_naive(void)
{
	size_t path_cnt;

	CU_ASSERT_EQUAL(differences_of_all(FAULT_NONE, &path_cnt), 0);
	CU_ASSERT(path_cnt > RANDOM_EVENTS / 10);
}

static void test_naive_planted(void)
{
	size_t path_cnt;

	CU_ASSERT_NOT_EQUAL(differences_of_all(FAULT_LATE_MISSES, &path_cnt), 0);
	CU_ASSERT_NOT_EQUAL(differences_of_all(FAULT_ONE_STACK, &path_cnt), 0);
}

static const struct unit_test tests[] = {
	{"adds up what a path's own branches brought", test_sums},
	{"a misprediction belongs to the path it ends", test_mispredictions},
	{"a handler leaves the paths below it alone", test_handler},
	{"nothing goes on over a gap", test_gap},
	{"any depth of handlers is survived", test_deep_handlers},
	{"random streams bring what a naive feed says", test_naive},
	{"misses told late and handlers on one stack are caught", test_naive_planted},
};
UNIT_SUITE(model_path_feed, tests)
