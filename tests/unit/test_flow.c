// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flows of functions against what reachability says, on thousands of drawn graphs; on known ones;
 * and on ones as large and as crooked as files can bring.
 */
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_flow.h"
#include "oracle_stream.h"
#include "pathprof/flow.h"

#define NONE   PATHPROF_GRAPH_NONE
#define GRAPHS 600

/* ---------------------------------------------------------------- nodes and edges */

static size_t node_differences(const struct pathprof_graph *g, const struct pathprof_flow *flow)
{
	size_t different = flow->nodes[0].block != g->functions[flow->function].entry, cnt = 0;

	for (uint32_t b = 0; b < g->block_cnt; b++) {
		uint32_t v = pathprof_flow_node_of(flow, b);
		bool has = g->blocks[b].function == flow->function;

		different += has != (v != NONE);
		different += v != NONE && flow->nodes[v].block != b;
		cnt += has;
	}
	for (uint32_t v = 2; v < flow->node_cnt; v++)
		different += flow->nodes[v - 1].block >= flow->nodes[v].block;
	return different + (cnt != flow->node_cnt);
}

static bool stays(const struct pathprof_graph *g, uint32_t function, const struct pathprof_edge *e)
{
	return e->kind != PATHPROF_EDGE_CALL && e->kind != PATHPROF_EDGE_TAIL && e->to != NONE &&
	       g->blocks[e->to].function == function;
}

static bool is_behind(const struct pathprof_graph *g, uint32_t block, uint32_t to)
{
	return to != NONE && g->blocks[to].start <= g->blocks[block].last;
}

static bool is_backward(const struct pathprof_graph *g, uint32_t block,
			const struct pathprof_edge *edge)
{
	const struct pathprof_graph_block *b = &g->blocks[block];

	if (is_behind(g, block, edge->to))
		return true;
	for (uint32_t e = b[0].first_edge; e < b[1].first_edge; e++)
		if (edge->kind == PATHPROF_EDGE_NOT_TAKEN &&
		    (g->edges[e].kind == PATHPROF_EDGE_TAKEN ||
		     g->edges[e].kind == PATHPROF_EDGE_TAIL))
			return is_behind(g, block, g->edges[e].to);
	return false;
}

/* Checks one node: its edges must be the graph's edges without those that leave the function. */
static size_t out_edge_differences(const struct pathprof_graph *g, const struct pathprof_flow *flow,
				   uint32_t v)
{
	uint32_t block = flow->nodes[v].block, at = flow->nodes[v].first_edge;
	const struct pathprof_graph_block *b = &g->blocks[block];
	bool exits = b->kind == PERF_BR_RET;
	size_t different = 0;

	for (uint32_t e = b[0].first_edge; e < b[1].first_edge; e++) {
		const struct pathprof_edge *edge = &g->edges[e];
		const struct pathprof_flow_edge *have = &flow->edges[at];

		if (!stays(g, flow->function, edge)) {
			exits |= edge->kind != PATHPROF_EDGE_CALL;
			continue;
		}
		if (at++ == flow->edge_cnt)
			return different + 1;
		different += have->from != v || flow->nodes[have->to].block != edge->to ||
			     have->kind != edge->kind ||
			     have->backward != is_backward(g, block, edge);
	}
	exits |= at == flow->nodes[v].first_edge;
	return different + (at != flow->nodes[v + 1].first_edge) + (exits != flow->nodes[v].exits);
}

static void test_shape(void)
{
	uint64_t random = 1;
	size_t different = 0, flows = 0;

	for (unsigned int i = 0; i < GRAPHS; i++) {
		struct pathprof_graph *g = oracle_graph_draw(1 + i % 4, &random);
		struct pathprof_flow flow;

		for (uint32_t f = 0; f < g->function_cnt; f++) {
			int rc = pathprof_flow_init(&flow, g, f);

			different += rc != (g->functions[f].entry == NONE ? -EINVAL : 0);
			if (rc)
				continue;
			different += node_differences(g, &flow);
			for (uint32_t v = 0; v < flow.node_cnt; v++)
				different += out_edge_differences(g, &flow, v);
			different += flow.nodes[flow.node_cnt].first_edge != flow.edge_cnt;
			pathprof_flow_release(&flow);
			flows++;
		}
		pathprof_graph_free(g);
	}
	CU_ASSERT_EQUAL(different, 0);
	CU_ASSERT(flows > GRAPHS);
}

/* ---------------------------------------------------------------- what reachability says */

static bool is_retreating(const struct pathprof_flow_edge *e)
{
	return e->retreating;
}

static bool is_backward_edge(const struct pathprof_flow_edge *e)
{
	return e->backward;
}

/* Edges of what the entry does not reach are left out of the question. */
static const struct pathprof_flow *asked;
static bool is_back_or_unreached(const struct pathprof_flow_edge *e)
{
	return e->back || !asked->nodes[e->from].reached;
}

static size_t dominator_differences(const struct oracle_flow *o, const struct pathprof_flow *flow)
{
	size_t different = 0;

	for (uint32_t b = 0; b < o->node_cnt; b++) {
		uint32_t idom = flow->nodes[b].dominator;

		different += o->reached[b] != flow->nodes[b].reached;
		for (uint32_t a = 0; a < o->node_cnt; a++) {
			different += o->dominates[a][b] != pathprof_flow_dominates(flow, a, b);
			/* Every other dominator of b dominates b's immediate dominator. */
			different += a != b && o->dominates[a][b] && !o->dominates[a][idom];
		}
		different += (b == 0 || !o->reached[b]) != (idom == b);
		different += !o->dominates[idom][b];
	}
	return different;
}

static size_t edge_differences(const struct oracle_flow *o, const struct pathprof_flow *flow)
{
	size_t different = 0;
	uint32_t irreducible_cnt = 0;
	bool reducible;

	asked = flow;
	reducible = oracle_flow_is_dag(flow, is_back_or_unreached);
	for (uint32_t i = 0; i < flow->edge_cnt; i++) {
		const struct pathprof_flow_edge *e = &flow->edges[i];

		different += e->back != o->dominates[e->to][e->from];
		different += e->back && !e->retreating;
		different += e->retreating && !oracle_flow_leads(o, e->to, e->from);
		if (flow->nodes[e->from].reached)
			irreducible_cnt += e->retreating && !e->back;
	}
	different += irreducible_cnt != flow->irreducible_cnt;
	different += reducible != (irreducible_cnt == 0);
	different += !oracle_flow_is_dag(flow, is_retreating);
	different += !oracle_flow_is_dag(flow, is_backward_edge);
	return different;
}

static uint32_t size_of_loop(const struct oracle_flow *o, uint32_t header)
{
	uint32_t cnt = 0;

	for (uint32_t v = 0; v < o->node_cnt; v++)
		cnt += o->in_loop[header][v];
	return cnt;
}

/* The header of the smallest loop around v, that of v itself only when `own`. */
static uint32_t innermost(const struct oracle_flow *o, uint32_t v, bool own)
{
	uint32_t best = NONE;

	for (uint32_t h = 0; h < o->node_cnt; h++)
		if (o->in_loop[h][v] && (own || h != v) &&
		    (best == NONE || size_of_loop(o, h) < size_of_loop(o, best)))
			best = h;
	return best;
}

static uint32_t header_of(const struct pathprof_flow *flow, uint32_t loop)
{
	if (loop == NONE)
		return NONE;
	return loop < flow->loop_cnt ? flow->loops[loop].header : NONE - 1;
}

static size_t loop_differences(const struct oracle_flow *o, const struct pathprof_flow *flow)
{
	size_t different = 0;
	uint32_t cnt = 0;

	for (uint32_t v = 0; v < o->node_cnt; v++) {
		cnt += o->heads[v];
		different += header_of(flow, flow->nodes[v].loop) != innermost(o, v, true);
	}
	for (uint32_t i = 0; i < flow->loop_cnt; i++) {
		const struct pathprof_flow_loop *l = &flow->loops[i];
		uint32_t depth = 0;

		for (uint32_t h = 0; h < o->node_cnt; h++)
			depth += o->in_loop[h][l->header];
		different += !o->heads[l->header] || l->node_cnt != size_of_loop(o, l->header) ||
			     l->depth != depth ||
			     header_of(flow, l->parent) != innermost(o, l->header, false) ||
			     (l->parent != NONE && l->parent >= i);
	}
	return different + (cnt != flow->loop_cnt);
}

struct found {
	size_t different, flows, irreducible, nested, unreached;
};

static void take_findings(struct found *f, const struct pathprof_flow *flow, bool skips_edge)
{
	static struct oracle_flow o;

	oracle_flow_init(&o, flow, skips_edge);
	f->different += dominator_differences(&o, flow) + edge_differences(&o, flow) +
			loop_differences(&o, flow);
	f->flows++;
	f->irreducible += flow->irreducible_cnt > 0;
	for (uint32_t i = 0; i < flow->loop_cnt; i++)
		f->nested += flow->loops[i].depth > 2;
	for (uint32_t v = 0; v < flow->node_cnt; v++)
		f->unreached += !flow->nodes[v].reached;
}

static struct found compare_drawn(unsigned int graphs, bool skips_edge)
{
	struct found found = {0};
	uint64_t random = 7;

	for (unsigned int i = 0; i < graphs; i++) {
		struct pathprof_graph *g = oracle_graph_draw(1 + i % 3, &random);
		struct pathprof_flow flow;

		for (uint32_t f = 0; f < g->function_cnt; f++) {
			if (pathprof_flow_init(&flow, g, f))
				continue;
			take_findings(&found, &flow, skips_edge);
			pathprof_flow_release(&flow);
		}
		pathprof_graph_free(g);
	}
	return found;
}

static struct pathprof_graph *draw_row(uint64_t *random)
{
	uint32_t edges[128][2], cnt = 0;
	uint32_t node_cnt = 1 + (uint32_t)(stream_random(random) % 20);

	/* Mostly ahead, as code is: that nests deeper than edges to anywhere. */
	for (uint32_t v = 0; v < node_cnt; v++)
		for (uint32_t i = stream_random(random) % 3 + (v % 2); i > 0; i--, cnt++) {
			uint64_t way = stream_random(random) % 8;

			edges[cnt][0] = v;
			edges[cnt][1] = way < 6 ? v + 1 + (uint32_t)(way / 4)
						: (uint32_t)(stream_random(random) % node_cnt);
			edges[cnt][1] %= node_cnt;
		}
	return oracle_graph_make(node_cnt, edges, cnt);
}

static struct found compare_rows(unsigned int graphs, bool skips_edge)
{
	struct found found = {0};
	uint64_t random = 11;

	for (unsigned int i = 0; i < graphs; i++) {
		struct pathprof_graph *g = draw_row(&random);
		struct pathprof_flow flow;

		if (pathprof_flow_init(&flow, g, 0)) {
			found.different++;
		} else {
			take_findings(&found, &flow, skips_edge);
			pathprof_flow_release(&flow);
		}
		pathprof_graph_free(g);
	}
	return found;
}

static void test_drawn(void)
{
	struct found a = compare_drawn(4 * GRAPHS, false), b = compare_rows(8 * GRAPHS, false);

	CU_ASSERT_EQUAL(a.different, 0);
	CU_ASSERT_EQUAL(b.different, 0);
	/* The drawn ones have what is to be tested. */
	CU_ASSERT(a.flows + b.flows > 8 * GRAPHS);
	CU_ASSERT(a.irreducible + b.irreducible > GRAPHS / 4);
	CU_ASSERT(a.nested + b.nested > GRAPHS / 4);
	CU_ASSERT(a.unreached > GRAPHS && b.unreached > GRAPHS);
}

static void test_planted(void)
{
	CU_ASSERT_NOT_EQUAL(compare_drawn(GRAPHS / 10, true).different, 0);
	CU_ASSERT_NOT_EQUAL(compare_rows(GRAPHS / 10, true).different, 0);
}

/* ---------------------------------------------------------------- known ones */

#define MAKE(edges, node_cnt)                                                                      \
	make_flow(node_cnt, edges, (uint32_t)(sizeof(edges) / sizeof((edges)[0])))

static struct pathprof_flow make_flow(uint32_t node_cnt, const uint32_t (*edges)[2],
				      uint32_t edge_cnt)
{
	struct pathprof_graph *g = oracle_graph_make(node_cnt, edges, edge_cnt);
	struct pathprof_flow flow;

	CU_ASSERT_EQUAL_FATAL(pathprof_flow_init(&flow, g, 0), 0);
	pathprof_graph_free(g);
	return flow;
}

/* A loop in a loop, two back edges to the outer one's header, and an exit from the inner one. */
static void test_nested(void)
{
	static const uint32_t edges[][2] = {{0, 1}, {1, 2}, {2, 3}, {2, 5}, {3, 2},
					    {3, 4}, {4, 1}, {4, 5}, {5, 1}, {5, 6}};
	static const uint32_t dominators[] = {0, 0, 1, 2, 3, 2, 5};
	struct pathprof_flow flow = MAKE(edges, 7);

	for (uint32_t v = 0; v < 7; v++)
		CU_ASSERT_EQUAL(flow.nodes[v].dominator, dominators[v]);
	CU_ASSERT_EQUAL_FATAL(flow.loop_cnt, 2);
	CU_ASSERT(flow.loops[0].header == 1 && flow.loops[0].depth == 1 &&
		  flow.loops[0].node_cnt == 5 && flow.loops[0].parent == NONE);
	CU_ASSERT(flow.loops[1].header == 2 && flow.loops[1].depth == 2 &&
		  flow.loops[1].node_cnt == 2 && flow.loops[1].parent == 0);
	CU_ASSERT(flow.nodes[0].loop == NONE && flow.nodes[6].loop == NONE);
	CU_ASSERT(flow.edges[4].back && flow.edges[6].back && flow.edges[8].back);
	CU_ASSERT(!flow.edges[7].back && flow.nodes[6].exits && !flow.nodes[5].exits);
	CU_ASSERT_EQUAL(flow.irreducible_cnt, 0);
	pathprof_flow_release(&flow);
}

/* Two ways into a cycle: no natural loop, one retreating edge. */
static void test_irreducible(void)
{
	static const uint32_t edges[][2] = {{0, 1}, {0, 2}, {1, 2}, {2, 1}};
	struct pathprof_flow flow = MAKE(edges, 3);

	CU_ASSERT_EQUAL(flow.loop_cnt, 0);
	CU_ASSERT_EQUAL(flow.irreducible_cnt, 1);
	CU_ASSERT(flow.edges[2].retreating != flow.edges[3].retreating);
	CU_ASSERT(flow.nodes[1].dominator == 0 && flow.nodes[2].dominator == 0);
	pathprof_flow_release(&flow);
}

/* Blocks nothing leads to stay, and what they lead to does not count for what is reached. */
static void test_unreached(void)
{
	static const uint32_t edges[][2] = {{0, 1}, {1, 1}, {2, 1}, {2, 3}, {3, 2}};
	struct pathprof_flow flow = MAKE(edges, 4);

	CU_ASSERT(flow.nodes[1].reached && !flow.nodes[2].reached && !flow.nodes[3].reached);
	CU_ASSERT(flow.nodes[2].dominator == 2 && flow.nodes[2].loop == NONE);
	CU_ASSERT(flow.edges[4].retreating && !flow.edges[4].back);
	CU_ASSERT(flow.loop_cnt == 1 && flow.loops[0].node_cnt == 1);
	CU_ASSERT_EQUAL(flow.irreducible_cnt, 0);
	pathprof_flow_release(&flow);
}

static void test_refuses(void)
{
	static const uint32_t edges[][2] = {{0, 0}};
	struct pathprof_graph *g = oracle_graph_make(1, edges, 1);
	struct pathprof_flow flow = {.function = 77};

	CU_ASSERT_EQUAL(pathprof_flow_init(&flow, g, 1), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_flow_init(&flow, g, UINT32_MAX), -EINVAL);
	((struct pathprof_graph_function *)g->functions)->entry = NONE;
	CU_ASSERT_EQUAL(pathprof_flow_init(&flow, g, 0), -EINVAL);
	CU_ASSERT_EQUAL(flow.function, 77);
	((struct pathprof_graph_function *)g->functions)->entry = 0;
	CU_ASSERT_EQUAL_FATAL(pathprof_flow_init(&flow, g, 0), 0);
	CU_ASSERT(!pathprof_flow_dominates(&flow, 0, 1) && !pathprof_flow_dominates(&flow, 1, 0));
	CU_ASSERT_EQUAL(pathprof_flow_node_of(&flow, 1), NONE);
	pathprof_flow_release(&flow);
	pathprof_flow_release(&flow);
	pathprof_graph_free(g);
}

/* ---------------------------------------------------------------- large ones */

#define LARGE 100000u

/* A row of tests, all of which lead to one error exit at the end. */
static void test_long_row(void)
{
	uint32_t(*edges)[2] = calloc(2 * LARGE, sizeof(*edges));
	struct pathprof_flow flow;

	for (uint32_t v = 0; v + 1 < LARGE; v++) {
		edges[2 * v][0] = edges[2 * v + 1][0] = v;
		edges[2 * v][1] = v + 1;
		edges[2 * v + 1][1] = LARGE - 1;
	}
	flow = make_flow(LARGE, edges, 2 * (LARGE - 1));
	CU_ASSERT_EQUAL(flow.nodes[LARGE - 1].dominator, 0);
	CU_ASSERT_EQUAL(flow.nodes[LARGE - 2].dominator, LARGE - 3);
	CU_ASSERT_EQUAL(flow.nodes[1].dom_cnt, LARGE - 2);
	CU_ASSERT_EQUAL(flow.loop_cnt, 0);
	pathprof_flow_release(&flow);
	free(edges);
}

/* Loops nested as deep as there are blocks: each leads on, and the last ones back, one each. */
static void test_deep_loops(void)
{
	uint32_t(*edges)[2] = calloc(2 * LARGE, sizeof(*edges)), cnt = 0;
	uint32_t half = LARGE / 2;
	struct pathprof_flow flow;

	for (uint32_t v = 0; v < LARGE; v++) {
		if (v + 1 < LARGE)
			memcpy(edges[cnt++], (uint32_t[]){v, v + 1}, sizeof(*edges));
		if (v >= half)
			memcpy(edges[cnt++], (uint32_t[]){v, LARGE - 1 - v}, sizeof(*edges));
	}
	flow = make_flow(LARGE, edges, cnt);
	CU_ASSERT_EQUAL_FATAL(flow.loop_cnt, half);
	CU_ASSERT_EQUAL(flow.loops[0].node_cnt, LARGE);
	CU_ASSERT_EQUAL(flow.loops[half - 1].depth, half);
	CU_ASSERT_EQUAL(flow.loops[half - 1].node_cnt, 2);
	CU_ASSERT_EQUAL(flow.irreducible_cnt, 0);
	pathprof_flow_release(&flow);
	free(edges);
}

/* A dispatcher: one block that leads to all others, and each of them back to it. */
static void test_wide(void)
{
	uint32_t(*edges)[2] = calloc(2 * LARGE, sizeof(*edges));
	struct pathprof_flow flow;

	for (uint32_t v = 1; v < LARGE; v++) {
		edges[v - 1][1] = v;
		edges[LARGE - 2 + v][0] = v;
	}
	flow = make_flow(LARGE, edges, 2 * (LARGE - 1));
	CU_ASSERT(flow.loop_cnt == 1 && flow.loops[0].node_cnt == LARGE);
	CU_ASSERT_EQUAL(flow.nodes[LARGE - 1].dominator, 0);
	pathprof_flow_release(&flow);
	free(edges);
}

static const struct unit_test tests[] = {
	{"nodes and edges are the graph's without what leaves the function", test_shape},
	{"dominators, back edges and loops are what reachability says", test_drawn},
	{"an edge left out is found", test_planted},
	{"loops nest, back edges of one header share a loop", test_nested},
	{"a cycle of two entries is no loop", test_irreducible},
	{"what the entry does not reach stays", test_unreached},
	{"refuses functions that are none", test_refuses},
	{"a row of tests with one error exit", test_long_row},
	{"loops nested a thousandfold", test_deep_loops},
	{"a dispatcher over many blocks", test_wide},
};
UNIT_SUITE(flow, tests)
