// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Drift by window, as it was measured.
 *
 * Workload: up to some hundred rows a window, written in one transaction; read by people, newest
 * first, a page at a time. Locking: the writer's for writing, none for reading.
 */
#include "pp_store.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define SHARE_SLACK 1e-9

/* ---------------------------------------------------------------- writing */

static bool is_share(double value)
{
	return value >= 0 && value <= 1 + SHARE_SLACK;
}

static bool is_figure(double value)
{
	return isfinite(value);
}

static bool is_sound(const struct pathprof_drift_row *row)
{
	return row->binary_id.len_bytes <= PATHPROF_BUILD_ID_MAX &&
	       row->binary_id.kind <= PATHPROF_ID_JIT && row->baseline && row->baseline[0] &&
	       row->window_samples >= 0 && is_figure(row->window_samples) &&
	       row->baseline_samples >= 0 && is_figure(row->baseline_samples) &&
	       is_figure(row->kl_bits) && is_figure(row->kl_corrected_bits) &&
	       is_figure(row->kl_low_bits) && is_figure(row->kl_high_bits) &&
	       is_figure(row->angle_degrees) && is_share(row->overlap) &&
	       is_share(row->coverage_static) && is_share(row->coverage_dynamic) &&
	       is_share(row->matched);
}

/* Sums of shares may pass 1 by rounding; the schema is strict. */
static double share(double value)
{
	return value < 1 ? value : 1;
}

static void bind_row(sqlite3_stmt *stmt, const struct pathprof_drift_row *row, int64_t binary)
{
	const double figures[] = {
		row->window_samples,          row->baseline_samples, row->kl_bits,
		row->kl_corrected_bits,       row->kl_low_bits,      row->kl_high_bits,
		share(row->overlap),          row->angle_degrees,    share(row->coverage_static),
		share(row->coverage_dynamic), share(row->matched),
	};

	sqlite3_bind_int64(stmt, 1, row->window);
	sqlite3_bind_int64(stmt, 2, binary);
	pp_sql_bind_text(stmt, 3, row->container);
	pp_sql_bind_text(stmt, 4, row->baseline);
	for (int i = 0; i < (int)(sizeof(figures) / sizeof(figures[0])); i++)
		sqlite3_bind_double(stmt, 5 + i, figures[i]);
}

static int add_row(struct pathprof_store *store, const struct pathprof_drift_row *row,
		   struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int64_t binary = 0;
	int r = pp_store_binary(store, &row->binary_id, row->binary_name, row->window, &binary,
				error);

	if (r == 0)
		r = pp_sql_get(store, PP_STMT_DRIFT_ADD, &stmt, error);
	if (r < 0)
		return r;
	bind_row(stmt, row, binary);
	return pp_sql_run(store, stmt, error);
}

int pathprof_store_add_drift(struct pathprof_store *store, const struct pathprof_drift_row *rows,
			     size_t cnt, struct pathprof_error *error)
{
	int r = pp_sql_writable(store, error);

	for (size_t i = 0; r == 0 && i < cnt; i++)
		if (!is_sound(&rows[i]))
			r = pathprof_fail(error, -EINVAL, "%s: a row of drift is malformed",
					  store->file);
	if (r == 0)
		r = pp_sql_begin(store, error);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < cnt; i++)
		r = add_row(store, &rows[i], error);
	return pp_sql_end(store, r, error);
}

/* ---------------------------------------------------------------- reading */

static double figure(struct pp_row *row, int column)
{
	int type = sqlite3_column_type(row->stmt, column);
	double value = sqlite3_column_double(row->stmt, column);

	if ((type == SQLITE_FLOAT || type == SQLITE_INTEGER) && isfinite(value))
		return value;
	if (row->bad_column < 0)
		row->bad_column = column;
	return 0;
}

static void take_figures(struct pp_row *row, struct pathprof_drift_row *out)
{
	double *const figures[] = {
		&out->window_samples,    &out->baseline_samples, &out->kl_bits,
		&out->kl_corrected_bits, &out->kl_low_bits,      &out->kl_high_bits,
		&out->overlap,           &out->angle_degrees,    &out->coverage_static,
		&out->coverage_dynamic,  &out->matched,
	};

	for (int i = 0; i < (int)(sizeof(figures) / sizeof(figures[0])); i++)
		*figures[i] = figure(row, 8 + i);
}

static int take_row(struct pathprof_store *store, sqlite3_stmt *stmt, pathprof_drift_row_fn *fn,
		    void *context, struct pathprof_error *error)
{
	struct pp_row row = PP_ROW(stmt);
	struct pathprof_drift_row out = {
		.window = pp_row_int(&row, 0, INT64_MIN, INT64_MAX),
		.begin_ns = pp_row_time(&row, 1),
		.end_ns = pp_row_time(&row, 2),
		.binary_name = pp_row_text(&row, 5),
		.container = pp_row_text(&row, 6),
		.baseline = pp_row_text(&row, 7),
	};
	int r;

	pp_row_id(&row, 3, &out.binary_id);
	take_figures(&row, &out);
	r = pp_row_end(&row, store, error);
	return r < 0 ? r : fn(context, &out);
}

/* The name as a build-id's prefix in lower case, or "". */
static void take_hex(const char *name, char *hex, size_t size)
{
	size_t len = name ? strlen(name) : 0;

	hex[0] = 0;
	if (len < 4 || len >= size || strspn(name, "0123456789abcdefABCDEF") != len)
		return;
	for (size_t i = 0; i <= len; i++)
		hex[i] = (char)tolower((unsigned char)name[i]);
}

static void bind_filter(sqlite3_stmt *stmt, const struct pathprof_filter *f, const char *baseline,
			const char *hex)
{
	sqlite3_bind_int64(stmt, 1, f->since_ns);
	sqlite3_bind_int64(stmt, 2, f->until_ns);
	sqlite3_bind_int64(stmt, 3, f->window);
	pp_sql_bind_text(stmt, 4, f->binary);
	pp_sql_bind_text(stmt, 5, hex);
	pp_sql_bind_text(stmt, 6, f->container);
	pp_sql_bind_text(stmt, 7, baseline);
	sqlite3_bind_int64(stmt, 8, f->limit ? (int64_t)f->limit : -1);
	sqlite3_bind_int(stmt, 9, (int)f->kind);
}

int pathprof_store_drift(struct pathprof_store *store, const struct pathprof_filter *filter,
			 const char *baseline, pathprof_drift_row_fn *fn, void *context,
			 struct pathprof_error *error)
{
	const struct pathprof_filter all = {0}, *f = filter ? filter : &all;
	char hex[PATHPROF_BUILD_ID_TEXT_LEN];
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_DRIFT_FIND, &stmt, error);

	if (r < 0)
		return r;
	take_hex(f->binary, hex, sizeof(hex));
	bind_filter(stmt, f, baseline, hex);
	while ((r = pp_sql_step(store, stmt, error)) > 0) {
		r = take_row(store, stmt, fn, context, error);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}
