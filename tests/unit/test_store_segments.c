// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments of samples in the store: what was written comes back, over windows, of one and of some
 * processes; windows that have none say so; they go with their windows, and pieces after them.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_store.h"
#include "unit.h"

#define SEGMENTS 24
#define WINDOWS  5

/* All of a segment follows from its number; one row a process, of which there are two. */
static struct pathprof_segment_count segment_of(uint32_t window, uint32_t i)
{
	return (struct pathprof_segment_count){
		.first = {.binary = i % 3, .start = UINT64_MAX - i, .length = i, .outcomes = i},
		.second = {.process = i % 2,
			   .binary = i % 2,
			   .start = i / 2,
			   .length = 32,
			   .outcomes = UINT32_MAX,
			   .samples = window + i + 1,
			   .weight = 2.5 * i,
			   .burst = i % 4 ? i : 0},
	};
}

/* Odd ones know which piece followed which. */
static bool is_ordered(uint32_t window)
{
	return window % 2;
}

static void add_window(struct pathprof_store *store, uint32_t window)
{
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 8 << 20), 0);
	world_window(&profile, window, window * WORLD_STEP_NS, 20);
	profile.is_ordered = is_ordered(window);
	profile.segments_lost = profile.is_ordered ? 10 * window : 0;
	for (uint32_t i = 0; profile.is_ordered && i < SEGMENTS; i++) {
		struct pathprof_segment_count add = segment_of(window, i);

		pathprof_profile_add_segment(&profile, &add);
	}
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &profile, NULL, NULL), 0);
	pathprof_profile_release(&profile);
}

static struct pathprof_store *make_store(const char *file)
{
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);

	for (uint32_t window = 0; window < WINDOWS; window++)
		add_window(store, window);
	return store;
}

struct met {
	uint32_t first, end; /* windows that are to be summed */
	uint32_t cnt, wrong_cnt;
};

static bool is_piece(const struct pathprof_piece *piece, uint32_t binary, uint64_t start,
		     uint32_t length, uint32_t outcomes)
{
	const struct pathprof_build_id id = world_binary_id(binary);

	return pathprof_build_id_equal(&piece->binary_id, &id) &&
	       strcmp(piece->binary_name, world_binary_name(binary)) == 0 &&
	       piece->start == start && piece->length == length && piece->outcomes == outcomes;
}

static int meet(void *context, const struct pathprof_segment_row *row)
{
	struct met *met = context;
	uint32_t i = row->first.length;
	double weight = 0, squares = 0, weight_squares = 0;
	uint64_t samples = 0;

	for (uint32_t window = met->first; window < met->end; window++) {
		const struct pathprof_segment_count s = segment_of(window, i);
		double each = (double)s.second.samples;

		if (!is_ordered(window))
			continue;
		samples += s.second.samples;
		weight += s.second.weight;
		squares += s.second.burst ? each * each : 0;
		weight_squares += s.second.burst ? s.second.weight * s.second.weight : 0;
	}
	met->cnt++;
	met->wrong_cnt += !is_piece(&row->first, i % 3, UINT64_MAX - i, i, i) ||
			  !is_piece(&row->second, i % 2, i / 2, 32, UINT32_MAX) ||
			  row->count != samples || row->weight != weight ||
			  row->squares != squares || row->weight_squares != weight_squares;
	return 0;
}

static uint32_t count(struct pathprof_store *store, const struct pathprof_filter *filter,
		      uint32_t first, uint32_t end)
{
	struct met met = {.first = first, .end = end};

	CU_ASSERT_EQUAL(pathprof_store_segment_samples(store, filter, meet, &met, NULL), 0);
	CU_ASSERT_EQUAL(met.wrong_cnt, 0);
	return met.cnt;
}

static void test_round_trip(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	const struct pathprof_filter one = {.window = 4}, none = {.window = 3};
	const struct pathprof_filter process = {.pid = world_process(0).pid};
	const struct pathprof_filter other = {.pid = 12345};
	const struct pathprof_filter binary = {.binary = world_binary_name(1)};
	const struct pathprof_filter foreign = {.owners = {4711}, .owner_cnt = 1};
	struct pathprof_store *store = make_store(file);

	pathprof_store_free(store);
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(count(store, NULL, 0, WINDOWS), SEGMENTS);
	CU_ASSERT_EQUAL(count(store, &one, 3, 4), SEGMENTS);
	CU_ASSERT_EQUAL(count(store, &none, 0, 0), 0);
	/* both processes have one number */
	CU_ASSERT_EQUAL(count(store, &process, 0, WINDOWS), SEGMENTS);
	CU_ASSERT_EQUAL(count(store, &other, 0, 0), 0);
	CU_ASSERT_EQUAL(count(store, &binary, 0, WINDOWS), SEGMENTS / 3);
	CU_ASSERT_EQUAL(count(store, &foreign, 0, WINDOWS), SEGMENTS);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

static int meet_window(void *context, const struct pathprof_window_row *row)
{
	uint32_t window = (uint32_t)(row->id - 1);

	CU_ASSERT_EQUAL(row->has_segments, is_ordered(window));
	CU_ASSERT_EQUAL(row->segments_lost, is_ordered(window) ? 10 * window : 0);
	++*(uint32_t *)context;
	return 0;
}

static void test_windows_say(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	uint32_t cnt = 0;

	CU_ASSERT_EQUAL(pathprof_store_windows(store, NULL, meet_window, &cnt, NULL), 0);
	CU_ASSERT_EQUAL(cnt, WINDOWS);
	pathprof_store_free(store);
}

static int64_t number(const char *file, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t value = -1;
	sqlite3 *db;

	CU_ASSERT_EQUAL(sqlite3_open(file, &db), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

static void add_worlds(struct pathprof_store *store, int64_t begin_ns, uint32_t cnt)
{
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 1 << 20), 0);
	world_window(&profile, 0, begin_ns, 1);
	for (uint32_t i = 0; i < cnt; i++)
		CU_ASSERT_EQUAL(pathprof_store_add_window(store, &profile, NULL, NULL), 0);
	pathprof_profile_release(&profile);
}

/*
 * How many pieces are left when windows of 1970 went, and later ones stay. All pieces came with
 * window 2, so it is their last_window, and windows up to 65 may refer to them.
 */
static int64_t pieces_left(uint32_t more_old, uint32_t later)
{
	const struct pathprof_retention old = {.max_age_ns = 1};
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store;
	int64_t left;

	remove(file);
	store = make_store(file);
	add_worlds(store, 0, more_old);
	add_worlds(store, INT64_C(1) << 62, later);
	CU_ASSERT(number(file, "SELECT count(*) FROM pieces") > SEGMENTS);
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &old, NULL, NULL), 0);
	CU_ASSERT_EQUAL(count(store, NULL, 0, 0), 0);
	CU_ASSERT_EQUAL(number(file, "SELECT count(*) FROM segmented_windows"), 0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	left = number(file, "SELECT count(*) FROM pieces");
	pathprof_store_free(store);
	return left;
}

static void test_retired(void)
{
	CU_ASSERT(pieces_left(65 - WINDOWS - 1, 5) > SEGMENTS);
	CU_ASSERT_EQUAL(pieces_left(65 - WINDOWS, 5), 0);
	CU_ASSERT_EQUAL(pieces_left(0, 0), 0);
}

static void run_sql(const char *file, const char *sql)
{
	sqlite3 *db;

	CU_ASSERT_EQUAL(sqlite3_open(file, &db), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void spoil(const char *sql, const char *trouble)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_error error = {""};
	struct pathprof_store *store;

	remove(file);
	pathprof_store_free(make_store(file));
	run_sql(file, sql);
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), -EBADMSG);
	if (!strstr(error.text, trouble))
		printf("%s\n", error.text);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, trouble));
	pathprof_store_free(store);
}

static void test_damaged(void)
{
	spoil("PRAGMA ignore_check_constraints=1; UPDATE pieces SET last_window = -100",
	      "last_window");
	spoil("DELETE FROM window_processes WHERE window = 4 AND process = (SELECT max(process) "
	      "FROM"
	      " segment_samples)",
	      "a process that its window does not know");
}

static void test_refused(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	struct pathprof_segment_count segment = segment_of(1, 4);
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 8 << 20), 0);
	world_window(&profile, 1, WORLD_STEP_NS, 20);
	profile.is_ordered = true;
	pathprof_profile_add_segment(&profile, &segment);
	CU_ASSERT_EQUAL_FATAL(profile.segment_cnt, 1);
	profile.segments[0].first.length = 33;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &profile, NULL, NULL), -EINVAL);
	profile.segments[0] = segment;
	profile.segments[0].second.weight = -1;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &profile, NULL, NULL), -EINVAL);
	profile.segments[0] = segment;
	profile.segments[0].first.binary = WORLD_BINARIES;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &profile, NULL, NULL), -EINVAL);
	pathprof_profile_release(&profile);
	CU_ASSERT_EQUAL(world_window_cnt(store), WINDOWS);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"segments come back, summed over windows, of one, and of some", test_round_trip},
	{"a window says whether it has them, and how many found no room", test_windows_say},
	{"they go with their windows, and pieces when no window can have them", test_retired},
	{"damage is found", test_damaged},
	{"what cannot be is refused", test_refused},
};
UNIT_SUITE(store_segments, tests)
