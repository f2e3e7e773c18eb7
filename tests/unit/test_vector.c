// SPDX-License-Identifier: GPL-2.0-or-later
/* Growing arrays: nothing is lost on the way, and what cannot be had leaves everything as it was.
 */
#include "unit.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/vector.h"

#define CNT 100000

static size_t differences(const uint64_t *items, size_t cnt)
{
	size_t different = 0;

	for (size_t i = 0; i < cnt; i++)
		different += items[i] != 7 * i;
	return different;
}

static void test_grows(void)
{
	uint32_t cnt = 0, room = 0, before, moves = 0;
	uint64_t *items = NULL;

	while (cnt < CNT) {
		before = room;
		CU_ASSERT_EQUAL_FATAL(pp_grow(&items, cnt, &room), 0);
		moves += room != before;
		CU_ASSERT_FATAL(room > cnt);
		items[cnt] = 7 * (uint64_t)cnt;
		cnt++;
	}
	CU_ASSERT_EQUAL(differences(items, cnt), 0);
	CU_ASSERT(moves < 30);
	CU_ASSERT(room <= cnt + cnt / 2);
	/* The planted fault. */
	items[4711]++;
	CU_ASSERT_EQUAL(differences(items, cnt), 1);
	free(items);
}

static void test_room_for_many(void)
{
	size_t room = 0;
	char *text = NULL;

	CU_ASSERT_EQUAL(pp_reserve(&text, 0, &room), 0);
	CU_ASSERT_EQUAL(room, 0);
	CU_ASSERT_EQUAL_FATAL(pp_reserve(&text, 1000, &room), 0);
	CU_ASSERT(room >= 1000);
	text[999] = 'x';
	CU_ASSERT_EQUAL_FATAL(pp_resize(&text, 1), 0);
	CU_ASSERT_EQUAL_FATAL(pp_resize(&text, 0), 0);
	CU_ASSERT_PTR_NOT_NULL(text);
	free(text);
}

/* More bytes than there are addresses, and more elements than the owner can count. */
static void test_too_many(void)
{
	uint8_t small = 200, *bytes = malloc(200), *same = bytes;
	uint64_t *items = malloc(16 * sizeof(*items)), *same_items = items;
	size_t room = 16;

	CU_ASSERT_EQUAL(pp_reserve(&items, SIZE_MAX / 4, &room), -ENOMEM);
	CU_ASSERT_EQUAL(pp_resize(&items, SIZE_MAX / 4), -ENOMEM);
	CU_ASSERT_EQUAL(room, 16);
	CU_ASSERT_PTR_EQUAL(items, same_items);
	CU_ASSERT_EQUAL(pp_reserve(&bytes, 256, &small), -ENOMEM);
	CU_ASSERT_EQUAL(small, 200);
	CU_ASSERT_PTR_EQUAL(bytes, same);
	CU_ASSERT_EQUAL(pp_grow(&bytes, 200, &small), 0);
	CU_ASSERT_EQUAL(small, 255);
	CU_ASSERT_EQUAL(pp_grow(&bytes, 255, &small), -ENOMEM);
	free(bytes);
	free(items);
}

static void test_copies(void)
{
	struct pp_vector v = {.size_bytes = sizeof(uint64_t)};

	for (uint64_t i = 0; i < CNT; i++) {
		uint64_t item = 7 * i;

		CU_ASSERT_PTR_NOT_NULL_FATAL(pp_vector_add(&v, &item));
	}
	CU_ASSERT_EQUAL(v.cnt, CNT);
	CU_ASSERT_EQUAL(differences(v.data, v.cnt), 0);
	CU_ASSERT_EQUAL(*PP_AT(v, uint64_t, 5), 35);
	free(v.data);
}

static const struct unit_test tests[] = {
	{"grows and loses nothing", test_grows},
	{"has room for many at once, or few", test_room_for_many},
	{"refuses what cannot be", test_too_many},
	{"keeps copies", test_copies},
};
UNIT_SUITE(vector, tests)
