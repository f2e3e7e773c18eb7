// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths out of bursts: what is censored is not counted, and the weights undo the bias of a short
 * window: over every position of the window on a long stream, the weights of a path add up to its
 * true count times the window length.
 */
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/paths.h"

#define STREAM_LEN 4000
#define WINDOW     16
#define KINDS_MAX  16

/* A program of loops: iteration i of loop `body` takes body + 1 branches, back edge included. */
static void make_stream(struct pathprof_branch *stream)
{
	uint64_t state = 42;
	size_t cnt = 0;

	while (cnt < STREAM_LEN) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		uint32_t body = (uint32_t)(state >> 33) % 9;
		uint64_t base = 0x1000;

		/* Which of nine bodies runs shows in where its first branch goes. */
		for (uint32_t i = 0; i < body && cnt < STREAM_LEN - 1; i++) {
			uint64_t from = base + 0x10 * i + 4, to = from + 0xc;

			stream[cnt++] = (struct pathprof_branch){from, to, to, PERF_BR_COND, 1};
		}
		uint64_t end = base + 0x10 * body + 8;
		stream[cnt++] = (struct pathprof_branch){end, base, base, PERF_BR_COND, 1};
	}
}

struct sums {
	double weight[33], samples[33];
};

static void add(void *context, const struct pathprof_path_seen *path)
{
	struct sums *sums = context;

	sums->weight[path->length] += path->weight;
	sums->samples[path->length] += 1;
}

/* All windows of the stream, which is taken as a ring so that every position counts alike. */
static void slide(const struct pathprof_branch *stream, struct sums *sums)
{
	struct pathprof_branch window[WINDOW];

	for (size_t at = 0; at < STREAM_LEN; at++) {
		for (size_t i = 0; i < WINDOW; i++)
			window[i] = stream[(at + i) % STREAM_LEN];
		CU_ASSERT(pathprof_paths_of_burst(window, WINDOW, PATHPROF_MAPPING_BL, add, sums) >=
			  0);
	}
}

static void true_counts(const struct pathprof_branch *stream, double *counts)
{
	size_t length = 0;

	for (size_t i = 0; i < STREAM_LEN; i++) {
		length++;
		if (stream[i].target > stream[i].from)
			continue;
		counts[length]++;
		length = 0;
	}
}

static bool weights_are_unbiased(const double *sum, const double *counts)
{
	for (int length = 1; length <= 9; length++)
		if (fabs(sum[length] / WINDOW - counts[length]) > 1e-6 * counts[length])
			return false;
	return true;
}

static void test_weights_undo_window_bias(void)
{
	static struct pathprof_branch stream[STREAM_LEN];
	double counts[33] = {0};
	struct sums sums = {0};

	make_stream(stream);
	true_counts(stream, counts);
	slide(stream, &sums);
	for (int length = 1; length <= 9; length++)
		CU_ASSERT(counts[length] > 50);
	CU_ASSERT(weights_are_unbiased(sums.weight, counts));
	/* The planted fault: without weights the same check must fail, and against long paths. */
	CU_ASSERT_FALSE(weights_are_unbiased(sums.samples, counts));
	CU_ASSERT(sums.samples[9] / counts[9] < sums.samples[1] / counts[1]);
}

static void test_ends_of_a_burst_are_censored(void)
{
	/* Middle of a path; its end; a whole one; the beginning of another. */
	struct pathprof_branch b[] = {{0x1004, 0x1010, 0x1010, PERF_BR_COND, 1},
				      {0x1018, 0x1000, 0x1000, PERF_BR_COND, 1},
				      {0x1004, 0x1010, 0x1006, PERF_BR_COND, 0},
				      {0x1018, 0x1000, 0x1000, PERF_BR_COND, 1},
				      {0x1004, 0x1010, 0x1010, PERF_BR_COND, 1}};
	struct sums sums = {0};

	CU_ASSERT_EQUAL(pathprof_paths_of_burst(b, 5, PATHPROF_MAPPING_BL, add, &sums), 1);
	CU_ASSERT_EQUAL(sums.samples[2], 1);
	CU_ASSERT_DOUBLE_EQUAL(sums.weight[2], 4.0 / 3, 1e-12);
}

static void test_return_into_unknown_caller_counts_nothing(void)
{
	struct pathprof_branch b[] = {{0x1004, 0x2000, 0x2000, PERF_BR_CALL, 1},
				      {0x2004, 0x1009, 0x1009, PERF_BR_RET, 1},
				      {0x1010, 0x1020, 0x1020, PERF_BR_COND, 1},
				      {0x1024, 0x900, 0x900, PERF_BR_RET, 1}};
	struct sums sums = {0};

	/* Only the callee was seen from its start to its end. */
	CU_ASSERT_EQUAL(pathprof_paths_of_burst(b, 4, PATHPROF_MAPPING_BL, add, &sums), 1);
	CU_ASSERT_EQUAL(sums.samples[0], 1);
}

static void test_malformed_records_are_refused_whole(void)
{
	struct pathprof_branch b[] = {{0x1018, 0x1000, 0x1000, PERF_BR_COND, 1},
				      {0x1018, 0x1000, 0x1000, PERF_BR_COND, 1},
				      {0x1018, 0x1000, 0x1000, PERF_BR_COND, 1}};
	struct sums sums = {0};

	CU_ASSERT_EQUAL(pathprof_paths_of_burst(b, 3, PATHPROF_MAPPING_BL, add, &sums), 2);
	b[2].kind = 77;
	CU_ASSERT_EQUAL(pathprof_paths_of_burst(b, 3, PATHPROF_MAPPING_BL, add, &sums), -EINVAL);
	b[2].kind = PERF_BR_COND;
	b[1].taken = 2;
	CU_ASSERT_EQUAL(pathprof_paths_of_burst(b, 3, PATHPROF_MAPPING_BL, add, &sums), -EINVAL);
	CU_ASSERT_EQUAL(sums.samples[1], 2);
	CU_ASSERT_EQUAL(pathprof_paths_of_burst(b, 0, PATHPROF_MAPPING_BL, add, &sums), 0);
}

static const struct unit_test tests[] = {
	{"weights undo the bias of a short window", test_weights_undo_window_bias},
	{"the ends of a burst are censored", test_ends_of_a_burst_are_censored},
	{"a return into an unknown caller counts nothing",
	 test_return_into_unknown_caller_counts_nothing},
	{"malformed records are refused whole", test_malformed_records_are_refused_whole},
};
UNIT_SUITE(burst, tests)
