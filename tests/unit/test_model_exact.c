// SPDX-License-Identifier: GPL-2.0-or-later
/* The exact counting table against a plain list, and overlap against its definition. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../../tools/lab/model/exact.h"

#define LIST_MAX 3000

struct list {
	struct lab_exact_entry entries[LIST_MAX];
	size_t cnt;
	uint64_t total;
};

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t list_add(struct list *list, const struct lab_key *key, uint64_t count)
{
	size_t i = 0;

	while (i < list->cnt &&
	       (list->entries[i].key.a != key->a || list->entries[i].key.b != key->b))
		i++;
	if (i == list->cnt)
		list->entries[list->cnt++] = (struct lab_exact_entry){.key = *key};
	list->entries[i].count += count;
	list->total += count;
	return i;
}

/* Keys that share a word, and addresses 16 apart. */
static struct lab_key draw_key(uint64_t *state)
{
	uint64_t r = draw(state) % (LIST_MAX - 1);

	return (struct lab_key){0x7f0000001000 + r / 4 * 16, r % 4 << 32};
}

static size_t differences(const struct lab_exact *table, const struct list *list)
{
	size_t different = (table->cnt != list->cnt) + (table->total != list->total);

	for (size_t i = 0; i < list->cnt; i++) {
		const struct lab_exact_entry *e = &list->entries[i];

		different += lab_exact_find(table, &e->key) != (int64_t)i;
		different += lab_exact_count(table, &e->key) != e->count;
	}
	return different;
}

static void fill(struct lab_exact *table, struct list *list, uint64_t seed)
{
	for (size_t i = 0; i < 40000; i++) {
		struct lab_key key = draw_key(&seed);
		uint64_t count = draw(&seed) % 4;

		CU_ASSERT_EQUAL(lab_exact_add(table, &key, count),
				(int64_t)list_add(list, &key, count));
	}
}

static void test_list(void)
{
	struct list *list = calloc(1, sizeof(*list));
	struct lab_key absent = {1, 2};
	struct lab_exact table;

	lab_exact_init(&table);
	fill(&table, list, 1);
	CU_ASSERT_TRUE(list->cnt > 2500); /* so that the table has grown */
	CU_ASSERT_EQUAL(differences(&table, list), 0);
	CU_ASSERT_EQUAL(lab_exact_find(&table, &absent), -ENOENT);
	CU_ASSERT_EQUAL(lab_exact_count(&table, &absent), 0);
	lab_exact_clear(&table);
	*list = (struct list){.cnt = 0};
	CU_ASSERT_EQUAL(table.total, 0);
	fill(&table, list, 2);
	CU_ASSERT_EQUAL(differences(&table, list), 0);
	lab_exact_release(&table);
	free(list);
}

static void test_planted(void)
{
	struct list *list = calloc(1, sizeof(*list));
	struct lab_exact table;

	lab_exact_init(&table);
	fill(&table, list, 3);
	table.entries[100].count++;
	CU_ASSERT_EQUAL(differences(&table, list), 1);
	table.entries[100].count--;
	table.entries[100].key.b ^= 1;
	CU_ASSERT_TRUE(differences(&table, list) > 0);
	lab_exact_release(&table);
	free(list);
}

static void test_growth(void)
{
	struct lab_exact table;

	lab_exact_init(&table);
	for (uint64_t i = 0; i < 100000; i++)
		CU_ASSERT_EQUAL(lab_exact_add(&table, &(struct lab_key){i * 16, i % 3}, i),
				(int64_t)i);
	for (uint64_t i = 0; i < 100000; i++)
		CU_ASSERT_EQUAL(lab_exact_count(&table, &(struct lab_key){i * 16, i % 3}), i);
	lab_exact_release(&table);
}

static void test_hottest(void)
{
	static const struct lab_exact_entry expected[] = {
		{{5, 1}, 9}, {{2, 7}, 3}, {{2, 8}, 3}, {{4, 0}, 3}, {{1, 1}, 0}};
	static const uint32_t order[] = {4, 2, 0, 3, 1};
	struct lab_exact_entry hottest[5];
	struct lab_exact table;

	lab_exact_init(&table);
	for (size_t i = 0; i < 5; i++)
		lab_exact_add(&table, &expected[order[i]].key, expected[order[i]].count);
	lab_exact_hottest(&table, hottest);
	for (size_t i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(hottest[i].key.a, expected[i].key.a);
		CU_ASSERT_EQUAL(hottest[i].key.b, expected[i].key.b);
		CU_ASSERT_EQUAL(hottest[i].count, expected[i].count);
	}
	lab_exact_release(&table);
}

/* Truth 1/2, 3/10, 1/5; the profile holds two of them and one that never came. */
static void test_overlap(void)
{
	static const struct lab_exact_entry truth[] = {{{1, 0}, 50}, {{2, 0}, 30}, {{3, 0}, 20}};
	static const struct lab_exact_entry half[] = {{{1, 0}, 4}, {{3, 0}, 4}, {{9, 0}, 2}};
	struct lab_exact table;

	lab_exact_init(&table);
	CU_ASSERT_EQUAL(lab_exact_overlap(&table, half, 3), 0);
	for (size_t i = 0; i < 3; i++)
		lab_exact_add(&table, &truth[i].key, truth[i].count);
	CU_ASSERT_DOUBLE_EQUAL(lab_exact_overlap(&table, truth, 3), 1, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(lab_exact_overlap(&table, truth, 2), 0.8, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(lab_exact_overlap(&table, half, 3), 0.6, 1e-12);
	CU_ASSERT_EQUAL(lab_exact_overlap(&table, half, 0), 0);
	lab_exact_release(&table);
}

static const struct unit_test tests[] = {
	{"counts and numbers keys as a list does, before and after a clear", test_list},
	{"a changed count or key is found", test_planted},
	{"keeps everything while it grows", test_growth},
	{"the hottest come first, equals by key", test_hottest},
	{"overlap is the sum of the lesser shares", test_overlap},
};
UNIT_SUITE(model_exact, tests)
