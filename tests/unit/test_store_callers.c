// SPDX-License-Identifier: GPL-2.0-or-later
/* Callers of paths: kept once a chain, counted by path, gone with the last window that has them. */
#include "test_store.h"
#include "unit.h"

#include <errno.h>

#define PATHS 120

struct callers_seen {
	int64_t ids[4], parents[4];
	uint64_t functions[4];
	uint32_t cnt;
	uint64_t samples;
	double weight;
	int64_t caller;
};

static int take_caller(void *context, const struct pathprof_caller_row *row)
{
	struct callers_seen *seen = context;

	CU_ASSERT_FATAL(seen->cnt < 4);
	seen->ids[seen->cnt] = row->id;
	seen->parents[seen->cnt] = row->parent;
	seen->functions[seen->cnt++] = row->function;
	return 0;
}

static int take_caller_count(void *context, const struct pathprof_caller_count_row *row)
{
	struct callers_seen *seen = context;

	seen->samples += row->samples;
	seen->weight += row->weight;
	seen->caller = row->caller;
	return 0;
}

static struct callers_seen read_callers(struct pathprof_store *store)
{
	struct callers_seen seen = {.cnt = 0};

	CU_ASSERT_EQUAL(pathprof_store_callers(store, take_caller, &seen, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_caller_counts(store, NULL, take_caller_count, &seen, NULL),
			0);
	return seen;
}

/* A window in which a path ran twice under two callers of a chain; begins at begin_ns. */
static void add_window_with_callers(struct pathprof_store *store, int64_t begin_ns)
{
	struct pathprof_profile p;
	struct pathprof_path_count add;
	uint32_t context;
	int64_t id;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	world_window(&p, 3, begin_ns, PATHS);
	add = p.paths[0];
	add.samples = 1;
	add.weight = 2.5;
	add.burst = 1;
	context = pathprof_profile_context(&p, 0, 1, 0xffffffffffffff00);
	context = pathprof_profile_context(&p, context, 2, 0x20);
	for (int i = 0; i < 2; i++)
		pathprof_profile_add_called_path(&p, &add, context);
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, NULL), 0);
	p.contexts[1].parent = 2;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, NULL), -EINVAL);
	pathprof_profile_release(&p);
}

static void test_callers(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	const struct pathprof_retention old = {.max_age_ns = 3600 * WORLD_STEP_NS};
	struct callers_seen seen;

	add_window_with_callers(store, WORLD_STEP_NS);
	add_window_with_callers(store, 2 * WORLD_STEP_NS);
	seen = read_callers(store);
	CU_ASSERT_EQUAL_FATAL(seen.cnt, 2);
	CU_ASSERT_EQUAL(seen.parents[0], 0);
	CU_ASSERT_EQUAL(seen.functions[0], 0xffffffffffffff00);
	CU_ASSERT_EQUAL(seen.parents[1], seen.ids[0]);
	CU_ASSERT_EQUAL(seen.functions[1], 0x20);
	CU_ASSERT_EQUAL(seen.caller, seen.ids[1]);
	CU_ASSERT_EQUAL(seen.samples, 4);
	CU_ASSERT_DOUBLE_EQUAL(seen.weight, 10, 1e-9);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &old, NULL, NULL), 0);
	seen = read_callers(store);
	CU_ASSERT_EQUAL(seen.cnt, 0);
	CU_ASSERT_EQUAL(seen.samples, 0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"callers are kept once, counted by path, and go with their windows", test_callers},
};
UNIT_SUITE(store_callers, tests)
