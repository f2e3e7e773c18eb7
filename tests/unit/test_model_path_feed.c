// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths with what happened along them, over streams written by hand. */
#include "unit.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/lab/model/path_feed.h"

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

static const struct unit_test tests[] = {
	{"adds up what a path's own branches brought", test_sums},
	{"a misprediction belongs to the path it ends", test_mispredictions},
	{"a handler leaves the paths below it alone", test_handler},
	{"nothing goes on over a gap", test_gap},
	{"any depth of handlers is survived", test_deep_handlers},
};
UNIT_SUITE(model_path_feed, tests)
