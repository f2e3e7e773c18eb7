// SPDX-License-Identifier: GPL-2.0-or-later
/* Binary search against one from end to end, over all lengths and all places where it may end. */
#include "unit.h"

#include <stdbool.h>

#include "base/search.h"

#define CNT_MAX 40

static bool holds[CNT_MAX];

static size_t first_by_looking(size_t low, size_t high)
{
	while (low < high && !holds[low])
		low++;
	return low;
}

/* Ranges in which both searches end at different places. */
static size_t differences(size_t cnt)
{
	size_t different = 0;

	for (size_t low = 0; low <= cnt; low++)
		different += pp_first(i, low, cnt, holds[i]) != first_by_looking(low, cnt);
	return different;
}

static void test_every_length(void)
{
	for (size_t cnt = 0; cnt < CNT_MAX; cnt++)
		for (size_t first = 0; first <= cnt; first++) {
			for (size_t i = 0; i < cnt; i++)
				holds[i] = i >= first;
			CU_ASSERT_EQUAL(differences(cnt), 0);
		}
	/* The planted fault: it does not hold for all behind the first. */
	for (size_t i = 0; i < CNT_MAX; i++)
		holds[i] = i == 1 || i > 30;
	CU_ASSERT_EQUAL(differences(CNT_MAX), 2);
}

static void test_looks_at_few(void)
{
	size_t looked = 0;

	CU_ASSERT_EQUAL(pp_first(i, 0, 1000000, (looked++, i >= 765432)), 765432);
	CU_ASSERT(looked <= 20);
}

static const struct unit_test tests[] = {
	{"ends where a search from end to end does", test_every_length},
	{"looks at twenty of a million", test_looks_at_few},
};
UNIT_SUITE(search, tests)
