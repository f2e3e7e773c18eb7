// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows and shares of the lab over a made-up program whose truth is known by hand: a function
 * with branches every five instructions and one with straight code, which the program calls in
 * turn.
 */
#include "unit.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/lab/collect/sampled.h"

#define ROUNDS         3000
#define BRANCHY_TURNS  20
#define BRANCHY_INSNS  5
#define STRAIGHT_TURNS 4
#define STRAIGHT_INSNS 100
#define HORIZON        512

enum { MAIN, BRANCHY, STRAIGHT };

static uint32_t function_of(void *context, uint64_t address)
{
	(void)context;
	return address < 0x2000 ? MAIN : address < 0x3000 ? BRANCHY : STRAIGHT;
}

static void add(struct lab_stream *s, uint64_t from, uint64_t target, uint16_t kind, bool taken,
		uint32_t insn_cnt)
{
	const struct pathprof_branch branch = {.from = from,
					       .target = target,
					       .next = taken ? target : from + 2,
					       .kind = kind,
					       .taken = taken};

	lab_stream_add(s, &branch, insn_cnt, 0);
}

/* Called from `site`, a loop of so many turns and instructions a turn. */
static void add_function(struct lab_stream *s, uint64_t site, uint64_t function, uint32_t turns,
			 uint32_t insn_cnt)
{
	add(s, site, function, PERF_BR_CALL, true, 5);
	for (uint32_t t = 0; t < turns; t++)
		add(s, function + 0x100, function, PERF_BR_COND, t + 1 < turns, insn_cnt);
	add(s, function + 0x110, site + 5, PERF_BR_RET, true, 3);
}

static void make_program(struct lab_stream *s, size_t rounds)
{
	lab_stream_init(s, function_of, NULL);
	for (size_t i = 0; i < rounds; i++) {
		add_function(s, 0x1010, 0x2000, BRANCHY_TURNS, BRANCHY_INSNS);
		add_function(s, 0x1020, 0x3000, STRAIGHT_TURNS, STRAIGHT_INSNS);
		add(s, 0x1030, 0x1000, PERF_BR_UNCOND, true, 2);
	}
	lab_stream_finish(s);
}

#define BRANCHY_ALL  (BRANCHY_TURNS * BRANCHY_INSNS + 3)
#define STRAIGHT_ALL (STRAIGHT_TURNS * STRAIGHT_INSNS + 3)
#define ROUND_ALL    (5 + BRANCHY_ALL + 5 + STRAIGHT_ALL + 2)

/* ---------------------------------------------------------------- windows */

/* Every instruction of the stream by itself: the transfer it belongs to, and how many are left. */
static size_t naive_window(const struct lab_stream *s, uint64_t place, uint32_t horizon,
			   struct pathprof_branch *ret_branches)
{
	uint64_t at = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < s->cnt; i++) {
		const struct lab_transfer *t = &s->transfers[s->list[i]];
		uint64_t end = at + t->branch.insns;

		if (end > place) {
			if (t->type != LAB_TRANSFER_BRANCH || end > place + horizon)
				break;
			ret_branches[cnt] = t->branch;
			ret_branches[cnt++].insns = (uint32_t)(end - (at > place ? at : place));
		}
		at = end;
	}
	return cnt;
}

static size_t window_differences(const struct lab_stream *s, uint32_t horizon, uint64_t shift)
{
	const struct lab_window_form form = {.clock = LAB_STREAM_INSNS, .horizon = horizon};
	struct pathprof_branch here[PATHPROF_BURST_MAX], there[PATHPROF_BURST_MAX];
	size_t different = 0;
	uint32_t insns;

	for (uint64_t place = 0; place + shift < s->total[LAB_STREAM_INSNS]; place++) {
		uint32_t cnt = lab_stream_window(s, &form, place + shift, here, &insns);

		different += cnt != naive_window(s, place, horizon, there) ||
			     memcmp(here, there, cnt * sizeof(here[0])) != 0;
	}
	return different;
}

static void test_windows_are_slices(void)
{
	struct lab_stream s;

	make_program(&s, 10);
	CU_ASSERT_EQUAL(s.total[LAB_STREAM_INSNS], 10 * ROUND_ALL);
	CU_ASSERT_EQUAL(window_differences(&s, HORIZON, 0), 0);
	CU_ASSERT_EQUAL(window_differences(&s, 30, 0), 0);
	/* The planted fault: windows begin an instruction late. */
	CU_ASSERT(window_differences(&s, HORIZON, 1) > 1000);
	lab_stream_release(&s);
}

static void test_windows_end_before_the_kernel_and_at_tears(void)
{
	const struct lab_window_form form = {.clock = LAB_STREAM_INSNS, .horizon = 1000};
	const struct lab_window_form hardware = {.clock = LAB_STREAM_TAKEN, .taken = 32};
	const struct pathprof_branch loop = {
		.from = 0x110, .target = 0x100, .next = 0x100, .kind = PERF_BR_UNCOND, .taken = 1};
	struct pathprof_branch branches[PATHPROF_BURST_MAX];
	struct lab_stream s;
	uint32_t insns;

	lab_stream_init(&s, function_of, NULL);
	for (size_t i = 0; i < 6; i++) {
		lab_stream_add(&s, &loop, 10, i == 3 ? 4 : 0);
		if (i == 4)
			lab_stream_tear(&s);
	}
	lab_stream_finish(&s);
	CU_ASSERT_EQUAL(lab_stream_window(&s, &form, 0, branches, &insns), 3);
	CU_ASSERT_EQUAL(insns, 30);
	CU_ASSERT_EQUAL(lab_stream_window(&s, &form, 32, branches, &insns), 0);
	CU_ASSERT_EQUAL(lab_stream_window(&s, &form, 35, branches, &insns), 2);
	CU_ASSERT_EQUAL(branches[0].insns, 5);
	/* Hardware sees no system call. */
	CU_ASSERT_EQUAL(lab_stream_window(&s, &hardware, 0, branches, &insns), 4);
	CU_ASSERT_EQUAL(branches[2].insns, 10);
	lab_stream_release(&s);
}

/* A path is seen from as many places as its weight makes up for: each run counts HORIZON. */
static void test_weights_count_each_run_alike(void)
{
	const struct lab_window_form form = {.clock = LAB_STREAM_INSNS, .horizon = HORIZON};
	struct pathprof_branch branches[PATHPROF_BURST_MAX];
	struct lab_stream s;
	uint32_t insns, cnt;
	double runs = 0;

	make_program(&s, 10);
	/* All places from which a path of the fourth to the seventh round is seen. */
	for (uint64_t place = 3 * ROUND_ALL; place < 4 * ROUND_ALL; place++) {
		cnt = lab_stream_window(&s, &form, place, branches, &insns);
		for (uint32_t i = 0; i + 1 < cnt; i++) {
			uint32_t span = branches[i + 1].insns;

			if (branches[i].next == 0x3000 && branches[i + 1].from == 0x3100 &&
			    branches[i + 1].taken)
				runs += (double)HORIZON / (HORIZON - span);
		}
	}
	CU_ASSERT_DOUBLE_EQUAL(runs, (double)HORIZON * (STRAIGHT_TURNS - 1), 1e-6);
	lab_stream_release(&s);
}

/* ---------------------------------------------------------------- truth */

static void test_truth_is_that_of_the_program(void)
{
	const struct lab_path_key branchy = {0x2000, 1, 1}, straight = {0x3000, 1, 1};
	const struct lab_stream *streams[1];
	struct lab_stream s;
	struct lab_mix mix;
	double paths;

	make_program(&s, ROUNDS);
	streams[0] = &s;
	lab_mix_init(&mix, streams, 1, LAB_STREAM_INSNS, HORIZON);
	CU_ASSERT_DOUBLE_EQUAL(mix.function_time[BRANCHY], (double)BRANCHY_ALL / ROUND_ALL, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(mix.function_time[STRAIGHT], (double)STRAIGHT_ALL / ROUND_ALL, 1e-9);
	/* A turn of a loop is a path, and so is what leads to its end, and a round of main. */
	paths = BRANCHY_TURNS + 1 + STRAIGHT_TURNS + 1 + 1;
	CU_ASSERT_DOUBLE_EQUAL(mix.function_runs[BRANCHY], (BRANCHY_TURNS + 1) / paths, 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(lab_profile_find(&mix.truth, &branchy)[LAB_MIX_TIME],
			       (BRANCHY_TURNS - 1.0) * BRANCHY_INSNS / ROUND_ALL, 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(lab_profile_find(&mix.truth, &straight)[LAB_MIX_TIME],
			       (STRAIGHT_TURNS - 1.0) * STRAIGHT_INSNS / ROUND_ALL, 1e-3);
	lab_mix_release(&mix);
	lab_stream_release(&s);
}

static void test_two_programs_have_half_of_the_time_each(void)
{
	const struct lab_stream *streams[2];
	struct lab_stream longer, shorter;
	struct lab_mix mix;

	make_program(&longer, 4 * ROUNDS);
	make_program(&shorter, ROUNDS);
	streams[0] = &longer;
	streams[1] = &shorter;
	lab_mix_init(&mix, streams, 2, LAB_STREAM_INSNS, HORIZON);
	CU_ASSERT_EQUAL(mix.function_cnt, 6);
	CU_ASSERT_DOUBLE_EQUAL(mix.function_time[BRANCHY], mix.function_time[3 + BRANCHY], 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(mix.function_runs[BRANCHY], mix.function_runs[3 + BRANCHY], 1e-3);
	lab_mix_release(&mix);
	lab_stream_release(&longer);
	lab_stream_release(&shorter);
}

/* ---------------------------------------------------------------- estimates */

struct overlaps {
	double runs, time, functions, straight;
};

/* leave_out: a function whose clock samples are lost; below 0: none. */
static struct overlaps estimate(enum lab_sampled_estimator estimator, uint32_t horizon,
				bool without_weights, int leave_out)
{
	const struct lab_window_form form = {
		.clock = LAB_STREAM_INSNS, .horizon = horizon, .taken = 32};
	const struct lab_stream *streams[1];
	struct lab_sampled sampled;
	struct lab_stream s;
	struct lab_mix mix;
	struct overlaps ret;
	uint64_t clock[3] = {0}, state = 5;

	make_program(&s, ROUNDS);
	streams[0] = &s;
	lab_mix_init(&mix, streams, 1, LAB_STREAM_INSNS, HORIZON);
	lab_mix_clock(&mix, 100000, &state, clock);
	if (leave_out >= 0)
		clock[leave_out] = 0;
	lab_sampled_init(&sampled, &mix, &form, 3);
	sampled.without_weights = without_weights;
	lab_sampled_take(&sampled, 3000);
	lab_sampled_read(&sampled, estimator, clock);
	ret = (struct overlaps){lab_sampled_overlap_runs(&sampled),
				lab_sampled_overlap_time(&sampled),
				lab_sampled_overlap_functions(&sampled),
				sampled.function_time[STRAIGHT] - mix.function_time[STRAIGHT]};
	lab_sampled_release(&sampled);
	lab_mix_release(&mix);
	lab_stream_release(&s);
	return ret;
}

static void test_a_horizon_finds_the_truth_and_a_number_of_branches_does_not(void)
{
	struct overlaps taken = estimate(LAB_SAMPLED_PLAIN, 0, false, -1);
	struct overlaps weights = estimate(LAB_SAMPLED_WEIGHTS, HORIZON, false, -1);
	struct overlaps strata = estimate(LAB_SAMPLED_STRATA, HORIZON, false, -1);

	CU_ASSERT(weights.runs > 0.94);
	CU_ASSERT(strata.runs > 0.94);
	CU_ASSERT(strata.time > 0.97);
	CU_ASSERT(strata.functions > 0.99);
	CU_ASSERT(taken.functions < 0.9);
}

static void test_planted_faults_are_seen(void)
{
	struct overlaps sound = estimate(LAB_SAMPLED_STRATA, 256, false, -1);
	struct overlaps plain = estimate(LAB_SAMPLED_WEIGHTS, 256, true, -1);
	struct overlaps weighted = estimate(LAB_SAMPLED_WEIGHTS, 256, false, -1);
	struct overlaps left_out = estimate(LAB_SAMPLED_STRATA, 256, false, STRAIGHT);

	CU_ASSERT(plain.time < weighted.time - 0.05);
	CU_ASSERT(fabs(sound.straight) < 0.01);
	CU_ASSERT(sound.functions > 0.99);
	CU_ASSERT(left_out.straight < -0.04);
	CU_ASSERT(left_out.functions < 0.95);
}

static const struct unit_test tests[] = {
	{"windows are slices of the stream, from any instruction", test_windows_are_slices},
	{"windows end before the kernel and at tears",
	 test_windows_end_before_the_kernel_and_at_tears},
	{"weights count each run alike", test_weights_count_each_run_alike},
	{"the truth is that of the program", test_truth_is_that_of_the_program},
	{"two programs have half of the time each", test_two_programs_have_half_of_the_time_each},
	{"a horizon finds the truth and a number of branches does not",
	 test_a_horizon_finds_the_truth_and_a_number_of_branches_does_not},
	{"planted faults are seen", test_planted_faults_are_seen},
};
UNIT_SUITE(sampled, tests)
