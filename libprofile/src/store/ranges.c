// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Ranges of code that imported branch stacks show to have run, which lie beside a window's edges.
 *
 * Workload: once a window of an import, some ten thousand rows; read as sums by an export.
 * Locking: the writer's for writing, none for reading. Ownership: rows are borrowed.
 */
#include "pp_query.h"

#include <errno.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- writing */

static int check_ranges(const struct pathprof_store *store, const struct pathprof_ranges *ranges,
			struct pathprof_error *error)
{
	for (size_t i = 0; i < ranges->cnt; i++) {
		const struct pathprof_range_row *r = &ranges->rows[i];

		if (r->from_id->len_bytes > PATHPROF_BUILD_ID_MAX ||
		    r->to_id->len_bytes > PATHPROF_BUILD_ID_MAX ||
		    r->from_id->kind > PATHPROF_ID_JIT || r->to_id->kind > PATHPROF_ID_JIT ||
		    !r->count || r->count > INT64_MAX)
			return pathprof_fail(error, -EINVAL, "%s: a range is malformed",
					     store->file);
	}
	return 0;
}

/* Row ids of binaries as last looked up, by where their identity lies: there are few of them. */
#define KNOWN_CNT 8
struct range_write {
	struct pathprof_store *store;
	struct pathprof_error *error;
	int64_t window;
	uint32_t known_cnt; /* ever; the oldest make room */
	struct range_binary {
		const struct pathprof_build_id *id;
		int64_t row;
	} known[KNOWN_CNT];
};

static int find_binary(struct range_write *w, const struct pathprof_build_id *id, int64_t *ret_row)
{
	struct range_binary *add;
	int r;

	for (int i = 0; i < KNOWN_CNT; i++) {
		if (w->known[i].id == id) {
			*ret_row = w->known[i].row;
			return 0;
		}
	}
	add = &w->known[w->known_cnt++ % KNOWN_CNT];
	*add = (struct range_binary){NULL, 0};
	r = pp_store_binary(w->store, id, "", w->window, ret_row, w->error);
	if (r == 0)
		*add = (struct range_binary){id, *ret_row};
	return r;
}

/* A row of range_counts. */
struct range_row {
	int64_t edge, last, count;
};

static int compare_rows(const void *a, const void *b)
{
	const struct range_row *x = a, *y = b;

	if (x->edge != y->edge)
		return x->edge < y->edge ? -1 : 1;
	return (x->last > y->last) - (x->last < y->last);
}

static void bind_row(sqlite3_stmt *stmt, int first, const void *add)
{
	const struct range_row *row = add;

	sqlite3_bind_int64(stmt, first, row->edge);
	sqlite3_bind_int64(stmt, first + 1, row->last);
	sqlite3_bind_int64(stmt, first + 2, row->count);
}

static int fill_row(struct range_write *w, const struct pathprof_range_row *range,
		    struct range_row *ret_row)
{
	int64_t from = 0, to = 0;
	int r = find_binary(w, range->from_id, &from);

	*ret_row = (struct range_row){.last = (int64_t)range->last, .count = (int64_t)range->count};
	if (r == 0)
		r = find_binary(w, range->to_id, &to);
	if (r == 0)
		r = pp_store_edge(w->store, w->window, from, range->from, to, range->start,
				  &ret_row->edge, w->error);
	return r;
}

static int write_ranges(struct range_write *w, const struct pathprof_ranges *ranges,
			struct range_row *rows)
{
	const struct pp_rows add = {PP_STMT_RANGE_COUNT_ADD,
				    PP_STMT_RANGE_COUNTS_ADD,
				    3,
				    bind_row,
				    rows,
				    ranges->cnt,
				    sizeof(*rows)};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ranges->cnt; i++)
		r = fill_row(w, &ranges->rows[i], &rows[i]);
	if (r < 0)
		return r;
	qsort(rows, ranges->cnt, sizeof(*rows), compare_rows);
	return pp_sql_add_rows(w->store, &add, w->window, w->error);
}

static int mark_window(struct range_write *w)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_RANGED_WINDOW_ADD, &stmt, w->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, w->window);
	return pp_sql_run(w->store, stmt, w->error);
}

int pathprof_store_add_ranges(struct pathprof_store *store, int64_t window,
			      const struct pathprof_ranges *ranges, struct pathprof_error *error)
{
	struct range_write w = {.store = store, .error = error, .window = window};
	struct range_row *rows;
	int r = pp_sql_writable(store, error);

	if (r == 0)
		r = check_ranges(store, ranges, error);
	if (r == 0)
		r = pp_sql_begin(store, error);
	if (r < 0)
		return r;
	rows = calloc(ranges->cnt + 1, sizeof(*rows));
	if (!rows)
		return pp_sql_end(store, pathprof_fail(error, -ENOMEM, "out of memory"), error);
	r = mark_window(&w);
	if (r == 0)
		r = write_ranges(&w, ranges, rows);
	free(rows);
	if (r < 0)
		pp_id_cache_clear(&store->edges);
	return pp_sql_end(store, r, error);
}

/* ---------------------------------------------------------------- reading */

struct range_view {
	pathprof_range_row_fn *fn;
	void *context;
	uint64_t unknown_cnt;
};

static int take_unknown(struct pp_query *q, struct pp_row *row, void *context,
			struct pathprof_error *error)
{
	struct range_view *view = context;

	view->unknown_cnt = pp_row_count(row, 0);
	return pp_row_end(row, q->store, error);
}

static int take_range(struct pp_query *q, struct pp_row *row, void *context,
		      struct pathprof_error *error)
{
	const struct range_view *view = context;
	struct pathprof_build_id from_id, to_id;
	const struct pathprof_range_row out = {.from_id = &from_id,
					       .to_id = &to_id,
					       .from = pp_row_bits(row, 4),
					       .start = pp_row_bits(row, 5),
					       .last = pp_row_bits(row, 6),
					       .count = pp_row_count(row, 7),
					       .is_counted = pp_row_count(row, 8)};
	int r;

	pp_row_id(row, 0, &from_id);
	pp_row_id(row, 2, &to_id);
	r = pp_row_end(row, q->store, error);
	return r < 0 ? r : view->fn(view->context, &out);
}

/* How many windows there are whose ranges are not known. */
static int count_unknown(struct pathprof_store *store, const struct pathprof_filter *filter,
			 struct range_view *view, struct pathprof_error *error)
{
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	pp_query_add(&q, "SELECT count(*) FROM windows w WHERE NOT EXISTS"
			 " (SELECT 1 FROM ranged_windows r WHERE r.window = w.id)");
	pp_query_add_window_terms(&q);
	return pp_query_run(&q, 0, take_unknown, view, error);
}

int pathprof_store_ranges(struct pathprof_store *store, const struct pathprof_filter *filter,
			  pathprof_range_row_fn *fn, void *context, struct pathprof_error *error)
{
	struct range_view view = {.fn = fn, .context = context};
	struct pp_query q;
	int r = count_unknown(store, filter, &view, error);

	if (r < 0)
		return r;
	if (view.unknown_cnt)
		return -ENODATA;
	pp_query_begin(&q, store, filter);
	pp_query_add(&q,
		     "SELECT f.build_id, f.kind, t.build_id, t.kind, e.from_offset,"
		     " e.to_offset, s.last, s.count, s.counted FROM (SELECT c.edge AS edge,"
		     " c.last AS last, sum(c.count) AS count, (SELECT w.bursts = 0 FROM windows w"
		     " WHERE w.id = c.window) AS counted FROM range_counts c WHERE 1");
	pp_query_add_window_set(&q);
	pp_query_add(&q, " GROUP BY c.edge, c.last, counted) s CROSS JOIN edges e ON e.id = s.edge"
			 " CROSS JOIN binaries f ON f.id = e.from_binary"
			 " CROSS JOIN binaries t ON t.id = e.to_binary WHERE 1");
	pp_query_add_binary(&q, "e.to_binary");
	return pp_query_run(&q, 0, take_range, &view, error);
}
