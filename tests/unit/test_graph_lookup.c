// SPDX-License-Identifier: GPL-2.0-or-later
/* Finding blocks and functions, against looking at all of them, on drawn graphs. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "oracle_flow.h"
#include "pathprof/graph.h"

#define NONE   PATHPROF_GRAPH_NONE
#define GRAPHS 300

/* The last to begin of those that hold it. takes_first is a fault. */
static uint32_t naive_block_at(const struct pathprof_graph *g, uint64_t offset, bool takes_first)
{
	uint32_t found = NONE;

	for (uint32_t b = 0; b < g->block_cnt; b++)
		if (g->blocks[b].start <= offset && offset < g->blocks[b].end &&
		    (!takes_first || found == NONE))
			found = b;
	return found;
}

static size_t block_differences(bool takes_first, size_t *ret_held)
{
	uint64_t random = 5;
	size_t different = 0;

	*ret_held = 0;
	for (unsigned int i = 0; i < GRAPHS; i++) {
		struct pathprof_graph *g = oracle_graph_draw(1 + i % 6, &random);
		uint64_t end = g->block_cnt ? g->blocks[g->block_cnt - 1].end + 20ULL : 20;

		for (uint64_t at = 0; at < end; at++) {
			uint32_t want = naive_block_at(g, at, takes_first);

			different += pathprof_graph_block_at(g, at) != want;
			*ret_held += want != NONE;
		}
		different += pathprof_graph_block_at(g, UINT64_MAX) != NONE;
		different += pathprof_graph_block_at(g, 1ULL << 32) != NONE;
		pathprof_graph_free(g);
	}
	return different;
}

static void test_block_at(void)
{
	size_t held;

	CU_ASSERT_EQUAL(block_differences(false, &held), 0);
	CU_ASSERT(held > 50 * GRAPHS);
}

static void test_planted(void)
{
	size_t held;

	CU_ASSERT_NOT_EQUAL(block_differences(true, &held), 0);
}

static void test_names(void)
{
	uint64_t random = 6;
	size_t different = 0, named = 0;

	for (unsigned int i = 0; i < GRAPHS; i++) {
		struct pathprof_graph *g = oracle_graph_draw(1 + i % 6, &random);

		for (uint32_t f = 0; f < g->function_cnt; f++) {
			const char *name = pathprof_graph_name(g, f);

			different += strcmp(name, g->names + g->functions[f].name) != 0;
			different += pathprof_graph_function_named(g, name) != (name[0] ? f : NONE);
			named += name[0] != 0;
		}
		different += pathprof_graph_function_named(g, "f") != NONE;
		different += pathprof_graph_function_named(g, "f00") != NONE;
		different += pathprof_graph_name(g, g->function_cnt)[0] != 0;
		different += pathprof_graph_name(g, NONE)[0] != 0;
		pathprof_graph_free(g);
	}
	CU_ASSERT_EQUAL(different, 0);
	CU_ASSERT(named > GRAPHS);
}

/* If several functions have one name, the first is found. */
static void test_same_name(void)
{
	uint64_t random = 8;
	struct pathprof_graph *g = oracle_graph_draw(4, &random);

	for (uint32_t f = 0; f < 4; f++)
		((struct pathprof_graph_function *)g->functions)[f].name = f ? 1 : 0;
	CU_ASSERT_EQUAL(pathprof_graph_function_named(g, g->names + 1), 1);
	CU_ASSERT_EQUAL(pathprof_graph_function_named(g, ""), NONE);
	pathprof_graph_free(g);
}

static void test_empty(void)
{
	static const struct pathprof_graph_block end[1];
	static const struct pathprof_graph g = {.blocks = end, .names = "", .names_bytes = 1};

	CU_ASSERT_EQUAL(pathprof_graph_block_at(&g, 0), NONE);
	CU_ASSERT_EQUAL(pathprof_graph_function_named(&g, "main"), NONE);
	CU_ASSERT_STRING_EQUAL(pathprof_graph_name(&g, 0), "");
	pathprof_graph_free(NULL);
}

static const struct unit_test tests[] = {
	{"the block at an offset is the last to begin of those that hold it", test_block_at},
	{"another choice among overlapping blocks is found", test_planted},
	{"functions are found by the names they have", test_names},
	{"of several of one name the first is found", test_same_name},
	{"nothing is found where nothing is", test_empty},
};
UNIT_SUITE(graph_lookup, tests)
