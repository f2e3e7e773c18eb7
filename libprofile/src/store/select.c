// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Paths as drift needs them: counts that keep containers apart, and what is known of one binary.
 *
 * Workload: one window at a time when the daemon starts, a whole profile file for a baseline; the
 * paths of one binary when an alert fires. Locking: none; a query sees one snapshot.
 */
#include "pp_query.h"

#include <errno.h>

/* ---------------------------------------------------------------- counts by container */

struct container_view {
	pathprof_container_path_row_fn *fn;
	void *context;
};

static void container_query(struct pp_query *q)
{
	pp_query_add(q, "SELECT b.build_id, b.kind, b.name, s.container, t.start, t.length,"
			" t.outcomes, s.samples, s.squares, s.weight, s.weight_squares,"
			" coalesce(x.build_id, x''), coalesce(x.kind, 0)"
			" FROM (SELECT c.path AS path,"
			" o.container AS container, o.binary AS program, sum(c.samples) AS samples,"
			" " PP_SUM_SQUARES " AS squares, total(c.weight) AS weight,"
			" " PP_SUM_WEIGHT_SQUARES " AS weight_squares FROM path_counts c"
			" CROSS JOIN processes o ON o.id = c.process WHERE 1");
	pp_query_add_window_set(q);
	pp_query_add_process_set(q);
	pp_query_add_path_set(q);
	pp_query_add(q, " GROUP BY c.path, o.container, o.binary) s"
			" CROSS JOIN paths t ON t.id = s.path"
			" CROSS JOIN binaries b ON b.id = t.binary"
			" LEFT JOIN binaries x ON x.id = s.program"
			" ORDER BY b.id, s.container, t.id LIMIT ?9");
}

static int take_container_path(struct pp_query *q, struct pp_row *row, void *take_context,
			       struct pathprof_error *error)
{
	const struct container_view *view = take_context;
	struct pathprof_container_path_row out = {
		.binary_name = pp_row_text(row, 2),
		.container = pp_row_text(row, 3),
		.start = pp_row_bits(row, 4),
		.length = (uint32_t)pp_row_int(row, 5, 0, 32),
		.outcomes = pp_row_u32(row, 6),
		.samples = pp_row_count(row, 7),
		.squares = pp_row_weight(row, 8),
		.weight = pp_row_weight(row, 9),
		.weight_squares = pp_row_weight(row, 10),
	};
	pp_row_id(row, 0, &out.binary_id);
	pp_row_id(row, 11, &out.program);
	int r = pp_row_end(row, q->store, error);
	return r < 0 ? r : view->fn(view->context, &out);
}

int pathprof_store_container_paths(struct pathprof_store *store,
				   const struct pathprof_filter *filter,
				   pathprof_container_path_row_fn *fn, void *context,
				   struct pathprof_error *error)
{
	struct container_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	container_query(&q);
	return pp_query_run(&q, 0, take_container_path, &view, error);
}

/* ---------------------------------------------------------------- what is known of a binary */

static int take_known_path(struct pathprof_store *store, sqlite3_stmt *stmt,
			   const struct pathprof_build_id *id, pathprof_path_row_fn *fn,
			   void *context, struct pathprof_error *error)
{
	struct pp_row row = PP_ROW(stmt);
	const struct pathprof_path_row out = {
		.id = pp_row_int(&row, 0, INT64_MIN, INT64_MAX),
		.binary_id = *id,
		.binary_name = pp_row_text(&row, 1),
		.start = pp_row_bits(&row, 2),
		.length = (uint32_t)pp_row_int(&row, 3, 0, 32),
		.outcomes = pp_row_u32(&row, 4),
	};
	int r = pp_row_end(&row, store, error);

	return r < 0 ? r : fn(context, &out);
}

int pathprof_store_known_paths(struct pathprof_store *store, const struct pathprof_build_id *id,
			       pathprof_path_row_fn *fn, void *context,
			       struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r;

	if (id->len_bytes > PATHPROF_BUILD_ID_MAX)
		return pathprof_fail(error, -EINVAL, "%s: malformed identity", store->file);
	r = pp_sql_get(store, PP_STMT_KNOWN_PATHS, &stmt, error);
	if (r < 0)
		return r;
	pp_sql_bind_id(stmt, 1, id);
	sqlite3_bind_int(stmt, 2, id->kind);
	while ((r = pp_sql_step(store, stmt, error)) > 0) {
		r = take_known_path(store, stmt, id, fn, context, error);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}

int pathprof_store_count_paths(struct pathprof_store *store, int64_t window, uint64_t *ret_cnt,
			       struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_COUNT_PATHS, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, window);
	r = pp_sql_step(store, stmt, error);
	if (r > 0)
		*ret_cnt = (uint64_t)sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r < 0 ? r : 0;
}
