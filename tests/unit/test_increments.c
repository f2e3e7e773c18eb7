// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Increments of random functions: along every path they add up to its number, with and without
 * edges that no code can be put on, and the tree that spares additions is a heaviest one.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_function_paths.h"
#include "oracle_stream.h"
#include "pathprof/increments.h"

#define PATHS_MAX 4096
#define EDGES_MAX (ORACLE_BLOCKS_MAX * ORACLE_OUT_MAX)

static struct oracle_function function;
static struct oracle_flow_path listed[PATHS_MAX];
static uint64_t frequency[EDGES_MAX];
static bool fixed[EDGES_MAX];

/* A function with no more paths than the list holds. */
static size_t draw(struct pathprof_flow *ret_flow, struct pathprof_function_paths **ret_paths,
		   enum pathprof_cut cut, uint64_t *random)
{
	for (;;) {
		oracle_function_draw(&function, ORACLE_ANY,
				     1 + (uint32_t)(stream_random(random) % 14), random);
		if (pathprof_flow_init(ret_flow, &function.graph, ORACLE_FUNCTION) < 0)
			abort();
		size_t cnt = oracle_function_paths(&function, ret_flow, cut, listed, PATHS_MAX);
		if (cnt <= PATHS_MAX && pathprof_function_paths_new(ret_paths, ret_flow, cut) == 0)
			return cnt;
		pathprof_flow_release(ret_flow);
	}
}

static void draw_frequencies(const struct pathprof_flow *flow, uint64_t *random)
{
	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		frequency[e] = stream_random(random) % 1000;
}

/* The value of the path register when a path is counted, by the rules in the header. */
static uint64_t counted(const struct pathprof_function_paths *paths,
			const struct pathprof_flow *flow, const struct pathprof_increments *i,
			const struct oracle_flow_path *path)
{
	uint64_t sum = i->start[path->start];
	uint32_t at = path->start;

	for (uint32_t k = 0; k < path->edge_cnt; k++) {
		sum += i->edge[path->edges[k]];
		if (pathprof_function_paths_cut_at(paths, path->edges[k]))
			return sum;
		at = flow->edges[path->edges[k]].to;
	}
	return sum + i->leave[at];
}

static size_t differences(const struct pathprof_function_paths *paths,
			  const struct pathprof_flow *flow, const struct pathprof_increments *i,
			  size_t cnt)
{
	size_t different = 0;

	for (size_t id = 0; id < cnt; id++)
		different += counted(paths, flow, i, &listed[id]) != id;
	return different;
}

static void test_sums(void)
{
	size_t different = 0, path_cnt = 0;
	uint64_t random = 21;

	for (unsigned int k = 0; k < 12000; k++) {
		struct pathprof_function_paths *paths;
		struct pathprof_increments i;
		struct pathprof_flow flow;
		size_t cnt = draw(&flow, &paths, (enum pathprof_cut)(k % 3), &random);

		draw_frequencies(&flow, &random);
		CU_ASSERT_EQUAL_FATAL(
			pathprof_increments_init(&i, paths, k % 2 ? frequency : NULL, NULL), 0);
		different += differences(paths, &flow, &i, cnt);
		path_cnt += cnt;
		pathprof_increments_release(&i);
		pathprof_function_paths_free(paths);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(different, 0);
	CU_ASSERT(path_cnt > 20000);
}

/* Edges that paths run over, end at and that no code can be put on: reason enough to refuse. */
static size_t fixed_and_cut(const struct pathprof_function_paths *paths,
			    const struct pathprof_flow *flow)
{
	size_t cnt = 0;

	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		cnt += fixed[e] && flow->nodes[flow->edges[e].from].reached &&
		       pathprof_function_paths_cut_at(paths, e);
	return cnt;
}

static void test_fixed(void)
{
	size_t wrong = 0, refused = 0, done = 0;
	uint64_t random = 22;

	for (unsigned int k = 0; k < 3000; k++) {
		struct pathprof_function_paths *paths;
		struct pathprof_increments i = {0};
		struct pathprof_flow flow;
		size_t cnt = draw(&flow, &paths, PATHPROF_CUT_BACK_EDGES, &random);

		for (uint32_t e = 0; e < flow.edge_cnt; e++)
			fixed[e] = stream_random(&random) % 8 == 0;
		int r = pathprof_increments_init(&i, paths, NULL, fixed);

		if (fixed_and_cut(paths, &flow))
			wrong += r != -ELOOP;
		for (uint32_t e = 0; r == 0 && e < flow.edge_cnt; e++)
			wrong += fixed[e] && i.edge[e] != 0;
		if (r == 0)
			wrong += differences(paths, &flow, &i, cnt);
		refused += r == -ELOOP;
		done += r == 0;
		pathprof_increments_release(&i);
		pathprof_function_paths_free(paths);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(refused > 100);
	CU_ASSERT(done > 1000);
}

static void test_planted(void)
{
	size_t planted = 0, found = 0;
	uint64_t random = 24;

	while (planted < 200) {
		struct pathprof_function_paths *paths;
		struct pathprof_increments i;
		struct pathprof_flow flow;
		size_t cnt = draw(&flow, &paths, PATHPROF_CUT_BACK_EDGES, &random);

		CU_ASSERT_EQUAL_FATAL(pathprof_increments_init(&i, paths, NULL, NULL), 0);
		if (cnt && listed[cnt - 1].edge_cnt) {
			planted++;
			i.edge[listed[cnt - 1].edges[0]]++;
			found += differences(paths, &flow, &i, cnt) != 0;
		}
		pathprof_increments_release(&i);
		pathprof_function_paths_free(paths);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(found, planted);
}

/* Two ways over edges without code alone: their numbers would be the same. */
static void test_fixed_twice(void)
{
	static const struct pathprof_flow_arc arcs[] = {
		{0, 1, false}, {0, 2, false}, {1, 3, false}, {2, 3, false}};
	static const bool all[] = {true, true, true, true}, three[] = {true, true, true, false};
	struct pathprof_function_paths *paths;
	struct pathprof_increments i;
	struct pathprof_flow flow;

	CU_ASSERT_EQUAL_FATAL(pathprof_flow_init_arcs(&flow, 4, arcs, 4), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_function_paths_new(&paths, &flow, PATHPROF_CUT_BACK_EDGES),
			      0);
	CU_ASSERT_EQUAL(pathprof_increments_init(&i, paths, NULL, all), -ELOOP);
	CU_ASSERT_EQUAL_FATAL(pathprof_increments_init(&i, paths, NULL, three), 0);
	CU_ASSERT_EQUAL(i.edge[0] | i.edge[1] | i.edge[2], 0);
	CU_ASSERT_NOT_EQUAL(i.edge[3], 0);
	pathprof_increments_release(&i);
	pathprof_function_paths_free(paths);
	pathprof_flow_release(&flow);
}

/*
 * How much runs over edges with an addition. By the weights alone each node's first edge has none:
 * these edges are a tree as well, so the heaviest one leaves no more.
 */
static void test_heavy(void)
{
	uint64_t random = 23, by_tree = 0, by_weight = 0;
	size_t heavier = 0;

	for (unsigned int k = 0; k < 2000; k++) {
		struct pathprof_function_paths *paths;
		struct pathprof_increments i;
		struct pathprof_flow flow;
		uint64_t tree = 0, weight = 0;

		draw(&flow, &paths, PATHPROF_CUT_BACK_EDGES, &random);
		draw_frequencies(&flow, &random);
		CU_ASSERT_EQUAL_FATAL(pathprof_increments_init(&i, paths, frequency, NULL), 0);
		for (uint32_t e = 0; e < flow.edge_cnt; e++) {
			if (pathprof_function_paths_cut_at(paths, e))
				continue;
			tree += i.edge[e] ? frequency[e] : 0;
			weight += e > flow.nodes[flow.edges[e].from].first_edge ? frequency[e] : 0;
		}
		heavier += tree > weight;
		by_tree += tree;
		by_weight += weight;
		pathprof_increments_release(&i);
		pathprof_function_paths_free(paths);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(heavier, 0);
	CU_ASSERT(by_tree * 2 < by_weight);
}

static void test_arcs(void)
{
	static const struct pathprof_flow_arc loop[] = {{0, 1, false}, {1, 1, false}, {1, 2, true}},
					      early[] = {{1, 0, false}, {0, 1, false}},
					      outside[] = {{0, 3, false}};
	struct pathprof_function_paths *paths;
	struct pathprof_flow flow;

	CU_ASSERT_EQUAL(pathprof_flow_init_arcs(&flow, 3, early, 2), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_flow_init_arcs(&flow, 3, outside, 1), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_flow_init_arcs(&flow, 0, loop, 0), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(pathprof_flow_init_arcs(&flow, 3, loop, 3), 0);
	CU_ASSERT_EQUAL(flow.loop_cnt, 1);
	CU_ASSERT(!flow.edges[0].retreating && flow.edges[1].retreating &&
		  flow.edges[2].retreating);
	CU_ASSERT(!flow.nodes[0].exits && flow.nodes[2].exits);
	CU_ASSERT_EQUAL_FATAL(pathprof_function_paths_new(&paths, &flow, PATHPROF_CUT_BACK_EDGES),
			      0);
	/* To 1 twice, from 1 to the loop's end and to the cut; 2 alone. */
	CU_ASSERT_EQUAL(pathprof_function_paths_cnt(paths), 5);
	pathprof_function_paths_free(paths);
	pathprof_flow_release(&flow);
}

static const struct unit_test tests[] = {
	{"increments add up to the number of every path", test_sums},
	{"a planted increment is found", test_planted},
	{"edges without code have none, or it is refused", test_fixed},
	{"two ways without code are refused", test_fixed_twice},
	{"what runs most has the fewest", test_heavy},
	{"a flow of arcs", test_arcs},
};
UNIT_SUITE(increments, tests)
