// SPDX-License-Identifier: GPL-2.0-or-later
/* Row ids that are remembered are those of their keys, whatever was forgotten in between. */
#include "unit.h"

#include <errno.h>

#include "../../libprofile/src/store/pp_id_cache.h"
#include "failing_memory.h"

#define SETS 64
#define ROOM (SETS * PP_ID_CACHE_WAYS)

static struct pp_id_key key_of(uint64_t number)
{
	return (struct pp_id_key){{number, number / 3, number % 5, 7}};
}

static void add_keys(struct pp_id_cache *cache, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		struct pp_id_key key = key_of(i);

		pp_id_cache_add(cache, &key, (int64_t)i + 1, (int64_t)i * 2);
	}
}

/* Keys below end that are found, or -1 where one has the id or window of another. */
static long found_below(const struct pp_id_cache *cache, uint64_t end)
{
	long cnt = 0;

	for (uint64_t i = 0; i < end; i++) {
		struct pp_id_key key = key_of(i);
		const struct pp_id_entry *entry = pp_id_cache_find(cache, &key);

		if (!entry)
			continue;
		if (entry->id != (int64_t)i + 1 || entry->last_window != (int64_t)i * 2)
			return -1;
		cnt++;
	}
	return cnt;
}

static void test_full(void)
{
	struct pp_id_cache cache;

	CU_ASSERT_EQUAL_FATAL(pp_id_cache_init(&cache, SETS), 0);
	CU_ASSERT_EQUAL(found_below(&cache, ROOM), 0);
	add_keys(&cache, 0, 3);
	CU_ASSERT_EQUAL(found_below(&cache, ROOM), 3);
	add_keys(&cache, 3, 20 * ROOM);
	/* every set has been filled by now, and the newest key has just come */
	CU_ASSERT_EQUAL(found_below(&cache, 20 * ROOM), ROOM);
	CU_ASSERT_EQUAL(cache.entry_cnt, ROOM);
	struct pp_id_key newest = key_of(20 * ROOM - 1);
	CU_ASSERT_PTR_NOT_NULL(pp_id_cache_find(&cache, &newest));
	pp_id_cache_clear(&cache);
	CU_ASSERT_EQUAL(found_below(&cache, 20 * ROOM), 0);
	add_keys(&cache, 5, 9);
	CU_ASSERT_EQUAL(found_below(&cache, 20 * ROOM), 4);
	pp_id_cache_release(&cache);
}

/* Entries lie together, however far apart their sets are. */
static void test_together(void)
{
	struct pp_id_cache cache;

	CU_ASSERT_EQUAL_FATAL(pp_id_cache_init(&cache, SETS), 0);
	for (uint64_t i = 0; i < 10; i++) {
		struct pp_id_key key = key_of(i * 1000);

		pp_id_cache_add(&cache, &key, 1, 0);
		CU_ASSERT_PTR_EQUAL(pp_id_cache_find(&cache, &key), &cache.entries[i]);
	}
	pp_id_cache_release(&cache);
}

static void test_no_memory(void)
{
	for (unsigned int number = 1; number <= 2; number++) {
		struct pp_id_cache cache;

		failing_memory_begin(number);
		int r = pp_id_cache_init(&cache, SETS);
		CU_ASSERT_TRUE(failing_memory_end());
		CU_ASSERT_EQUAL(r, -ENOMEM);
		CU_ASSERT_PTR_NULL(cache.entries);
		CU_ASSERT_PTR_NULL(cache.numbers);
		pp_id_cache_release(&cache);
	}
}

static const struct unit_test tests[] = {
	{"what is found is the key's, also where sets are full", test_full},
	{"entries lie together", test_together},
	{"without memory there is none", test_no_memory},
};
UNIT_SUITE(id_cache, tests)
