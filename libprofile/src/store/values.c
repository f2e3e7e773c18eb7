// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Values of parameters: written by window, read as sums over windows, and forgotten on request so
 * that no page of the file holds them any longer. Those that went with their windows before that
 * were not overwritten (docs/values.md).
 *
 * Workload: up to 64 sites a window with 16 values each; some hundred rows a query.
 * Locking: the writer's for writing, none for reading. Ownership: rows are borrowed.
 */
#include "pp_query.h"

#include <errno.h>
#include <string.h>

#define ENTRY_MAX 255
#define COUNT_MAX ((uint64_t)INT64_MAX)

/* ---------------------------------------------------------------- writing */

static bool is_sound(const struct pathprof_value_row *row)
{
	uint64_t sum = 0;

	if (row->binary_id.len_bytes > PATHPROF_BUILD_ID_MAX ||
	    row->binary_id.kind > PATHPROF_ID_JIT || row->argument < 1 || row->argument > 6 ||
	    row->executed > COUNT_MAX || row->same > row->executed || row->profiled > COUNT_MAX ||
	    !row->entry_max || row->entry_max > ENTRY_MAX || row->value_cnt > row->entry_max)
		return false;
	for (uint32_t i = 0; i < row->value_cnt; i++)
		if (!row->values[i].count || row->values[i].count > COUNT_MAX ||
		    __builtin_add_overflow(sum, row->values[i].count, &sum))
			return false;
	return sum <= row->profiled;
}

static int find_site(struct pathprof_store *store, enum pp_stmt which,
		     const struct pathprof_value_row *row, int64_t binary, int64_t *ret_site,
		     struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, which, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, binary);
	sqlite3_bind_int64(stmt, 2, (int64_t)row->start);
	sqlite3_bind_int64(stmt, 3, row->argument);
	if (which == PP_STMT_VALUE_SITE_ADD)
		pp_sql_bind_text(stmt, 4, row->function);
	r = pp_sql_step(store, stmt, error);
	if (r > 0)
		*ret_site = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r;
}

static int site_of(struct pathprof_store *store, int64_t window,
		   const struct pathprof_value_row *row, int64_t *ret_site,
		   struct pathprof_error *error)
{
	int64_t binary = 0;
	int code =
		pp_store_binary(store, &row->binary_id, row->binary_name, window, &binary, error);

	if (code == 0)
		code = find_site(store, PP_STMT_VALUE_SITE_FIND, row, binary, ret_site, error);
	if (code)
		return code < 0 ? code : 0;
	code = find_site(store, PP_STMT_VALUE_SITE_ADD, row, binary, ret_site, error);
	if (code < 0)
		return code;
	*ret_site = sqlite3_last_insert_rowid(store->db);
	return 0;
}

static int add_counts(struct pathprof_store *store, int64_t window, int64_t site,
		      const struct pathprof_value_row *row, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_VALUE_COUNT_ADD, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, window);
	sqlite3_bind_int64(stmt, 2, site);
	sqlite3_bind_int64(stmt, 3, (int64_t)row->executed);
	sqlite3_bind_int64(stmt, 4, (int64_t)row->same);
	sqlite3_bind_int64(stmt, 5, (int64_t)row->profiled);
	sqlite3_bind_int64(stmt, 6, row->entry_max);
	pp_sql_bind_text(stmt, 7, row->sampler);
	return pp_sql_run(store, stmt, error);
}

static int add_top(struct pathprof_store *store, int64_t window, int64_t site,
		   const struct pathprof_value_count *top, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_VALUE_TOP_ADD, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, window);
	sqlite3_bind_int64(stmt, 2, site);
	sqlite3_bind_int64(stmt, 3, (int64_t)top->value);
	sqlite3_bind_int64(stmt, 4, (int64_t)top->count);
	return pp_sql_run(store, stmt, error);
}

static int add_row(struct pathprof_store *store, int64_t window,
		   const struct pathprof_value_row *row, struct pathprof_error *error)
{
	int64_t site = 0;
	int r = site_of(store, window, row, &site, error);

	if (r == 0)
		r = add_counts(store, window, site, row, error);
	for (uint32_t i = 0; r == 0 && i < row->value_cnt; i++)
		r = add_top(store, window, site, &row->values[i], error);
	return r;
}

static int add_drop(struct pathprof_store *store, int64_t window,
		    const struct pathprof_value_drop *drop, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r;

	if (!drop->cnt)
		return 0;
	r = pp_sql_get(store, PP_STMT_VALUE_DROP_ADD, &stmt, error);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, window);
	pp_sql_bind_text(stmt, 2, drop->reason);
	sqlite3_bind_int64(stmt, 3, (int64_t)(drop->cnt < COUNT_MAX ? drop->cnt : COUNT_MAX));
	return pp_sql_run(store, stmt, error);
}

int pathprof_store_add_values(struct pathprof_store *store, int64_t window,
			      const struct pathprof_value_row *rows, size_t row_cnt,
			      const struct pathprof_value_drop *drops, size_t drop_cnt,
			      struct pathprof_error *error)
{
	int r = pp_sql_writable(store, error);

	for (size_t i = 0; r == 0 && i < row_cnt; i++)
		if (!is_sound(&rows[i]))
			r = pathprof_fail(error, -EINVAL, "%s: a row of values is malformed",
					  store->file);
	if (r == 0)
		r = pp_sql_begin(store, error);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < row_cnt; i++)
		r = add_row(store, window, &rows[i], error);
	for (size_t i = 0; r == 0 && i < drop_cnt; i++)
		r = add_drop(store, window, &drops[i], error);
	return pp_sql_end(store, r, error);
}

/* ---------------------------------------------------------------- reading */

struct value_view {
	const struct pathprof_filter *filter;
	pathprof_value_row_fn *fn;
	void *context;
	struct pathprof_value_count values[ENTRY_MAX];
	uint32_t value_cnt;
};

static void site_query(struct pp_query *q)
{
	pp_query_add(q, "SELECT s.id, b.build_id, b.kind, b.name, s.start, s.argument, s.function,"
			" sum(c.executed) AS executed, sum(c.same), sum(c.profiled),"
			" max(c.entries), CASE WHEN min(c.sampler) = max(c.sampler) THEN"
			" min(c.sampler) ELSE 'several' END FROM value_counts c"
			" CROSS JOIN value_sites s ON s.id = c.site"
			" CROSS JOIN binaries b ON b.id = s.binary WHERE 1");
	pp_query_add_window_set(q);
	pp_query_add_binary(q, "s.binary");
	pp_query_add(q, " GROUP BY s.id ORDER BY executed DESC, b.build_id, s.start,"
			" s.argument, s.id LIMIT ?9");
}

static void top_query(struct pp_query *q)
{
	pp_query_add(q, "SELECT c.value, sum(c.count) AS count FROM value_tops c"
			" WHERE c.site = ?10");
	pp_query_add_window_set(q);
	pp_query_add(q, " GROUP BY c.value ORDER BY count DESC, c.value LIMIT ?9");
}

static int take_top(struct pp_query *q, struct pp_row *row, void *context,
		    struct pathprof_error *error)
{
	struct value_view *view = context;
	struct pathprof_value_count *top = &view->values[view->value_cnt];

	if (view->value_cnt == ENTRY_MAX)
		return 1;
	top->value = pp_row_bits(row, 0);
	top->count = pp_row_count(row, 1);
	view->value_cnt++;
	return pp_row_end(row, q->store, error);
}

static int take_tops(struct value_view *view, struct pathprof_store *store, int64_t site,
		     uint32_t entry_max, struct pathprof_error *error)
{
	struct pp_query q;
	int r;

	view->value_cnt = 0;
	pp_query_begin(&q, store, view->filter);
	q.filter.limit = entry_max;
	top_query(&q);
	r = pp_query_run(&q, site, take_top, view, error);
	return r < 0 ? r : 0;
}

static int take_site(struct pp_query *q, struct pp_row *row, void *context,
		     struct pathprof_error *error)
{
	struct value_view *view = context;
	int64_t site = pp_row_int(row, 0, 1, INT64_MAX);
	struct pathprof_value_row out = {
		.binary_name = pp_row_text(row, 3),
		.start = pp_row_bits(row, 4),
		.argument = (uint32_t)pp_row_int(row, 5, 1, 6),
		.function = pp_row_text(row, 6),
		.executed = pp_row_count(row, 7),
		.same = pp_row_count(row, 8),
		.profiled = pp_row_count(row, 9),
		.entry_max = (uint32_t)pp_row_int(row, 10, 1, ENTRY_MAX),
		.sampler = pp_row_text(row, 11),
		.values = view->values,
	};
	int r;

	pp_row_id(row, 1, &out.binary_id);
	r = pp_row_end(row, q->store, error);
	if (r == 0)
		r = take_tops(view, q->store, site, out.entry_max, error);
	if (r < 0)
		return r;
	out.value_cnt = view->value_cnt;
	return view->fn(view->context, &out);
}

int pathprof_store_values(struct pathprof_store *store, const struct pathprof_filter *filter,
			  pathprof_value_row_fn *fn, void *context, struct pathprof_error *error)
{
	struct value_view view = {.filter = filter, .fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	site_query(&q);
	return pp_query_run(&q, 0, take_site, &view, error);
}

struct drop_view {
	pathprof_value_drop_fn *fn;
	void *context;
};

static int take_drop(struct pp_query *q, struct pp_row *row, void *context,
		     struct pathprof_error *error)
{
	const struct drop_view *view = context;
	struct pathprof_value_drop out = {
		.reason = pp_row_text(row, 0),
		.cnt = pp_row_count(row, 1),
	};
	int r = pp_row_end(row, q->store, error);

	return r < 0 ? r : view->fn(view->context, &out);
}

int pathprof_store_value_drops(struct pathprof_store *store, const struct pathprof_filter *filter,
			       pathprof_value_drop_fn *fn, void *context,
			       struct pathprof_error *error)
{
	struct drop_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	pp_query_add(&q, "SELECT c.reason, sum(c.count) AS count FROM value_drops c WHERE 1");
	pp_query_add_window_set(&q);
	pp_query_add(&q, " GROUP BY c.reason ORDER BY count DESC, c.reason");
	return pp_query_run(&q, 0, take_drop, &view, error);
}

/* ---------------------------------------------------------------- forgetting */

/* A reader of what was there before keeps the log, and the file's old pages, until it ends. */
static int empty_log(struct pathprof_store *store, struct pathprof_error *error)
{
	if (sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
	    SQLITE_OK)
		return 0;
	return pp_sql_fail(store, error, "values are deleted, but not yet overwritten");
}

/* A free page, or the unused part of another, may hold values of windows that were removed before:
 * SQLite writes all pages anew. Nothing of a database is attached but its own copy. */
static int write_anew(struct pathprof_store *store, struct pathprof_error *error)
{
	const int attached_max = sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 1);
	int r = pp_sql_exec(store, "PRAGMA temp_store=FILE", error);

	if (r == 0 && sqlite3_exec(store->db, "VACUUM", NULL, NULL, NULL) != SQLITE_OK)
		r = pp_sql_fail(store, error,
				"values are deleted, but those of windows that were removed "
				"before are not yet overwritten");
	pp_sql_exec(store, "PRAGMA temp_store=MEMORY", NULL);
	sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, attached_max);
	return r;
}

/* Deleted rows are overwritten; what the log still has of them goes with the log. The first
 * emptying overwrites pages at the end of the file, which the second cuts off. */
int pathprof_store_forget_values(struct pathprof_store *store, struct pathprof_error *error)
{
	int r = pp_sql_writable(store, error);

	if (r == 0)
		r = pp_sql_exec(store, "PRAGMA secure_delete=ON", error);
	if (r < 0)
		return r;
	r = pp_sql_begin(store, error);
	if (r == 0) {
		r = pp_sql_exec(store,
				"DELETE FROM value_tops; DELETE FROM value_counts;"
				" DELETE FROM value_drops; DELETE FROM value_sites",
				error);
		r = pp_sql_end(store, r, error);
	}
	if (r == 0)
		r = empty_log(store, error);
	if (r == 0)
		r = write_anew(store, error);
	if (r == 0)
		r = empty_log(store, error);
	pp_sql_exec(store, "PRAGMA secure_delete=OFF", NULL);
	return r;
}
