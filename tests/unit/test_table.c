// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables against what is searched from end to end. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/table.h"

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

	pp_keyed_init(&k, sizeof(struct item), sizeof(list[0].key), LIST_MAX, 77);
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

	pp_keyed_init(&k, sizeof(struct item), sizeof(keys[0]), 3, 0);
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

#define WORDS 4096

static uint64_t words[WORDS];

/* Words that are not found at their place, or found though they are not there. */
static size_t wrong_words(const struct pp_table *table, unsigned int hash_bits)
{
	uint64_t mask = (1ull << hash_bits) - 1;
	size_t wrong = 0;

	for (uint32_t w = 0; w < WORDS; w++)
		wrong += pp_table_find(table, words[w] & mask, i, words[i] == words[w]) !=
			 (w < table->cnt ? w : PP_TABLE_NONE);
	return wrong;
}

/* With few bits of hash nearly all collide. */
static void add_words(unsigned int hash_bits, uint32_t cnt)
{
	uint64_t mask = (1ull << hash_bits) - 1;
	struct pp_table table = {0};

	for (uint32_t w = 0; w < WORDS; w++)
		words[w] = (uint64_t)w * 0x9e3779b97f4a7c15u;
	CU_ASSERT_EQUAL(wrong_words(&table, hash_bits), 0);
	while (table.cnt < cnt)
		CU_ASSERT_EQUAL_FATAL(
			pp_table_add(&table, words[table.cnt] & mask, i, words[i] & mask), 0);
	CU_ASSERT(table.slot_cnt >= 2 * cnt);
	CU_ASSERT_EQUAL(wrong_words(&table, hash_bits), 0);
	/* The planted fault: one has lost its slot. */
	for (uint32_t at = 0; at < table.slot_cnt; at++)
		if (table.slots[at] == cnt / 2)
			table.slots[at] = 0;
	CU_ASSERT(wrong_words(&table, hash_bits) > 0);
	pp_table_clear(&table);
	CU_ASSERT_EQUAL(wrong_words(&table, hash_bits), 0);
	pp_table_release(&table);
}

static void test_finds(void)
{
	add_words(62, 3000);
	add_words(3, 300);
}

static void test_makes_room(void)
{
	struct pp_table table = {0};
	size_t bytes = pp_table_enlarge_bytes(&table, 1000);
	const uint32_t *slots;

	CU_ASSERT_EQUAL_FATAL(pp_table_enlarge(&table, 1000), 1);
	CU_ASSERT_EQUAL(table.slot_cnt * sizeof(table.slots[0]), bytes);
	CU_ASSERT_EQUAL(pp_table_enlarge_bytes(&table, 1000), 0);
	CU_ASSERT_EQUAL(pp_table_enlarge(&table, 1000), 0);
	slots = table.slots;
	while (table.cnt < 1000)
		CU_ASSERT_EQUAL(pp_table_add(&table, table.cnt, i, i), 0);
	CU_ASSERT_PTR_EQUAL(table.slots, slots);
	CU_ASSERT_EQUAL(pp_table_enlarge(&table, PP_TABLE_MAX + 1), -ENOMEM);
	pp_table_release(&table);
}

static void test_words(void)
{
	struct pp_map map = {0};

	CU_ASSERT_EQUAL(pp_map_get(&map, 3), PP_TABLE_NONE);
	for (uint64_t i = 0; i < 5000; i++)
		CU_ASSERT_EQUAL_FATAL(pp_map_put(&map, i << 30, (uint32_t)i), 0);
	CU_ASSERT_EQUAL(pp_map_put(&map, 77ull << 30, 1), 0);
	CU_ASSERT_EQUAL(map.table.cnt, 5000);
	for (uint64_t i = 0; i < 5000; i++)
		CU_ASSERT_EQUAL(pp_map_get(&map, i << 30), i == 77 ? 1 : i);
	CU_ASSERT_EQUAL(pp_map_get(&map, 5), PP_TABLE_NONE);
	pp_map_release(&map);
}

static void test_texts(void)
{
	struct pp_texts texts = {0};
	uint32_t number;
	char text[16];

	CU_ASSERT_EQUAL(pp_texts_find(&texts, ""), PP_TABLE_NONE);
	for (uint32_t i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "%u", i % 1000);
		CU_ASSERT_EQUAL_FATAL(pp_texts_at(&texts, text, &number), 0);
		CU_ASSERT_EQUAL(number, i % 1000);
	}
	CU_ASSERT_EQUAL(texts.table.cnt, 1000);
	CU_ASSERT_EQUAL(pp_texts_find(&texts, "999"), 999);
	CU_ASSERT_EQUAL(pp_texts_find(&texts, "1000"), PP_TABLE_NONE);
	CU_ASSERT_STRING_EQUAL(texts.texts[42], "42");
	pp_texts_release(&texts);
}

#define ALIKE_CNT 200

/* The most slots in use one behind another. */
static uint32_t longest_run(const struct pp_table *table)
{
	uint32_t run = 0, longest = 0;

	for (uint32_t i = 0; i < table->slot_cnt; i++) {
		run = table->slots[i] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Texts that come to one slot by their hash, as far as that is known to who chooses them. */
static void test_chosen_texts(void)
{
	struct pp_texts texts = {0};
	uint32_t number;
	char text[16];

	for (unsigned int i = 0; texts.table.cnt < ALIKE_CNT; i++) {
		int len = snprintf(text, sizeof(text), "%u", i);

		if ((XXH3_64bits(text, (size_t)len) & 0xfff) == 0)
			CU_ASSERT_EQUAL_FATAL(pp_texts_at(&texts, text, &number), 0);
	}
	CU_ASSERT(longest_run(&texts.table) < ALIKE_CNT / 2);
	pp_texts_release(&texts);
}

/* An item that was cut off is not found, and may come back behind those that stayed. */
static void test_cut(void)
{
	static const uint64_t keys[][2] = {{1, 2}, {2, 1}, {1, 1}, {2, 2}};
	struct pp_keyed k;
	uint32_t index;

	pp_keyed_init(&k, sizeof(struct item), sizeof(keys[0]), 3, 0);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(pp_keyed_at(&k, keys[i], &index), 0);
	pp_keyed_cut(&k, 3);
	CU_ASSERT_EQUAL(k.cnt, 3);
	pp_keyed_cut(&k, 1);
	CU_ASSERT_EQUAL(k.cnt, 1);
	CU_ASSERT_EQUAL(pp_keyed_find(&k, keys[0], &index), 0);
	CU_ASSERT_EQUAL(pp_keyed_find(&k, keys[1], &index), -ENOENT);
	CU_ASSERT_EQUAL(pp_keyed_at(&k, keys[3], &index), 0);
	CU_ASSERT_EQUAL(index, 1);
	CU_ASSERT_EQUAL(pp_keyed_at(&k, keys[2], &index), 0);
	CU_ASSERT_EQUAL(index, 2);
	CU_ASSERT_EQUAL(pp_keyed_at(&k, keys[1], &index), -ENOSPC);
	pp_keyed_release(&k);
}

static const struct unit_test tests[] = {
	{"finds what is there, and nothing else", test_finds},
	{"takes no memory where room was made", test_makes_room},
	{"keeps numbers for words", test_words},
	{"keeps each text once", test_texts},
	{"texts cannot be chosen to meet in one slot", test_chosen_texts},
	{"counts as a list does", test_counts_as_a_list},
	{"full it takes nothing new", test_full_takes_nothing_new},
	{"gives up what came last", test_cut},
};
UNIT_SUITE(table, tests)
