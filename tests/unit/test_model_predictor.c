// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The branch predictor: directions against counters kept as plain integers by name, targets
 * against a list, returns against a stack, and what each part must be able to learn.
 */
#include "unit.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/lab/model/predictor.h"

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static struct pathprof_branch conditional(uint64_t from, bool taken)
{
	return (struct pathprof_branch){.from = from,
					.target = from + 64,
					.next = taken ? from + 64 : from + 2,
					.kind = PERF_BR_COND,
					.taken = taken};
}

static struct pathprof_branch transfer(uint32_t kind, uint64_t from, uint64_t to)
{
	return (struct pathprof_branch){
		.from = from, .target = to, .next = to, .kind = kind, .taken = 1};
}

/* Directions: the definition, with history as text and counters as integers. */
struct oracle {
	int global[8192], local[8192], choice[1024];
	char history[12]; /* oldest first */
	bool short_history;
};

static void oracle_init(struct oracle *o)
{
	for (size_t i = 0; i < 8192; i++)
		o->global[i] = o->local[i] = 1;
	for (size_t i = 0; i < 1024; i++)
		o->choice[i] = 1;
	memset(o->history, 'N', sizeof(o->history));
}

static void move(int *counter, bool up)
{
	if (up && *counter < 3)
		++*counter;
	if (!up && *counter > 0)
		--*counter;
}

static size_t history_bits(const struct oracle *o)
{
	size_t bits = 0;

	for (size_t i = o->short_history; i < sizeof(o->history); i++)
		bits = bits * 2 + (o->history[i] == 'T');
	return bits;
}

static bool oracle_wrong(struct oracle *o, uint64_t from, bool taken)
{
	int *global = &o->global[(from % 8192) ^ history_bits(o)];
	int *local = &o->local[from % 8192], *choice = &o->choice[from % 1024];
	bool g = *global > 1, l = *local > 1, said = *choice > 1 ? g : l;

	if (g == taken && l != taken)
		move(choice, true);
	if (g != taken && l == taken)
		move(choice, false);
	move(global, taken);
	move(local, taken);
	memmove(o->history, o->history + 1, sizeof(o->history) - 1);
	o->history[sizeof(o->history) - 1] = taken ? 'T' : 'N';
	return said != taken;
}

/* Branches of which some are biased, some follow one before them, some are random. */
static size_t differences(bool short_history)
{
	struct lab_predictor *p = malloc(sizeof(*p));
	struct oracle *o = calloc(1, sizeof(*o));
	uint64_t state = 7;
	bool taken = false;
	size_t different = 0;

	lab_predictor_init(p);
	oracle_init(o);
	o->short_history = short_history;
	for (size_t i = 0; i < 100000; i++) {
		uint64_t from = 0x400000 + draw(&state) % 5000 * 3;

		if (from % 3 == 0)
			taken = draw(&state) % 16 != 0;
		else if (from % 5)
			taken = draw(&state) % 2;
		struct pathprof_branch b = conditional(from, taken);

		different += lab_predictor_step(p, &b) != oracle_wrong(o, from, taken);
	}
	free(p);
	free(o);
	return different;
}

static void test_directions(void)
{
	CU_ASSERT_EQUAL(differences(false), 0);
}

static void test_planted(void)
{
	CU_ASSERT_TRUE(differences(true) > 100);
}

/* Mispredictions among the last `last` of cnt branches that follow a pattern. */
static size_t wrong_at_the_end(const char *pattern, size_t cnt, size_t last)
{
	struct lab_predictor *p = malloc(sizeof(*p));
	size_t wrong = 0, len = strlen(pattern);

	lab_predictor_init(p);
	for (size_t i = 0; i < cnt; i++) {
		struct pathprof_branch b = conditional(0x401000, pattern[i % len] == 'T');
		bool missed = lab_predictor_step(p, &b);

		if (i + last >= cnt)
			wrong += missed;
	}
	free(p);
	return wrong;
}

static void test_learns(void)
{
	CU_ASSERT_EQUAL(wrong_at_the_end("T", 100, 50), 0);
	CU_ASSERT_EQUAL(wrong_at_the_end("TN", 1000, 500), 0);
	CU_ASSERT_EQUAL(wrong_at_the_end("TTTTTTTTN", 2000, 900), 0);
	/* A turn longer than the history ends in a surprise each time. */
	CU_ASSERT_EQUAL(wrong_at_the_end("TTTTTTTTTTTTTTTTTTTN", 4000, 2000), 100);
}

static void test_indirect(void)
{
	struct lab_predictor *p = malloc(sizeof(*p));
	struct pathprof_branch a = transfer(PERF_BR_IND, 0x1000, 0x2000);
	struct pathprof_branch b = transfer(PERF_BR_IND, 0x1000, 0x3000);

	lab_predictor_init(p);
	CU_ASSERT_TRUE(lab_predictor_step(p, &a));
	CU_ASSERT_FALSE(lab_predictor_step(p, &a));
	CU_ASSERT_TRUE(lab_predictor_step(p, &b));
	CU_ASSERT_TRUE(lab_predictor_step(p, &a));
	free(p);
}

/* Four branches of a set stay, a fifth pushes out the one least recently taken. */
static void test_target_ways(void)
{
	struct lab_predictor *p = malloc(sizeof(*p));

	lab_predictor_init(p);
	for (uint64_t i = 0; i < 12; i++) {
		struct pathprof_branch b =
			transfer(PERF_BR_IND, 0x1000 + i % 4 * LAB_TARGET_SETS, 0x2000);

		CU_ASSERT_EQUAL(lab_predictor_step(p, &b), i < 4);
	}
	struct pathprof_branch jump =
		transfer(PERF_BR_UNCOND, 0x1000 + 4 * LAB_TARGET_SETS, 0x2000);
	struct pathprof_branch first = transfer(PERF_BR_IND, 0x1000, 0x2000);
	struct pathprof_branch last = transfer(PERF_BR_IND, 0x1000 + 3 * LAB_TARGET_SETS, 0x2000);

	CU_ASSERT_FALSE(lab_predictor_step(p, &jump));
	CU_ASSERT_FALSE(lab_predictor_step(p, &last));
	CU_ASSERT_TRUE(lab_predictor_step(p, &first));
	free(p);
}

/* Calls down to a depth and back: what is deeper than the stack is forgotten. */
static size_t wrong_returns(uint64_t depth, uint64_t call_bytes)
{
	struct lab_predictor *p = malloc(sizeof(*p));
	size_t wrong = 0;

	lab_predictor_init(p);
	for (uint64_t i = 0; i < depth; i++) {
		struct pathprof_branch b =
			transfer(i % 2 ? PERF_BR_CALL : PERF_BR_IND_CALL, 0x1000 * i, 0x900000);

		lab_predictor_step(p, &b);
	}
	for (uint64_t i = depth; i-- > 0;) {
		struct pathprof_branch b = transfer(PERF_BR_RET, 0x900010, 0x1000 * i + call_bytes);

		wrong += lab_predictor_step(p, &b);
	}
	free(p);
	return wrong;
}

static void test_returns(void)
{
	CU_ASSERT_EQUAL(wrong_returns(1, 5), 0);
	CU_ASSERT_EQUAL(wrong_returns(LAB_RAS_CNT, 15), 0);
	CU_ASSERT_EQUAL(wrong_returns(LAB_RAS_CNT + 10, 2), 10);
	CU_ASSERT_EQUAL(wrong_returns(4, 16), 4);
	CU_ASSERT_EQUAL(wrong_returns(4, 0), 4);
}

static const struct unit_test tests[] = {
	{"directions equal counters kept by the definition", test_directions},
	{"a history one shorter is found", test_planted},
	{"learns what fits its history, and no more", test_learns},
	{"an indirect branch goes where it went", test_indirect},
	{"the least recently taken of five leaves the target buffer", test_target_ways},
	{"returns follow their calls as deep as the stack", test_returns},
};
UNIT_SUITE(model_predictor, tests)
