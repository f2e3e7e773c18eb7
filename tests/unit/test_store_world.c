// SPDX-License-Identifier: GPL-2.0-or-later
/* The invented world of test_store.h. */
#include "test_store.h"
#include "unit.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t world_random(uint64_t *state, uint32_t bound)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*state >> 33) % bound);
}

const char *world_file(const char *dir, const char *name)
{
	static char names[8][160];
	static unsigned int next;
	char *file = names[next++ % 8];

	snprintf(file, sizeof(names[0]), "%s/%s", dir, name);
	return file;
}

struct pathprof_build_id world_binary_id(uint32_t binary)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

	/* 1 and 2 share a prefix of 9 digits, 5 is generated code. */
	memset(id.bytes, 0xa0 + (int)(binary == 2 ? 1 : binary), sizeof(id.bytes));
	if (binary == 2)
		id.bytes[4] = 0xaf;
	if (binary == 5) {
		id.kind = PATHPROF_ID_JIT;
		id.len_bytes = 8;
		memset(id.bytes + 8, 0, sizeof(id.bytes) - 8);
	}
	return id;
}

int world_add_symbol(struct pathprof_store *store, const struct pathprof_build_id *id,
		     uint64_t start, uint64_t len_bytes, const char *name,
		     struct pathprof_error *error)
{
	const struct pathprof_jit_symbol symbol = {id, start, len_bytes, name};

	return pathprof_store_add_jit_symbols(store, &symbol, 1, error);
}

const char *world_binary_name(uint32_t binary)
{
	static const char *const names[WORLD_BINARIES] = {
		"/usr/bin/first", "/usr/lib/libfirst.so",        "/opt/v2/libfirst.so",
		"/usr/bin/beef",  "/usr/bin/it's \"quoted\" %s", "jit:77",
	};

	return names[binary];
}

struct pathprof_process world_process(uint32_t process)
{
	static char comms[WORLD_PROCESSES][32] = {
		"first", "worker", "worker", "x'; DROP TABLE paths", "beef", "", "first", "last"};
	static char containers[WORLD_PROCESSES][16] = {
		"", "docker-abc", "docker-abd", "", "pod-1", "docker-abc", "", "pod-12"};

	return (struct pathprof_process){
		.pid = 100 + process / 2,
		.start_time = 5000 + process,
		.exec_cnt = process % 3,
		.comm = comms[process],
		.container = containers[process],
		.binary = process == 7 ? PATHPROF_NO_INDEX : process % WORLD_BINARIES,
	};
}

/* Near a path, in a file or not; follows from the path alone. */
static void add_clock(struct pathprof_profile *profile, const struct pathprof_path_count *path)
{
	struct pathprof_clock_count clock = {
		.process = path->process,
		.binary = path->binary,
		.place = path->start,
		.samples = path->samples,
	};

	if (path->start % 3 == 0) {
		clock.binary = PATHPROF_NO_INDEX;
		clock.place = path->length % 2 ? PATHPROF_PLACE_KERNEL : PATHPROF_PLACE_UNKNOWN;
	}
	pathprof_profile_add_clock(profile, &clock);
}

static void add_counts(struct pathprof_profile *profile, uint64_t *state)
{
	static const uint64_t bases[] = {0, 0x1000, UINT64_C(0x7ffffffffffffff0),
					 UINT64_C(0xfffffffffffffff0)};
	struct pathprof_path_count path = {
		.process = world_random(state, WORLD_PROCESSES),
		.binary = world_random(state, WORLD_BINARIES),
		.start = bases[world_random(state, 4)] + world_random(state, 6),
		.length = world_random(state, 33),
		.outcomes = world_random(state, 4) ? world_random(state, 3) : UINT32_MAX,
		.samples = 1 + world_random(state, 1000),
		.weight = world_random(state, 8000) / 8.0,
	};
	const struct pathprof_edge_count edge = {
		.process = path.process,
		.from_binary = path.binary,
		.to_binary = world_random(state, WORLD_BINARIES),
		.from = path.start,
		.to = bases[world_random(state, 4)] + world_random(state, 3),
		.count = 1 + world_random(state, 50),
		.mispredicted = world_random(state, 5),
	};

	/* of one process it is not known how many instructions its paths have */
	path.insns = path.process == 5 ? 0 : 4 * path.weight + 1;
	/* of one process it is not known which bursts they came out of */
	path.burst = path.process == 6 ? 0 : 1 + path.start % 3;
	pathprof_profile_add_path(profile, &path);
	add_clock(profile, &path);
	if (world_random(state, 3) == 0)
		pathprof_profile_add_edge(profile, &edge);
}

void world_window(struct pathprof_profile *profile, uint64_t k, int64_t begin_ns, uint32_t path_cnt)
{
	uint64_t state = k * 7919 + 1;

	pathprof_profile_clear(profile);
	profile->begin_ns = begin_ns;
	profile->end_ns = begin_ns + WORLD_STEP_NS;
	profile->source = PATHPROF_SOURCE_STEP;
	profile->basis = k % 2 ? PATHPROF_BASIS_TIME : PATHPROF_BASIS_BRANCHES;
	profile->taken_wanted = 32;
	profile->totals.bursts = k;
	profile->totals.branches = 10 * k;
	profile->totals.insns = 100 * k;
	profile->totals.pathless = k / 2;
	profile->totals.stopped_ns = INT64_MAX;
	profile->totals.ends[k % PATHPROF_END_CNT] = k + 1;
	profile->totals.ends[0] += 3;
	for (uint32_t i = 0; i < WORLD_BINARIES; i++) {
		const struct pathprof_build_id id = world_binary_id(i);

		pathprof_profile_binary(profile, &id, world_binary_name(i));
	}
	for (uint32_t i = 0; i < WORLD_PROCESSES; i++) {
		const struct pathprof_process process = world_process(i);

		pathprof_profile_process(profile, &process);
	}
	for (uint32_t i = 0; i < path_cnt; i++)
		add_counts(profile, &state);
	profile->totals.drops[PATHPROF_DROP_TRACKER_LOST] = k % 3;
}

struct pathprof_store *world_open(const char *file, enum pathprof_store_mode mode)
{
	struct pathprof_error error = {""};
	struct pathprof_store *store = NULL;

	if (pathprof_store_open(&store, file, mode, &error) < 0)
		printf("%s\n", error.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(store);
	return store;
}

void world_fill(struct pathprof_store *store, uint64_t first, uint64_t cnt, uint32_t path_cnt)
{
	struct pathprof_error error = {""};
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 8 << 20), 0);
	for (uint64_t k = first; k < first + cnt; k++) {
		world_window(&profile, k, (int64_t)k * WORLD_STEP_NS, path_cnt);
		int code = pathprof_store_add_window(store, &profile, NULL, &error);
		if (code < 0)
			printf("%s\n", error.text);
		CU_ASSERT_EQUAL(code, 0);
	}
	pathprof_profile_release(&profile);
}

static int count_window(void *context, const struct pathprof_window_row *row)
{
	*(uint64_t *)context += row->id > 0;
	return 0;
}

uint64_t world_window_cnt(struct pathprof_store *store)
{
	uint64_t cnt = 0;

	CU_ASSERT_EQUAL(pathprof_store_windows(store, NULL, count_window, &cnt, NULL), 0);
	return cnt;
}

void world_sqlite(const char *file, const char *sql)
{
	sqlite3 *db = NULL;

	CU_ASSERT_EQUAL_FATAL(sqlite3_open(file, &db), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

int64_t world_number(const char *file, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int64_t number = -1;

	CU_ASSERT_EQUAL_FATAL(sqlite3_open(file, &db), SQLITE_OK);
	CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		number = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return number;
}
