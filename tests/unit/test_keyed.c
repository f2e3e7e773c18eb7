// SPDX-License-Identifier: GPL-2.0-or-later
/* Items by key against a list that is searched from end to end. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "../../libprofile/src/path/pp_keyed.h"

#define LIST_MAX 3000

struct item {
	uint64_t key[2];
	uint64_t cnt;
};

static size_t list_at(struct item *list, size_t *cnt, const uint64_t *key)
{
	size_t i = 0;

	while (i < *cnt && memcmp(list[i].key, key, sizeof(list[i].key)) != 0)
		i++;
	if (i == *cnt) {
		memset(&list[i], 0, sizeof(list[i]));
		memcpy(list[(*cnt)++].key, key, sizeof(list[i].key));
	}
	return i;
}

static size_t differences(const struct pp_keyed *k, const struct item *list, size_t cnt)
{
	size_t different = k->cnt != cnt;

	for (size_t i = 0; i < cnt; i++) {
		uint32_t index;

		different += pp_keyed_find(k, list[i].key, &index) < 0 || index != i ||
			     memcmp(pp_keyed_item(k, index), &list[i], sizeof(list[i])) != 0;
	}
	return different;
}

static void test_counts_as_a_list(void)
{
	static struct item list[LIST_MAX];
	uint64_t state = 3;
	struct pp_keyed k;
	size_t cnt = 0, misplaced = 0;

	CU_ASSERT_EQUAL_FATAL(
		pp_keyed_init(&k, sizeof(struct item), sizeof(list[0].key), LIST_MAX, 77), 0);
	for (int i = 0; i < 20000; i++) {
		uint64_t key[2];
		uint32_t index;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		key[0] = state >> 40 & 63;
		key[1] = state >> 50 & 31;
		CU_ASSERT_EQUAL_FATAL(pp_keyed_at(&k, key, &index), 0);
		size_t place = list_at(list, &cnt, key);

		misplaced += index != place;
		list[place].cnt++;
		((struct item *)pp_keyed_item(&k, index))->cnt++;
	}
	CU_ASSERT(cnt > 1000); /* it grew on the way */
	CU_ASSERT_EQUAL(misplaced, 0);
	CU_ASSERT_EQUAL(differences(&k, list, cnt), 0);
	/* The planted fault: one key is another. */
	((struct item *)pp_keyed_item(&k, 500))->key[1] ^= 1U << 20;
	CU_ASSERT_EQUAL(differences(&k, list, cnt), 1);
	pp_keyed_release(&k);
}

static void test_full_takes_nothing_new(void)
{
	const uint64_t keys[4][2] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}};
	struct pp_keyed k;
	uint32_t index = 99;

	CU_ASSERT_EQUAL_FATAL(pp_keyed_init(&k, sizeof(struct item), sizeof(keys[0]), 3, 0), 0);
	CU_ASSERT_EQUAL(pp_keyed_find(&k, keys[0], &index), -ENOENT);
	CU_ASSERT_EQUAL(index, 99);
	for (uint32_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(pp_keyed_at(&k, keys[i], &index), 0);
		CU_ASSERT_EQUAL(index, i);
	}
	CU_ASSERT_EQUAL(pp_keyed_at(&k, keys[3], &index), -ENOSPC);
	CU_ASSERT_EQUAL(index, 2);
	CU_ASSERT_EQUAL(pp_keyed_at(&k, keys[1], &index), 0);
	CU_ASSERT_EQUAL(index, 1);
	pp_keyed_release(&k);
}

static const struct unit_test tests[] = {
	{"counts as a list does", test_counts_as_a_list},
	{"full it takes nothing new", test_full_takes_nothing_new},
};
UNIT_SUITE(keyed, tests)
