// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TIME and RUNS: figures worked out by hand, the ends of the scale, and a made-up program of which
 * the truth is known, sampled again and again.
 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "oracle_stream.h"
#include "pathprof/shares.h"

#define NEAR(x, y) CU_ASSERT_DOUBLE_EQUAL(x, y, 1e-5)

static bool is_ordered(const struct pathprof_share *share)
{
	return share->low >= 0 && share->low <= share->value && share->value <= share->high &&
	       share->high <= 1;
}

static bool is_unknown(const struct pathprof_share *share)
{
	return isnan(share->value) && isnan(share->low) && isnan(share->high);
}

static void test_by_hand(void)
{
	struct pathprof_shares_function functions[] = {
		{.clock_samples = 600}, {.clock_samples = 300}, {.clock_samples = 50}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 30, .squares = 30, .weight = 30, .insns = 3000},
		{.function = 0, .samples = 10, .squares = 10, .weight = 10, .insns = 1000},
		{.function = 1, .samples = 20, .squares = 20, .weight = 20, .insns = 6000},
	};
	struct pathprof_shares shares = {functions, 3, paths, 3, 1000, 100};

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].time.value, 0.6);
	NEAR(functions[1].time.value, 0.3);
	NEAR(functions[1].time.low, 0.27241);
	NEAR(functions[1].time.high, 0.32912);
	NEAR(functions[2].time.value, 0.05);
	NEAR(paths[0].time.value, 0.45);
	NEAR(paths[1].time.value, 0.15);
	NEAR(paths[2].time.value, 0.3);
	/* The only path of its function: 20 / (20 + z^2) of it at least, times the clock's error.
	 */
	NEAR(paths[2].time.low, 0.3 * exp(-hypot(log(0.300000 / 0.2724068), log(23.8414588 / 20))));
	NEAR(paths[2].time.high, 0.32912);
	NEAR(paths[0].runs.value, 3.0 / 6);
	NEAR(paths[1].runs.value, 1.0 / 6);
	NEAR(paths[2].runs.value, 2.0 / 6);
	NEAR(functions[0].runs.value, 4.0 / 6);
	NEAR(functions[1].runs.value, 2.0 / 6);
	CU_ASSERT_TRUE(is_unknown(&functions[2].runs));
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT_TRUE(is_ordered(&paths[i].time));
		CU_ASSERT_TRUE(is_ordered(&paths[i].runs));
	}
}

/* Three paths seen as often: RUNS scatter by the sightings, whatever the clock says. */
static void test_runs_by_hand(void)
{
	struct pathprof_shares_function functions[] = {{.clock_samples = 400},
						       {.clock_samples = 100}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 1000, .weight = 1000, .insns = 4000},
		{.function = 0, .samples = 1000, .weight = 1000, .insns = 9000},
		{.function = 1, .samples = 1000, .weight = 2000, .insns = 1000},
	};
	struct pathprof_shares shares = {functions, 2, paths, 3, 500, 0};
	/* r = 1/2 of one path: its logit varies by v + sum of r^2 v of the others / (1 - r)^2 */
	double single = 2 * asinh(1.959964 / 2 * sqrt(1e-3 + 0.5e-3));
	/* Two paths that may err together: twice 1/4 sqrt(v). */
	double both = 2 * asinh(1.959964 / 2 * sqrt(1e-3 + 1e-3));

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].runs.value, 0.5);
	NEAR(functions[0].runs.low, 1 / (1 + exp(both)));
	NEAR(functions[0].runs.high, 1 / (1 + exp(-both)));
	NEAR(paths[2].runs.low, 1 / (1 + exp(single)));
	NEAR(functions[1].runs.high, 1 / (1 + exp(-single)));
	/* Windows are a fixed number: a path that is seen in each hardly scatters. */
	shares.bursts = 1100;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(paths[2].runs.low, 1 / (1 + exp(single)));
	for (size_t i = 0; i < 3; i++)
		paths[i].squares = 5000;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	/* 1099 degrees of freedom: Student's quantile is 1.962125. */
	single = 2 * asinh(1.962125 / 2 * sqrt(1.5 * (5e-3 - 1.0 / 1100) / (1 - 1.0 / 1100)));
	NEAR(paths[2].runs.low, 1 / (1 + exp(single)));
}

static void test_clock_interval(void)
{
	struct pathprof_share none = pathprof_share_of_samples(0, 0);
	struct pathprof_share zero = pathprof_share_of_samples(0, 100);
	struct pathprof_share all = pathprof_share_of_samples(100, 100);

	CU_ASSERT_TRUE(is_unknown(&none));
	CU_ASSERT_EQUAL(zero.value, 0);
	CU_ASSERT_EQUAL(zero.low, 0);
	NEAR(zero.high, 3.8414588 / 103.8414588);
	CU_ASSERT_EQUAL(all.high, 1);
	NEAR(all.low, 100 / 103.8414588);
	none = pathprof_share_of_samples(2, 1);
	CU_ASSERT_TRUE(is_unknown(&none));
}

static void test_few_bursts(void)
{
	struct pathprof_shares_function functions[] = {{.clock_samples = 500000},
						       {.clock_samples = 500000}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 30, .squares = 900, .weight = 30, .insns = 300},
		{.function = 0, .samples = 60, .squares = 1800, .weight = 60, .insns = 600},
		{.function = 1, .samples = 60, .squares = 1800, .weight = 60, .insns = 600},
	};
	struct pathprof_shares shares = {functions, 2, paths, 3, 1000000, 3};

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	/*
	 * One burst, beside two: the variance of the logit of 1/3 is 1 + 1/2, as if they were
	 * independent, for what so few have in common is not known: 0.0614..0.7927.
	 */
	NEAR(paths[0].time.value, 0.5 / 3);
	CU_ASSERT_DOUBLE_EQUAL(paths[0].time.low, 0.5 * 0.0614, 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(paths[0].time.high, 0.5 * 0.7927, 1e-3);
	/* All of two: 2 / (2 + z^2) at least. */
	CU_ASSERT_DOUBLE_EQUAL(paths[2].time.low, 0.5 * 0.342, 1e-3);
	CU_ASSERT_TRUE(paths[2].runs.high - paths[2].runs.low > 0.3);
}

/* Two paths of a single burst, half of its samples each: of what other bursts show it says nothing.
 */
static void test_single_burst(void)
{
	struct pathprof_shares_function functions[] = {{.clock_samples = 50},
						       {.clock_samples = 50}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 15, .squares = 225, .weight = 15, .insns = 150},
		{.function = 0, .samples = 15, .squares = 225, .weight = 15, .insns = 150},
	};
	struct pathprof_shares shares = {functions, 2, paths, 2, 100, 1};

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(paths[0].runs.value, 0.5);
	CU_ASSERT_TRUE(paths[0].runs.low < 0.01 && paths[0].runs.high > 0.99);
	NEAR(paths[0].time.value, 0.25);
	CU_ASSERT_TRUE(paths[0].time.low < 0.06 && paths[0].time.high > 0.44);
}

/* Each of the function's bursts shows the same mix: that they are few is no error of the mix. */
static void test_same_mix(void)
{
	struct pathprof_shares_function functions[] = {{.clock_samples = 500000},
						       {.clock_samples = 500000}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 300, .squares = 900, .weight = 300, .insns = 3000},
		{.function = 0, .samples = 700, .squares = 4900, .weight = 700, .insns = 7000},
		{.function = 1, .samples = 1000, .squares = 10000, .weight = 1000, .insns = 10000},
	};
	struct pathprof_shares shares = {functions, 2, paths, 3, 1000000, 200};
	double half;

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	/* as of 300 of 1000 independent sightings */
	half = (paths[0].time.high - paths[0].time.low) / 2;
	CU_ASSERT_DOUBLE_EQUAL(half, 0.5 * 1.96 * 0.3 / sqrt(300), 1e-3);
	/* a burst in ten has ten times as much of it */
	paths[0].squares = 9000;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	CU_ASSERT_TRUE(paths[0].time.high - paths[0].time.low > 2 * 2 * half);
}

/* Paths too long for a window: the first function's known paths make up 60 % of its time. */
static void test_too_long(void)
{
	struct pathprof_shares_function functions[] = {{.clock_samples = 500},
						       {.clock_samples = 500}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 20, .squares = 20, .weight = 20, .insns = 200},
		{.function = 0, .samples = 10, .squares = 10, .weight = 10, .insns = 100},
		{.function = 1, .samples = 50, .squares = 50, .weight = 50, .insns = 500},
	};
	struct pathprof_shares shares = {functions, 2, paths, 3, 1000, 100};
	struct pathprof_share before, other;

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	before = paths[1].time;
	other = paths[2].time;
	shares.insns_a_sample = 1;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(paths[1].time.value, before.value);
	NEAR(paths[1].time.low, 0.6 * before.low);
	NEAR(paths[1].time.high, before.high / 0.6);
	NEAR(paths[2].time.low, other.low);
	NEAR(paths[2].time.high, other.high);
	/* Nothing is missing in all: it only executes fewer instructions a second. */
	paths[2].insns = 700;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(paths[1].time.low, before.low);
	NEAR(paths[1].time.high, before.high);
	shares.insns_a_sample = NAN;
	CU_ASSERT_EQUAL(pathprof_shares_work_out(&shares), -EINVAL);
}

/* Runs that no window holds may be as many as take the instructions that are missing. */
static void test_too_long_runs(void)
{
	struct pathprof_shares_function function = {.clock_samples = 1000};
	struct pathprof_shares_path paths[] = {
		{.samples = 60, .squares = 60, .weight = 60, .insns = 600},
		{.samples = 20, .squares = 20, .weight = 20, .insns = 200},
	};
	struct pathprof_shares shares = {&function, 1, paths, 2, 1000, 100, .insns_a_sample = 1};
	struct pathprof_share before;

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	before = paths[0].runs;
	/* 1000 instructions in all are ten runs of more than 100 */
	shares.horizon = 100;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(paths[0].runs.value, before.value);
	NEAR(paths[0].runs.low, before.low * 80 / 90);
	NEAR(paths[0].runs.high, before.high);
	/* a run has an instruction of its own, and 200 are missing */
	shares.horizon = 2;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(paths[0].runs.low, before.low * 80 / 280);
	/* none is missing */
	paths[1].insns = 400;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(paths[0].runs.low, before.low);
	shares.horizon = -1;
	CU_ASSERT_EQUAL(pathprof_shares_work_out(&shares), -EINVAL);
}

/* Bursts that end early show hardly anything of the second function, which has half of the time. */
static void test_cut_short(void)
{
	struct pathprof_shares_function functions[] = {{.clock_samples = 500},
						       {.clock_samples = 500}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 50, .squares = 50, .weight = 50, .insns = 500},
		{.function = 1, .samples = 1, .squares = 1, .weight = 1, .insns = 10},
	};
	struct pathprof_shares shares = {functions, 2, paths, 2, 1000, 100};
	struct pathprof_share first, second;

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	first = functions[0].runs;
	second = functions[1].runs;
	/* Whole bursts miss ten runs of more than 100 instructions at most. */
	shares.insns_a_sample = 1;
	shares.horizon = 100;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].runs.low, first.low * 51 / 61);
	NEAR(functions[1].runs.high, second.high);
	NEAR(shares.unseen, 10.0 / 61);
	/* Bursts cut short miss 490 instructions: 49 runs, as what was seen has one each ten. */
	shares.cut_samples = 1000;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].runs.value, 50.0 / 51);
	NEAR(functions[0].runs.low, first.low * 51 / 100);
	NEAR(functions[0].runs.high, first.high);
	NEAR(functions[1].runs.low, second.low * 51 / 100);
	NEAR(functions[1].runs.high, (51 * second.high + 49) / 100);
	NEAR(paths[1].runs.high, functions[1].runs.high);
	NEAR(shares.unseen, 0.49);
	/* They stand for 100 instructions, ten runs; whole ones miss ten others. */
	shares.cut_samples = 100;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].runs.low, first.low * 51 / 71);
	NEAR(functions[1].runs.high, (51 * second.high + 10) / 61);
	shares.cut_samples = -1;
	CU_ASSERT_EQUAL(pathprof_shares_work_out(&shares), -EINVAL);
}

/* A function without paths may have run as often an instruction; the kernel has no RUNS. */
static void test_without_paths(void)
{
	struct pathprof_shares_function functions[] = {{.clock_samples = 500},
						       {.clock_samples = 500}};
	struct pathprof_shares_path path = {.samples = 50, .weight = 50, .insns = 500};
	struct pathprof_shares shares = {functions, 2, &path, 1, 1000, 100, 1, 100};
	double all = 50 / (50 + 3.8414588);

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].runs.low, all / 2);
	NEAR(functions[0].runs.high, 1);
	NEAR(shares.unseen, 0.5);
	functions[1].kernel = true;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].runs.low, all);
	NEAR(shares.unseen, 0);
	/* No instruction is missing: the clock alone found the second. */
	functions[1].kernel = false;
	path.insns = 1000;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].runs.low, all);
}

static void test_pool(void)
{
	struct pathprof_shares_function functions[] = {
		{.clock_samples = 990}, {.clock_samples = 1}, {0}, {.clock_samples = 1}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 50, .weight = 50, .insns = 9000},
		{.function = 1, .samples = 1, .weight = 1, .insns = 100},
		{.function = 2, .samples = 3, .weight = 3, .insns = 300},
	};
	struct pathprof_shares shares = {functions, 4, paths, 3, 1000, 100};

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].time.value, 0.99);
	NEAR(functions[1].time.value, 0.00025);
	NEAR(functions[2].time.value, 0.00075);
	NEAR(functions[3].time.value, 0.001); /* without paths: what the clock says */
	CU_ASSERT_EQUAL(paths[2].time.value, functions[2].time.value);
	NEAR(paths[2].runs.value / paths[1].runs.value, 3);
	NEAR(functions[2].runs.value, paths[2].runs.value);
	CU_ASSERT_TRUE(functions[2].time.high > 0.002);
}

/* A function of the pool may be ten times as slow as its instructions say: its samples bound it. */
static void test_pool_intervals(void)
{
	struct pathprof_shares_function functions[] = {
		{.clock_samples = 298}, {.clock_samples = 1}, {.clock_samples = 1}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 5000, .weight = 5000, .insns = 90000},
		{.function = 1, .samples = 5000, .weight = 5000, .insns = 50},
		{.function = 1, .samples = 5000, .weight = 5000, .insns = 50},
		{.function = 2, .samples = 5000, .weight = 5000, .insns = 5000},
	};
	struct pathprof_shares shares = {functions, 3, paths, 4, 300, 5000};
	struct pathprof_share one = pathprof_share_of_samples(1, 300);

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[1].time.value, 2.0 / 300 * 100 / 5100);
	NEAR(functions[1].time.high, one.high);
	NEAR(functions[2].time.low, one.low);
	CU_ASSERT_TRUE(functions[2].time.high > one.high);
	CU_ASSERT_TRUE(paths[1].time.high > one.high / 3 && paths[1].time.high < one.high);
	CU_ASSERT_TRUE(paths[3].time.low < paths[3].time.value / 2);
}

/* A pool without samples takes in functions that have three at most, and none that have more. */
static void test_pool_without_samples(void)
{
	struct pathprof_shares_function functions[] = {{.clock_samples = 3}, {0}, {0}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 50, .weight = 50, .insns = 9000},
		{.function = 1, .samples = 50, .weight = 50, .insns = 18000},
	};
	struct pathprof_shares shares = {functions, 3, paths, 2, 3, 100};

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].time.value, 1.0 / 3);
	NEAR(functions[1].time.value, 2.0 / 3);
	CU_ASSERT_EQUAL(functions[2].time.value, 0);

	functions[0].clock_samples = shares.clock_samples = 4;
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	CU_ASSERT_EQUAL(functions[0].time.value, 1);
	CU_ASSERT_EQUAL(functions[1].time.value, 0);
	NEAR(functions[1].time.high, 3.8414588 / 7.8414588);
	NEAR(functions[1].runs.value, 0.5);
}

/* All samples of the clock lie where no path was seen. */
static void test_time_elsewhere(void)
{
	struct pathprof_shares_function functions[] = {{0}, {.clock_samples = 60}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 3, .weight = 3, .insns = 30},
		{.function = 0, .samples = 1, .weight = 1, .insns = 10},
	};
	struct pathprof_shares shares = {functions, 2, paths, 2, 100, 4};

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	CU_ASSERT_EQUAL(paths[0].time.value, 0);
	CU_ASSERT_TRUE(paths[0].time.high > 0.01 && paths[0].time.high < 0.04);
	NEAR(paths[0].runs.value, 0.75);
	NEAR(functions[0].runs.value, 1);
	NEAR(functions[1].time.value, 0.6);
	CU_ASSERT_TRUE(is_unknown(&functions[1].runs));
}

static void test_without_a_clock(void)
{
	struct pathprof_shares_function functions[] = {{0}, {0}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 30, .weight = 60, .insns = 3000},
		{.function = 1, .samples = 10, .weight = 20},
	};
	struct pathprof_shares shares = {functions, 2, paths, 2, 0, 100};

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	CU_ASSERT_TRUE(is_unknown(&paths[0].time));
	CU_ASSERT_TRUE(is_unknown(&functions[0].time));
	NEAR(paths[0].runs.value, 0.75);
	NEAR(paths[1].runs.value, 0.25);
	/* 30 of 40, each by itself: Wilson's interval. */
	NEAR(paths[0].runs.low, 0.598060);
	NEAR(paths[0].runs.high, 0.858129);
	NEAR(functions[0].runs.low, paths[0].runs.low);
}

/* RUNS need none. */
static void test_without_instructions(void)
{
	struct pathprof_shares_function functions[] = {{.clock_samples = 50},
						       {.clock_samples = 50}};
	struct pathprof_shares_path paths[] = {
		{.function = 0, .samples = 30, .weight = 60, .insns = 3000},
		{.function = 1, .samples = 10, .weight = 20},
	};
	struct pathprof_shares shares = {functions, 2, paths, 2, 100, 100};

	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	NEAR(paths[0].time.value, 0.5);
	NEAR(paths[0].runs.value, 0.75);
	CU_ASSERT_TRUE(is_unknown(&paths[1].time));
	NEAR(paths[1].runs.value, 0.25);
	NEAR(functions[1].time.value, 0.5);

	paths[0].insns = 0; /* nobody knows them: the weights alone */
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	CU_ASSERT_TRUE(is_unknown(&paths[0].time));
	NEAR(paths[0].runs.value, 0.75);
	NEAR(paths[1].runs.value, 0.25);
	NEAR(functions[1].time.value, 0.5);
}

static void test_nothing(void)
{
	struct pathprof_shares_function functions[] = {{.clock_samples = 5}};
	struct pathprof_shares shares = {.clock_samples = 10};

	CU_ASSERT_EQUAL(pathprof_shares_work_out(&shares), 0);
	shares.functions = functions;
	shares.function_cnt = 1;
	CU_ASSERT_EQUAL(pathprof_shares_work_out(&shares), 0);
	NEAR(functions[0].time.value, 0.5);
	CU_ASSERT_TRUE(is_unknown(&functions[0].runs));
	CU_ASSERT_TRUE(isnan(shares.unseen));
}

static void refused(struct pathprof_shares_path path, uint64_t in_function, uint64_t all)
{
	struct pathprof_shares_function function = {.clock_samples = in_function,
						    .time = {.value = 7}};
	struct pathprof_shares shares = {&function, 1, &path, 1, all, 1};

	path.time.value = 7;
	CU_ASSERT_EQUAL(pathprof_shares_work_out(&shares), -EINVAL);
	CU_ASSERT_EQUAL(path.time.value, 7);
	CU_ASSERT_EQUAL(function.time.value, 7);
}

static void test_refuses(void)
{
	static const struct pathprof_shares_path good = {
		.samples = 2, .squares = 4, .weight = 2, .insns = 20};
	struct pathprof_shares_path bad[10];

	for (size_t i = 0; i < 10; i++)
		bad[i] = good;
	bad[0].function = 1;
	bad[1].samples = 0;
	bad[2].squares = 5;
	bad[3].squares = -1;
	bad[4].squares = NAN;
	bad[5].weight = 0;
	bad[6].weight = NAN;
	bad[7].weight = INFINITY;
	bad[8].insns = -1;
	bad[9].insns = NAN;
	for (size_t i = 0; i < 10; i++)
		refused(bad[i], 1, 2);
	refused(good, 3, 2);
	refused(good, UINT64_MAX, 2);
}

/*
 * The made-up program: FUNCTIONS functions run one after another at random. Each runs paths of its
 * own, drawn anew each time, until it makes way. Runs and time of all are known from that.
 */
#define FUNCTIONS  12
#define PATHS_EACH 5
#define PATHS      (FUNCTIONS * PATHS_EACH)
#define CLOCKS     5000
#define WINDOWS    300
#define HORIZON    256
#define TRIALS     400

struct program {
	uint64_t random;
	double visited[FUNCTIONS]; /* share of all runs */
	unsigned int insns[PATHS];
	double often[PATHS]; /* share of the function's runs */
	double leaves;       /* chance that a function makes way after a run */
	double runs[PATHS], time[PATHS], function_time[FUNCTIONS];
};

static double uniform(uint64_t *random)
{
	return (double)(stream_random(random) >> 11) / 9007199254740992.0;
}

static unsigned int draw(uint64_t *random, const double *shares, unsigned int cnt)
{
	double at = uniform(random);

	for (unsigned int i = 0; i + 1 < cnt; i++) {
		if (at < shares[i])
			return i;
		at -= shares[i];
	}
	return cnt - 1;
}

static void program_init(struct program *p, uint64_t seed)
{
	double all = 0, all_time = 0;

	*p = (struct program){.random = seed, .leaves = 0.1};
	for (unsigned int f = 0; f < FUNCTIONS; f++)
		all += p->visited[f] = pow(0.5, f);
	for (unsigned int i = 0; i < PATHS; i++) {
		p->visited[i % FUNCTIONS] /= i < FUNCTIONS ? all : 1;
		p->insns[i] = 5 + (unsigned int)(stream_random(&p->random) % 80);
		p->often[i] =
			(double)(PATHS_EACH - i % PATHS_EACH) * 2 / (PATHS_EACH * (PATHS_EACH + 1));
	}
	for (unsigned int i = 0; i < PATHS; i++) {
		p->runs[i] = p->visited[i / PATHS_EACH] * p->often[i];
		all_time += p->time[i] = p->runs[i] * p->insns[i];
	}
	for (unsigned int i = 0; i < PATHS; i++) {
		p->time[i] /= all_time;
		p->function_time[i / PATHS_EACH] += p->time[i];
	}
}

/* Adds what one window shows. */
static void take_window(struct program *p, struct pathprof_shares_path *paths)
{
	unsigned int path = draw(&p->random, p->time, PATHS), seen[PATHS] = {0};
	unsigned int at = (unsigned int)(uniform(&p->random) * p->insns[path]);

	for (;;) {
		unsigned int f = path / PATHS_EACH;

		if (uniform(&p->random) < p->leaves)
			f = draw(&p->random, p->visited, FUNCTIONS);
		path = f * PATHS_EACH + draw(&p->random, p->often + f * PATHS_EACH, PATHS_EACH);
		if (at + p->insns[path] >= HORIZON)
			break;
		at += p->insns[path];
		seen[path]++;
	}
	for (unsigned int i = 0; i < PATHS; i++) {
		double weight = seen[i] * (double)HORIZON / (HORIZON - p->insns[i]);

		paths[i].samples += seen[i];
		paths[i].squares += (double)seen[i] * seen[i];
		paths[i].weight += weight;
		paths[i].insns += weight * p->insns[i];
	}
}

struct tally {
	double sum, squares; /* of how far off the values were */
	unsigned int held, cnt;
};

static void tally_add(struct tally *tally, const struct pathprof_share *share, double truth)
{
	double off = share->value - truth;

	tally->sum += off;
	tally->squares += off * off;
	tally->held += share->low <= truth && truth <= share->high;
	tally->cnt++;
}

static double tally_z(const struct tally *tally)
{
	double mean = tally->sum / tally->cnt;
	double variance = tally->squares / tally->cnt - mean * mean;

	return mean / sqrt(variance / tally->cnt);
}

struct tallies {
	struct tally function_time[FUNCTIONS], path_time[PATHS], path_runs[PATHS];
};

static void try_once(struct program *p, const struct program *truth, struct tallies *tallies)
{
	struct pathprof_shares_function functions[FUNCTIONS] = {0};
	struct pathprof_shares_path paths[PATHS] = {0}, seen[PATHS];
	unsigned int which[PATHS];
	struct pathprof_shares shares = {functions, FUNCTIONS, seen, 0, CLOCKS, WINDOWS};

	for (unsigned int i = 0; i < CLOCKS; i++)
		functions[draw(&p->random, p->function_time, FUNCTIONS)].clock_samples++;
	for (unsigned int i = 0; i < WINDOWS; i++)
		take_window(p, paths);
	for (unsigned int i = 0; i < PATHS; i++) {
		paths[i].function = i / PATHS_EACH;
		which[shares.path_cnt] = i;
		seen[shares.path_cnt] = paths[i];
		shares.path_cnt += paths[i].samples > 0;
	}
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	for (unsigned int f = 0; f < FUNCTIONS; f++)
		tally_add(&tallies->function_time[f], &functions[f].time, truth->function_time[f]);
	for (size_t i = 0; i < shares.path_cnt; i++) {
		tally_add(&tallies->path_time[which[i]], &seen[i].time, truth->time[which[i]]);
		tally_add(&tallies->path_runs[which[i]], &seen[i].runs, truth->runs[which[i]]);
	}
}

/* Whether the values lie around the truth, and 95 % of the intervals hold it. */
static bool is_right(const struct tally *tallies, size_t cnt)
{
	unsigned int held = 0, all = 0;
	bool biased = false;

	for (size_t i = 0; i < cnt; i++) {
		/* A path that some trials missed is biased upwards in the others. */
		if (tallies[i].cnt < TRIALS)
			continue;
		biased |= !(fabs(tally_z(&tallies[i])) < 4);
		held += tallies[i].held;
		all += tallies[i].cnt;
	}
	return !biased && all > 0 && held > 0.92 * all && held < 0.98 * all;
}

static void test_made_up_program(void)
{
	static struct tallies tallies;
	struct program p;

	program_init(&p, 20);
	for (unsigned int i = 0; i < TRIALS; i++)
		try_once(&p, &p, &tallies);
	CU_ASSERT_TRUE(is_right(tallies.function_time, FUNCTIONS));
	CU_ASSERT_TRUE(is_right(tallies.path_time, PATHS));
	CU_ASSERT_TRUE(is_right(tallies.path_runs, PATHS));
}

static void test_wrong_truth(void)
{
	static struct tallies tallies;
	struct program p;

	program_init(&p, 20);
	for (unsigned int i = 0; i < TRIALS; i++) {
		struct program wrong = p;

		wrong.function_time[1] *= 1.1;
		wrong.time[2] *= 1.1;
		wrong.runs[0] = p.time[0];
		try_once(&p, &wrong, &tallies);
	}
	CU_ASSERT_FALSE(is_right(tallies.function_time, FUNCTIONS));
	CU_ASSERT_FALSE(is_right(tallies.path_time, PATHS));
	CU_ASSERT_FALSE(is_right(tallies.path_runs, PATHS));
}

/*
 * Hardly any bursts: each falls into one of ten functions, the first of them most often, and shows
 * both of its paths. 95 % intervals of the RUNS of what is seen hold the truth in nine of ten
 * cases.
 */
#define FEW_FUNCTIONS 10
#define FEW_SAMPLES   30

static void add_few(uint64_t *random, const double *often, unsigned int bursts,
		    struct pathprof_shares_path *paths)
{
	for (unsigned int b = 0; b < bursts; b++) {
		unsigned int first = 2 * draw(random, often, FEW_FUNCTIONS), seen[2] = {0};

		for (unsigned int i = 0; i < FEW_SAMPLES; i++)
			seen[stream_random(random) >> 63]++;
		for (unsigned int i = 0; i < 2; i++) {
			paths[first + i].samples += seen[i];
			paths[first + i].squares += (double)seen[i] * seen[i];
			paths[first + i].weight += seen[i];
		}
	}
}

static void tally_few(uint64_t *random, unsigned int bursts, struct tally *tally)
{
	struct pathprof_shares_function functions[FEW_FUNCTIONS] = {0};
	struct pathprof_shares_path paths[2 * FEW_FUNCTIONS] = {0}, seen[2 * FEW_FUNCTIONS];
	struct pathprof_shares shares = {functions, FEW_FUNCTIONS, seen, 0, 0, bursts};
	double often[FEW_FUNCTIONS], all = 0;

	for (unsigned int f = 0; f < FEW_FUNCTIONS; f++)
		all += often[f] = 1.0 / (f + 1);
	for (unsigned int f = 0; f < FEW_FUNCTIONS; f++)
		often[f] /= all;
	add_few(random, often, bursts, paths);
	for (unsigned int i = 0; i < 2 * FEW_FUNCTIONS; i++) {
		paths[i].function = i / 2;
		if (paths[i].samples)
			seen[shares.path_cnt++] = paths[i];
	}
	CU_ASSERT_EQUAL_FATAL(pathprof_shares_work_out(&shares), 0);
	for (size_t i = 0; i < shares.path_cnt; i++)
		tally_add(tally, &seen[i].runs, often[seen[i].function] / 2);
}

static void test_hardly_any_bursts(void)
{
	uint64_t random = 7;

	for (unsigned int bursts = 1; bursts <= 5; bursts++) {
		struct tally tally = {0};

		for (unsigned int i = 0; i < 2000; i++)
			tally_few(&random, bursts, &tally);
		CU_ASSERT_TRUE(tally.held > 0.9 * tally.cnt);
	}
}

static const struct unit_test tests[] = {
	{"an example worked out by hand", test_by_hand},
	{"runs of two functions scatter as the clock does", test_runs_by_hand},
	{"a share of clock samples has Wilson's interval", test_clock_interval},
	{"few bursts give wide intervals", test_few_bursts},
	{"a single burst says little", test_single_burst},
	{"intervals of runs hold where bursts are hardly any", test_hardly_any_bursts},
	{"bursts that show the same mix say how it is", test_same_mix},
	{"time of paths too long for a window may be anybody's", test_too_long},
	{"runs of paths too long for a window are allowed for", test_too_long_runs},
	{"runs that bursts cut short do not hold are allowed for", test_cut_short},
	{"runs of functions without a path are allowed for", test_without_paths},
	{"functions that the clock hardly saw share their samples", test_pool},
	{"intervals in the pool reach as far as a function's own samples", test_pool_intervals},
	{"functions that the clock never saw take little from others", test_pool_without_samples},
	{"time where no path was seen", test_time_elsewhere},
	{"without a clock runs follow the weights", test_without_a_clock},
	{"a path without instructions has no figures beside others", test_without_instructions},
	{"nothing is something too", test_nothing},
	{"figures out of range are refused", test_refuses},
	{"a made-up program: no bias, and intervals that hold", test_made_up_program},
	{"a wrong truth is noticed", test_wrong_truth},
};
UNIT_SUITE(shares, tests)
