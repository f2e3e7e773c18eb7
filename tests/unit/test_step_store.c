// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lab's reading of what a stepping collector stored: window by window, oldest first, both
 * columns of one binary against a plain addition of what was written.
 */
#include "test_store.h"
#include "unit.h"

#include "../../tools/lab/collect/step_store.h"

#define WINDOWS     12
#define PATHS       80
#define BINARY      3
#define BURSTS_BASE 5

struct reading {
	struct lab_profile expected;
	struct pathprof_profile window;
	uint64_t next;      /* window */
	uint64_t burst_cnt; /* up to there */
	size_t wrong;
	bool forget_samples; /* the planted fault */
};

static void expect_window(struct reading *reading)
{
	struct pathprof_profile *p = &reading->window;
	uint64_t k = reading->next++ + BURSTS_BASE;

	world_window(p, k, (int64_t)k * WORLD_STEP_NS, PATHS);
	reading->burst_cnt += p->totals.bursts;
	for (uint32_t i = 0; i < p->path_cnt; i++) {
		const struct pathprof_path_count *count = &p->paths[i];
		struct lab_path_key key = {count->start, count->length, count->outcomes};

		if (count->binary != BINARY)
			continue;
		double *columns = lab_profile_at(&reading->expected, &key);

		columns[LAB_STEP_WEIGHTED] += count->weight;
		columns[LAB_STEP_PLAIN] += (double)count->samples - reading->forget_samples;
	}
}

static void check_window(void *context, const struct lab_profile *steps, uint64_t burst_cnt)
{
	struct reading *reading = context;

	expect_window(reading);
	reading->wrong += burst_cnt != reading->burst_cnt || steps->cnt != reading->expected.cnt;
	for (size_t i = 0; i < steps->cnt; i++) {
		const double *ours = &steps->weights[i * steps->column_cnt], *expected;

		expected = lab_profile_find(&reading->expected, &steps->keys[i]);
		reading->wrong += !expected ||
				  ours[LAB_STEP_WEIGHTED] != expected[LAB_STEP_WEIGHTED] ||
				  ours[LAB_STEP_PLAIN] != expected[LAB_STEP_PLAIN];
	}
}

static size_t read_all(const char *file, bool forget_samples)
{
	const struct pathprof_build_id binary = world_binary_id(BINARY);
	struct reading reading = {.forget_samples = forget_samples};
	struct lab_step_store store;

	lab_profile_init(&reading.expected, LAB_STEP_COLUMN_CNT);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&reading.window, 8 << 20), 0);
	lab_step_store_open(&store, file, &binary);
	CU_ASSERT_EQUAL(store.cnt, WINDOWS);
	CU_ASSERT_EQUAL(store.taken_wanted, 32);
	lab_step_store_read(&store, check_window, &reading);
	CU_ASSERT_EQUAL(reading.next, WINDOWS);
	CU_ASSERT_EQUAL(reading.burst_cnt, store.window_cnt);
	CU_ASSERT(reading.expected.cnt > WINDOWS);
	lab_step_store_release(&store);
	pathprof_profile_release(&reading.window);
	lab_profile_release(&reading.expected);
	return reading.wrong;
}

static void test_windows_add_up_in_the_order_taken(void)
{
	const char *file = world_file(unit_tmpdir(), "steps.db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);

	world_fill(store, BURSTS_BASE, WINDOWS, PATHS);
	pathprof_store_free(store);
	CU_ASSERT_EQUAL(read_all(file, false), 0);
	CU_ASSERT(read_all(file, true) > WINDOWS);
}

static const struct unit_test tests[] = {
	{"windows add up in the order taken", test_windows_add_up_in_the_order_taken},
};
UNIT_SUITE(step_store, tests)
