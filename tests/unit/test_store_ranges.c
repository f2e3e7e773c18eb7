// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ranges in the store: against what was written, over windows and of one; windows whose ranges are
 * not known; refusals; retention; a file in which a range lost its edge.
 */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>

#include "test_store.h"
#include "unit.h"

#define WINDOWS 3
#define RANGES  7

/* The oracle: everything of a range follows from its number. */
static struct pathprof_range_row range_of(const struct pathprof_build_id ids[2], uint32_t window,
					  uint32_t i)
{
	return (struct pathprof_range_row){.from_id = &ids[i % 2],
					   .to_id = &ids[0],
					   .from = UINT64_MAX - i,
					   .start = 16 * i,
					   .last = 16 * i + 5,
					   .count = 100 * window + i + 1};
}

/* A window with the edges that its ranges follow. */
static void add_window_of(struct pathprof_store *store, uint32_t window, uint64_t bursts)
{
	const struct pathprof_build_id ids[2] = {world_binary_id(0), world_binary_id(1)};
	struct pathprof_profile p;
	int64_t id;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	world_window(&p, window, window * WORLD_STEP_NS, 5);
	p.totals.bursts = bursts;
	for (uint32_t i = 0; i < RANGES; i++) {
		const struct pathprof_range_row r = range_of(ids, window, i);

		pathprof_profile_add_edge(
			&p, &(struct pathprof_edge_count){
				    .from_binary = pathprof_profile_binary(&p, r.from_id, "x"),
				    .to_binary = pathprof_profile_binary(&p, r.to_id, "y"),
				    .from = r.from,
				    .to = r.start,
				    .count = 1});
	}
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, NULL), 0);
	CU_ASSERT_EQUAL(id, window + 1);
	pathprof_profile_release(&p);
}

static void add_window(struct pathprof_store *store, uint32_t window)
{
	add_window_of(store, window, 1);
}

static int add_ranges(struct pathprof_store *store, uint32_t window)
{
	const struct pathprof_build_id ids[2] = {world_binary_id(0), world_binary_id(1)};
	struct pathprof_range_row rows[RANGES + 1];
	const struct pathprof_ranges ranges = {rows, RANGES + 1};

	for (uint32_t i = 0; i < RANGES; i++)
		rows[i] = range_of(ids, window, i);
	/* the first one twice: rows of one key add up */
	rows[RANGES] = rows[0];
	return pathprof_store_add_ranges(store, window + 1, &ranges, NULL);
}

static struct pathprof_store *make_store(const char *file)
{
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);

	for (uint32_t window = 0; window < WINDOWS; window++) {
		add_window(store, window);
		CU_ASSERT_EQUAL(add_ranges(store, window), 0);
	}
	return store;
}

struct met {
	uint32_t first, end; /* windows that are to be summed */
	uint32_t cnt, wrong_cnt;
	uint64_t counted; /* sum of what windows without bursts have */
};

static int meet(void *context, const struct pathprof_range_row *row)
{
	const struct pathprof_build_id ids[2] = {world_binary_id(0), world_binary_id(1)};
	struct met *met = context;
	uint32_t i = (uint32_t)row->start / 16;
	struct pathprof_range_row want = range_of(ids, 0, i);

	want.count = 0;
	for (uint32_t window = met->first; window < met->end; window++)
		want.count += range_of(ids, window, i).count * (i == 0 ? 2 : 1);
	if (row->is_counted) {
		met->counted += row->count;
		return 0;
	}
	met->cnt++;
	met->wrong_cnt += i >= RANGES || row->from != want.from || row->last != want.last ||
			  row->count != want.count ||
			  !pathprof_build_id_equal(row->from_id, want.from_id) ||
			  !pathprof_build_id_equal(row->to_id, want.to_id);
	return 0;
}

static void expect_ranges(struct pathprof_store *store, uint32_t first, uint32_t end)
{
	const struct pathprof_filter filter = {.window = end - first == 1 ? first + 1 : 0};
	struct met met = {.first = first, .end = end};

	CU_ASSERT_EQUAL(pathprof_store_ranges(store, &filter, meet, &met, NULL), 0);
	CU_ASSERT(met.cnt == RANGES && met.wrong_cnt == 0);
}

static void test_round_trip(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	const struct pathprof_filter other = {.binary = world_binary_name(3)};
	struct pathprof_store *store = make_store(file);
	struct met met = {.end = WINDOWS};

	pathprof_store_free(store);
	store = world_open(file, PATHPROF_STORE_READ);
	expect_ranges(store, 0, WINDOWS);
	expect_ranges(store, 1, 2);
	CU_ASSERT_EQUAL(pathprof_store_ranges(store, &other, meet, &met, NULL), 0);
	CU_ASSERT_EQUAL(met.cnt, 0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	CU_ASSERT_EQUAL(add_ranges(store, 0), -EROFS);
	pathprof_store_free(store);
}

/* The ranges of a live source's window are unknown; a window may also be known to have none. */
static void test_unknown(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	const struct pathprof_ranges none = {NULL, 0};
	struct met met = {.end = WINDOWS};

	add_window(store, WINDOWS);
	CU_ASSERT_EQUAL(pathprof_store_ranges(store, NULL, meet, &met, NULL), -ENODATA);
	CU_ASSERT_EQUAL(met.cnt, 0);
	expect_ranges(store, 1, 2);
	CU_ASSERT_EQUAL(pathprof_store_add_ranges(store, WINDOWS + 1, &none, NULL), 0);
	expect_ranges(store, 0, WINDOWS);
	pathprof_store_free(store);
}

/* A window without bursts: its ranges need no edge, and add up apart from the others. */
static void test_counted(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	const struct pathprof_build_id ids[2] = {world_binary_id(0), world_binary_id(1)};
	struct pathprof_range_row rows[2] = {range_of(ids, 1, 3), range_of(ids, 1, 4)};
	const struct pathprof_ranges ranges = {rows, 2};
	struct pathprof_store *store = make_store(file);
	struct met met = {.end = WINDOWS};

	add_window_of(store, WINDOWS, 0);
	rows[1].from = 0; /* no edge is there */
	CU_ASSERT_EQUAL(pathprof_store_add_ranges(store, WINDOWS + 1, &ranges, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_ranges(store, NULL, meet, &met, NULL), 0);
	CU_ASSERT(met.cnt == RANGES && met.wrong_cnt == 0);
	CU_ASSERT_EQUAL(met.counted, rows[0].count + rows[1].count);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

static void test_refused(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	struct pathprof_build_id ids[2] = {world_binary_id(0), world_binary_id(1)};
	struct pathprof_range_row rows[2] = {range_of(ids, 0, 1), range_of(ids, 0, 2)};
	const struct pathprof_ranges ranges = {rows, 2};

	add_window(store, WINDOWS);
	rows[1].count = 0;
	CU_ASSERT_EQUAL(pathprof_store_add_ranges(store, WINDOWS + 1, &ranges, NULL), -EINVAL);
	rows[1].count = UINT64_MAX;
	CU_ASSERT_EQUAL(pathprof_store_add_ranges(store, WINDOWS + 1, &ranges, NULL), -EINVAL);
	rows[1].count = 1;
	ids[0].len_bytes = PATHPROF_BUILD_ID_MAX + 1;
	CU_ASSERT_EQUAL(pathprof_store_add_ranges(store, WINDOWS + 1, &ranges, NULL), -EINVAL);
	/* to a window that is not there */
	CU_ASSERT_EQUAL(add_ranges(store, 98), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

/* The windows of 1970 go by age, and their ranges with them. */
static void test_retired(void)
{
	const struct pathprof_retention all = {.max_age_ns = 1};
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	struct met met = {0};
	uint64_t removed = 0;

	CU_ASSERT_EQUAL(pathprof_store_retain(store, &all, &removed, NULL), 0);
	CU_ASSERT_EQUAL(removed, WINDOWS);
	CU_ASSERT_EQUAL(pathprof_store_ranges(store, NULL, meet, &met, NULL), 0);
	CU_ASSERT_EQUAL(met.cnt, 0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

/* A window without bursts or edges for its ranges: of another window, and of none. */
static uint64_t add_counted(struct pathprof_store *store, int64_t begin_ns)
{
	const struct pathprof_build_id ids[2] = {world_binary_id(0), world_binary_id(1)};
	struct pathprof_range_row rows[2] = {range_of(ids, 1, 3), range_of(ids, 1, 4)};
	const struct pathprof_ranges ranges = {rows, 2};
	struct pathprof_profile p;
	int64_t id = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	world_window(&p, WINDOWS, begin_ns, 5);
	p.totals.bursts = 0;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, NULL), 0);
	pathprof_profile_release(&p);
	rows[1].from = 0;
	CU_ASSERT_EQUAL(pathprof_store_add_ranges(store, id, &ranges, NULL), 0);
	return rows[0].count + rows[1].count;
}

/* An edge that ranges alone refer to stays as long as they do, and no longer. */
static void test_edges_of_counted(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	const int64_t hour_ns = INT64_C(3600000000000);
	const struct pathprof_retention hour = {.max_age_ns = hour_ns}, all = {.max_age_ns = 1};
	struct pathprof_store *store = make_store(file);
	uint64_t counted = add_counted(store, (int64_t)time(NULL) * 1000000000 - hour_ns / 2);
	struct met met = {0};
	uint64_t removed = 0;

	CU_ASSERT_EQUAL(pathprof_store_retain(store, &hour, &removed, NULL), 0);
	CU_ASSERT_EQUAL(removed, WINDOWS);
	CU_ASSERT_EQUAL(pathprof_store_ranges(store, NULL, meet, &met, NULL), 0);
	CU_ASSERT(met.cnt == 0 && met.counted == counted);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &all, &removed, NULL), 0);
	CU_ASSERT_EQUAL(removed, 1);
	pathprof_store_free(store);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(*) FROM edges"), 0);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(*) FROM binaries"), 0);
}

static void test_damaged(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_error error = {""};
	struct pathprof_store *store;
	sqlite3 *db;

	pathprof_store_free(make_store(file));
	CU_ASSERT_EQUAL(sqlite3_open(file, &db), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_exec(db,
				     "DELETE FROM edge_counts WHERE window = 2 AND edge ="
				     " (SELECT max(edge) FROM range_counts WHERE window = 2)",
				     NULL, NULL, NULL),
			SQLITE_OK);
	sqlite3_close(db);
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), -EBADMSG);
	CU_ASSERT(strstr(error.text, "a range is behind an edge") != NULL);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"ranges come back, summed over windows and of one", test_round_trip},
	{"windows without ranges are not windows whose ranges nobody knows", test_unknown},
	{"what was counted is told from what stacks show", test_counted},
	{"what cannot be is refused, all or nothing", test_refused},
	{"they go with their windows", test_retired},
	{"an edge of ranges alone goes with the last of them", test_edges_of_counted},
	{"a range without its edge is damage", test_damaged},
};
UNIT_SUITE(store_ranges, tests)
