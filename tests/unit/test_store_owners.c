// SPDX-License-Identifier: GPL-2.0-or-later
/* Files behind binaries in the store: written, read, filtered by owner, extracted, retired. */
#include <string.h>

#include "pathprof/store.h"
#include "test_store.h"
#include "unit.h"

#define ALICE   1000u
#define MALLORY 1001u

struct world {
	struct pathprof_store *store;
	struct pathprof_profile profile;
	struct pathprof_build_id id, other_id;
};

static struct pathprof_build_id id_of(uint8_t byte)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

	memset(id.bytes, byte, sizeof(id.bytes));
	return id;
}

static void begin(struct world *world, const char *file)
{
	world->store = world_open(file, PATHPROF_STORE_WRITE);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&world->profile, 1 << 20), 0);
	world->id = id_of(1);
	world->other_id = id_of(2);
}

static void end(struct world *world)
{
	pathprof_profile_release(&world->profile);
	pathprof_store_free(world->store);
}

/* A window in which the binary's files are of these owners; none: nobody told. */
static int64_t add_window(struct world *world, const uint32_t *owners, uint32_t owner_cnt)
{
	struct pathprof_profile *p = &world->profile;
	const struct pathprof_process process = {.pid = 1,
						 .comm = (char *)"x",
						 .container = (char *)"",
						 .binary = PATHPROF_NO_INDEX};
	int64_t window = 0;
	uint32_t binary, other;

	pathprof_profile_clear(p);
	p->basis = PATHPROF_BASIS_TIME;
	p->horizon = 1024;
	binary = pathprof_profile_binary(p, &world->id, "/bin/x");
	other = pathprof_profile_binary(p, &world->other_id, "/bin/y");
	for (uint32_t i = 0; i < owner_cnt; i++)
		pathprof_profile_add_file(
			p, binary, &(struct pathprof_file){owners[i], 7, UINT64_MAX - owners[i]});
	pathprof_profile_add_path(
		p, &(struct pathprof_path_count){.process = pathprof_profile_process(p, &process),
						 .binary = binary,
						 .start = 16,
						 .samples = 1,
						 .weight = 1});
	pathprof_profile_add_edge(
		p, &(struct pathprof_edge_count){
			   .from_binary = other, .to_binary = binary, .from = 1, .count = 1});
	CU_ASSERT_EQUAL(pathprof_store_add_window(world->store, p, &window, NULL), 0);
	return window;
}

static int sum_path(void *context, const struct pathprof_path_row *row)
{
	*(uint64_t *)context += row->samples;
	return 0;
}

static int sum_edge(void *context, const struct pathprof_edge_row *row)
{
	*(uint64_t *)context += row->count;
	return 0;
}

/* Samples, and the same of edges, that a selection of owners leaves. */
static uint64_t left(struct world *world, const uint32_t *owners, uint32_t owner_cnt)
{
	struct pathprof_filter filter = {.owner_cnt = owner_cnt};
	uint64_t paths = 0, edges = 0;

	for (uint32_t i = 0; i < owner_cnt; i++)
		filter.owners[i] = owners[i];
	CU_ASSERT_EQUAL(pathprof_store_paths(world->store, &filter, sum_path, &paths, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_edges(world->store, &filter, sum_edge, &edges, NULL), 0);
	CU_ASSERT_EQUAL(paths, edges);
	return paths;
}

static void test_owners_select(void)
{
	const uint32_t root[] = {0}, both[] = {0, MALLORY}, alice[] = {0, ALICE};
	const uint32_t nobody[] = {PATHPROF_OWNER_UNKNOWN};
	struct world world;

	begin(&world, world_file(unit_tmpdir(), "db"));
	add_window(&world, NULL, 0);
	add_window(&world, root, 1);
	add_window(&world, both, 2);
	add_window(&world, nobody, 1);
	CU_ASSERT_EQUAL(left(&world, NULL, 0), 4);
	/* of which nothing was told, and root's */
	CU_ASSERT_EQUAL(left(&world, root, 1), 2);
	CU_ASSERT_EQUAL(left(&world, alice, 2), 2);
	CU_ASSERT_EQUAL(left(&world, both, 2), 3);
	CU_ASSERT_EQUAL(pathprof_store_check(world.store, NULL), 0);
	end(&world);
}

struct files {
	struct pathprof_file_row rows[8];
	uint32_t cnt;
};

static int take_file(void *context, const struct pathprof_file_row *row)
{
	struct files *files = context;

	if (files->cnt < 8)
		files->rows[files->cnt++] = *row;
	return 0;
}

static struct files files_of(struct pathprof_store *store)
{
	struct files files = {.cnt = 0};

	CU_ASSERT_EQUAL(pathprof_store_files(store, NULL, take_file, &files, NULL), 0);
	return files;
}

static void test_files_are_read(void)
{
	const uint32_t owners[] = {0, MALLORY};
	struct pathprof_error error = {""};
	struct pathprof_store *copy;
	struct world world;
	struct files files;
	const char *file;

	begin(&world, world_file(unit_tmpdir(), "db"));
	add_window(&world, owners, 1);
	add_window(&world, owners, 2);
	files = files_of(world.store);
	CU_ASSERT_EQUAL_FATAL(files.cnt, 2);
	CU_ASSERT(files.rows[0].file.owner == 0 && files.rows[0].windows == 2);
	CU_ASSERT(files.rows[1].file.owner == MALLORY && files.rows[1].windows == 1);
	CU_ASSERT(files.rows[1].file.device == 7 &&
		  files.rows[1].file.inode == UINT64_MAX - MALLORY);
	CU_ASSERT(pathprof_build_id_equal(&files.rows[1].binary_id, &world.id));
	/* a profile file says as much, in its one window */
	file = world_file(unit_tmpdir(), "copy");
	CU_ASSERT_EQUAL(pathprof_store_extract(world.store, NULL, file, NULL, true, &error), 0);
	copy = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(files_of(copy).cnt, 2);
	pathprof_store_free(copy);
	end(&world);
}

static void test_files_go_with_windows(void)
{
	const struct pathprof_retention all = {.max_age_ns = 1};
	const uint32_t owners[] = {MALLORY};
	struct world world;
	uint64_t removed = 0;

	begin(&world, world_file(unit_tmpdir(), "db"));
	add_window(&world, owners, 1);
	CU_ASSERT_EQUAL(pathprof_store_retain(world.store, &all, &removed, NULL), 0);
	CU_ASSERT_EQUAL(removed, 1);
	CU_ASSERT_EQUAL(files_of(world.store).cnt, 0);
	CU_ASSERT_EQUAL(pathprof_store_check(world.store, NULL), 0);
	end(&world);
}

/* However many files: each owner stays, and beyond four owners that there were others. */
static void test_files_are_bounded(void)
{
	struct world world;
	struct pathprof_binary *binary;
	uint32_t at;

	begin(&world, world_file(unit_tmpdir(), "db"));
	at = pathprof_profile_binary(&world.profile, &world.id, "/bin/x");
	for (uint64_t i = 0; i < 100; i++)
		pathprof_profile_add_file(&world.profile, at, &(struct pathprof_file){0, 1, i});
	binary = &world.profile.binaries[at];
	CU_ASSERT_EQUAL(binary->file_cnt, PATHPROF_FILES_MAX);
	for (uint32_t i = 1; i < PATHPROF_FILES_MAX; i++)
		pathprof_profile_add_file(&world.profile, at, &(struct pathprof_file){i, 1, 1});
	for (uint32_t owner = 0; owner < PATHPROF_FILES_MAX; owner++) {
		uint32_t found = 0;

		for (uint32_t i = 0; i < binary->file_cnt; i++)
			found += binary->files[i].owner == owner;
		CU_ASSERT_EQUAL(found, 1);
	}
	pathprof_profile_add_file(&world.profile, at, &(struct pathprof_file){99, 1, 1});
	CU_ASSERT_EQUAL(binary->file_cnt, PATHPROF_FILES_MAX);
	CU_ASSERT_EQUAL(binary->files[PATHPROF_FILES_MAX - 1].owner, PATHPROF_OWNER_UNKNOWN);
	end(&world);
}

static const struct unit_test tests[] = {
	{"counts of other users' files can be left out", test_owners_select},
	{"files are read, and go into profile files", test_files_are_read},
	{"files go with their windows", test_files_go_with_windows},
	{"files of a binary are bounded, and no owner is forgotten", test_files_are_bounded},
};
UNIT_SUITE(store_owners, tests)
