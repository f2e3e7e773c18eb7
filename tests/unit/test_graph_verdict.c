// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Executed branches compared with a graph written by hand: every class of miss, and no miss.
 */
#include "unit.h"

#include <linux/perf_event.h>

#include "../../tools/lab/graph/verdict.h"

#define NONE PATHPROF_GRAPH_NONE

enum { A_BRANCHES, A_FALLS, A_CALLS, A_SWITCHES, A_RETURNS, A_LANDS, A_GUESSES, A_LEAVES };
enum { B_CALLS = 8, B_RETURNS, STUB_JUMPS, STUB_BINDS, BLOCKS };

static const struct pathprof_edge edges[] = {
	{A_FALLS, PATHPROF_EDGE_NOT_TAKEN}, {A_CALLS, PATHPROF_EDGE_TAKEN},
	{A_CALLS, PATHPROF_EDGE_FALL},      {A_SWITCHES, PATHPROF_EDGE_CONTINUE},
	{A_LANDS, PATHPROF_EDGE_UNWIND},    {B_CALLS, PATHPROF_EDGE_CALL},
	{A_FALLS, PATHPROF_EDGE_SWITCH},    {A_RETURNS, PATHPROF_EDGE_SWITCH},
	{B_CALLS, PATHPROF_EDGE_TAIL},      {A_RETURNS, PATHPROF_EDGE_GUESSED},
	{A_BRANCHES, PATHPROF_EDGE_CALL},   {STUB_BINDS, PATHPROF_EDGE_SWITCH},
	{B_CALLS, PATHPROF_EDGE_JUMP},
};

/* The call of the second function never returns; behind its last block it has code unread. */
static const struct pathprof_graph_block blocks[BLOCKS + 1] = {
	{100, 105, 110, PERF_BR_COND, 0, 0},
	{110, 118, 120, 0, 0, 2},
	{120, 125, 130, PERF_BR_CALL, 0, 3},
	{130, 136, 140, PERF_BR_IND, 0, 6},
	{140, 149, 150, PERF_BR_RET, 0, 8},
	{150, 155, 160, PERF_BR_UNCOND, 0, 8},
	{160, 165, 170, PERF_BR_IND, 0, 9},
	{170, 178, 180, PERF_BR_IND, 0, 10},
	{200, 205, 210, PERF_BR_CALL, 1, 10},
	{210, 215, 220, PERF_BR_RET, 1, 11},
	{300, 300, 306, PERF_BR_IND, 2, 11},
	{306, 311, 316, PERF_BR_UNCOND, 2, 12},
	{.first_edge = 13},
};
static const struct pathprof_graph_part parts[] = {
	{100, 180, 0, 8}, {200, 260, 8, 2}, {300, 316, 10, 2}};
static const struct pathprof_graph_function functions[] = {
	{.entry = A_BRANCHES, .first_part = 0, .part_cnt = 1},
	{.entry = B_CALLS, .first_part = 1, .part_cnt = 1},
	{.entry = STUB_JUMPS, .first_part = 2, .part_cnt = 1, .flags = PATHPROF_FUNCTION_PLT},
};
static const struct pathprof_graph graph = {
	.functions = functions,
	.parts = parts,
	.blocks = blocks,
	.edges = edges,
	.names = "",
	.function_cnt = 3,
	.part_cnt = 3,
	.block_cnt = BLOCKS,
	.edge_cnt = sizeof(edges) / sizeof(edges[0]),
	.names_bytes = 1,
};

struct expected {
	uint64_t from, next;
	uint32_t kind;
	bool taken, elsewhere; /* next lies in another file */
	enum lab_verdict verdict;
};

static const struct expected sound[] = {
	{105, 110, PERF_BR_COND, false, false, LAB_VERDICT_EDGE},
	{105, 120, PERF_BR_COND, true, false, LAB_VERDICT_EDGE},
	{125, 200, PERF_BR_CALL, true, false, LAB_VERDICT_EDGE},
	{136, 110, PERF_BR_IND, true, false, LAB_VERDICT_EDGE},
	{136, 140, PERF_BR_IND, true, false, LAB_VERDICT_EDGE},
	{149, 130, PERF_BR_RET, true, false, LAB_VERDICT_EDGE},
	{155, 200, PERF_BR_UNCOND, true, false, LAB_VERDICT_EDGE},
	{165, 140, PERF_BR_IND, true, false, LAB_VERDICT_GUESSED},
};

/* An edge does not make them sound, so one that is forgotten does not make them misses. */
static const struct expected leaving[] = {
	{178, 200, PERF_BR_IND, true, false, LAB_VERDICT_LEAVES},
	{178, 0, PERF_BR_IND, true, true, LAB_VERDICT_LEAVES},
	{300, 200, PERF_BR_IND, true, false, LAB_VERDICT_LEAVES},
	{149, 0, PERF_BR_RET, true, true, LAB_VERDICT_LEAVES},
	{215, 150, PERF_BR_RET, true, false, LAB_VERDICT_LEAVES},
	{215, 500, PERF_BR_RET, true, false, LAB_VERDICT_OUTSIDE},
	{500, 100, PERF_BR_RET, true, false, LAB_VERDICT_OUTSIDE},
};

static const struct expected missing[] = {
	{105, 120, PERF_BR_COND, false, false, LAB_VERDICT_TARGET},
	{105, 110, PERF_BR_COND, true, false, LAB_VERDICT_TARGET},
	{105, 140, PERF_BR_COND, true, false, LAB_VERDICT_TARGET},
	{105, 0, PERF_BR_COND, true, true, LAB_VERDICT_TARGET},
	{105, 120, PERF_BR_UNCOND, true, false, LAB_VERDICT_BOUNDARY},
	{104, 120, PERF_BR_COND, true, false, LAB_VERDICT_BOUNDARY},
	{118, 120, PERF_BR_COND, true, false, LAB_VERDICT_BOUNDARY},
	{125, 100, PERF_BR_CALL, true, false, LAB_VERDICT_CALL},
	{125, 202, PERF_BR_CALL, true, false, LAB_VERDICT_CALL},
	{136, 120, PERF_BR_IND, true, false, LAB_VERDICT_SWITCH},
	{136, 200, PERF_BR_IND, true, false, LAB_VERDICT_SWITCH},
	{165, 110, PERF_BR_IND, true, false, LAB_VERDICT_SWITCH},
	{178, 110, PERF_BR_IND, true, false, LAB_VERDICT_SWITCH},
	{178, 204, PERF_BR_IND, true, false, LAB_VERDICT_ENTRY},
	{149, 210, PERF_BR_RET, true, false, LAB_VERDICT_NORETURN},
	{149, 140, PERF_BR_RET, true, false, LAB_VERDICT_RETURN},
	{149, 240, PERF_BR_RET, true, false, LAB_VERDICT_ENTRY},
	{230, 235, PERF_BR_COND, false, false, LAB_VERDICT_UNKNOWN},
};

static enum lab_verdict verdict_of(const struct expected *e, uint32_t forget)
{
	struct lab_graph_transfer t = {
		.from = {&graph, e->from},
		.next = {e->elsewhere ? NULL : &graph, e->next},
		.kind = e->kind,
		.taken = e->taken,
	};
	bool at_next;

	return lab_verdict_of_transfer(&t, forget, &at_next);
}

static size_t count_as_expected(const struct expected *list, size_t cnt, uint32_t forget)
{
	size_t same = 0;

	for (size_t i = 0; i < cnt; i++)
		same += verdict_of(&list[i], forget) == list[i].verdict;
	return same;
}

#define CNT(list) (sizeof(list) / sizeof((list)[0]))

static void test_sound(void)
{
	CU_ASSERT_EQUAL(count_as_expected(sound, CNT(sound), 0), CNT(sound));
	CU_ASSERT_EQUAL(count_as_expected(leaving, CNT(leaving), 0), CNT(leaving));
}

static void test_missing(void)
{
	CU_ASSERT_EQUAL(count_as_expected(missing, CNT(missing), 0), CNT(missing));
}

/* All edges forgotten: what was sound by an edge is a miss, what needs none is as before. */
static void test_forgotten(void)
{
	for (size_t i = 0; i < CNT(sound); i++)
		CU_ASSERT(verdict_of(&sound[i], 1) >= LAB_VERDICT_MISS);
	/* But a landing pad is one by its edge, whether forgotten or not. */
	CU_ASSERT_EQUAL(count_as_expected(leaving, CNT(leaving), 1), CNT(leaving));
}

static void test_runs(void)
{
	CU_ASSERT_EQUAL(lab_verdict_of_run(&graph, 100, 105, 0), LAB_VERDICT_EDGE);
	CU_ASSERT_EQUAL(lab_verdict_of_run(&graph, 110, 125, 0), LAB_VERDICT_EDGE);
	CU_ASSERT_EQUAL(lab_verdict_of_run(&graph, 115, 125, 0), LAB_VERDICT_EDGE);
	CU_ASSERT_EQUAL(lab_verdict_of_run(&graph, 110, 125, 1), LAB_VERDICT_FALL);
	CU_ASSERT_EQUAL(lab_verdict_of_run(&graph, 110, 124, 0), LAB_VERDICT_FALL);
	CU_ASSERT_EQUAL(lab_verdict_of_run(&graph, 100, 125, 0), LAB_VERDICT_FALL);
	CU_ASSERT_EQUAL(lab_verdict_of_run(&graph, 120, 136, 0), LAB_VERDICT_FALL);
	CU_ASSERT_EQUAL(lab_verdict_of_run(&graph, 230, 240, 0), LAB_VERDICT_UNKNOWN);
	CU_ASSERT_EQUAL(lab_verdict_of_run(&graph, 500, 505, 0), LAB_VERDICT_OUTSIDE);
}

static void test_function_at(void)
{
	CU_ASSERT_EQUAL(lab_graph_function_at(&graph, 100), 0);
	CU_ASSERT_EQUAL(lab_graph_function_at(&graph, 259), 1);
	CU_ASSERT_EQUAL(lab_graph_function_at(&graph, 260), NONE);
	CU_ASSERT_EQUAL(lab_graph_function_at(&graph, 315), 2);
	CU_ASSERT_EQUAL(lab_graph_function_at(&graph, 99), NONE);
}

static const struct unit_test tests[] = {
	{"what is an edge, or may leave, is no miss", test_sound},
	{"each class of miss is told", test_missing},
	{"forgotten edges are missed", test_forgotten},
	{"a straight run follows its blocks", test_runs},
	{"a function holds its parts, read or not", test_function_at},
};
UNIT_SUITE(graph_verdict, tests)
