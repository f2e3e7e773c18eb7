// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs in the store: pieces, segments and the command, against what was written, over windows and
 * of one; refusals; retention; a file in which a segment lost its piece; profile files that are
 * made.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_store.h"
#include "unit.h"

#define RUNS   3
#define PIECES 7

/* The oracle: everything of a piece follows from its number. */
static struct pathprof_piece piece_of(uint32_t i)
{
	return (struct pathprof_piece){.binary_id = world_binary_id(i % 2),
				       .binary_name = world_binary_name(i % 2),
				       .start = UINT64_MAX - i,
				       .length = i,
				       .outcomes = (1u << i) - 1};
}

static uint64_t count_of(uint32_t run, uint32_t i)
{
	return 1000 * run + i + 1;
}

static int add_run(struct pathprof_store *store, uint32_t run, const char *note)
{
	struct pathprof_piece_row pieces[PIECES];
	struct pathprof_segment_row segments[PIECES - 1];
	const struct pathprof_run rows = {.note = note,
					  .pieces = pieces,
					  .piece_cnt = PIECES,
					  .segments = segments,
					  .segment_cnt = PIECES - 1};
	struct pathprof_error error = {""};

	for (uint32_t i = 0; i < PIECES; i++)
		pieces[i] = (struct pathprof_piece_row){piece_of(i), count_of(run, i)};
	/* the last one twice: rows of one key add up */
	pieces[PIECES - 1] = pieces[0];
	for (uint32_t i = 0; i < PIECES - 1; i++)
		segments[i] = (struct pathprof_segment_row){piece_of(i), piece_of(0), i};
	return pathprof_store_add_run(store, run + 1, &rows, &error);
}

static struct pathprof_store *make_store(const char *file)
{
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	char note[32];

	world_fill(store, 0, RUNS, 20);
	for (uint32_t i = 0; i < RUNS; i++) {
		snprintf(note, sizeof(note), "run %u", i);
		CU_ASSERT_EQUAL(add_run(store, i, note), 0);
	}
	return store;
}

struct met {
	uint32_t first, end; /* runs that are to be summed */
	uint32_t cnt, wrong_cnt;
};

static bool is_piece(const struct pathprof_piece *piece, uint32_t i)
{
	const struct pathprof_piece wanted = piece_of(i);

	return pathprof_build_id_equal(&piece->binary_id, &wanted.binary_id) &&
	       strcmp(piece->binary_name, wanted.binary_name) == 0 &&
	       piece->start == wanted.start && piece->length == wanted.length &&
	       piece->outcomes == wanted.outcomes;
}

static int meet_piece(void *context, const struct pathprof_piece_row *row)
{
	struct met *met = context;
	uint32_t i = row->piece.length;
	uint64_t count = 0;

	for (uint32_t run = met->first; run < met->end; run++)
		count += count_of(run, i) * (i == 0 ? 2 : 1);
	met->cnt++;
	met->wrong_cnt += !is_piece(&row->piece, i) || row->count != count;
	return 0;
}

static int meet_segment(void *context, const struct pathprof_segment_row *row)
{
	struct met *met = context;
	uint32_t i = row->first.length;

	met->cnt++;
	met->wrong_cnt += !is_piece(&row->first, i) || !is_piece(&row->second, 0) ||
			  row->count != (uint64_t)i * (met->end - met->first);
	return 0;
}

static void expect_runs(struct pathprof_store *store, uint32_t first, uint32_t end)
{
	const struct pathprof_filter filter = {.window = end - first == 1 ? first + 1 : 0};
	struct met pieces = {.first = first, .end = end}, segments = pieces;

	CU_ASSERT_EQUAL(pathprof_store_pieces(store, &filter, meet_piece, &pieces, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_segments(store, &filter, meet_segment, &segments, NULL), 0);
	CU_ASSERT(pieces.cnt == PIECES - 1 && pieces.wrong_cnt == 0);
	CU_ASSERT(segments.cnt == PIECES - 1 && segments.wrong_cnt == 0);
}

static void test_round_trip(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	const struct pathprof_filter even = {.binary = world_binary_name(0)};
	struct pathprof_store *store = make_store(file);
	struct met met = {.end = RUNS};
	char *note = NULL;

	pathprof_store_free(store);
	store = world_open(file, PATHPROF_STORE_READ);
	expect_runs(store, 0, RUNS);
	expect_runs(store, 1, 2);
	CU_ASSERT_EQUAL(pathprof_store_pieces(store, &even, meet_piece, &met, NULL), 0);
	CU_ASSERT(met.cnt == 3 && met.wrong_cnt == 0);
	CU_ASSERT_EQUAL(pathprof_store_window_note(store, 2, &note, NULL), 0);
	CU_ASSERT_STRING_EQUAL(note, "run 1");
	free(note);
	CU_ASSERT_EQUAL(pathprof_store_window_note(store, 99, &note, NULL), -ENOENT);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	CU_ASSERT_EQUAL(add_run(store, 0, NULL), -EROFS);
	pathprof_store_free(store);
}

static void test_refused(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	struct pathprof_piece_row piece = {piece_of(0), 1}, wrong[3] = {piece, piece, piece};
	char *long_note = calloc(1, (64u << 10) + 2);

	wrong[0].piece.length = 33;
	wrong[1].count = UINT64_MAX;
	wrong[2].piece.binary_id.len_bytes = PATHPROF_BUILD_ID_MAX + 1;
	for (size_t i = 0; i < 3; i++) {
		const struct pathprof_run run = {.pieces = &wrong[i], .piece_cnt = 1};

		CU_ASSERT_EQUAL(pathprof_store_add_run(store, 1, &run, NULL), -EINVAL);
	}
	memset(long_note, 'x', (64u << 10) + 1);
	CU_ASSERT_EQUAL(add_run(store, 0, long_note), -EINVAL);
	/* to a window that is not there: all or nothing */
	CU_ASSERT_EQUAL(add_run(store, 99, NULL), -EINVAL);
	expect_runs(store, 0, RUNS);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	free(long_note);
	pathprof_store_free(store);
}

/* The windows of 1970 go by age, and what their runs held with them. */
static void test_retired(void)
{
	const struct pathprof_retention all = {.max_age_ns = 1};
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	struct met met = {0};
	uint64_t removed = 0;

	CU_ASSERT_EQUAL(pathprof_store_retain(store, &all, &removed, NULL), 0);
	CU_ASSERT_EQUAL(removed, RUNS);
	CU_ASSERT_EQUAL(pathprof_store_pieces(store, NULL, meet_piece, &met, NULL), 0);
	CU_ASSERT_EQUAL(met.cnt, 0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

static void run_sql(const char *file, const char *sql)
{
	sqlite3 *db;

	CU_ASSERT_EQUAL(sqlite3_open(file, &db), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_damaged(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_error error = {""};
	struct pathprof_store *store;

	pathprof_store_free(make_store(file));
	run_sql(file, "DELETE FROM piece_counts WHERE window = 2 AND path ="
		      " (SELECT max(first) FROM segment_counts WHERE window = 2)");
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no piece of its window"));
	pathprof_store_free(store);
}

static int fill_two(void *context, struct pathprof_store *store, struct pathprof_error *error)
{
	world_fill(store, 0, RUNS, 20);
	for (uint32_t i = 0; i < RUNS; i++)
		CU_ASSERT_EQUAL(add_run(store, i, "made"), 0);
	return *(int *)context;
}

static void test_made(void)
{
	const char *file = world_file(unit_tmpdir(), "made");
	struct pathprof_store *store;
	char wal[4096];
	int result = -EDOM;

	CU_ASSERT_EQUAL(pathprof_store_make(file, false, fill_two, &result, NULL), -EDOM);
	CU_ASSERT_NOT_EQUAL(access(file, F_OK), 0);
	result = 0;
	CU_ASSERT_EQUAL(pathprof_store_make(file, false, fill_two, &result, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_make(file, false, fill_two, &result, NULL), -EEXIST);
	CU_ASSERT_EQUAL(pathprof_store_make(file, true, fill_two, &result, NULL), 0);
	snprintf(wal, sizeof(wal), "%s-wal", file);
	CU_ASSERT_NOT_EQUAL(access(wal, F_OK), 0);
	store = world_open(file, PATHPROF_STORE_READ);
	expect_runs(store, 0, RUNS);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"pieces, segments and notes come back, summed over windows and of one", test_round_trip},
	{"what cannot be is refused, all or nothing", test_refused},
	{"they go with their windows", test_retired},
	{"a segment without its piece is damage", test_damaged},
	{"a profile file is made whole, or not at all", test_made},
};
UNIT_SUITE(store_runs, tests)
