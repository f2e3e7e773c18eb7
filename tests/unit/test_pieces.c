// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows cut into pieces, by hand, and against the path stack that pops at calls and returns. */
#include "unit.h"

#include <linux/perf_event.h>
#include <string.h>

#include "../../libprofile/src/path/pp_pieces.h"
#include "oracle_estimate.h"
#include "pathprof/paths.h"

static struct pp_pieces pieces_new(void)
{
	struct pp_pieces p;

	pp_pieces_init(&p, true, 100000, 1);
	return p;
}

static const struct pp_piece *piece_at(const struct pp_pieces *p, uint32_t index)
{
	return pp_keyed_item(&p->pieces, index);
}

static const struct pp_crossing *crossing_at(const struct pp_pieces *p, uint32_t index)
{
	return pp_keyed_item(&p->crossings, index);
}

static bool is_piece(const struct pp_piece *piece, const struct pp_piece_key *key, uint32_t span)
{
	return memcmp(&piece->key, key, sizeof(*key)) == 0 && piece->span == span;
}

/* main calls f, which calls g and returns; main jumps back. */
static const struct pathprof_branch nested[] = {
	{0x10, 0x100, 0x100, PERF_BR_CALL, 1},  {0x104, 0x110, 0x106, PERF_BR_COND, 0},
	{0x110, 0x200, 0x200, PERF_BR_CALL, 1}, {0x204, 0x115, 0x115, PERF_BR_RET, 1},
	{0x118, 0x130, 0x130, PERF_BR_COND, 1}, {0x134, 0x15, 0x15, PERF_BR_RET, 1},
	{0x20, 0x10, 0x10, PERF_BR_UNCOND, 1},
};

static void test_pieces_end_at_calls_and_returns(void)
{
	struct pp_pieces p = pieces_new();

	CU_ASSERT_EQUAL(pp_pieces_add(&p, nested, 7), 0);
	CU_ASSERT_EQUAL_FATAL(p.pieces.cnt, 4);
	CU_ASSERT(is_piece(piece_at(&p, 0), &(struct pp_piece_key){0x100, 0x110, 0, 1, 1, 0}, 1));
	CU_ASSERT(is_piece(piece_at(&p, 1), &(struct pp_piece_key){0x200, 0, 0, 0, 1, 0}, 1));
	CU_ASSERT(is_piece(piece_at(&p, 2), &(struct pp_piece_key){0x115, 0, 1, 1, 0, 0}, 2));
	CU_ASSERT(is_piece(piece_at(&p, 3), &(struct pp_piece_key){0x15, 0, 1, 1, 0, 0}, 1));
	CU_ASSERT(piece_at(&p, 2)->returns && !piece_at(&p, 3)->returns);
	/* Six taken branches; the piece of two fits into four places. */
	CU_ASSERT_DOUBLE_EQUAL(piece_at(&p, 2)->weight, 6.0 / 4, 1e-12);
	CU_ASSERT_EQUAL(p.nexts[piece_at(&p, 2)->first_next], 0x130);
	pp_pieces_release(&p);
}

static void test_crossings_say_how_long_calls_take(void)
{
	struct pp_pieces p = pieces_new();
	const struct pp_crossing_key inner = {0x110, 0, 2, 1, PP_FATE_RETURNED};
	const struct pp_crossing_key outer = {0x10, PP_PIECE_NONE, 3, 4, PP_FATE_RETURNED};

	CU_ASSERT_EQUAL(pp_pieces_add(&p, nested, 7), 0);
	CU_ASSERT_EQUAL_FATAL(p.crossings.cnt, 2);
	CU_ASSERT(memcmp(&crossing_at(&p, 0)->key, &inner, sizeof(inner)) == 0);
	CU_ASSERT(memcmp(&crossing_at(&p, 1)->key, &outer, sizeof(outer)) == 0);
	/* From the push at the first branch to the pop at the return: 4 of 6. From the call on: all
	   but one place. */
	CU_ASSERT_DOUBLE_EQUAL(crossing_at(&p, 0)->weight, 6.0 / 2, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(crossing_at(&p, 1)->weight, 6.0, 1e-12);
	pp_pieces_release(&p);
}

static void test_windows_that_end_first_censor(void)
{
	struct pp_pieces p = pieces_new();
	const struct pp_crossing_key outer = {0x10, PP_PIECE_NONE, PP_PIECE_NONE, 1,
					      PP_FATE_CENSORED};
	const struct pp_crossing_key inner = {0x110, 0, PP_PIECE_NONE, 0, PP_FATE_CENSORED};

	CU_ASSERT_EQUAL(pp_pieces_add(&p, nested, 3), 0);
	CU_ASSERT_EQUAL_FATAL(p.crossings.cnt, 2);
	CU_ASSERT(memcmp(&crossing_at(&p, 0)->key, &outer, sizeof(outer)) == 0);
	CU_ASSERT(memcmp(&crossing_at(&p, 1)->key, &inner, sizeof(inner)) == 0);
	pp_pieces_release(&p);
}

static void test_a_return_elsewhere_voids_the_calls(void)
{
	struct pathprof_branch torn[7];
	struct pp_pieces p = pieces_new();

	memcpy(torn, nested, sizeof(torn));
	torn[3].next = torn[3].target = 0x110 + 16; /* one byte more than a call can have */
	CU_ASSERT_EQUAL(pp_pieces_add(&p, torn, 7), 0);
	CU_ASSERT_EQUAL(p.crossings.cnt, 0);
	CU_ASSERT_EQUAL(p.pieces.cnt, 4);
	pp_pieces_release(&p);
}

/* ---------------------------------------------------------------- against the path stack */

struct totals {
	uint64_t cnt;
	double weight;
};

static void add_popped(void *context, const struct pathprof_path_seen *seen)
{
	struct totals *t = context;

	t->cnt++;
	t->weight += seen->weight;
}

/*
 * If no piece is longer than 32 branches, the pieces are those of the other mapping. Only a piece
 * behind a return whose call came before the window differs: its stack is empty then, and pushes.
 */
static void test_pieces_are_those_of_the_other_mapping(void)
{
	static struct pathprof_branch stream[20000];
	struct pp_pieces p = pieces_new();
	struct oracle_graph graph;
	struct totals popped = {.cnt = 0};
	double weight = 0;

	oracle_graph_random(&graph, 3);
	oracle_graph_run(&graph, stream, 20000, 8);
	for (size_t i = 0; i + 60 < 20000; i += 37) {
		CU_ASSERT_EQUAL_FATAL(pp_pieces_add(&p, stream + i, 60), 0);
		CU_ASSERT_FATAL(pathprof_paths_of_burst(stream + i, 60, PATHPROF_MAPPING_WPP,
							add_popped, &popped) >= 0);
	}
	for (uint32_t i = 0; i < p.pieces.cnt; i++)
		weight += piece_at(&p, i)->weight;
	CU_ASSERT(popped.cnt > 10000);
	CU_ASSERT_DOUBLE_EQUAL(weight, popped.weight, 1e-9 * weight);
	/* The planted fault: a window more on one side. */
	CU_ASSERT_EQUAL(pp_pieces_add(&p, stream, 60), 0);
	weight = 0;
	for (uint32_t i = 0; i < p.pieces.cnt; i++)
		weight += piece_at(&p, i)->weight;
	CU_ASSERT(weight > popped.weight * (1 + 1e-6));
	pp_pieces_release(&p);
}

static const struct unit_test tests[] = {
	{"pieces end at calls and returns", test_pieces_end_at_calls_and_returns},
	{"crossings say how long calls take", test_crossings_say_how_long_calls_take},
	{"windows that end first censor", test_windows_that_end_first_censor},
	{"a return elsewhere voids the calls", test_a_return_elsewhere_voids_the_calls},
	{"pieces are those of the other mapping", test_pieces_are_those_of_the_other_mapping},
};
UNIT_SUITE(pieces, tests)
