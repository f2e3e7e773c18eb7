// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums of counts of paths: over the copies of a function, and over the paths through a node. */
#include "unit.h"

#include "../../libprofile/src/counts/pp_counted.h"

#include <stdlib.h>

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

static const struct unit_test tests[] = {
	{"a path's counts in copies add up to 64 bits", test_copies},
	{"cold counts of copies add up to 64 bits", test_cold},
	{"counts of a node's paths add up to 64 bits", test_nodes},
};
UNIT_SUITE(path_counts, tests)
