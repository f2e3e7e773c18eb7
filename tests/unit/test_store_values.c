// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values in the store: what was written against what is read over windows, refusals, retention,
 * forgetting so that the file no longer has them, and a database of the schema before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_store.h"
#include "unit.h"

#define WINDOWS 4
#define SITES   6
#define VALUES  5
#define SECRET  UINT64_C(0x5345435245545321)

/* The oracle: everything of a row follows from window and site. */
static uint64_t executed_of(uint32_t window, uint32_t site)
{
	return 1000 * (site + 1) + window;
}

static uint64_t value_of(uint32_t site, uint32_t i)
{
	return i == 0 ? UINT64_MAX - site : (uint64_t)i << 40;
}

/* The last value of a table is another one in every window. */
static uint64_t in_window(uint32_t window, uint32_t site, uint32_t i)
{
	return i == VALUES - 1 ? SECRET + window : value_of(site, i);
}

static void make_row(struct pathprof_value_row *row, struct pathprof_value_count *values,
		     uint32_t window, uint32_t site)
{
	for (uint32_t i = 0; i < VALUES; i++)
		values[i] = (struct pathprof_value_count){in_window(window, site, i), 100 - i};
	*row = (struct pathprof_value_row){
		.binary_id = world_binary_id(site / 2),
		.binary_name = world_binary_name(site / 2),
		.start = UINT64_MAX - site,
		.function = site % 2 ? "odd" : "even",
		.argument = site + 1,
		.sampler = window == WINDOWS - 1 ? "P1" : "H[PR16]1024",
		.entry_max = 16,
		.executed = executed_of(window, site),
		.same = site,
		.profiled = 600,
		.values = values,
		.value_cnt = VALUES,
	};
}

static void add_window(struct pathprof_store *store, uint32_t window)
{
	struct pathprof_value_count values[SITES][VALUES];
	struct pathprof_value_row rows[SITES];
	const struct pathprof_value_drop drops[] = {{"ring-full", 10 + window}, {"busy", 0}};
	struct pathprof_error error = {""};

	world_fill(store, window, 1, 20);
	for (uint32_t i = 0; i < SITES; i++)
		make_row(&rows[i], values[i], window, i);
	CU_ASSERT_EQUAL(pathprof_store_add_values(store, window + 1, rows, SITES, drops, 2, &error),
			0);
	CU_ASSERT_STRING_EQUAL(error.text, "");
}

static struct pathprof_store *make_store(const char *file)
{
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);

	for (uint32_t i = 0; i < WINDOWS; i++)
		add_window(store, i);
	return store;
}

struct met {
	uint32_t first, end; /* windows that are to be summed */
	uint64_t off;        /* a fault: what is expected is so much more */
	size_t cnt, wrong_cnt;
};

static size_t wrong_values(const struct met *met, const struct pathprof_value_row *row,
			   uint32_t site)
{
	const uint32_t windows = met->end - met->first;
	size_t wrong = row->value_cnt != VALUES - 1 + windows;

	for (uint32_t i = 0; i < VALUES - 1 && i < row->value_cnt; i++)
		wrong += row->values[i].value != value_of(site, i) ||
			 row->values[i].count != (uint64_t)windows * (100 - i);
	for (uint32_t i = VALUES - 1; i < row->value_cnt; i++)
		wrong += row->values[i].value != SECRET + met->first + (i - VALUES + 1) ||
			 row->values[i].count != 100 - (VALUES - 1);
	return wrong;
}

/* The most executed come first. */
static int meet(void *context, const struct pathprof_value_row *row)
{
	struct met *met = context;
	const uint32_t site = SITES - 1 - (uint32_t)met->cnt++, windows = met->end - met->first;
	const struct pathprof_build_id id = world_binary_id(site / 2);
	uint64_t executed = met->off;

	for (uint32_t i = met->first; i < met->end; i++)
		executed += executed_of(i, site);
	met->wrong_cnt += row->executed != executed || row->same != (uint64_t)windows * site ||
			  row->profiled != (uint64_t)windows * 600 || row->argument != site + 1 ||
			  row->start != UINT64_MAX - site || row->entry_max != 16 ||
			  !pathprof_build_id_equal(&row->binary_id, &id) ||
			  strcmp(row->binary_name, world_binary_name(site / 2)) != 0 ||
			  strcmp(row->function, site % 2 ? "odd" : "even") != 0 ||
			  wrong_values(met, row, site);
	return 0;
}

static struct met read_windows(struct pathprof_store *store, uint32_t first, uint32_t end,
			       uint64_t off)
{
	struct pathprof_filter filter = {.window = end - first == 1 ? first + 1 : 0};
	struct met met = {.first = first, .end = end, .off = off};
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_store_values(store, &filter, meet, &met, &error), 0);
	CU_ASSERT_STRING_EQUAL(error.text, "");
	return met;
}

static int sum_drops(void *context, const struct pathprof_value_drop *drop)
{
	CU_ASSERT_STRING_EQUAL(drop->reason, "ring-full");
	*(uint64_t *)context += drop->cnt;
	return 0;
}

static int count_row(void *context, const struct pathprof_value_row *row)
{
	++*(uint32_t *)context;
	return 0;
}

static int take_sampler(void *context, const struct pathprof_value_row *row)
{
	strcpy(context, row->sampler);
	return 1;
}

static void test_round_trip(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_filter filter = {.binary = world_binary_name(1)};
	struct pathprof_store *store = make_store(file);
	char sampler[32] = "";
	uint64_t drops = 0;
	uint32_t rows = 0;
	struct met met;

	pathprof_store_free(store);
	store = world_open(file, PATHPROF_STORE_READ);
	met = read_windows(store, 0, WINDOWS, 0);
	CU_ASSERT(met.cnt == SITES && met.wrong_cnt == 0);
	met = read_windows(store, 2, 3, 0);
	CU_ASSERT(met.cnt == SITES && met.wrong_cnt == 0);
	met = read_windows(store, 0, WINDOWS, 1);
	CU_ASSERT_EQUAL(met.wrong_cnt, SITES);
	CU_ASSERT_EQUAL(pathprof_store_value_drops(store, NULL, sum_drops, &drops, NULL), 0);
	CU_ASSERT_EQUAL(drops, 10 + 11 + 12 + 13);
	CU_ASSERT_EQUAL(pathprof_store_values(store, &filter, count_row, &rows, NULL), 0);
	CU_ASSERT_EQUAL(rows, 2);
	CU_ASSERT_EQUAL(pathprof_store_values(store, NULL, take_sampler, sampler, NULL), 1);
	CU_ASSERT_STRING_EQUAL(sampler, "several");
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_forget_values(store, NULL), -EROFS);
	pathprof_store_free(store);
}

static void test_refused(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	struct pathprof_value_count values[VALUES];
	struct pathprof_value_row row, wrong[7];
	struct met met;

	make_row(&row, values, 0, 0);
	for (size_t i = 0; i < 7; i++)
		wrong[i] = row;
	wrong[0].argument = 0;
	wrong[1].argument = 7;
	wrong[2].same = row.executed + 1;
	wrong[3].profiled = 100; /* less than the values add up to */
	wrong[4].executed = UINT64_MAX;
	wrong[5].entry_max = VALUES - 1;
	wrong[6].binary_id.len_bytes = PATHPROF_BUILD_ID_MAX + 1;
	for (size_t i = 0; i < 7; i++)
		CU_ASSERT_EQUAL(pathprof_store_add_values(store, 1, &wrong[i], 1, NULL, 0, NULL),
				-EINVAL);
	/* a second time, and to a window that is not there: all or nothing */
	CU_ASSERT_EQUAL(pathprof_store_add_values(store, 1, &row, 1, NULL, 0, NULL), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_store_add_values(store, 99, &row, 1, NULL, 0, NULL), -EINVAL);
	met = read_windows(store, 0, WINDOWS, 0);
	CU_ASSERT(met.cnt == SITES && met.wrong_cnt == 0);
	pathprof_store_free(store);
}

static bool file_has(const char *file, uint64_t value)
{
	/* as SQLite writes 64 bits: the highest byte first */
	uint64_t wanted = __builtin_bswap64(value);
	FILE *f = fopen(file, "rb");
	uint64_t window = 0;
	bool found = false;
	int c;

	while (f && !found && (c = getc(f)) != EOF) {
		window = window << 8 | (uint8_t)c;
		found = window == __builtin_bswap64(wanted);
	}
	if (f)
		fclose(f);
	return found;
}

static void expect_no_secrets(const char *file)
{
	char wal[4096];

	snprintf(wal, sizeof(wal), "%s-wal", file);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		CU_ASSERT_FALSE(file_has(file, SECRET + i));
		CU_ASSERT_FALSE(file_has(wal, SECRET + i));
	}
}

static void test_forgotten(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = make_store(file);
	uint32_t rows = 0;

	pathprof_store_free(store);
	CU_ASSERT_TRUE(file_has(file, SECRET + 1));
	store = world_open(file, PATHPROF_STORE_WRITE);
	CU_ASSERT_EQUAL(pathprof_store_forget_values(store, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_values(store, NULL, count_row, &rows, NULL), 0);
	CU_ASSERT_EQUAL(rows, 0);
	CU_ASSERT_EQUAL(world_window_cnt(store), WINDOWS);
	expect_no_secrets(file);
	pathprof_store_free(store);
}

/* Pages that are free, as retention leaves them; what a file system does with its blocks is its
 * own. */
static void test_forgotten_once_removed(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = make_store(file);

	pathprof_store_free(store);
	world_sqlite(file, "PRAGMA secure_delete=OFF; CREATE TABLE removed(value INTEGER);"
			   "INSERT INTO removed SELECT a.value FROM value_tops a, value_tops b;"
			   "DROP TABLE removed; DELETE FROM value_tops");
	CU_ASSERT(world_number(file, "PRAGMA freelist_count") > 1);
	CU_ASSERT_TRUE(file_has(file, SECRET + 1));
	store = world_open(file, PATHPROF_STORE_WRITE);
	CU_ASSERT_EQUAL(pathprof_store_forget_values(store, NULL), 0);
	expect_no_secrets(file);
	CU_ASSERT_EQUAL(world_window_cnt(store), WINDOWS);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

static int forget_meanwhile(void *context, const struct pathprof_value_row *row)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_store_forget_values(context, &error), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "deleted, but not yet overwritten"));
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "try again"));
	return 1;
}

/* A reader that began before keeps the old pages: that is told, and the next call mends it. */
static void test_forgotten_while_read(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = make_store(file);
	struct pathprof_store *reader = world_open(file, PATHPROF_STORE_READ);
	uint32_t rows = 0;

	CU_ASSERT_EQUAL(pathprof_store_values(reader, NULL, forget_meanwhile, store, NULL), 1);
	CU_ASSERT_EQUAL(pathprof_store_values(reader, NULL, count_row, &rows, NULL), 0);
	CU_ASSERT_EQUAL(rows, 0);
	CU_ASSERT_EQUAL(pathprof_store_forget_values(store, NULL), 0);
	expect_no_secrets(file);
	pathprof_store_free(reader);
	pathprof_store_free(store);
}

/* The windows of 1970 go by age, and their values with them; the sites when nothing is left. */
static void test_retired(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	const struct pathprof_retention all = {.max_age_ns = 1};
	struct pathprof_store *store = make_store(file);
	uint64_t removed = 0;
	uint32_t rows = 0;

	CU_ASSERT_EQUAL(pathprof_store_retain(store, &all, &removed, NULL), 0);
	CU_ASSERT_EQUAL(removed, WINDOWS);
	CU_ASSERT_EQUAL(pathprof_store_values(store, NULL, count_row, &rows, NULL), 0);
	CU_ASSERT_EQUAL(rows, 0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

static void test_not_in_profile_files(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "x.baseline");
	struct pathprof_store *store = make_store(world_file(dir, "db")), *copy;
	const struct pathprof_filter filter = {.window = 2};
	uint32_t rows = 0;

	CU_ASSERT_EQUAL(pathprof_store_extract(store, &filter, file, "n", false, NULL), 0);
	copy = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_values(copy, NULL, count_row, &rows, NULL), 0);
	CU_ASSERT_EQUAL(rows, 0);
	pathprof_store_free(copy);
	CU_ASSERT_FALSE(file_has(file, SECRET));
	pathprof_store_free(store);
}

static void test_old_database(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE), *reader = NULL;
	struct pathprof_error error = {""};

	world_fill(store, 0, 2, 20);
	pathprof_store_free(store);
	world_sqlite(file, WORLD_WITHOUT_SHARES);
	world_sqlite(file, "DROP TABLE value_tops; DROP TABLE value_counts; DROP TABLE value_drops;"
			   " DROP TABLE value_sites; PRAGMA user_version=2");
	CU_ASSERT_EQUAL(pathprof_store_open(&reader, file, PATHPROF_STORE_FOLLOW, &error), -EPROTO);
	store = world_open(file, PATHPROF_STORE_WRITE);
	CU_ASSERT_EQUAL(world_window_cnt(store), 2);
	add_window(store, 2);
	CU_ASSERT_EQUAL(read_windows(store, 2, 3, 0).wrong_cnt, 0);
	CU_ASSERT_EQUAL(read_windows(store, 2, 3, 0).cnt, SITES);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), 0);
	pathprof_store_free(store);
}

static void test_damage(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = make_store(file);
	struct pathprof_error error = {""};
	uint32_t rows = 0;

	pathprof_store_free(store);
	world_sqlite(file,
		     "PRAGMA ignore_check_constraints=ON; UPDATE value_sites SET argument = 9");
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_values(store, NULL, count_row, &rows, &error), -EBADMSG);
	CU_ASSERT_EQUAL(rows, 0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), -EBADMSG);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"what was written adds up over windows", test_round_trip},
	{"rows that cannot be are refused whole", test_refused},
	{"what is forgotten is no longer in the file", test_forgotten},
	{"what went with its windows before is no longer in it either",
	 test_forgotten_once_removed},
	{"what somebody reads is forgotten at the next call", test_forgotten_while_read},
	{"values go with their windows", test_retired},
	{"profile files have none", test_not_in_profile_files},
	{"a database of the schema before takes them", test_old_database},
	{"a damaged row is not believed", test_damage},
};
UNIT_SUITE(store_values, tests)
