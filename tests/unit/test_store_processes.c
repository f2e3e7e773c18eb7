// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes: their names, and those that the clock alone saw. */
#include "test_store.h"
#include "unit.h"

#include <stdio.h>

static int take_process(void *context, const struct pathprof_process_row *row)
{
	snprintf(context, 32, "%s/%s", row->comm, row->container);
	return 0;
}

static void test_process_follows_its_name(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	char old_name[] = "old", new_name[] = "new", pod[] = "pod", seen[32] = "";
	const struct pathprof_build_id id = world_binary_id(0);
	struct pathprof_process process = {.pid = 1, .comm = old_name, .binary = 0};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	for (int i = 0; i < 2; i++) {
		pathprof_profile_clear(&p);
		p.basis = PATHPROF_BASIS_TIME;
		pathprof_profile_binary(&p, &id, "/a");
		pathprof_profile_process(&p, &process);
		pathprof_profile_add_path(&p, &(struct pathprof_path_count){.samples = 1});
		CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
		process.comm = new_name;
		process.container = pod;
	}
	CU_ASSERT_EQUAL(pathprof_store_processes(store, NULL, take_process, seen, NULL), 0);
	CU_ASSERT_STRING_EQUAL(seen, "new/pod");
	pathprof_profile_release(&p);
	pathprof_store_free(store);
}

struct two_processes {
	struct pathprof_process_row rows[2];
	unsigned int cnt;
};

static int keep_process(void *context, const struct pathprof_process_row *row)
{
	struct two_processes *two = context;

	if (two->cnt < 2)
		two->rows[two->cnt] = *row;
	two->cnt++;
	return 0;
}

/* A process that the clock alone saw is a process, of no weight. */
static void test_process_of_the_clock(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	const struct pathprof_build_id id = world_binary_id(0), other = world_binary_id(1);
	struct pathprof_process first = world_process(0), second = world_process(1);
	struct two_processes two = {.cnt = 0};
	struct pathprof_filter filter = {.binary = "/a"};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	pathprof_profile_clear(&p);
	p.basis = PATHPROF_BASIS_TIME;
	p.begin_ns = 5;
	p.end_ns = 7;
	pathprof_profile_binary(&p, &id, "/a");
	pathprof_profile_binary(&p, &other, "/b");
	first.binary = second.binary = 0;
	pathprof_profile_process(&p, &first);
	pathprof_profile_process(&p, &second);
	pathprof_profile_add_path(
		&p, &(struct pathprof_path_count){.samples = 2, .weight = 3, .insns = 40});
	pathprof_profile_add_clock(
		&p, &(struct pathprof_clock_count){.process = 1, .binary = 1, .samples = 9});
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_processes(store, NULL, keep_process, &two, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(two.cnt, 2);
	CU_ASSERT_EQUAL(two.rows[0].pid, first.pid);
	CU_ASSERT_EQUAL(two.rows[0].insns, 40);
	CU_ASSERT_EQUAL(two.rows[0].share, 1);
	CU_ASSERT_EQUAL(two.rows[1].pid, second.pid);
	CU_ASSERT_EQUAL(two.rows[1].samples, 0);
	CU_ASSERT_EQUAL(two.rows[1].weight, 0);
	CU_ASSERT_EQUAL(two.rows[1].first_seen_ns, 5);
	CU_ASSERT_EQUAL(two.rows[1].last_seen_ns, 7);
	two.cnt = 0;
	CU_ASSERT_EQUAL(pathprof_store_processes(store, &filter, keep_process, &two, NULL), 0);
	CU_ASSERT_EQUAL(two.cnt, 1);
	CU_ASSERT_EQUAL(two.rows[0].pid, first.pid);
	pathprof_profile_release(&p);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"a process takes its newest name", test_process_follows_its_name},
	{"a process that the clock alone saw is one", test_process_of_the_clock},
};
UNIT_SUITE(store_processes, tests)
