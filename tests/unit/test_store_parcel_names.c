// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of functions that parcels bring to a database. */
#include "parcel_slots.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* All of a parcel or nothing, also where it replaces another. */
/* A build has one name less than it may have: two more are known, and two are new. */
static void test_names_at_the_bound(void)
{
	static const uint64_t starts[] = {16, 32, 1 << 30, 1 << 29};
	const char *file = world_file(unit_tmpdir(), "db");
	const struct pathprof_build_id id = world_binary_id(0);
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_parcel parcel = {.slot_s = 0};
	struct pathprof_parcel_names *names = pathprof_parcel_names_of(&parcel, &id);
	uint64_t cut = 99;

	CU_ASSERT_PTR_NOT_NULL_FATAL(names);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(pathprof_parcel_add_function(&parcel, names, starts[i], 40, "new"),
				0);
	world_fill(store, 1, 1, PATHS);
	CU_ASSERT_EQUAL(PATHPROF_STORE_FUNCTIONS_MAX, 100000);
	world_sqlite(file,
		     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
		     " i < 99999) INSERT INTO jit_symbols SELECT 1, 16 * i, 16, 'old' FROM n");
	CU_ASSERT_EQUAL(pathprof_store_add_names(store, &parcel, &cut, NULL), 0);
	CU_ASSERT_EQUAL(cut, 1);
	pathprof_store_free(store);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(*) FROM jit_symbols"), 100000);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(*) FROM jit_symbols WHERE name = 'old'"
					   " AND len_bytes = 40"),
			2);
	pathprof_parcel_release(&parcel);
}

static int take_name(void *context, const struct pathprof_portable_row *row)
{
	char(*names)[16] = context;

	snprintf(names[row->start != 0x12], sizeof(*names), "%s", row->function_name);
	return 0;
}

/* A path has the name of the function that it is in, not of the last one before it. */
static void test_name_of_a_path(void)
{
	const struct pathprof_parcel_portable portables[] = {
		{.start = 0x12, .length = 3, .function = 5, .place = 6},
		{.start = 0x1234, .length = 3, .function = 7, .place = 8}};
	const struct pathprof_build_id id = world_binary_id(0);
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	struct pathprof_parcel parcel = {.slot_s = 0};
	struct pathprof_parcel_names *names = pathprof_parcel_names_of(&parcel, &id);
	char found[2][16] = {"none", "none"};
	struct pathprof_profile p;
	uint64_t cut = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(names);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	world_window(&p, 1, WORLD_STEP_NS, 0);
	CU_ASSERT_EQUAL(pathprof_parcel_add_function(&parcel, names, 0x10, 4, "near"), 0);
	for (int i = 0; i < 2; i++) {
		pathprof_profile_add_path(
			&p, &(struct pathprof_path_count){.start = portables[i].start,
							  .length = portables[i].length,
							  .samples = 1,
							  .weight = 1});
		CU_ASSERT_EQUAL(pathprof_parcel_add_portable(&parcel, names, &portables[i]), 0);
	}
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_add_names(store, &parcel, &cut, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_portable(store, &id, take_name, found, NULL), 0);
	CU_ASSERT_STRING_EQUAL(found[0], "near");
	CU_ASSERT_STRING_EQUAL(found[1], "");
	pathprof_profile_release(&p);
	pathprof_parcel_release(&parcel);
	pathprof_store_free(store);
}

/* A parcel and a profile file of a store that is damaged: both say what is. */
static void test_damaged_functions(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""}, why = {""};
	struct pathprof_parcel parcel;

	world_fill(store, FIRST, 1, PATHS);
	world_sqlite(file, "PRAGMA ignore_check_constraints=ON;"
			   " INSERT INTO binary_functions SELECT id, x'0102030405' FROM binaries");
	CU_ASSERT_EQUAL(pathprof_store_parcel(store, 0, &parcel, &error), -EBADMSG);
	CU_ASSERT(strstr(error.text, "impossible list of functions") != NULL);
	CU_ASSERT_EQUAL(
		pathprof_store_extract(store, NULL, world_file(dir, "copy"), NULL, false, &why),
		-EBADMSG);
	CU_ASSERT(strstr(why.text, "impossible list of functions") != NULL);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"names that are known take no room from new ones", test_names_at_the_bound},
	{"a path is named by the function that it is in", test_name_of_a_path},
	{"functions that are damaged are told", test_damaged_functions},
};
UNIT_SUITE(store_parcel_names, tests)
