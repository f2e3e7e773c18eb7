// SPDX-License-Identifier: GPL-2.0-or-later
/* Caches against lists of when each line was last used. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "../../tools/lab/model/cache.h"

#define SETS_MAX 64
#define WAYS_MAX 8

/* One cache the slow way: the age of every line of every set. */
struct oracle {
	uint64_t line[SETS_MAX][WAYS_MAX], used[SETS_MAX][WAYS_MAX]; /* used 0: empty */
	uint64_t now;
	uint32_t sets, ways;
	bool first_in; /* planted: age counts from when it came in */
};

static bool oracle_access(struct oracle *o, uint64_t line)
{
	uint32_t set = (uint32_t)(line % o->sets), victim = 0;

	o->now++;
	for (uint32_t w = 0; w < o->ways; w++) {
		if (o->used[set][w] && o->line[set][w] == line) {
			if (!o->first_in)
				o->used[set][w] = o->now;
			return true;
		}
		if (o->used[set][w] < o->used[set][victim])
			victim = w;
	}
	o->line[set][victim] = line;
	o->used[set][victim] = o->now;
	return false;
}

/* Look-ups in which the two disagree; half of the addresses are near the one before. */
static size_t differences(uint32_t sets, uint32_t ways, bool first_in)
{
	struct oracle *o = calloc(1, sizeof(*o));
	uint64_t state = 88172645463325252ULL, address = 0;
	struct lab_cache cache;
	size_t different = 0;

	o->sets = sets;
	o->ways = ways;
	o->first_in = first_in;
	CU_ASSERT_EQUAL_FATAL(lab_cache_init(&cache, sets * ways * 32, ways, 32), 0);
	for (size_t i = 0; i < 100000; i++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		address = state >> 63 ? address + (state >> 40 & 63)
				      : (state >> 32) % (4ull * sets * ways * 32);
		different += lab_cache_access(&cache, address) != oracle_access(o, address / 32);
	}
	lab_cache_release(&cache);
	free(o);
	return different;
}

static void test_lists(void)
{
	CU_ASSERT_EQUAL(differences(64, 1, false), 0);
	CU_ASSERT_EQUAL(differences(1, 8, false), 0);
	CU_ASSERT_EQUAL(differences(16, 2, false), 0);
	CU_ASSERT_EQUAL(differences(32, 4, false), 0);
}

static void test_planted(void)
{
	CU_ASSERT_TRUE(differences(32, 4, true) > 100);
}

static void test_bad_sizes(void)
{
	struct lab_cache cache;

	CU_ASSERT_EQUAL(lab_cache_init(&cache, 1000, 1, 32), -EINVAL);
	CU_ASSERT_EQUAL(lab_cache_init(&cache, 1024, 3, 32), -EINVAL);
	CU_ASSERT_EQUAL(lab_cache_init(&cache, 1024, 0, 32), -EINVAL);
	CU_ASSERT_EQUAL(lab_cache_init(&cache, 1024, 64, 32), -EINVAL);
	CU_ASSERT_EQUAL(lab_cache_init(&cache, 1024, 1, 0), -EINVAL);
}

/* Two lines 32 KiB apart push one another out of the L1, but not of the L2. */
static void test_hierarchy(void)
{
	struct lab_memory memory;

	CU_ASSERT_EQUAL_FATAL(lab_memory_init(&memory), 0);
	CU_ASSERT_EQUAL(lab_memory_access(&memory, 0x10000, 8), 1);
	CU_ASSERT_EQUAL(lab_memory_access(&memory, 0x18000, 8), 1);
	for (size_t i = 0; i < 10; i++) {
		CU_ASSERT_EQUAL(lab_memory_access(&memory, 0x10000, 8), 0);
		CU_ASSERT_EQUAL(lab_memory_access(&memory, 0x18000, 8), 0);
	}
	CU_ASSERT_EQUAL(memory.l1_misses, 22);
	CU_ASSERT_EQUAL(memory.l2_misses, 2);
	lab_memory_release(&memory);
}

/* Five lines of one L2 set, 128 KiB apart, in turn: each is gone when it comes again. */
static void test_l2_ways(void)
{
	struct lab_memory memory;

	CU_ASSERT_EQUAL_FATAL(lab_memory_init(&memory), 0);
	for (uint64_t i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(lab_memory_access(&memory, 0x1000000 + i % 4 * 0x20000, 1), i < 4);
	for (uint64_t i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(lab_memory_access(&memory, 0x2000000 + i % 5 * 0x20000, 1), 1);
	lab_memory_release(&memory);
}

static void test_spans(void)
{
	struct lab_memory memory;

	CU_ASSERT_EQUAL_FATAL(lab_memory_init(&memory), 0);
	CU_ASSERT_EQUAL(lab_memory_access(&memory, 0x103f, 1), 1);
	CU_ASSERT_EQUAL(lab_memory_access(&memory, 0x103e, 8), 1);
	CU_ASSERT_EQUAL(lab_memory_access(&memory, 0x2000, 0), 1);
	CU_ASSERT_EQUAL(lab_memory_access(&memory, UINT64_MAX, 8), 1);
	CU_ASSERT_EQUAL(lab_memory_fetch(&memory, 0x4000, 0x407f), 4);
	CU_ASSERT_EQUAL(lab_memory_fetch(&memory, 0x4000, 0x4080), 1);
	/* A gap in the trace: the branch itself was fetched, nothing more is known. */
	CU_ASSERT_EQUAL(lab_memory_fetch(&memory, 0x9000, 0x7fff00000000), 1);
	CU_ASSERT_EQUAL(lab_memory_fetch(&memory, 0x9000, 0x8000), 1);
	/* The L2 is for both, an L1 for one. */
	CU_ASSERT_EQUAL(lab_memory_access(&memory, 0x4000, 8), 0);
	lab_memory_release(&memory);
}

static const struct unit_test tests[] = {
	{"replaces the least recently used, as a list does", test_lists},
	{"replacing the first in is found", test_planted},
	{"refuses sizes that are no powers of two, and too many ways", test_bad_sizes},
	{"what leaves the L1 is still in the L2", test_hierarchy},
	{"five lines do not fit in four ways", test_l2_ways},
	{"touches every line between two addresses, and one at a gap", test_spans},
};
UNIT_SUITE(model_cache, tests)
