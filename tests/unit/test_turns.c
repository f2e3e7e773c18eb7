// SPDX-License-Identifier: GPL-2.0-or-later
/* One budget for the work of several: who has a turn, and how long nobody has one. */
#include "../../tools/hub/turns.h"
#include "unit.h"

#define PLACES 6

struct work {
	unsigned int left[PLACES], done[PLACES];
};

static bool do_piece(void *context, size_t at)
{
	struct work *work = context;

	if (!work->left[at])
		return false;
	work->left[at]--;
	work->done[at]++;
	return true;
}

/* Each piece takes a second; returns the number of pieces done. */
static unsigned int work_for(struct hub_turns *turns, struct work *work, uint64_t seconds)
{
	unsigned int cnt = 0;

	for (uint64_t now = 0; now < seconds; now++) {
		if (hub_turns_rest(turns, now) || !hub_turns_work(turns, PLACES, do_piece, work))
			continue;
		hub_turns_spend(turns, now, now + 1);
		cnt++;
	}
	return cnt;
}

static void test_one_budget(void)
{
	struct work work = {.left = {100, 100, 100, 100, 100, 100}};
	struct hub_turns turns = {.next = 0};

	CU_ASSERT_EQUAL(work_for(&turns, &work, 150), 30);
	for (size_t i = 0; i < PLACES; i++)
		CU_ASSERT_EQUAL(work.done[i], 5);
}

static void test_alone(void)
{
	struct work work = {.left = {0, 0, 100, 0, 2, 0}};
	struct hub_turns turns = {.next = 0};

	CU_ASSERT_EQUAL(work_for(&turns, &work, 50), 10);
	CU_ASSERT_EQUAL(work.done[2], 8);
	CU_ASSERT_EQUAL(work.done[4], 2);
}

static void test_nothing(void)
{
	struct hub_turns turns = {.next = 0};
	struct work work = {.left = {0}};

	CU_ASSERT(!hub_turns_work(&turns, PLACES, do_piece, &work));
	CU_ASSERT(!hub_turns_work(&turns, 0, do_piece, &work));
	CU_ASSERT(!hub_turns_rest(&turns, 0));
}

static const struct unit_test tests[] = {
	{"six that always have work take a fifth of the time together, the same each",
	 test_one_budget},
	{"who has nothing to do takes no turn from the others", test_alone},
	{"nobody has work: nothing is done", test_nothing},
};
UNIT_SUITE(turns, tests)
