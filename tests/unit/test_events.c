// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keys of events, against the tuples they stand for: two keys are equal where the tuples are, and
 * nowhere else.
 */
#include "pathprof/events.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* A path or an edge, as a tuple. */
struct thing {
	uint64_t kind, group, a, b, c;
};

typedef void key_fn(struct pathprof_event *ret_event, const struct thing *thing);

static void key_of(struct pathprof_event *ret_event, const struct thing *t)
{
	if (t->kind)
		pathprof_event_of_edge(ret_event, t->group, t->a, t->c, t->b, 1);
	else
		pathprof_event_of_path(ret_event, t->group, t->a, (uint32_t)t->b, (uint32_t)t->c,
				       1);
}

/* Like it, but two paths that part at their branches only are taken for one. */
static void faulty_key_of(struct pathprof_event *ret_event, const struct thing *t)
{
	struct thing blind = *t;

	if (!t->kind)
		blind.c = 0;
	key_of(ret_event, &blind);
}

#define GROUPS 4
#define PLACES 12
#define THINGS ((size_t)GROUPS * PLACES * PLACES * 2 * GROUPS)

static struct thing things[THINGS];

/* Every combination of small numbers, where a weak hash fails first. */
static void list_things(void)
{
	size_t cnt = 0;

	for (uint64_t kind = 0; kind < 2; kind++)
		for (uint64_t group = 1; group <= GROUPS; group++)
			for (uint64_t a = 0; a < PLACES; a++)
				for (uint64_t b = 0; b < PLACES; b++)
					for (uint64_t c = 1; c <= GROUPS; c++)
						things[cnt++] =
							(struct thing){kind, group, a, b, c};
}

static int by_key(const void *x, const void *y)
{
	return pathprof_event_order(x, y);
}

static size_t count_keys(key_fn *fn)
{
	static struct pathprof_event events[THINGS];
	size_t different = 0;

	for (size_t i = 0; i < THINGS; i++)
		fn(&events[i], &things[i]);
	qsort(events, THINGS, sizeof(events[0]), by_key);
	for (size_t i = 0; i < THINGS; i++)
		different += i == 0 || by_key(&events[i - 1], &events[i]) != 0;
	return different;
}

static void test_different(void)
{
	list_things();
	CU_ASSERT_EQUAL(count_keys(key_of), THINGS);
}

static void test_fault_is_found(void)
{
	list_things();
	CU_ASSERT_EQUAL(count_keys(faulty_key_of), THINGS / 2 + THINGS / 2 / GROUPS);
}

static void test_same_everywhere(void)
{
	struct pathprof_event first, again;

	pathprof_event_of_path(&first, 7, 0x1000, 3, 5, 12);
	memset(&again, 0xff, sizeof(again));
	pathprof_event_of_path(&again, 7, 0x1000, 3, 5, 30);
	CU_ASSERT_EQUAL(pathprof_event_order(&first, &again), 0);
	CU_ASSERT_EQUAL(first.key_hi, 7);
	CU_ASSERT_EQUAL(first.weight, 12);
	CU_ASSERT_EQUAL(again.weight, 30);
}

/* Programs exchange keys: if keys changed, a profile could not be compared with older ones. */
static void test_pinned(void)
{
	struct pathprof_build_id id = {.bytes = {1, 2, 3}, .len_bytes = 3, .kind = 1};
	struct pathprof_event path, edge;

	pathprof_event_of_path(&path, 1, 2, 3, 4, 0);
	pathprof_event_of_edge(&edge, 1, 2, 1, 3, 0);
	CU_ASSERT_EQUAL(pathprof_event_group(&id), 0x1a9d6190067cb2bfULL);
	CU_ASSERT_EQUAL(path.key_lo, 0x53e911333a923397ULL);
	CU_ASSERT_EQUAL(edge.key_lo, 0x34fc4d4f152de22bULL);
}

/* An edge out of the binary is told from the one to the same offset within it. */
static void test_edge_out(void)
{
	struct pathprof_event within, out;

	pathprof_event_of_edge(&within, 5, 0x10, 5, 0x20, 1);
	pathprof_event_of_edge(&out, 5, 0x10, 6, 0x20, 1);
	CU_ASSERT_EQUAL(within.key_hi, out.key_hi);
	CU_ASSERT_NOT_EQUAL(within.key_lo, out.key_lo);
}

static void test_groups(void)
{
	struct pathprof_build_id id = {.bytes = {9}, .len_bytes = 1, .kind = PATHPROF_ID_BUILD_ID};
	struct pathprof_build_id longer = id, other_kind = id, dirty = id;

	longer.len_bytes = 2;
	other_kind.kind = PATHPROF_ID_JIT;
	dirty.bytes[7] = 0xee;
	CU_ASSERT_NOT_EQUAL(pathprof_event_group(&id), pathprof_event_group(&longer));
	CU_ASSERT_NOT_EQUAL(pathprof_event_group(&id), pathprof_event_group(&other_kind));
	/* Bytes behind its length are no part of the identity. */
	CU_ASSERT_EQUAL(pathprof_event_group(&id), pathprof_event_group(&dirty));
}

static const struct unit_test tests[] = {
	{"things that differ have keys that differ", test_different},
	{"a key that leaves the outcomes out is found", test_fault_is_found},
	{"the same thing has the same key, whatever its weight", test_same_everywhere},
	{"keys are those of every other run and host", test_pinned},
	{"an edge out of the binary has its own key", test_edge_out},
	{"an identity is its bytes, length and kind", test_groups},
};
UNIT_SUITE(events, tests)
