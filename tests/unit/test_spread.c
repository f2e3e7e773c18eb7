// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts spread over random flows: what comes into a node is what goes out of it, shared as was
 * said.
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "oracle_function_paths.h"
#include "oracle_stream.h"
#include "pathprof/spread.h"

#define EDGES_MAX (ORACLE_BLOCKS_MAX * ORACLE_OUT_MAX)
#define ENTRIES   1000000000u
/* Loops that hardly end have counts beyond what rounding leaves exact. */
#define LARGEST (1e6 * ENTRIES)

static struct oracle_function function;
static double share[EDGES_MAX], in_flow[ORACLE_BLOCKS_MAX];
static uint64_t counts[EDGES_MAX];

/* A part of a node that the function can be left from goes nowhere. */
static void draw_shares(const struct pathprof_flow *flow, uint64_t *random)
{
	for (uint32_t v = 0; v < flow->node_cnt; v++) {
		double all = flow->nodes[v].exits ? 5 : 0;

		for (uint32_t e = flow->nodes[v].first_edge; e < flow->nodes[v + 1].first_edge; e++)
			all += share[e] = 1 + (double)(stream_random(random) % 20);
		for (uint32_t e = flow->nodes[v].first_edge; e < flow->nodes[v + 1].first_edge; e++)
			share[e] /= all;
	}
}

static bool is_large(const struct pathprof_flow *flow)
{
	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		if ((double)counts[e] > LARGEST)
			return true;
	return false;
}

/* The count of an edge back into the middle of a loop is not passed on. */
static bool is_passed_on(const struct pathprof_flow_edge *e)
{
	return !e->retreating || e->back || e->cut;
}

/* Edges that have another count than what comes into their node and their share say. */
static size_t unbalanced(const struct pathprof_flow *flow)
{
	size_t wrong = 0;

	for (uint32_t v = 0; v < flow->node_cnt; v++)
		in_flow[v] = v ? 0 : ENTRIES;
	for (uint32_t e = 0; e < flow->edge_cnt; e++)
		if (is_passed_on(&flow->edges[e]))
			in_flow[flow->edges[e].to] += (double)counts[e];
	for (uint32_t e = 0; e < flow->edge_cnt; e++) {
		double want = in_flow[flow->edges[e].from] * share[e];

		wrong += fabs((double)counts[e] - want) > 1e-6 * want + ORACLE_BLOCKS_MAX;
	}
	return wrong;
}

static bool draw(struct pathprof_flow *ret_flow, uint64_t *random)
{
	oracle_function_draw(&function, ORACLE_ANY, 1 + (uint32_t)(stream_random(random) % 20),
			     random);
	if (pathprof_flow_init(ret_flow, &function.graph, ORACLE_FUNCTION) < 0)
		abort();
	draw_shares(ret_flow, random);
	if (pathprof_spread(ret_flow, share, ENTRIES, counts) < 0)
		abort();
	return !is_large(ret_flow);
}

static void test_balance(void)
{
	size_t wrong = 0, tried = 0, looped = 0, irreducible = 0;
	uint64_t random = 61;

	for (unsigned int k = 0; k < unit_rounds(3000, 20000); k++) {
		struct pathprof_flow flow;

		if (draw(&flow, &random)) {
			wrong += unbalanced(&flow);
			tried++;
			looped += flow.loop_cnt != 0;
			irreducible += flow.irreducible_cnt != 0;
		}
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(tried > 500);
	CU_ASSERT(looped > 200);
	CU_ASSERT(irreducible > 200);
}

/* A loop of nine rounds in ten, one in it of three in four, and a call that cuts behind them. */
static void test_nested(void)
{
	static const struct pathprof_flow_arc arcs[] = {{0, 1, false}, {1, 2, false}, {2, 2, false},
							{2, 3, false}, {3, 1, false}, {3, 4, false},
							{4, 5, true}};
	static const double shares[] = {1, 1, 0.75, 0.25, 0.9, 0.1, 1};
	static const uint64_t want[] = {100, 1000, 3000, 1000, 900, 100, 100};
	struct pathprof_flow flow;

	CU_ASSERT_EQUAL_FATAL(pathprof_flow_init_arcs(&flow, 6, arcs, 7), 0);
	CU_ASSERT_EQUAL(pathprof_spread(&flow, shares, 100, counts), 0);
	for (uint32_t e = 0; e < 7; e++)
		CU_ASSERT_EQUAL(counts[e], want[e]);
	pathprof_flow_release(&flow);
}

/*
 * A loop that is entered in its middle, node 2, and falls through into it from its head: the only
 * edge of node 1, to the next node, goes back over no cut.
 */
static void test_irreducible(void)
{
	static const struct pathprof_flow_arc arcs[] = {{0, 2, false}, {0, 1, false},
							{1, 2, false}, {2, 1, false},
							{2, 3, false}, {3, 4, false}};
	static const double shares[] = {0.5, 0.5, 1, 0.5, 0.5, 1};
	static const uint64_t want[] = {50, 50, 75, 25, 25, 25};
	struct pathprof_flow flow;

	CU_ASSERT_EQUAL_FATAL(pathprof_flow_init_arcs(&flow, 5, arcs, 6), 0);
	CU_ASSERT_EQUAL(flow.irreducible_cnt, 1);
	CU_ASSERT_EQUAL(pathprof_spread(&flow, shares, 100, counts), 0);
	for (uint32_t e = 0; e < 6; e++)
		CU_ASSERT_EQUAL(counts[e], want[e]);
	pathprof_flow_release(&flow);
}

/* A loop that never ends, and one whose counts are beyond all bounds. */
static void test_endless(void)
{
	static const struct pathprof_flow_arc arcs[] = {
		{0, 1, false}, {1, 1, false}, {1, 2, false}};
	static const double shares[] = {1, 1, 0};
	struct pathprof_flow flow;

	CU_ASSERT_EQUAL_FATAL(pathprof_flow_init_arcs(&flow, 3, arcs, 3), 0);
	CU_ASSERT_EQUAL(pathprof_spread(&flow, shares, 5, counts), 0);
	CU_ASSERT_EQUAL(counts[1], (uint64_t)(5 * PATHPROF_SPREAD_ROUNDS));
	CU_ASSERT_EQUAL(counts[2], 0);
	CU_ASSERT_EQUAL(pathprof_spread(&flow, shares, UINT64_MAX, counts), 0);
	CU_ASSERT_EQUAL(counts[1], 1ull << 63);
	pathprof_flow_release(&flow);
}

static void test_planted(void)
{
	size_t planted = 0, found = 0;
	uint64_t random = 62;

	while (planted < 200) {
		struct pathprof_flow flow;

		if (draw(&flow, &random) && flow.edge_cnt && counts[0] > ENTRIES / 10) {
			planted++;
			counts[0] += counts[0] / 2;
			found += unbalanced(&flow) != 0;
		}
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(found, planted);
}

static const struct unit_test tests[] = {
	{"what comes in goes out", test_balance},
	{"loops in loops, and a call that cuts", test_nested},
	{"a loop that is entered in its middle", test_irreducible},
	{"loops without an end", test_endless},
	{"planted faults are found", test_planted},
};
UNIT_SUITE(spread, tests)
