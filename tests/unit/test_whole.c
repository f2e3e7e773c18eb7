// SPDX-License-Identifier: GPL-2.0-or-later
/* The path stack without a bottom against the one of 32 entries: the same as far as that reaches.
 */
#include "unit.h"

#include <linux/perf_event.h>
#include <string.h>

#include "../../tools/lab/collect/whole.h"
#include "pathprof/paths.h"

struct counts {
	size_t shallow, whole, different;
};

static void step_both(struct pathprof_path_stack *stack, struct lab_whole *whole,
		      const struct pathprof_branch *branch, struct counts *counts)
{
	struct pathprof_path_popped popped = {.start = 0};
	struct lab_path_key key = {.start = 0};
	bool shallow_pops = pathprof_path_stack_step(stack, branch, 1, &popped);
	bool whole_pops = lab_whole_step(whole, branch, &key);

	counts->shallow += shallow_pops;
	counts->whole += whole_pops;
	counts->different += shallow_pops != whole_pops || popped.start != key.start ||
			     popped.length != key.length || popped.outcomes != key.outcomes;
}

static struct counts compare(const struct pathprof_branch *stream, size_t cnt)
{
	struct pathprof_path_settings settings = {.mapping = PATHPROF_MAPPING_BL, .max_length = 32};
	struct pathprof_path_stack *stack;
	struct lab_whole whole = {.cnt = 0};
	struct counts counts = {.shallow = 0};

	CU_ASSERT_EQUAL_FATAL(pathprof_path_stack_new(&stack, &settings), 0);
	for (size_t i = 0; i < cnt; i++)
		step_both(stack, &whole, &stream[i], &counts);
	pathprof_path_stack_free(stack);
	lab_whole_release(&whole);
	return counts;
}

/* Forward branches enough to reach the greatest length, and all other kinds. */
static void test_shallow_streams_give_the_same_paths(void)
{
	static const uint32_t kinds[] = {PERF_BR_UNCOND, PERF_BR_IND, PERF_BR_CALL, PERF_BR_RET};
	static struct pathprof_branch stream[20000];
	uint64_t state = 11, depth = 0;
	struct counts counts;

	for (size_t i = 0; i < 20000; i++) {
		struct pathprof_branch *b = &stream[i];

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		b->kind = state >> 40 & 15 ? PERF_BR_COND : kinds[state >> 50 & 3];
		if (b->kind == PERF_BR_CALL && depth == 31)
			b->kind = PERF_BR_COND;
		depth += b->kind == PERF_BR_CALL;
		depth -= b->kind == PERF_BR_RET && depth;
		b->from = 0x1000 + (state >> 33 & 0x3f);
		b->target = state >> 60 ? b->from + 16 : b->from - 16;
		b->taken = b->kind != PERF_BR_COND || (state >> 57 & 1);
		b->next = b->taken ? b->target : b->from + 2;
	}
	counts = compare(stream, 20000);
	CU_ASSERT(counts.whole > 1000);
	CU_ASSERT_EQUAL(counts.different, 0);
}

/* 40 calls and their returns: eight fell off. This is the difference the comparison must see. */
static void test_deep_recursion_is_kept(void)
{
	struct pathprof_branch stream[80];
	struct counts counts;

	for (uint64_t i = 0; i < 80; i++)
		stream[i] = (struct pathprof_branch){.from = 0x100,
						     .target = 0x200,
						     .next = 0x200,
						     .kind = i < 40 ? PERF_BR_CALL : PERF_BR_RET,
						     .taken = 1};
	counts = compare(stream, 80);
	CU_ASSERT_EQUAL(counts.whole, 40);
	CU_ASSERT_EQUAL(counts.shallow, 32);
	CU_ASSERT_EQUAL(counts.different, 8);
}

static const struct unit_test tests[] = {
	{"shallow streams give the same paths", test_shallow_streams_give_the_same_paths},
	{"deep recursion is kept", test_deep_recursion_is_kept},
};
UNIT_SUITE(whole, tests)
