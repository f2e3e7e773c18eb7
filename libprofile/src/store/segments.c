// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Segments: those of a window of samples are written here (see pp_window_write.h), those of a run
 * by runs.c; both are read here.
 *
 * Workload: some thousand a window; read as sums over windows. Locking: the writer's for writing,
 * none for reading. Ownership: rows are borrowed.
 */
#include <errno.h>
#include <stdlib.h>

#include "pp_query.h"
#include "pp_window_write.h"

/* ---------------------------------------------------------------- writing */

/* A row of segment_samples. */
struct segment_row {
	int64_t first, second, process;
	const struct pathprof_path_count *figures;
};

static int compare_rows(const void *a, const void *b)
{
	const struct segment_row *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->second != y->second)
		return x->second < y->second ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void bind_row(sqlite3_stmt *stmt, int first, const void *add)
{
	const struct segment_row *row = add;
	const struct pathprof_path_count *c = row->figures;

	sqlite3_bind_int64(stmt, first, row->first);
	sqlite3_bind_int64(stmt, first + 1, row->second);
	sqlite3_bind_int64(stmt, first + 2, row->process);
	sqlite3_bind_int64(stmt, first + 3, (int64_t)c->samples);
	if (c->squares)
		sqlite3_bind_int64(stmt, first + 4, (int64_t)least(c->squares, PP_COUNT_MAX));
	else
		sqlite3_bind_null(stmt, first + 4);
	sqlite3_bind_double(stmt, first + 5, c->weight);
	if (c->weight_squares > 0)
		sqlite3_bind_double(stmt, first + 6, c->weight_squares);
	else
		sqlite3_bind_null(stmt, first + 6);
}

static int fill_row(struct pp_window_write *w, const struct pathprof_segment_count *segment,
		    struct segment_row *ret_row)
{
	const struct pathprof_piece_key *first = &segment->first;
	const struct pathprof_path_count *second = &segment->second;
	int r = pp_store_piece(w->store, w->window, w->binaries[first->binary], first->start,
			       first->length, first->outcomes, &ret_row->first, w->error);

	if (r == 0)
		r = pp_store_piece(w->store, w->window, w->binaries[second->binary], second->start,
				   second->length, second->outcomes, &ret_row->second, w->error);
	ret_row->process = w->processes[second->process];
	ret_row->figures = second;
	return r;
}

static int write_rows(struct pp_window_write *w, struct segment_row *rows)
{
	const struct pathprof_profile *p = w->profile;
	const struct pp_rows add = {PP_STMT_SEGMENT_SAMPLE_ADD,
				    PP_STMT_SEGMENT_SAMPLES_ADD,
				    7,
				    bind_row,
				    rows,
				    p->segment_cnt,
				    sizeof(*rows)};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->segment_cnt; i++)
		r = fill_row(w, &p->segments[i], &rows[i]);
	if (r < 0)
		return r;
	qsort(rows, p->segment_cnt, sizeof(*rows), compare_rows);
	return pp_sql_add_rows(w->store, &add, w->window, w->error);
}

static int mark_window(struct pp_window_write *w)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_SEGMENTED_WINDOW_ADD, &stmt, w->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, w->window);
	sqlite3_bind_int64(stmt, 2, (int64_t)w->profile->segments_lost);
	return pp_sql_run(w->store, stmt, w->error);
}

int pp_window_write_segments(struct pp_window_write *w)
{
	struct segment_row *rows = calloc((size_t)w->profile->segment_cnt + 1, sizeof(*rows));
	int r;

	if (!rows)
		return pp_window_refuse(w, -ENOMEM, "out of memory");
	r = mark_window(w);
	if (r == 0)
		r = write_rows(w, rows);
	free(rows);
	return r;
}

/* ---------------------------------------------------------------- reading */

struct segment_view {
	pathprof_segment_row_fn *fn;
	void *context;
};

static int take_segment(struct pp_query *q, struct pp_row *row, void *context,
			struct pathprof_error *error)
{
	const struct segment_view *view = context;
	const struct pathprof_segment_row out = {.first = pp_row_piece(row, 0),
						 .second = pp_row_piece(row, 6),
						 .count = pp_row_count(row, 12),
						 .weight = pp_row_weight(row, 13),
						 .squares = pp_row_weight(row, 14),
						 .weight_squares = pp_row_weight(row, 15)};
	int r = pp_row_end(row, q->store, error);

	return r < 0 ? r : view->fn(view->context, &out);
}

#define SELECT_PIECES                                                                              \
	"SELECT b.build_id, b.kind, b.name, t.start, t.length, t.outcomes,"                        \
	" d.build_id, d.kind, d.name, u.start, u.length, u.outcomes, s.count, s.weight, "          \
	"s.squares,"                                                                               \
	" s.weight_squares FROM "

int pathprof_store_segments(struct pathprof_store *store, const struct pathprof_filter *filter,
			    pathprof_segment_row_fn *fn, void *context,
			    struct pathprof_error *error)
{
	struct segment_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	pp_query_add(&q, SELECT_PIECES
		     "(SELECT c.first AS first, c.second AS second, sum(c.count) AS count,"
		     " total(c.count) AS weight, 0.0 AS squares, 0.0 AS weight_squares"
		     " FROM segment_counts c WHERE 1");
	pp_query_add_window_set(&q);
	pp_query_add(&q, " GROUP BY c.first, c.second) s CROSS JOIN paths t ON t.id = s.first"
			 " CROSS JOIN binaries b ON b.id = t.binary"
			 " CROSS JOIN paths u ON u.id = s.second"
			 " CROSS JOIN binaries d ON d.id = u.binary WHERE 1");
	pp_query_add_binary(&q, "t.binary");
	return pp_query_run(&q, 0, take_segment, &view, error);
}

int pathprof_store_segment_samples(struct pathprof_store *store,
				   const struct pathprof_filter *filter,
				   pathprof_segment_row_fn *fn, void *context,
				   struct pathprof_error *error)
{
	struct segment_view view = {.fn = fn, .context = context};
	struct pp_query q;

	pp_query_begin(&q, store, filter);
	pp_query_add(&q, SELECT_PIECES
		     "(SELECT c.first AS first, c.second AS second, sum(c.samples) AS count,"
		     " total(c.weight) AS weight, " PP_SUM_SQUARES " AS squares,"
		     " " PP_SUM_WEIGHT_SQUARES " AS weight_squares"
		     " FROM segment_samples c WHERE 1");
	pp_query_add_window_set(&q);
	pp_query_add_process_set(&q);
	pp_query_add_segment_set(&q);
	pp_query_add(&q, " GROUP BY c.first, c.second) s CROSS JOIN pieces t ON t.id = s.first"
			 " CROSS JOIN binaries b ON b.id = t.binary"
			 " CROSS JOIN pieces u ON u.id = s.second"
			 " CROSS JOIN binaries d ON d.id = u.binary");
	return pp_query_run(&q, 0, take_segment, &view, error);
}
