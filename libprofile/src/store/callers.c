// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Reading who called: see pathprof/store.h.
 *
 * Workload: some thousand callers, ten thousands of counts, once a command. Rows are checked:
 * pp_store.h.
 */
#include "pp_query.h"

struct caller_view {
	pathprof_caller_row_fn *fn;
	void *context;
};

static int take_caller(struct pp_query *q, struct pp_row *row, void *take_context,
		       struct pathprof_error *error)
{
	const struct caller_view *view = take_context;
	struct pathprof_caller_row out = {
		.id = pp_row_int(row, 0, 1, INT64_MAX),
		.parent = pp_row_int(row, 1, 0, INT64_MAX),
		.function = pp_row_bits(row, 2),
		.binary_name = pp_row_text(row, 5),
	};
	int r;

	pp_row_id(row, 3, &out.binary_id);
	r = pp_row_end(row, q->store, error);
	return r < 0 ? r : view->fn(view->context, &out);
}

int pathprof_store_callers(struct pathprof_store *store, pathprof_caller_row_fn *fn, void *context,
			   struct pathprof_error *error)
{
	const struct pathprof_filter all = {0};
	struct caller_view view = {fn, context};
	struct pp_query q;

	pp_query_begin(&q, store, &all);
	pp_query_add(&q, "SELECT c.id, c.parent, c.function, coalesce(b.build_id, x''),"
			 " coalesce(b.kind, 0), coalesce(b.name, '') FROM contexts c"
			 " LEFT JOIN binaries b ON b.id = c.binary ORDER BY c.id LIMIT ?9");
	return pp_query_run(&q, 0, take_caller, &view, error);
}

struct count_view {
	pathprof_caller_count_row_fn *fn;
	void *context;
};

static int take_count(struct pp_query *q, struct pp_row *row, void *take_context,
		      struct pathprof_error *error)
{
	const struct count_view *view = take_context;
	const struct pathprof_caller_count_row out = {
		.caller = pp_row_int(row, 0, 1, INT64_MAX),
		.path = pp_row_int(row, 1, INT64_MIN, INT64_MAX),
		.samples = pp_row_count(row, 2),
		.weight = pp_row_weight(row, 3),
	};
	int r = pp_row_end(row, q->store, error);

	return r < 0 ? r : view->fn(view->context, &out);
}

int pathprof_store_caller_counts(struct pathprof_store *store, const struct pathprof_filter *filter,
				 pathprof_caller_count_row_fn *fn, void *context,
				 struct pathprof_error *error)
{
	struct pathprof_filter whole = filter ? *filter : (struct pathprof_filter){0};
	struct count_view view = {fn, context};
	struct pp_query q;

	whole.limit = 0;
	pp_query_begin(&q, store, &whole);
	pp_query_add(&q, "SELECT c.context, c.path, sum(c.samples), total(c.weight)"
			 " FROM context_counts c WHERE 1");
	pp_query_add_window_set(&q);
	pp_query_add_process_set(&q);
	pp_query_add_path_set(&q);
	pp_query_add(&q, " GROUP BY c.path, c.context ORDER BY c.path, c.context LIMIT ?9");
	return pp_query_run(&q, 0, take_count, &view, error);
}
