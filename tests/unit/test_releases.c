// SPDX-License-Identifier: GPL-2.0-or-later
/* Builds of a program in the order in which they were seen, whatever order the store has them in.
 */
#include "pathprof/fleet.h"

#include "test_store.h"
#include "unit.h"

#define BUILDS  3
#define PROGRAM "/srv/shop"

/* Weights of builds in each order that the store may hand them out in. */
static const uint64_t orders[][BUILDS] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
					  {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};

static void add_samples(struct pathprof_profile *p, uint8_t build, uint64_t samples)
{
	const struct pathprof_build_id id = {
		.bytes = {build}, .len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};
	uint32_t binary = pathprof_profile_binary(p, &id, PROGRAM);
	char comm[] = "shop", container[] = "";
	const struct pathprof_process process = {
		.pid = 1, .start_time = 1, .comm = comm, .container = container, .binary = binary};

	pathprof_profile_add_path(
		p, &(struct pathprof_path_count){.process = pathprof_profile_process(p, &process),
						 .binary = binary,
						 .start = 0x1000,
						 .samples = samples,
						 .weight = (double)samples});
}

/* The first window has builds 1 to 3, and the second one build 1. */
static void fill(struct pathprof_store *store, const uint64_t weights[BUILDS])
{
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	for (int window = 0; window < 2; window++) {
		pathprof_profile_clear(&p);
		p.source = PATHPROF_SOURCE_STEP;
		p.basis = PATHPROF_BASIS_TIME;
		p.taken_wanted = 32;
		p.totals.bursts = 100;
		p.begin_ns = window * WORLD_STEP_NS;
		p.end_ns = p.begin_ns + WORLD_STEP_NS;
		for (int i = 0; i < (window ? 1 : BUILDS); i++)
			add_samples(&p, (uint8_t)(i + 1), window ? 1 : 100 * weights[i]);
		CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	}
	pathprof_profile_release(&p);
}

/* Builds that were first seen at once go by when they were last seen, and else by their ids. */
static void test_order(void)
{
	static const uint8_t want[BUILDS] = {2, 3, 1};
	const struct pathprof_filter all = {0};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		char name[] = "order-0.db";
		struct pathprof_releases releases;
		struct pathprof_store *store;

		name[6] = (char)('0' + i);
		store = world_open(world_file(unit_tmpdir(), name), PATHPROF_STORE_WRITE);
		fill(store, orders[i]);
		CU_ASSERT_EQUAL(pathprof_releases_load(&releases, store, &all, NULL, NULL), 0);
		CU_ASSERT_EQUAL_FATAL(releases.cnt, BUILDS);
		CU_ASSERT_EQUAL(pathprof_releases_of(&releases, 0), BUILDS);
		for (size_t k = 0; k < BUILDS; k++)
			CU_ASSERT_EQUAL(releases.list[k].id.bytes[0], want[k]);
		pathprof_releases_release(&releases);
		pathprof_store_free(store);
	}
}

static const struct unit_test tests[] = {
	{"builds in order, of equal times too", test_order},
};
UNIT_SUITE(releases, tests)
