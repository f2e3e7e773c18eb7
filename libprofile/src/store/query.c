// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Reading: one query per view.
 *
 * Workload: sums over some thousand windows of ten thousand counts each, once a command. The
 * windows are found first and their counts read as clustered ranges; the other restrictions are
 * sets made once.
 * The share is a window function over the sums, before the limit cuts. Rows of equal weight are
 * ordered by what they are and not by their ids, which are numbers of one store alone: stores of
 * the same counts show the same rows in one order.
 *
 * Locking: none; a query sees one snapshot. Rows are checked: see pp_store.h.
 */
#include "pp_query.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

static double share_of(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* ---------------------------------------------------------------- paths */

struct path_view {
	pathprof_path_row_fn *fn;
	void *context;
};

static void path_query(struct pp_query *q)
{
	pp_query_add(
		q,
		"SELECT t.id, b.build_id, b.kind, b.name, t.start, t.length, t.outcomes,"
		" s.samples, s.weight, s.whole, s.squares, s.insns, s.weight_squares FROM"
		" (SELECT *, total(weight) OVER () AS whole,"
		" rank() OVER (ORDER BY weight DESC) AS place FROM"
		" (SELECT c.path AS path, sum(c.samples) AS samples, total(c.weight) AS weight,"
		" " PP_SUM_SQUARES " AS squares, " PP_SUM_INSNS " AS insns, " PP_SUM_WEIGHT_SQUARES
		" AS weight_squares FROM path_counts c WHERE 1");
	pp_query_add_window_set(q);
	pp_query_add_process_set(q);
	pp_query_add_path_set(q);
	pp_query_add(q,
		     " GROUP BY c.path)) s"
		     " CROSS JOIN paths t ON t.id = s.path CROSS JOIN binaries b ON b.id = t.binary"
		     " WHERE s.place <= ?9 OR ?9 < 0 ORDER BY s.weight DESC, b.build_id, t.start,"
		     " t.length, t.outcomes, t.id LIMIT ?9");
}

static int take_path(struct pp_query *q, struct pp_row *row, void *take_context,
		     struct pathprof_error *error)
{
	const struct path_view *view = take_context;
	struct pathprof_path_row out = {
		.id = pp_row_int(row, 0, INT64_MIN, INT64_MAX),
		.binary_name = pp_row_text(row, 3),
		.start = pp_row_bits(row, 4),
		.length = (uint32_t)pp_row_int(row, 5, 0, 32),
		.outcomes = pp_row_u32(row, 6),
		.samples = pp_row_count(row, 7),
		.weight = pp_row_weight(row, 8),
		.squares = pp_row_weight(row, 10),
		.insns = pp_row_weight(row, 11),
		.weight_squares = pp_row_weight(row, 12),
	};
	pp_row_id(row, 1, &out.binary_id);
	out.share = share_of(out.weight, pp_row_weight(row, 9));
	int r = pp_row_end(row, q->store, error);
	if (r < 0)
		return r;
	return view->fn(view->context, &out);
}

int pathprof_store_paths(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_path_row_fn *fn, void *context, struct pathprof_error *error)
{
	struct path_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	path_query(&q);
	return pp_query_run(&q, 0, take_path, &view, error);
}

/* ---------------------------------------------------------------- edges */

struct edge_view {
	pathprof_edge_row_fn *fn;
	void *context;
};

static void edge_query(struct pp_query *q)
{
	pp_query_add(q,
		     "SELECT f.build_id, f.kind, f.name, t.build_id, t.kind, t.name, e.from_offset,"
		     " e.to_offset, s.count, s.mispredicted, s.whole, s.weight FROM"
		     " (SELECT *, total(weight) OVER () AS whole,"
		     " rank() OVER (ORDER BY weight DESC) AS place FROM"
		     " (SELECT c.edge AS edge, sum(c.count) AS count, sum(c.mispredicted) AS "
		     "mispredicted, " PP_SUM_EDGE_WEIGHT " AS weight FROM edge_counts c WHERE 1");
	pp_query_add_window_set(q);
	pp_query_add_process_set(q);
	pp_query_add_edge_set(q);
	pp_query_add(
		q,
		" GROUP BY c.edge)) s"
		" CROSS JOIN edges e ON e.id = s.edge CROSS JOIN binaries f ON f.id = e.from_binary"
		" CROSS JOIN binaries t ON t.id = e.to_binary"
		" WHERE s.place <= ?9 OR ?9 < 0 ORDER BY s.weight DESC, f.build_id, e.from_offset,"
		" t.build_id, e.to_offset, e.id"
		" LIMIT ?9");
}

static int take_edge(struct pp_query *q, struct pp_row *row, void *take_context,
		     struct pathprof_error *error)
{
	const struct edge_view *view = take_context;
	struct pathprof_edge_row out = {
		.from_name = pp_row_text(row, 2),
		.to_name = pp_row_text(row, 5),
		.from = pp_row_bits(row, 6),
		.to = pp_row_bits(row, 7),
		.count = pp_row_count(row, 8),
		.mispredicted = pp_row_count(row, 9),
		.weight = pp_row_weight(row, 11),
	};
	pp_row_id(row, 0, &out.from_id);
	pp_row_id(row, 3, &out.to_id);
	out.share = share_of(out.weight, pp_row_weight(row, 10));
	int r = pp_row_end(row, q->store, error);
	return r < 0 ? r : view->fn(view->context, &out);
}

int pathprof_store_edges(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_edge_row_fn *fn, void *context, struct pathprof_error *error)
{
	struct edge_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	edge_query(&q);
	return pp_query_run(&q, 0, take_edge, &view, error);
}

/* ---------------------------------------------------------------- binaries */

struct binary_view {
	pathprof_binary_row_fn *fn;
	void *context;
};

static void binary_query(struct pp_query *q)
{
	pp_query_add(
		q,
		"SELECT b.id, b.build_id, b.kind, b.name, s.first_ns, s.last_ns, s.samples,"
		" s.weight, s.whole FROM (SELECT *, total(weight) OVER () AS whole FROM"
		" (SELECT t.binary AS binary, min(w.begin_ns) AS first_ns, max(w.end_ns) AS "
		"last_ns,"
		" sum(c.samples) AS samples, total(c.weight) AS weight FROM windows w"
		" CROSS JOIN path_counts c ON c.window = w.id CROSS JOIN paths t ON t.id = c.path"
		" WHERE 1");
	pp_query_add_window_terms(q);
	pp_query_add_process_set(q);
	pp_query_add_path_set(q);
	pp_query_add(q, " GROUP BY t.binary)) s CROSS JOIN binaries b ON b.id = s.binary"
			" ORDER BY s.weight DESC, b.build_id, b.id LIMIT ?9");
}

static int take_binary(struct pp_query *q, struct pp_row *row, void *take_context,
		       struct pathprof_error *error)
{
	const struct binary_view *view = take_context;
	struct pathprof_binary_row out = {
		.id = pp_row_int(row, 0, INT64_MIN, INT64_MAX),
		.name = pp_row_text(row, 3),
		.first_seen_ns = pp_row_time(row, 4),
		.last_seen_ns = pp_row_time(row, 5),
		.samples = pp_row_count(row, 6),
		.weight = pp_row_weight(row, 7),
	};
	pp_row_id(row, 1, &out.binary_id);
	out.share = share_of(out.weight, pp_row_weight(row, 8));
	int r = pp_row_end(row, q->store, error);
	return r < 0 ? r : view->fn(view->context, &out);
}

/* ---------------------------------------------------------------- files behind binaries */

struct file_view {
	pathprof_file_row_fn *fn;
	void *context;
};

static int take_file(struct pp_query *q, struct pp_row *row, void *take_context,
		     struct pathprof_error *error)
{
	const struct file_view *view = take_context;
	struct pathprof_file_row out = {
		.file = {.owner = pp_row_u32(row, 2),
			 .device = pp_row_bits(row, 3),
			 .inode = pp_row_bits(row, 4)},
		.windows = pp_row_count(row, 5),
	};
	pp_row_id(row, 0, &out.binary_id);
	int r = pp_row_end(row, q->store, error);
	return r < 0 ? r : view->fn(view->context, &out);
}

int pathprof_store_files(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_file_row_fn *fn, void *context, struct pathprof_error *error)
{
	struct file_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	pp_query_add(&q, "SELECT b.build_id, b.kind, c.owner, c.device, c.inode, count(*)"
			 " FROM window_files c CROSS JOIN binaries b ON b.id = c.binary WHERE 1");
	pp_query_add_window_set(&q);
	pp_query_add_binary(&q, "c.binary");
	pp_query_add(&q, " GROUP BY c.binary, c.owner, c.device, c.inode"
			 " ORDER BY c.binary, count(*) DESC, c.owner");
	return pp_query_run(&q, 0, take_file, &view, error);
}

/* ---------------------------------------------------------------- all binaries */

int pathprof_store_binaries(struct pathprof_store *store, const struct pathprof_filter *filter,
			    pathprof_binary_row_fn *fn, void *context, struct pathprof_error *error)
{
	struct binary_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	binary_query(&q);
	return pp_query_run(&q, 0, take_binary, &view, error);
}

int pathprof_store_knows_build(struct pathprof_store *store, const struct pathprof_build_id *id,
			       bool *ret_knows, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_BINARY_FIND, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_blob(stmt, 1, id->bytes, id->len_bytes, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, id->kind);
	r = pp_sql_step(store, stmt, error);
	sqlite3_reset(stmt);
	if (r < 0)
		return r;
	*ret_knows = r > 0;
	return 0;
}

/* ---------------------------------------------------------------- processes */

struct process_view {
	pathprof_process_row_fn *fn;
	void *context;
};

static void process_query(struct pp_query *q)
{
	pp_query_add(
		q,
		"SELECT p.id, p.pid, p.exec_cnt, p.start_time, p.comm, p.container,"
		" coalesce(b.name, ''), s.first_ns, s.last_ns, s.samples, s.weight, s.whole,"
		" s.insns, coalesce(o.boot_id, '') FROM (SELECT *, total(weight) OVER () AS whole "
		"FROM"
		" (SELECT a.process AS process, min(a.begin_ns) AS first_ns,"
		" max(a.end_ns) AS last_ns, sum(a.samples) AS samples, total(a.weight) AS weight,"
		" CASE WHEN count(a.insns) = count(*) THEN total(a.insns) ELSE 0.0 END AS insns"
		" FROM (SELECT c.process, w.begin_ns, w.end_ns, c.samples, c.weight, c.insns"
		" FROM windows w CROSS JOIN path_counts c ON c.window = w.id WHERE 1");
	pp_query_add_window_terms(q);
	pp_query_add_process_set(q);
	pp_query_add_path_set(q);
	/* A process that the clock alone saw is one too. */
	pp_query_add(q, " UNION ALL SELECT c.process, w.begin_ns, w.end_ns, 0, 0.0, 0.0"
			" FROM windows w CROSS JOIN clock_counts c ON c.window = w.id WHERE 1");
	pp_query_add_window_terms(q);
	pp_query_add_process_set(q);
	pp_query_add_binary(q, "+c.binary");
	pp_query_add(q, ") a GROUP BY a.process)) s"
			" CROSS JOIN processes p ON p.id = s.process"
			" LEFT JOIN boots o ON o.id = p.boot"
			" LEFT JOIN binaries b ON b.id = p.binary ORDER BY s.weight DESC,"
			" p.start_time, p.pid, p.exec_cnt, o.boot_id, p.id LIMIT ?9");
}

static int take_process(struct pp_query *q, struct pp_row *row, void *take_context,
			struct pathprof_error *error)
{
	const struct process_view *view = take_context;
	struct pathprof_process_row out = {
		.id = pp_row_int(row, 0, INT64_MIN, INT64_MAX),
		.pid = pp_row_u32(row, 1),
		.exec_cnt = pp_row_u32(row, 2),
		.start_time = pp_row_count(row, 3),
		.comm = pp_row_text(row, 4),
		.container = pp_row_text(row, 5),
		.binary_name = pp_row_text(row, 6),
		.first_seen_ns = pp_row_time(row, 7),
		.last_seen_ns = pp_row_time(row, 8),
		.samples = pp_row_count(row, 9),
		.weight = pp_row_weight(row, 10),
		.insns = pp_row_weight(row, 12),
		.boot = pp_row_text(row, 13),
	};
	out.share = share_of(out.weight, pp_row_weight(row, 11));
	int r = pp_row_end(row, q->store, error);
	return r < 0 ? r : view->fn(view->context, &out);
}

int pathprof_store_processes(struct pathprof_store *store, const struct pathprof_filter *filter,
			     pathprof_process_row_fn *fn, void *context,
			     struct pathprof_error *error)
{
	struct process_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	process_query(&q);
	return pp_query_run(&q, 0, take_process, &view, error);
}

/* ---------------------------------------------------------------- windows */

struct window_view {
	pathprof_window_row_fn *fn;
	void *context;
	int64_t now_ns; /* one for both halves: no window falls between them */
	uint32_t cnt;
};

/* The index of ends serves both halves, so few rows of many windows cost little. */
static void window_query(struct pp_query *q, bool of_future)
{
	pp_query_add(
		q, "SELECT w.id, w.begin_ns, w.end_ns, w.source, w.basis, w.taken_wanted, w.bursts,"
		   " w.branches, w.taken, w.steps, w.paths, w.stopped_ns, w.source_cpu_ns,"
		   " w.insns, w.pathless, w.clock_samples, w.horizon, w.clock_hz, w.clock_kernel,"
		   " w.weighed, coalesce((SELECT g.lost FROM segmented_windows g"
		   " WHERE g.window = w.id), -1),"
		   " EXISTS (SELECT 1 FROM piece_counts p WHERE p.window = w.id)"
		   " FROM windows w WHERE 1");
	pp_query_add_window_matches(q);
	pp_query_add(q, of_future ? " AND w.end_ns > ?18" : " AND w.end_ns <= ?18");
	pp_query_add(q, " ORDER BY w.end_ns DESC, w.id DESC LIMIT ?9");
}

/* Reasons that this program does not know yet are passed over: a newer one wrote them. */
static int take_reasons(struct pathprof_store *store, enum pp_stmt which, int64_t window,
			uint64_t *counts, int64_t cnt, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, which, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, window);
	while ((r = pp_sql_step(store, stmt, error)) > 0) {
		struct pp_row row = PP_ROW(stmt);
		int64_t reason = pp_row_int(&row, 0, 0, INT64_MAX);
		uint64_t count = pp_row_count(&row, 1);

		r = pp_row_end(&row, store, error);
		if (r < 0)
			break;
		if (reason < cnt)
			counts[reason] = count;
	}
	sqlite3_reset(stmt);
	return r;
}

static void take_totals(struct pp_row *row, int column, struct pathprof_totals *ret_totals)
{
	ret_totals->bursts = pp_row_count(row, column);
	ret_totals->branches = pp_row_count(row, column + 1);
	ret_totals->taken = pp_row_count(row, column + 2);
	ret_totals->steps = pp_row_count(row, column + 3);
	ret_totals->paths = pp_row_count(row, column + 4);
	ret_totals->stopped_ns = pp_row_count(row, column + 5);
	ret_totals->source_cpu_ns = pp_row_count(row, column + 6);
	ret_totals->insns = pp_row_count(row, column + 7);
	ret_totals->pathless = pp_row_count(row, column + 8);
	ret_totals->clock_samples = pp_row_count(row, column + 9);
}

static int take_window(struct pp_query *q, struct pp_row *row, void *take_context,
		       struct pathprof_error *error)
{
	struct window_view *view = take_context;
	struct pathprof_window_row out = {
		.id = pp_row_int(row, 0, INT64_MIN, INT64_MAX),
		.begin_ns = pp_row_time(row, 1),
		.end_ns = pp_row_time(row, 2),
		.source = pp_row_u32(row, 3),
		.basis = (enum pathprof_basis)pp_row_int(row, 4, PATHPROF_BASIS_TIME,
							 PATHPROF_BASIS_BRANCHES),
		.taken_wanted = pp_row_u32(row, 5),
		.horizon = pp_row_u32(row, 16),
		.clock_hz = pp_row_u32(row, 17),
		.clock_kernel = pp_row_int(row, 18, 0, 1) != 0,
		.weighed = pp_row_int(row, 19, 0, 1) != 0,
	};
	int64_t lost = pp_row_int(row, 20, -1, INT64_MAX);

	out.has_segments = lost >= 0 || pp_row_int(row, 21, 0, 1) != 0;
	out.segments_lost = lost > 0 ? (uint64_t)lost : 0;
	take_totals(row, 6, &out.totals);
	int r = pp_row_end(row, q->store, error);
	if (r == 0)
		r = take_reasons(q->store, PP_STMT_WINDOW_ENDS, out.id, out.totals.ends,
				 PATHPROF_END_CNT, error);
	if (r == 0)
		r = take_reasons(q->store, PP_STMT_WINDOW_DROPS, out.id, out.totals.drops,
				 PATHPROF_DROP_CNT, error);
	view->cnt++;
	return r < 0 ? r : view->fn(view->context, &out);
}

static int list_windows(struct window_view *view, struct pathprof_store *store,
			const struct pathprof_filter *filter, bool of_future,
			struct pathprof_error *error)
{
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	q.now_ns = view->now_ns;
	if (q.filter.limit && view->cnt >= q.filter.limit)
		return 0;
	if (q.filter.limit)
		q.filter.limit -= view->cnt;
	window_query(&q, of_future);
	return pp_query_run(&q, 0, take_window, view, error);
}

int pathprof_store_windows(struct pathprof_store *store, const struct pathprof_filter *filter,
			   pathprof_window_row_fn *fn, void *context, struct pathprof_error *error)
{
	struct window_view view = {.fn = fn, .context = context, .now_ns = pp_realtime_ns()};
	int r = list_windows(&view, store, filter, false, error);

	return r ? r : list_windows(&view, store, filter, true, error);
}

/* ---------------------------------------------------------------- status and generated code */

int pathprof_store_status(struct pathprof_store *store, char **ret_json,
			  struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	char *json = NULL;
	int r = pp_sql_get(store, PP_STMT_STATUS_GET, &stmt, error);

	if (r < 0)
		return r;
	r = pp_sql_step(store, stmt, error);
	if (r == 0)
		r = pathprof_fail(error, -ENOENT, "%s: no daemon has written its status yet",
				  store->file);
	if (r > 0) {
		struct pp_row row = PP_ROW(stmt);
		const char *text = pp_row_text(&row, 0);

		r = pp_row_end(&row, store, error);
		if (r == 0) {
			json = strdup(text);
			if (!json)
				r = pathprof_fail(error, -ENOMEM, "out of memory");
		}
	}
	sqlite3_reset(stmt);
	if (r == 0)
		*ret_json = json;
	return r;
}

static int take_symbol(sqlite3_stmt *stmt, uint64_t offset, char *name, size_t name_size,
		       uint64_t *ret_start)
{
	struct pp_row row = PP_ROW(stmt);
	uint64_t start = pp_row_bits(&row, 0);
	uint64_t len_bytes = pp_row_count(&row, 1);
	const char *text = pp_row_text(&row, 2);

	if (row.bad_column >= 0)
		return -EBADMSG;
	/* A JIT that does not know the length writes 0: only the start is known then. */
	if (offset < start || (offset != start && offset - start >= len_bytes))
		return -ENOENT;
	size_t len = strnlen(text, name_size - 1);
	memcpy(name, text, len);
	name[len] = 0;
	*ret_start = start;
	return 0;
}

int pathprof_store_jit_symbol(struct pathprof_store *store, const struct pathprof_build_id *id,
			      uint64_t offset, char *name, size_t name_size, uint64_t *ret_start)
{
	sqlite3_stmt *stmt = NULL;
	int found = -ENOENT;

	if (!name_size || id->len_bytes > PATHPROF_BUILD_ID_MAX)
		return -EINVAL;
	int r = pp_sql_get(store, PP_STMT_JIT_FIND, &stmt, NULL);
	if (r < 0)
		return r;
	/*
	 * The order of signed starts is the order of unsigned ones within each half of the address
	 * space, and no symbol lies across the halves.
	 */
	pp_sql_bind_id(stmt, 1, id);
	sqlite3_bind_int(stmt, 2, id->kind);
	sqlite3_bind_int64(stmt, 3, (int64_t)offset);
	/* One that ends before the offset may lie within one that does not. */
	while (found == -ENOENT && (r = pp_sql_step(store, stmt, NULL)) > 0)
		found = take_symbol(stmt, offset, name, name_size, ret_start);
	sqlite3_reset(stmt);
	return r < 0 ? r : found;
}
