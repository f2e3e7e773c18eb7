// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of paths that outlive their build, in the store: what was written against what is read,
 * through profile files and retention, and the builds that were there before one.
 */
#include "test_store.h"
#include "unit.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATHS  60
#define BINARY 3
#define KEYS   1000

/* The oracle: everything of a path's name follows from where it starts. */
static uint64_t function_of(uint64_t start)
{
	return start % 7 ? start * UINT64_C(0x9e3779b97f4a7c15) : 0;
}

struct met {
	struct pathprof_portable_row rows[512];
	size_t cnt, wrong_cnt;
};

static int collect(void *context, const struct pathprof_path_row *row)
{
	struct met *met = context;

	if (met->cnt == 512)
		return -E2BIG;
	met->rows[met->cnt++] = (struct pathprof_portable_row){
		.start = row->start,
		.length = row->length,
		.outcomes = row->outcomes,
		.function = function_of(row->start),
		.place = ~row->start,
		.function_name = row->start & 1 ? "odd" : "even",
	};
	return 0;
}

static int meet(void *context, const struct pathprof_portable_row *row)
{
	struct met *met = context;

	met->cnt++;
	met->wrong_cnt += row->function != function_of(row->start) || row->place != ~row->start ||
			  row->path_id <= 0 ||
			  strcmp(row->function_name, row->start & 1 ? "odd" : "even") != 0;
	return 0;
}

static struct met read_back(struct pathprof_store *store)
{
	const struct pathprof_build_id id = world_binary_id(BINARY);
	struct met met = {.cnt = 0};

	CU_ASSERT_EQUAL(pathprof_store_portable(store, &id, meet, &met, NULL), 0);
	return met;
}

static void add_window(struct pathprof_store *store, uint32_t number)
{
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	world_window(&p, 2 * number + 1, (1 + number) * WORLD_STEP_NS, PATHS);
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	pathprof_profile_release(&p);
}

/* A store of three windows in which every path of one binary is named. */
static struct pathprof_store *make_store(const char *file, size_t *ret_cnt)
{
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	const struct pathprof_build_id id = world_binary_id(BINARY);
	struct pathprof_error error = {""};
	static struct met known;

	for (uint32_t i = 0; i < 3; i++)
		add_window(store, i);
	known.cnt = 0;
	CU_ASSERT_EQUAL(pathprof_store_known_paths(store, &id, collect, &known, &error), 0);
	CU_ASSERT(known.cnt > 10);
	CU_ASSERT_EQUAL(pathprof_store_add_portable(store, &id, known.rows, known.cnt, &error), 0);
	CU_ASSERT_STRING_EQUAL(error.text, "");
	*ret_cnt = known.cnt;
	return store;
}

static void set_keys(struct pathprof_store *store, uint64_t *keys)
{
	const struct pathprof_build_id id = world_binary_id(BINARY);

	for (uint64_t i = 0; i < KEYS; i++)
		keys[i] = (i + 1) * UINT64_C(0x0041041041041041);
	CU_ASSERT_EQUAL(pathprof_store_set_function_keys(store, &id, keys, KEYS, NULL), 0);
}

static bool has_keys(struct pathprof_store *store, const uint64_t *keys)
{
	const struct pathprof_build_id id = world_binary_id(BINARY);
	uint64_t *read = NULL;
	size_t cnt = 0;
	bool same = pathprof_store_function_keys(store, &id, &read, &cnt, NULL) == 0 &&
		    cnt == KEYS && memcmp(read, keys, sizeof(*keys) * KEYS) == 0;

	free(read);
	return same;
}

static void test_round_trip(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	uint64_t keys[KEYS];
	size_t cnt = 0;
	struct pathprof_store *store = make_store(file, &cnt);
	struct met met;

	set_keys(store, keys);
	pathprof_store_free(store);
	store = world_open(file, PATHPROF_STORE_READ);
	met = read_back(store);
	CU_ASSERT_EQUAL(met.cnt, cnt);
	CU_ASSERT_EQUAL(met.wrong_cnt, 0);
	CU_ASSERT(has_keys(store, keys));
	keys[5]++;
	CU_ASSERT_FALSE(has_keys(store, keys));
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

static void test_refused(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	const struct pathprof_build_id id = world_binary_id(BINARY);
	const struct pathprof_portable_row unknown = {.start = 1, .function = 2, .place = 3};
	const uint64_t disorder[] = {1, 3, 2}, twice[] = {1, 1}, good[] = {1, 2};
	uint64_t *keys = NULL;
	size_t cnt = 0;

	CU_ASSERT_EQUAL(pathprof_store_set_function_keys(store, &id, good, 2, NULL), -ENOENT);
	add_window(store, 0);
	CU_ASSERT_EQUAL(pathprof_store_function_keys(store, &id, &keys, &cnt, NULL), -ENOENT);
	CU_ASSERT_EQUAL(pathprof_store_set_function_keys(store, &id, disorder, 3, NULL), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_store_set_function_keys(store, &id, twice, 2, NULL), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_store_set_function_keys(store, &id, good, 2, NULL), 0);
	/* a path that nobody saw is passed over */
	CU_ASSERT_EQUAL(pathprof_store_add_portable(store, &id, &unknown, 1, NULL), 0);
	CU_ASSERT_EQUAL(read_back(store).cnt, 0);
	pathprof_store_free(store);
}

/* Keys that are not in order are refused as damaged. */
static void test_damage(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	uint64_t keys[KEYS], *read = NULL;
	size_t cnt = 0;
	const struct pathprof_build_id id = world_binary_id(BINARY);
	struct pathprof_store *store = make_store(file, &cnt);
	sqlite3 *db = NULL;

	set_keys(store, keys);
	pathprof_store_free(store);
	CU_ASSERT_EQUAL_FATAL(sqlite3_open(file, &db), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_exec(db,
				     "UPDATE binary_functions SET keys ="
				     " x'02000000000000000100000000000000'",
				     NULL, NULL, NULL),
			SQLITE_OK);
	sqlite3_close(db);
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_function_keys(store, &id, &read, &cnt, NULL), -EBADMSG);
	pathprof_store_free(store);
}

static int add_one(void *context, struct pathprof_store *copy, struct pathprof_error *error)
{
	const struct pathprof_build_id id = world_binary_id(0);
	const uint64_t key = 77;

	return *(int *)context ? *(int *)context
			       : pathprof_store_set_function_keys(copy, &id, &key, 1, error);
}

static void test_profile_file(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "x.baseline");
	const struct pathprof_build_id first = world_binary_id(0);
	uint64_t keys[KEYS], *read = NULL;
	size_t cnt = 0, read_cnt = 0;
	struct pathprof_store *store = make_store(world_file(dir, "db"), &cnt), *copy;
	struct pathprof_error error = {""};
	int fill = -EIO;

	set_keys(store, keys);
	CU_ASSERT_EQUAL(pathprof_store_extract_filled(store, NULL, file, "n", false, add_one, &fill,
						      &error),
			-EIO);
	fill = 0;
	CU_ASSERT_EQUAL(pathprof_store_extract_filled(store, NULL, file, "n", false, add_one, &fill,
						      &error),
			0);
	copy = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(read_back(copy).cnt, cnt);
	CU_ASSERT_EQUAL(read_back(copy).wrong_cnt, 0);
	CU_ASSERT(has_keys(copy, keys));
	CU_ASSERT_EQUAL(pathprof_store_function_keys(copy, &first, &read, &read_cnt, &error), 0);
	CU_ASSERT(read_cnt == 1 && read[0] == 77);
	free(read);
	CU_ASSERT_EQUAL(pathprof_store_check(copy, &error), 0);
	pathprof_store_free(copy);
	pathprof_store_free(store);
}

/* Windows go, and with them paths, and with these their names. */
static void test_retention(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	const struct pathprof_retention all = {.max_age_ns = 1};
	uint64_t keys[KEYS];
	size_t cnt = 0;
	struct pathprof_store *store = make_store(file, &cnt);

	set_keys(store, keys);
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &all, NULL, NULL), 0);
	CU_ASSERT_EQUAL(read_back(store).cnt, 0);
	CU_ASSERT_FALSE(has_keys(store, keys));
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

/* ---------------------------------------------------------------- builds before one */

static struct pathprof_build_id build(uint8_t number)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

	memset(id.bytes, number, sizeof(id.bytes));
	return id;
}

static void run_build(struct pathprof_store *store, uint8_t number, int64_t end_ns)
{
	const struct pathprof_build_id id = build(number);
	char comm[] = "program", container[] = "";
	struct pathprof_process process = {
		.pid = number, .start_time = number, .comm = comm, .container = container};
	struct pathprof_path_count path = {.start = 16, .length = 1, .samples = 1, .weight = 1};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	p.begin_ns = end_ns - 10;
	p.end_ns = end_ns;
	p.source = PATHPROF_SOURCE_STEP;
	p.basis = PATHPROF_BASIS_TIME;
	path.binary = process.binary = pathprof_profile_binary(&p, &id, "/bin/program");
	path.process = pathprof_profile_process(&p, &process);
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	pathprof_profile_release(&p);
}

struct builds {
	uint8_t numbers[8];
	uint32_t cnt;
	bool outside; /* a time that cannot hold its last window */
};

static int take_build(void *context, const struct pathprof_earlier_build_row *row)
{
	struct builds *builds = context;
	uint8_t number = row->binary_id.bytes[0];
	/* run_build() below: the last of each */
	const int64_t last_ns = number == 1 ? 3000 : 2000;

	builds->outside |= row->last_from_ns > last_ns || row->last_until_ns < last_ns;
	builds->numbers[builds->cnt++ % 8] = number;
	return 0;
}

static struct builds before(struct pathprof_store *store, uint8_t number)
{
	const struct pathprof_build_id id = build(number);
	struct builds builds = {.cnt = 0};

	CU_ASSERT_EQUAL(pathprof_store_earlier_builds(store, &id, "/bin/program", take_build,
						      &builds, NULL),
			0);
	return builds;
}

static void test_earlier_builds(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);

	run_build(store, 1, 1000);
	run_build(store, 2, 2000);
	run_build(store, 1, 3000);
	for (int64_t i = 0; i < 70; i++)
		run_build(store, 3, 4000 + i);
	CU_ASSERT_EQUAL(before(store, 3).cnt, 2);
	CU_ASSERT_FALSE(before(store, 3).outside);
	CU_ASSERT_EQUAL(before(store, 2).cnt, 1);
	CU_ASSERT_EQUAL(before(store, 2).numbers[0], 1);
	CU_ASSERT_EQUAL(before(store, 1).cnt, 0);
	CU_ASSERT_EQUAL(before(store, 9).cnt, 0);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"names and functions come back as they were written", test_round_trip},
	{"lists out of order and builds unknown are refused", test_refused},
	{"a damaged list of functions is not believed", test_damage},
	{"a profile file carries names, and what the caller adds", test_profile_file},
	{"names go with their paths", test_retention},
	{"builds before one are found by their path", test_earlier_builds},
};
UNIT_SUITE(store_portable, tests)
