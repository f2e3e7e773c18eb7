// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * An exact profile's command, pieces and segments, which it has beside its paths. Segments are read
 * by segments.c.
 *
 * Workload: once a run, some ten thousand rows of each; read as sums over runs.
 * Locking: the writer's for writing, none for reading. Ownership: rows are borrowed.
 */
#include "pp_query.h"

#include <errno.h>
#include <string.h>

#define NOTE_MAX_BYTES  (64u << 10)
#define PATH_LENGTH_MAX 32
#define COUNT_MAX       ((uint64_t)INT64_MAX)

/* ---------------------------------------------------------------- writing */

static bool is_sound(const struct pathprof_piece *piece)
{
	return piece->binary_id.len_bytes <= PATHPROF_BUILD_ID_MAX &&
	       piece->binary_id.kind <= PATHPROF_ID_JIT && piece->length <= PATH_LENGTH_MAX;
}

static int check_run(const struct pathprof_store *store, const struct pathprof_run *run,
		     struct pathprof_error *error)
{
	bool sound = !run->note || strnlen(run->note, NOTE_MAX_BYTES + 1) <= NOTE_MAX_BYTES;

	for (size_t i = 0; sound && i < run->piece_cnt; i++)
		sound = is_sound(&run->pieces[i].piece) && run->pieces[i].count <= COUNT_MAX;
	for (size_t i = 0; sound && i < run->segment_cnt; i++)
		sound = is_sound(&run->segments[i].first) && is_sound(&run->segments[i].second) &&
			run->segments[i].count <= COUNT_MAX;
	return sound ? 0
		     : pathprof_fail(error, -EINVAL,
				     "%s: a piece, a segment or the note of a run "
				     "is malformed",
				     store->file);
}

/* One run being written, with the binary last looked up, which neighbouring pieces mostly share. */
struct run_write {
	struct pathprof_store *store;
	struct pathprof_error *error;
	int64_t window, binary;
	struct pathprof_build_id binary_id; /* of binary, if that is not 0 */
};

static int piece_id(struct run_write *w, const struct pathprof_piece *piece, int64_t *ret_id)
{
	if (!w->binary || !pathprof_build_id_equal(&w->binary_id, &piece->binary_id)) {
		int r = pp_store_binary(w->store, &piece->binary_id, piece->binary_name, w->window,
					&w->binary, w->error);

		if (r < 0)
			return r;
		w->binary_id = piece->binary_id;
	}
	return pp_store_path(w->store, w->window, w->binary, piece->start, piece->length,
			     piece->outcomes, ret_id, w->error);
}

static int write_note(struct run_write *w, const char *note)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_WINDOW_NOTE_ADD, &stmt, w->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, w->window);
	pp_sql_bind_text(stmt, 2, note);
	return pp_sql_run(w->store, stmt, w->error);
}

static int write_piece(struct run_write *w, const struct pathprof_piece_row *row)
{
	sqlite3_stmt *stmt = NULL;
	int64_t id = 0;
	int r = piece_id(w, &row->piece, &id);

	if (r == 0)
		r = pp_sql_get(w->store, PP_STMT_PIECE_COUNT_ADD, &stmt, w->error);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, w->window);
	sqlite3_bind_int64(stmt, 2, id);
	sqlite3_bind_int64(stmt, 3, (int64_t)row->count);
	return pp_sql_run(w->store, stmt, w->error);
}

static int write_segment(struct run_write *w, const struct pathprof_segment_row *row)
{
	sqlite3_stmt *stmt = NULL;
	int64_t first = 0, second = 0;
	int r = piece_id(w, &row->first, &first);

	if (r == 0)
		r = piece_id(w, &row->second, &second);
	if (r == 0)
		r = pp_sql_get(w->store, PP_STMT_SEGMENT_COUNT_ADD, &stmt, w->error);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, w->window);
	sqlite3_bind_int64(stmt, 2, first);
	sqlite3_bind_int64(stmt, 3, second);
	sqlite3_bind_int64(stmt, 4, (int64_t)row->count);
	return pp_sql_run(w->store, stmt, w->error);
}

int pathprof_store_add_run(struct pathprof_store *store, int64_t window,
			   const struct pathprof_run *run, struct pathprof_error *error)
{
	struct run_write w = {.store = store, .error = error, .window = window};
	int r = pp_sql_writable(store, error);

	if (r == 0)
		r = check_run(store, run, error);
	if (r == 0)
		r = pp_sql_begin(store, error);
	if (r < 0)
		return r;
	if (run->note)
		r = write_note(&w, run->note);
	for (size_t i = 0; r == 0 && i < run->piece_cnt; i++)
		r = write_piece(&w, &run->pieces[i]);
	for (size_t i = 0; r == 0 && i < run->segment_cnt; i++)
		r = write_segment(&w, &run->segments[i]);
	if (r < 0)
		pp_id_cache_clear(&store->paths);
	return pp_sql_end(store, r, error);
}

/* ---------------------------------------------------------------- reading */

int pathprof_store_window_note(struct pathprof_store *store, int64_t window, char **ret_note,
			       struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_WINDOW_NOTE_GET, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, window);
	return pp_sql_text(store, stmt, "the window has no note", ret_note, error);
}

struct pathprof_piece pp_row_piece(struct pp_row *row, int column)
{
	struct pathprof_piece piece = {
		.binary_name = pp_row_text(row, column + 2),
		.start = pp_row_bits(row, column + 3),
		.length = (uint32_t)pp_row_int(row, column + 4, 0, PATH_LENGTH_MAX),
		.outcomes = pp_row_u32(row, column + 5),
	};

	pp_row_id(row, column, &piece.binary_id);
	return piece;
}

struct piece_view {
	pathprof_piece_row_fn *fn;
	void *context;
};

static int take_piece(struct pp_query *q, struct pp_row *row, void *context,
		      struct pathprof_error *error)
{
	const struct piece_view *view = context;
	const struct pathprof_piece_row out = {.piece = pp_row_piece(row, 0),
					       .count = pp_row_count(row, 6)};
	int r = pp_row_end(row, q->store, error);

	return r < 0 ? r : view->fn(view->context, &out);
}

int pathprof_store_pieces(struct pathprof_store *store, const struct pathprof_filter *filter,
			  pathprof_piece_row_fn *fn, void *context, struct pathprof_error *error)
{
	struct piece_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	pp_query_add(&q, "SELECT b.build_id, b.kind, b.name, t.start, t.length, t.outcomes, s.count"
			 " FROM (SELECT c.path AS path, sum(c.count) AS count FROM piece_counts c"
			 " WHERE 1");
	pp_query_add_window_set(&q);
	pp_query_add_path_set(&q);
	pp_query_add(&q, " GROUP BY c.path) s CROSS JOIN paths t ON t.id = s.path"
			 " CROSS JOIN binaries b ON b.id = t.binary");
	return pp_query_run(&q, 0, take_piece, &view, error);
}
