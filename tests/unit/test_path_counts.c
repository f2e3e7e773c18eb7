// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sums of counts of paths: over the copies of a function, and over the paths through a node; and
 * when a run was.
 */
#include "unit.h"

#include "../../libprofile/src/counts/pp_counted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_S 1700000000

/* A function of one path and one counter, and its copy. */
static void make_copies(struct pathprof_counted *counted,
			struct pathprof_counted_function functions[2], uint64_t image[2])
{
	functions[0].next = 1;
	functions[1].counter = sizeof(image[0]);
	*counted = (struct pathprof_counted){.functions = functions,
					     .function_cnt = 2,
					     .image = image,
					     .image_bytes = 2 * sizeof(image[0])};
}

static uint64_t sum_of_path(uint64_t one, uint64_t other)
{
	struct pathprof_counted_function functions[2] = {
		{.counting = PATHPROF_COUNTING_ARRAY, .path_cnt = 1},
		{.counting = PATHPROF_COUNTING_ARRAY, .path_cnt = 1}};
	uint64_t image[2] = {one, other}, sum;
	struct pathprof_counted_path *paths;
	struct pathprof_counted counted;
	size_t cnt;

	make_copies(&counted, functions, image);
	CU_ASSERT_EQUAL_FATAL(pathprof_counted_paths(&counted, 0, &paths, &cnt), 0);
	CU_ASSERT_EQUAL_FATAL(cnt, 1);
	sum = paths[0].count;
	free(paths);
	return sum;
}

static uint64_t sum_of_cold(uint64_t one, uint64_t other)
{
	uint64_t slots[1] = {0};
	struct pathprof_counted_function functions[2] = {
		{.counting = PATHPROF_COUNTING_WARM, .slots = slots, .slot_cnt = 1},
		{.counting = PATHPROF_COUNTING_WARM, .slots = slots, .slot_cnt = 1}};
	uint64_t image[2] = {one, other};
	struct pathprof_counted counted;

	make_copies(&counted, functions, image);
	return pathprof_counted_cold(&counted, 0);
}

static uint64_t sum_of_node(uint64_t one, uint64_t other)
{
	struct pathprof_flow_arc arc = {.from = 0, .to = 1};
	struct pathprof_counted_function function = {
		.path_cnt = 1, .node_cnt = 2, .arc_cnt = 1, .arcs = &arc};
	struct pathprof_counted counted = {.functions = &function, .function_cnt = 1};
	const struct pathprof_counted_path runs[2] = {{0, one}, {0, other}};
	uint64_t nodes[2] = {0};

	CU_ASSERT_EQUAL_FATAL(pathprof_counted_nodes(&counted, 0, runs, 2, nodes), 0);
	CU_ASSERT_EQUAL(nodes[0], nodes[1]);
	return nodes[0];
}

static void check_sums(uint64_t (*sum)(uint64_t one, uint64_t other))
{
	CU_ASSERT_EQUAL(sum(40, 2), 42);
	CU_ASSERT_EQUAL(sum(UINT64_MAX - 2, 2), UINT64_MAX);
	CU_ASSERT_EQUAL(sum(UINT64_MAX - 2, 3), UINT64_MAX);
	CU_ASSERT_EQUAL(sum(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

static void test_copies(void)
{
	check_sums(sum_of_path);
}

static void test_cold(void)
{
	check_sums(sum_of_cold);
}

static void test_nodes(void)
{
	check_sums(sum_of_node);
}

/* The times of a file of counts that began at one time and was changed last at another. */
static struct pathprof_counts_run run_of(int64_t begin_ns, struct timespec changed)
{
	const struct pathprof_counts_head head = {.magic = PATHPROF_COUNTS_MAGIC,
						  .version = PATHPROF_COUNTS_VERSION,
						  .used_bytes = PATHPROF_COUNTS_PAGE,
						  .start_ns = (uint64_t)begin_ns};
	const struct timespec times[2] = {changed, changed};
	int fd = memfd_create("counts", MFD_CLOEXEC);
	struct pathprof_counts_run run = {0};
	struct pathprof_error error;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, &head, sizeof(head)), sizeof(head));
	CU_ASSERT_EQUAL(futimens(fd, times), 0);
	CU_ASSERT_EQUAL(pp_counts_run_fd(fd, "counts", &run, &error), 0);
	close(fd);
	return run;
}

/* Times of files lag behind the clock, which must not move a run's beginning. */
static void test_times(void)
{
	const int64_t second_ns = 1000000000, begin_ns = RUN_S * second_ns + 3000000;
	struct pathprof_counts_run run = run_of(begin_ns, (struct timespec){RUN_S + 5, 0});

	CU_ASSERT_EQUAL(run.begin_ns, begin_ns);
	CU_ASSERT_EQUAL(run.end_ns, (RUN_S + 5) * second_ns);
	run = run_of(begin_ns, (struct timespec){RUN_S, 0});
	CU_ASSERT_EQUAL(run.begin_ns, begin_ns);
	CU_ASSERT_EQUAL(run.end_ns, begin_ns);
	run = run_of(begin_ns, (struct timespec){RUN_S - 5, 0});
	CU_ASSERT_EQUAL(run.begin_ns, (RUN_S - 5) * second_ns);
	CU_ASSERT_EQUAL(run.end_ns, run.begin_ns);
}

/* One file that lies must not end the import of a thousand others. */
static void test_too_many_lost(void)
{
	struct pathprof_counts_head head = {.magic = PATHPROF_COUNTS_MAGIC,
					    .version = PATHPROF_COUNTS_VERSION,
					    .used_bytes = PATHPROF_COUNTS_PAGE,
					    .lost_cnt = 1ull << 63};
	int fd = memfd_create("counts", MFD_CLOEXEC);
	struct pathprof_counts_run run = {0};
	struct pathprof_error error = {""};

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	CU_ASSERT_EQUAL(ftruncate(fd, PATHPROF_COUNTS_PAGE), 0);
	CU_ASSERT_EQUAL(pp_counts_run_fd(fd, "counts", &run, &error), -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "paths that were lost"));
	head.lost_cnt = 1ull << 40;
	CU_ASSERT_EQUAL(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	CU_ASSERT_EQUAL(pp_counts_run_fd(fd, "counts", &run, &error), 0);
	CU_ASSERT_EQUAL(run.lost_cnt, 1ull << 40);
	close(fd);
}

static const struct unit_test tests[] = {
	{"a path's counts in copies add up to 64 bits", test_copies},
	{"cold counts of copies add up to 64 bits", test_cold},
	{"counts of a node's paths add up to 64 bits", test_nodes},
	{"a run begins when its program says", test_times},
	{"a number of lost paths that cannot be is damage", test_too_many_lost},
};
UNIT_SUITE(path_counts, tests)
