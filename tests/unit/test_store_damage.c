// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Damaged and hostile files: every call returns, with 0 or a negative errno and one line; the
 * sanitizers watch the rest. tests/fuzz/fuzz_db.c goes on where this ends.
 */
#include "test_store.h"
#include "unit.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOWS 12
#define PATHS   60

static struct {
	unsigned char *bytes;
	size_t len;
} image;

/* ---------------------------------------------------------------- files */

/* Magic, format and page size of 4096. */
static const unsigned char wal_start[12] = {0x37, 0x7f, 6, 0x82, 0, 0x2d, 0xe2, 0x18, 0, 0, 16, 0};
/* With its NUL. */
static const unsigned char image_magic[16] = "SQLite format 3";

static void write_file(const char *file, const void *bytes, size_t len)
{
	FILE *out = fopen(file, "we");

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT_EQUAL(fwrite(bytes, 1, len, out), len);
	fclose(out);
}

static void make_image(const char *dir)
{
	const char *file = world_file(dir, "sound");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	const struct pathprof_build_id jit = world_binary_id(5);

	world_fill(store, 1, WINDOWS, PATHS);
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, "{}", NULL), 0);
	CU_ASSERT_EQUAL(world_add_symbol(store, &jit, 16, 16, "f", NULL), 0);
	pathprof_store_free(store);
	FILE *in = fopen(file, "re");
	CU_ASSERT_PTR_NOT_NULL_FATAL(in);
	image.bytes = malloc(8 << 20);
	CU_ASSERT_PTR_NOT_NULL_FATAL(image.bytes);
	image.len = fread(image.bytes, 1, 8 << 20, in);
	fclose(in);
	CU_ASSERT(image.len > 50000);
}

static void remove_files(const char *file)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
	char name[256];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s%s", file, suffixes[i]);
		unlink(name);
	}
}

/* ---------------------------------------------------------------- every call */

static int ignore_path(void *context, const struct pathprof_path_row *row)
{
	*(uint32_t *)context += row->length > 32 || strlen(row->binary_name) > 1 << 22;
	return 0;
}
static int ignore_edge(void *context, const struct pathprof_edge_row *row)
{
	*(uint32_t *)context += row->from_id.len_bytes > 20 || !row->to_name;
	return 0;
}
static int ignore_binary(void *context, const struct pathprof_binary_row *row)
{
	*(uint32_t *)context += row->binary_id.len_bytes > 20 || !(row->share >= 0);
	return 0;
}
static int ignore_process(void *context, const struct pathprof_process_row *row)
{
	*(uint32_t *)context += !row->comm || !row->container || !row->binary_name;
	return 0;
}
static int ignore_clock(void *context, const struct pathprof_clock_row *row)
{
	*(uint32_t *)context += !row->binary_name;
	return 0;
}
static int ignore_clock_process(void *context, const struct pathprof_clock_process_row *row)
{
	*(uint32_t *)context += row->samples > INT64_MAX || row->kernel_samples > INT64_MAX;
	return 0;
}
static int ignore_window(void *context, const struct pathprof_window_row *row)
{
	*(uint32_t *)context += row->basis < 1 || row->basis > 2 || row->begin_ns < 0;
	return 0;
}

/* A result is clean when it is no surprise, and a failure says something in one line. */
static int clean(int code, const struct pathprof_error *error)
{
	if (code >= 0)
		return code == 0;
	if (!error->text[0] || strchr(error->text, '\n'))
		printf("code %d, text '%s'\n", code, error->text);
	return code > -4096 && error->text[0] && !strchr(error->text, '\n');
}

static void read_all(struct pathprof_store *store)
{
	const struct pathprof_filter f = {
		.since_ns = 2, .pid = 101, .comm = "worker", .binary = "a1a1", .container = "d"};
	const struct pathprof_build_id jit = world_binary_id(5);
	enum pathprof_window_kind newest;
	unsigned int kinds;
	uint32_t wrong = 0;
	char *json = NULL, name[8];
	uint64_t start;

	for (int i = 0; i < 2; i++) {
		const struct pathprof_filter *filter = i ? &f : NULL;
		struct pathprof_error e = {""};

		CU_ASSERT(clean(pathprof_store_paths(store, filter, ignore_path, &wrong, &e), &e));
		CU_ASSERT(clean(pathprof_store_edges(store, filter, ignore_edge, &wrong, &e), &e));
		CU_ASSERT(clean(pathprof_store_binaries(store, filter, ignore_binary, &wrong, &e),
				&e));
		CU_ASSERT(clean(pathprof_store_processes(store, filter, ignore_process, &wrong, &e),
				&e));
		CU_ASSERT(clean(pathprof_store_windows(store, filter, ignore_window, &wrong, &e),
				&e));
		CU_ASSERT(
			clean(pathprof_store_clocks(store, filter, ignore_clock, &wrong, &e), &e));
		CU_ASSERT(clean(pathprof_store_clock_processes(store, filter, ignore_clock_process,
							       &wrong, &e),
				&e));
		CU_ASSERT(clean(pathprof_store_kinds(store, filter, &kinds, &newest, &e), &e));
		CU_ASSERT(clean(pathprof_store_status(store, &json, &e), &e));
		free(json);
		json = NULL;
		CU_ASSERT(pathprof_store_jit_symbol(store, &jit, 20, name, 8, &start) <= 0);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void write_all(struct pathprof_store *store)
{
	const struct pathprof_build_id jit = world_binary_id(5);
	struct pathprof_error e = {""};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	world_window(&p, 40, 40 * WORLD_STEP_NS, PATHS);
	CU_ASSERT(clean(pathprof_store_add_window(store, &p, NULL, &e), &e));
	CU_ASSERT(clean(pathprof_store_set_status(store, "{\"x\": 1}", &e), &e));
	CU_ASSERT(clean(world_add_symbol(store, &jit, 64, 1, "g", &e), &e));
	CU_ASSERT(clean(pathprof_store_retain(
				store, &(struct pathprof_retention){.max_bytes = 350000}, NULL, &e),
			&e));
	CU_ASSERT(clean(pathprof_store_retain(store, &(struct pathprof_retention){.max_age_ns = 1},
					      NULL, &e),
			&e));
	pathprof_profile_release(&p);
}

/* Returns whether anything at all was found wrong. */
static int use_all(const char *file)
{
	int found = 0;

	for (int mode = PATHPROF_STORE_READ; mode <= PATHPROF_STORE_WRITE; mode++) {
		struct pathprof_store *store = NULL;
		struct pathprof_error e = {""};
		int code = pathprof_store_open(&store, file, (enum pathprof_store_mode)mode, &e);

		CU_ASSERT(clean(code, &e));
		CU_ASSERT_EQUAL(code < 0, store == NULL);
		if (code < 0) {
			found = 1;
			continue;
		}
		read_all(store);
		code = pathprof_store_check(store, &e);
		CU_ASSERT(clean(code, &e));
		found |= code < 0;
		if (mode == PATHPROF_STORE_WRITE)
			write_all(store);
		pathprof_store_free(store);
	}
	return found;
}

/* ---------------------------------------------------------------- tests */

static void damage(unsigned char *bytes, size_t *len, uint64_t *state)
{
	uint32_t how = world_random(state, 4);

	if (how == 0) {
		*len = world_random(state, (uint32_t)*len);
		return;
	}
	for (uint32_t flips = 1 + world_random(state, how == 1 ? 3 : 200); flips; flips--) {
		/* Half of them at the start: header and schema. */
		uint32_t bound = world_random(state, 2) ? 4096 : (uint32_t)*len;

		bytes[world_random(state, bound)] ^= (unsigned char)(1 + world_random(state, 255));
	}
	if (how == 3)
		*len -= world_random(state, 5000);
}

static void test_random_damage(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "db");
	unsigned int variants = unit_rounds(30, 300);
	uint32_t found = 0;
	uint64_t state = 5;

	make_image(dir);
	unsigned char *bytes = malloc(image.len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	if (!bytes)
		return;
	for (unsigned int i = 0; i < variants; i++) {
		size_t len = image.len;

		memcpy(bytes, image.bytes, len);
		damage(bytes, &len, &state);
		write_file(file, bytes, len);
		found += (uint32_t)use_all(file);
		remove_files(file);
	}
	/* Bytes that nobody reads may be hit, but not often. */
	CU_ASSERT(found > variants / 2);
	write_file(file, image.bytes, image.len);
	CU_ASSERT_EQUAL(use_all(file), 0);
	free(bytes);
	free(image.bytes);
}

static void test_noise(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	unsigned char bytes[5000] = {0};
	uint64_t state = 9;

	for (uint32_t len = 1; len < sizeof(bytes); len += 1 + len / 3) {
		for (uint32_t i = 0; i < len; i++)
			bytes[i] = (unsigned char)world_random(&state, 256);
		if (len > 700)
			memcpy(bytes, image_magic, sizeof(image_magic));
		write_file(file, bytes, len);
		CU_ASSERT_EQUAL(use_all(file), 1);
		remove_files(file);
	}
}

/* A damaged WAL beside a sound database: its bad frames are ignored, or told. */
static void test_damaged_wal(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "db");
	const char *wal = world_file(dir, "db-wal");
	uint64_t state = 11;

	make_image(dir);
	for (int i = 0; i < 10; i++) {
		unsigned char bytes[9000];

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (unsigned char)world_random(&state, 256);
		memcpy(bytes, wal_start, sizeof(wal_start));
		write_file(file, image.bytes, image.len);
		write_file(wal, bytes, sizeof(bytes));
		use_all(file);
		remove_files(file);
	}
	free(image.bytes);
}

/* Values that our own writer never writes, put in by another hand. */
static void test_values_out_of_range(void)
{
	/* NOLINTBEGIN(bugprone-suspicious-missing-comma): some take several lines */
	static const char *const changes[] = {
		"UPDATE paths SET length = 33 WHERE id = 1",
		"UPDATE paths SET length = -1 WHERE id = 1",
		"UPDATE paths SET outcomes = 4294967296 WHERE id = 1",
		"UPDATE path_counts SET samples = -1",
		"UPDATE path_counts SET weight = -1",
		"UPDATE path_counts SET weight = 9e999",
		"UPDATE path_counts SET samples = 9223372036854775807",
		"UPDATE path_counts SET insns = -1",
		"UPDATE path_counts SET insns = 9e999",
		"UPDATE clock_counts SET samples = -1",
		"UPDATE clock_counts SET place = place + 1 WHERE binary = 0",
		"UPDATE OR IGNORE clock_counts SET binary = 0",
		"UPDATE OR IGNORE clock_counts SET binary = 999",
		"UPDATE OR IGNORE clock_counts SET process = 999",
		"UPDATE clock_counts SET samples = 9223372036854775807",
		"DROP TABLE clock_counts",
		"UPDATE windows SET horizon = -1 WHERE id = 1",
		"UPDATE windows SET clock_kernel = 2 WHERE id = 1",
		"UPDATE windows SET pathless = -1 WHERE id = 1",
		"UPDATE binaries SET build_id = zeroblob(3000000)"
		" WHERE id = (SELECT max(id) FROM binaries)",
		"UPDATE binaries SET kind = 300 WHERE id = 1",
		"UPDATE processes SET pid = -1 WHERE id = 1",
		"UPDATE processes SET start_time = -1 WHERE id = 1",
		"UPDATE windows SET basis = 3 WHERE id = 1",
		"UPDATE windows SET end_ns = begin_ns - 1",
		"UPDATE windows SET begin_ns = -9223372036854775807 WHERE id = 1",
		"UPDATE windows SET bursts = -1 WHERE id = 1",
		"UPDATE window_ends SET reason = -1 WHERE window = 1 AND reason = 0",
		"UPDATE edge_counts SET mispredicted = -1",
		"UPDATE jit_symbols SET len_bytes = -1",
		"DELETE FROM binaries",
		"DELETE FROM windows WHERE id = 3",
		"DELETE FROM window_processes",
		"UPDATE paths SET last_window = 0; UPDATE windows SET id = 1000 WHERE id = 1;"
		"UPDATE path_counts SET window = 1000 WHERE window = 1",
		"DROP TABLE paths",
		"ALTER TABLE paths RENAME COLUMN outcomes TO o",
		"DROP TABLE paths; CREATE TABLE paths(id INTEGER PRIMARY KEY, binary, start, "
		"length,"
		" outcomes, last_window); INSERT INTO paths SELECT n, 1, 'x', NULL, x'00', 1.5"
		" FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 900)"
		" SELECT n FROM c)",
		"DROP TABLE daemon_status; CREATE TABLE daemon_status(id, time_ns, json);"
		"INSERT INTO daemon_status VALUES (1, 1, NULL)",
	};
	/* NOLINTEND(bugprone-suspicious-missing-comma) */
	const char *dir = unit_tmpdir(), *file = world_file(dir, "db");

	make_image(dir);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		sqlite3 *db = NULL;

		write_file(file, image.bytes, image.len);
		CU_ASSERT_EQUAL_FATAL(sqlite3_open(file, &db), SQLITE_OK);
		sqlite3_exec(db, "PRAGMA ignore_check_constraints=ON", NULL, NULL, NULL);
		CU_ASSERT_EQUAL(sqlite3_exec(db, changes[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		/* Only the sums, a table nobody checks and the status are no trouble by themselves.
		 */
		if (!use_all(file) && !strstr(changes[i], "9223372036854775807") &&
		    !strstr(changes[i], "daemon_status")) {
			printf("not found: %s\n", changes[i]);
			CU_FAIL("damage was not found");
		}
		remove_files(file);
	}
	free(image.bytes);
}

static const struct unit_test tests[] = {
	{"300 files with flipped bytes and cut ends", test_random_damage},
	{"noise is no store", test_noise},
	{"a write-ahead log of noise", test_damaged_wal},
	{"values out of range are found, and never handed out", test_values_out_of_range},
};
UNIT_SUITE(store_damage, tests)
