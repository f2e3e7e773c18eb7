// SPDX-License-Identifier: GPL-2.0-or-later
/* The branch queue against arrays of every instruction's and branch's times. */
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "../../tools/lab/model/pipeline.h"

#define RUNS      3000
#define RUN_INSNS 12

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static struct lab_run_of_insns draw_run(uint64_t *state)
{
	uint32_t insns = 1 + draw(state) % RUN_INSNS;

	return (struct lab_run_of_insns){.insn_cnt = insns,
					 .l2_misses = draw(state) % 40 == 0,
					 .mispredicted = draw(state) % 10 == 0,
					 .profiler_cycles = 1 + draw(state) % 5};
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* All times in quarters of a cycle, all kept; returns when the last instruction retired. */
struct oracle {
	uint64_t retired[RUNS * RUN_INSNS + 1], begun[RUNS + 1], ended[RUNS + 1];
	size_t insns, branches;
	uint64_t finished;
};

/* From when on the queue has room: fewer than `queue` of the earlier branches wait then. */
static uint64_t room(const struct oracle *o, uint64_t time, uint32_t queue)
{
	size_t waiting = 0;
	uint64_t next = UINT64_MAX;

	for (size_t i = 1; i <= o->branches; i++) {
		uint64_t until = queue ? o->begun[i] : o->ended[i];

		if (until <= time)
			continue;
		waiting++;
		next = until < next ? until : next;
	}
	if (waiting < (queue ? queue : 1))
		return time;
	return room(o, next, queue);
}

static uint64_t hand_over(struct oracle *o, uint64_t time, uint32_t queue, uint32_t cycles)
{
	time = room(o, time, queue);
	o->branches++;
	o->begun[o->branches] = later(time, o->ended[o->branches - 1]);
	o->ended[o->branches] = o->begun[o->branches] + 4 * cycles;
	return time;
}

static uint64_t oracle_run(struct oracle *o, const struct lab_run_of_insns *run, uint32_t queue)
{
	for (uint32_t i = 1; i <= run->insn_cnt; i++) {
		uint64_t oldest = o->insns >= 128 ? o->retired[o->insns - 127] : 0, time;

		o->finished = later(o->finished + 2, oldest);
		time = o->finished + (i <= run->l2_misses ? 400 : 0);
		time = later(time, o->retired[o->insns] + 1);
		if (i == run->insn_cnt && queue != LAB_QUEUE_NONE)
			time = hand_over(o, time, queue, run->profiler_cycles);
		o->retired[++o->insns] = time;
	}
	if (run->mispredicted)
		o->finished += 12;
	return o->retired[o->insns];
}

/* The room search goes over all branches so far, hence a few thousand only. */
static size_t differences(uint32_t queue, uint32_t oracle_queue)
{
	struct oracle *o = calloc(1, sizeof(*o));
	struct lab_pipeline p;
	uint64_t state = 11;
	size_t different = 0;

	CU_ASSERT_EQUAL_FATAL(lab_pipeline_init(&p, queue), 0);
	for (size_t i = 0; i < RUNS; i++) {
		struct lab_run_of_insns run = draw_run(&state);

		lab_pipeline_step(&p, &run);
		different += p.retired != oracle_run(o, &run, oracle_queue);
	}
	free(o);
	return different;
}

static void test_oracle(void)
{
	static const uint32_t queues[] = {LAB_QUEUE_NONE, 0, 1, 2, 4, 7, 32, LAB_QUEUE_MAX};

	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++)
		CU_ASSERT_EQUAL(differences(queues[i], queues[i]), 0);
}

static void test_planted(void)
{
	CU_ASSERT_TRUE(differences(4, 5) > 10);
	CU_ASSERT_TRUE(differences(0, 1) > 10);
}

static double cycles(uint32_t queue, const struct lab_run_of_insns *run, size_t cnt)
{
	struct lab_pipeline p;

	CU_ASSERT_EQUAL_FATAL(lab_pipeline_init(&p, queue), 0);
	for (size_t i = 0; i < cnt; i++)
		lab_pipeline_step(&p, run);
	return lab_pipeline_cycles(&p);
}

static void test_rates(void)
{
	struct lab_run_of_insns plain = {.insn_cnt = 10, .profiler_cycles = 1};
	struct lab_run_of_insns wrong = {.insn_cnt = 10, .mispredicted = true};
	struct lab_run_of_insns missed = {.insn_cnt = 128, .l2_misses = 1};
	struct lab_run_of_insns slow = {.insn_cnt = 4, .profiler_cycles = 5};

	CU_ASSERT_DOUBLE_EQUAL(cycles(LAB_QUEUE_NONE, &plain, 100), 500, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(cycles(LAB_QUEUE_NONE, &wrong, 100), 797, 1e-9);
	/* During a miss the 127 instructions behind it finish, and then retire in a burst. */
	CU_ASSERT_DOUBLE_EQUAL(cycles(LAB_QUEUE_NONE, &missed, 1), 0.5 + 100 + 127 / 4.0, 1e-9);
	/* A profiler that is fast enough costs nothing; one that is not sets the pace. */
	CU_ASSERT_DOUBLE_EQUAL(cycles(0, &plain, 100), 500, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(cycles(32, &slow, 10000), 50000, 200);
}

static void test_refuses(void)
{
	struct lab_pipeline p;

	CU_ASSERT_EQUAL(lab_pipeline_init(&p, LAB_QUEUE_MAX + 1), -EINVAL);
}

static uint32_t latency(uint32_t kind, bool back, bool popped, bool replaced)
{
	struct pathprof_branch b = {.from = 0x1000, .target = back ? 0x800 : 0x2000, .kind = kind};

	return lab_profiler_cycles(&b, popped, replaced, 4);
}

static void test_latencies(void)
{
	CU_ASSERT_EQUAL(latency(PERF_BR_COND, false, false, false), 1);
	CU_ASSERT_EQUAL(latency(PERF_BR_UNCOND, false, false, false), 1);
	CU_ASSERT_EQUAL(latency(PERF_BR_CALL, true, false, false), 2);
	CU_ASSERT_EQUAL(latency(PERF_BR_IND_CALL, false, false, false), 2);
	CU_ASSERT_EQUAL(latency(PERF_BR_RET, false, true, false), 3);
	CU_ASSERT_EQUAL(latency(PERF_BR_RET, false, true, true), 4);
	CU_ASSERT_EQUAL(latency(PERF_BR_RET, false, false, false), 1);
	CU_ASSERT_EQUAL(latency(PERF_BR_COND, true, true, false), 4);
	CU_ASSERT_EQUAL(latency(PERF_BR_IND, false, true, true), 5);
	/* The greatest length is reached. */
	CU_ASSERT_EQUAL(latency(PERF_BR_COND, false, true, true), 5);
}

static const struct unit_test tests[] = {
	{"retires when arrays of all times say so", test_oracle},
	{"a queue one longer is found", test_planted},
	{"keeps its rates, and bursts after a miss", test_rates},
	{"refuses a queue beyond its most", test_refuses},
	{"a branch takes the sum of its operations", test_latencies},
};
UNIT_SUITE(model_pipeline, tests)
