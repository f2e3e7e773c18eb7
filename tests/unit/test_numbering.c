// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Path numbering on thousands of small random DAGs: Ball-Larus ids against an enumeration of all
 * paths, preferential weights against the published algorithm line by line.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_number.h"
#include "oracle_stream.h"
#include "pathprof/numbering.h"

#define PATHS_MAX 4096
#define CHOSEN    24

static void build(struct pathprof_dag *ret_dag, const struct oracle_dag *o)
{
	pathprof_dag_init(ret_dag);
	for (uint32_t e = 0; e < o->edge_cnt; e++)
		if (pathprof_dag_add(ret_dag, o->from[e], o->to[e]) < 0)
			abort();
}

static void draw(struct oracle_dag *ret_dag, uint64_t *random)
{
	uint32_t nodes = 2 + (uint32_t)(stream_random(random) % (ORACLE_NODES_MAX - 1));
	uint32_t edges = 1 + (uint32_t)(stream_random(random) % (3 * nodes));

	if (edges > ORACLE_EDGES_MAX - 1)
		edges = ORACLE_EDGES_MAX - 1;
	oracle_dag_draw(ret_dag, nodes, edges, random);
}

static uint64_t id_of(const struct pathprof_dag *dag, const struct oracle_dag_path *path)
{
	uint64_t id = 0;

	for (size_t i = 0; i < path->edge_cnt; i++)
		id += dag->edges[path->edge[i]].weight;
	return id;
}

/* Paths whose id is not their place in the enumeration. */
static size_t differences(const struct pathprof_dag *dag, const struct oracle_dag *o,
			  size_t *ret_paths)
{
	static struct oracle_dag_path paths[PATHS_MAX];
	size_t cnt = oracle_dag_paths(o, paths, PATHS_MAX), different = dag->path_cnt != cnt;

	for (size_t i = 0; i < cnt && i < PATHS_MAX; i++)
		different += id_of(dag, &paths[i]) != i;
	*ret_paths += cnt;
	return different;
}

static void test_ball_larus(void)
{
	size_t different = 0, paths = 0;
	struct pathprof_dag dag;
	struct oracle_dag o;
	uint64_t random = 1;

	while (paths < 1000000) {
		draw(&o, &random);
		build(&dag, &o);
		CU_ASSERT_EQUAL_FATAL(pathprof_number(&dag), 0);
		different += differences(&dag, &o, &paths);
		pathprof_dag_release(&dag);
	}
	CU_ASSERT_EQUAL(different, 0);
}

static void test_planted_weight(void)
{
	size_t found = 0, planted = 0, paths = 0;
	struct pathprof_dag dag;
	struct oracle_dag o;
	uint64_t random = 2;

	for (unsigned int i = 0; i < 100; i++) {
		draw(&o, &random);
		o.from[0] = 0; /* the start is no exit */
		o.to[0] = o.node_cnt - 1;
		build(&dag, &o);
		if (pathprof_number(&dag) == 0) {
			planted++;
			dag.edges[0].weight++;
			found += differences(&dag, &o, &paths) != 0;
		}
		pathprof_dag_release(&dag);
	}
	CU_ASSERT(planted > 50);
	CU_ASSERT_EQUAL(found, planted);
}

/* Draws up to CHOSEN distinct paths, in random order. */
static size_t choose(const struct oracle_dag *o, struct oracle_dag_path *ret_chosen,
		     uint64_t *random)
{
	static struct oracle_dag_path paths[PATHS_MAX];
	size_t cnt = oracle_dag_paths(o, paths, PATHS_MAX);
	size_t room = cnt < PATHS_MAX ? cnt : PATHS_MAX;
	size_t want = 1 + stream_random(random) % CHOSEN, chosen = 0;

	for (; chosen < want && chosen < room; chosen++) {
		size_t at = chosen + stream_random(random) % (room - chosen);

		ret_chosen[chosen] = paths[at];
		paths[at] = paths[chosen];
	}
	return chosen;
}

static void to_public(struct pathprof_dag_path *ret_paths, const struct oracle_dag_path *chosen,
		      size_t cnt)
{
	for (size_t p = 0; p < cnt; p++)
		ret_paths[p] = (struct pathprof_dag_path){.edges = chosen[p].edge,
							  .edge_cnt = chosen[p].edge_cnt};
}

/* Weights and ids that differ, and ids that came twice. */
static size_t compare_preferential(struct pathprof_dag *dag, const struct oracle_dag *o,
				   struct oracle_dag_path *chosen, size_t cnt, bool takes_last)
{
	struct pathprof_dag_path paths[CHOSEN];
	int64_t weights[ORACLE_EDGES_MAX];
	size_t different = 0;

	to_public(paths, chosen, cnt);
	if (pathprof_number_preferential(dag, paths, cnt) < 0)
		return 1;
	oracle_preferential(o, chosen, cnt, weights, takes_last);
	for (uint32_t e = 0; e < o->edge_cnt; e++)
		different += dag->edges[e].preferential != weights[e];
	for (size_t p = 0; p < cnt; p++) {
		different += paths[p].preferential != chosen[p].pid;
		different += paths[p].id != id_of(dag, &chosen[p]);
		for (size_t q = 0; q < p; q++)
			different += paths[q].preferential == paths[p].preferential;
	}
	return different;
}

static size_t preferential_differences(unsigned int dags, bool takes_last)
{
	struct oracle_dag_path chosen[CHOSEN];
	struct pathprof_dag dag;
	struct oracle_dag o;
	uint64_t random = 3;
	size_t different = 0;

	for (unsigned int i = 0; i < dags; i++) {
		draw(&o, &random);
		build(&dag, &o);
		if (pathprof_number(&dag) < 0)
			return SIZE_MAX;
		size_t cnt = choose(&o, chosen, &random);

		different += compare_preferential(&dag, &o, chosen, cnt, takes_last);
		pathprof_dag_release(&dag);
	}
	return different;
}

static void test_preferential(void)
{
	CU_ASSERT_EQUAL(preferential_differences(unit_rounds(1500, 6000), false), 0);
}

static void test_planted_join(void)
{
	CU_ASSERT_NOT_EQUAL(preferential_differences(600, true), 0);
}

/* All paths interesting: both numberings use the same range. */
static void test_all_interesting(void)
{
	struct oracle_dag o = {{0, 0, 1, 1, 2, 3, 3, 4}, {1, 2, 3, 2, 3, 4, 5, 5}, 8, 6};
	struct oracle_dag_path chosen[CHOSEN];
	struct pathprof_dag_path paths[CHOSEN];
	struct pathprof_dag dag;
	size_t cnt = oracle_dag_paths(&o, chosen, CHOSEN);

	build(&dag, &o);
	CU_ASSERT_EQUAL_FATAL(pathprof_number(&dag), 0);
	to_public(paths, chosen, cnt);
	CU_ASSERT_EQUAL(pathprof_number_preferential(&dag, paths, cnt), 0);
	CU_ASSERT_EQUAL(cnt, 6);
	CU_ASSERT_EQUAL(pathprof_compactness(paths, cnt), 1.0);
	pathprof_dag_release(&dag);
}

/* The published example: s=0 a=1 b=2 c=3 d=4 t=5, interesting sacdt, sact, sbct. */
static void test_published(void)
{
	static const uint32_t from[] = {0, 0, 1, 1, 2, 3, 3, 4}, to[] = {1, 2, 3, 2, 3, 4, 5, 5};
	static const int64_t weights[] = {0, 2, 0, 0, -1, 0, 1, 0};
	static const uint32_t sacdt[] = {0, 2, 5, 7}, sact[] = {0, 2, 6}, sbct[] = {1, 4, 6};
	struct pathprof_dag_path paths[] = {{.edges = sacdt, .edge_cnt = 4},
					    {.edges = sact, .edge_cnt = 3},
					    {.edges = sbct, .edge_cnt = 3}};
	struct pathprof_dag dag;

	pathprof_dag_init(&dag);
	for (size_t e = 0; e < 8; e++)
		CU_ASSERT_EQUAL_FATAL(pathprof_dag_add(&dag, from[e], to[e]), 0);
	CU_ASSERT_EQUAL(pathprof_number(&dag), 0);
	CU_ASSERT_EQUAL(dag.path_cnt, 6);
	CU_ASSERT_EQUAL(pathprof_number_preferential(&dag, paths, 3), 0);
	for (size_t e = 0; e < 8; e++)
		CU_ASSERT_EQUAL(dag.edges[e].preferential, weights[e]);
	CU_ASSERT(paths[0].id == 0 && paths[1].id == 1 && paths[2].id == 5);
	CU_ASSERT(paths[0].preferential == 0 && paths[1].preferential == 1 &&
		  paths[2].preferential == 2);
	CU_ASSERT_EQUAL(pathprof_compactness(paths, 3), 1.0);
	pathprof_dag_release(&dag);
}

static void test_cycles(void)
{
	struct pathprof_dag dag;

	pathprof_dag_init(&dag);
	CU_ASSERT_EQUAL(pathprof_number(&dag), 0);
	CU_ASSERT_EQUAL(dag.path_cnt, 1);
	pathprof_dag_add(&dag, 0, 1);
	pathprof_dag_add(&dag, 1, 2);
	CU_ASSERT_EQUAL(pathprof_number(&dag), 0);
	pathprof_dag_add(&dag, 2, 1);
	CU_ASSERT_EQUAL(pathprof_number(&dag), -ELOOP);
	pathprof_dag_release(&dag);
	pathprof_dag_add(&dag, 0, 0);
	CU_ASSERT_EQUAL(pathprof_number(&dag), -ELOOP);
	pathprof_dag_release(&dag);
}

/* n diamonds in a row have 2^n paths. */
static void add_diamonds(struct pathprof_dag *dag, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		pathprof_dag_add(dag, i, i + 1);
		pathprof_dag_add(dag, i, i + 1);
	}
}

static void test_overflow(void)
{
	struct pathprof_dag dag;

	pathprof_dag_init(&dag);
	add_diamonds(&dag, 63);
	CU_ASSERT_EQUAL(pathprof_number(&dag), 0);
	CU_ASSERT_EQUAL(dag.path_cnt, 1ULL << 63);
	pathprof_dag_release(&dag);
	add_diamonds(&dag, 64);
	dag.path_cnt = 5;
	CU_ASSERT_EQUAL(pathprof_number(&dag), -EOVERFLOW);
	CU_ASSERT_EQUAL(dag.path_cnt, 5);
	pathprof_dag_release(&dag);
}

static void test_bad_paths(void)
{
	static const uint32_t out_of_range[] = {9}, unconnected[] = {0, 0}, late[] = {1};
	struct pathprof_dag_path bad[] = {{.edges = out_of_range, .edge_cnt = 1},
					  {.edges = unconnected, .edge_cnt = 2},
					  {.edges = late, .edge_cnt = 1}};
	struct pathprof_dag dag;

	pathprof_dag_init(&dag);
	pathprof_dag_add(&dag, 0, 1);
	pathprof_dag_add(&dag, 1, 2);
	CU_ASSERT_EQUAL(pathprof_number(&dag), 0);
	for (size_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(pathprof_number_preferential(&dag, &bad[i], 1), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_number_preferential(&dag, NULL, 0), 0);
	CU_ASSERT_EQUAL(pathprof_compactness(NULL, 0), 0);
	pathprof_dag_release(&dag);
}

static const struct unit_test tests[] = {
	{"Ball-Larus ids are the places in the enumeration of all paths", test_ball_larus},
	{"a changed weight is found", test_planted_weight},
	{"preferential weights equal the published algorithm, ids are unique", test_preferential},
	{"a changed join is found", test_planted_join},
	{"numbers the published example", test_published},
	{"is compact where every path is interesting", test_all_interesting},
	{"refuses cycles", test_cycles},
	{"refuses more than 2^64 paths", test_overflow},
	{"refuses paths that are none", test_bad_paths},
};
UNIT_SUITE(numbering, tests)
