// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Retention: which windows go by age and size, what goes with them, and that the file shrinks.
 */
#include "test_store.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../../libprofile/src/store/pp_store.h"

#define PATHS 200

/* The size of a database with the files beside it. */
static uint64_t bytes_on_disk(const char *file)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	uint64_t bytes = 0;

	for (int i = 0; i < 3; i++) {
		char name[256];
		struct stat status;

		snprintf(name, sizeof(name), "%s%s", file, suffixes[i]);
		bytes += stat(name, &status) == 0 ? (uint64_t)status.st_size : 0;
	}
	return bytes;
}

static int sum_path(void *context, const struct pathprof_path_row *row)
{
	*(uint64_t *)context += row->samples;
	return 0;
}

/* Samples of windows k and later, added up from the world itself. */
static uint64_t samples_from(uint64_t k, uint64_t last)
{
	struct pathprof_profile p;
	uint64_t samples = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	for (; k <= last; k++) {
		world_window(&p, k, 1, PATHS);
		for (uint32_t i = 0; i < p.path_cnt; i++)
			samples += p.paths[i].samples;
	}
	pathprof_profile_release(&p);
	return samples;
}

static int64_t count(struct pathprof_store *store, const char *sql)
{
	int64_t cnt = -1;

	CU_ASSERT_EQUAL(pp_sql_number(store, sql, &cnt, NULL), 0);
	return cnt;
}

/* Nothing is left that no window refers to, and nothing is gone that one does. */
static void check_orphans(struct pathprof_store *store)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(count(store, "SELECT count(*) FROM paths WHERE id NOT IN"
				     " (SELECT path FROM path_counts)"),
			0);
	CU_ASSERT_EQUAL(count(store, "SELECT count(*) FROM edges WHERE id NOT IN"
				     " (SELECT edge FROM edge_counts)"),
			0);
	CU_ASSERT_EQUAL(count(store, "SELECT count(*) FROM processes WHERE id NOT IN"
				     " (SELECT process FROM window_processes)"),
			0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), 0);
	if (error.text[0])
		printf("%s\n", error.text);
}

static void test_retention_by_size(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};
	uint64_t removed = 99, size = 0, left = 0, samples = 0;

	/* Closing puts the WAL away, so that size is that of the windows. */
	world_fill(store, 1, 300, PATHS);
	pathprof_store_free(store);
	store = world_open(file, PATHPROF_STORE_WRITE);
	CU_ASSERT_EQUAL(pathprof_store_size(store, &size), 0);
	CU_ASSERT_EQUAL(size, bytes_on_disk(file));
	const struct pathprof_retention roomy = {.max_bytes = size};
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &roomy, &removed, &error), 0);
	CU_ASSERT_EQUAL(removed, 0);
	for (int i = 0; i < 4; i++) {
		const struct pathprof_retention tight = {.max_bytes = size - size / 6 * (1 + i)};

		CU_ASSERT_EQUAL(pathprof_store_retain(store, &tight, &removed, &error), 0);
		CU_ASSERT(removed > 0);
		CU_ASSERT(bytes_on_disk(file) <= tight.max_bytes);
		/* And not much more than needed was thrown away. */
		CU_ASSERT(bytes_on_disk(file) > tight.max_bytes - 100000);
		check_orphans(store);
	}
	left = world_window_cnt(store);
	CU_ASSERT_EQUAL(pathprof_store_paths(store, NULL, sum_path, &samples, NULL), 0);
	CU_ASSERT_EQUAL(samples, samples_from(301 - left, 300));
	/* Ids cached before must not be used for rows that are gone. */
	world_fill(store, 301, 20, PATHS);
	check_orphans(store);
	pathprof_store_free(store);
}

static void test_retention_by_age(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	const struct pathprof_retention hours = {.max_age_ns = 60 * INT64_C(3600000000000)};
	struct pathprof_error error = {""};
	struct pathprof_profile p;
	uint64_t removed = 0, samples = 0;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	for (uint64_t k = 1; k <= 200; k++) {
		/* One an hour; window 140 is half an hour inside the limit, 139 outside. */
		world_window(&p, k,
			     ((int64_t)now.tv_sec + 1800 - 3600 * (200 - (int64_t)k)) * 1000000000,
			     PATHS);
		CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	}
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &hours, &removed, &error), 0);
	CU_ASSERT_EQUAL(removed, 139);
	CU_ASSERT_EQUAL(pathprof_store_paths(store, NULL, sum_path, &samples, NULL), 0);
	CU_ASSERT_EQUAL(samples, samples_from(140, 200));
	check_orphans(store);
	pathprof_profile_release(&p);
	pathprof_store_free(store);
}

/* A clock that was set back: windows are not in the order of their ids. */
static void test_retention_after_clock_step(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	const struct pathprof_retention hour = {.max_age_ns = 3600000000000};
	struct pathprof_profile p;
	uint64_t removed = 0;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	for (uint64_t k = 1; k <= 200; k++) {
		world_window(&p, k, (int64_t)now.tv_sec * 1000000000 * (k % 3 == 0), 30);
		CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	}
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &hour, &removed, NULL), 0);
	CU_ASSERT_EQUAL(removed, 134);
	check_orphans(store);
	pathprof_profile_release(&p);
	pathprof_store_free(store);
}

static void test_retention_of_everything(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	const struct pathprof_build_id jit = world_binary_id(5);
	struct pathprof_error error = {""};
	uint64_t removed = 0, start;
	char name[16];

	world_fill(store, 1, 50, PATHS);
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &(struct pathprof_retention){.max_age_ns = 1},
					      &removed, &error),
			0);
	CU_ASSERT_EQUAL(removed, 50);
	CU_ASSERT_EQUAL(count(store, "SELECT count(*) FROM binaries"), 0);
	CU_ASSERT_EQUAL(count(store, "SELECT count(*) FROM boots"), 0);
	/* Window ids go on, and names that came for the window still open survive. */
	CU_ASSERT_EQUAL(world_add_symbol(store, &jit, 16, 1, "early", &error), 0);
	world_fill(store, 51, 1, 0);
	CU_ASSERT_EQUAL(count(store, "SELECT max(id) FROM windows"), 51);
	CU_ASSERT_EQUAL(pathprof_store_jit_symbol(store, &jit, 16, name, 16, &start), 0);
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &(struct pathprof_retention){.max_bytes = 9},
					      &removed, &error),
			-ENOSPC);
	check_orphans(store);
	pathprof_store_free(store);
}

/* A small window, and long names of code that was generated in it. */
static void add_named(struct pathprof_store *store, uint8_t k)
{
	const struct pathprof_build_id id = {
		.bytes = {0xee, k}, .len_bytes = PATHPROF_BUILD_ID_MAX, .kind = PATHPROF_ID_JIT};
	char name[2048];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	for (uint64_t i = 0; i < 16; i++)
		CU_ASSERT_EQUAL(world_add_symbol(store, &id, 16 * i, 16, name, NULL), 0);
	world_fill(store, k, 1, 5);
}

/* Rows that go with windows make room as well: no window goes for the room that they leave. */
static void test_retention_of_names(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	uint64_t size = 0, left;

	for (uint8_t k = 1; k <= 20; k++)
		add_named(store, k);
	pathprof_store_free(store);
	store = world_open(file, PATHPROF_STORE_WRITE);
	CU_ASSERT_EQUAL(pathprof_store_size(store, &size), 0);
	const struct pathprof_retention tight = {.max_bytes = size / 2};
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &tight, NULL, NULL), 0);
	left = world_window_cnt(store);
	CU_ASSERT(left > 3 && left < 20);
	CU_ASSERT(bytes_on_disk(file) <= tight.max_bytes);
	CU_ASSERT_EQUAL(count(store, "SELECT count(DISTINCT binary) FROM jit_symbols"),
			(int64_t)left);
	check_orphans(store);
	pathprof_store_free(store);
}

/* A window whose clock found this binary, and nothing else of it. */
static void add_clocked(struct pathprof_store *store, uint32_t binary, int64_t end_ns)
{
	const struct pathprof_build_id id = world_binary_id(binary);
	const struct pathprof_process process = {.pid = 7, .binary = PATHPROF_NO_INDEX};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	p.basis = PATHPROF_BASIS_TIME;
	p.begin_ns = p.end_ns = end_ns;
	pathprof_profile_binary(&p, &id, world_binary_name(binary));
	pathprof_profile_process(&p, &process);
	pathprof_profile_add_clock(&p, &(struct pathprof_clock_count){.samples = 1});
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	pathprof_profile_release(&p);
}

/* A binary that only clock samples refer to lives as long as they do. */
static void test_retention_of_clocked(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	const struct pathprof_retention hour = {.max_age_ns = 3600000000000};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	add_clocked(store, 1, 1);
	for (int i = 0; i < 100; i++)
		add_clocked(store, 2, 2);
	add_clocked(store, 2, (int64_t)now.tv_sec * 1000000000);
	for (int i = 0; i < 20; i++)
		add_clocked(store, 3, (int64_t)now.tv_sec * 1000000000);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &hour, NULL, NULL), 0);
	CU_ASSERT_EQUAL(world_window_cnt(store), 21);
	CU_ASSERT_EQUAL(count(store, "SELECT count(*) FROM binaries"), 2);
	CU_ASSERT_EQUAL(count(store, "SELECT sum(samples) FROM clock_counts"), 21);
	check_orphans(store);
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &(struct pathprof_retention){.max_age_ns = 1},
					      NULL, NULL),
			0);
	CU_ASSERT_EQUAL(count(store, "SELECT count(*) FROM binaries"), 0);
	CU_ASSERT_EQUAL(count(store, "SELECT count(*) FROM clock_counts"), 0);
	pathprof_store_free(store);
}

static int retain_under(void *context, const struct pathprof_path_row *row)
{
	struct pathprof_store *writer = context;
	const struct pathprof_retention tight = {.max_bytes = 700000};

	CU_ASSERT_EQUAL(pathprof_store_retain(writer, &tight, NULL, NULL), 0);
	return 1;
}

/* A reader that holds its snapshot keeps the WAL long; that must not empty the store. */
static void test_retention_under_a_reader(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *writer = world_open(file, PATHPROF_STORE_WRITE);
	const struct pathprof_retention tight = {.max_bytes = 700000};

	world_fill(writer, 1, 300, PATHS);
	struct pathprof_store *reader = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_paths(reader, NULL, retain_under, writer, NULL), 1);
	CU_ASSERT(world_window_cnt(writer) > 10);
	CU_ASSERT_EQUAL(pathprof_store_retain(writer, &tight, NULL, NULL), 0);
	CU_ASSERT(bytes_on_disk(file) <= tight.max_bytes);
	CU_ASSERT(world_window_cnt(writer) > 10);
	pathprof_store_free(reader);
	pathprof_store_free(writer);
}

static const struct unit_test tests[] = {
	{"retention by size really shrinks the file", test_retention_by_size},
	{"retention by age removes what ended earlier", test_retention_by_age},
	{"retention is right after the clock was set back", test_retention_after_clock_step},
	{"everything may go, and the store lives on", test_retention_of_everything},
	{"names go with their windows, and make room", test_retention_of_names},
	{"binaries known by clock samples alone go with them", test_retention_of_clocked},
	{"retention under a reader keeps what the bound allows", test_retention_under_a_reader},
};
UNIT_SUITE(store_retain, tests)
