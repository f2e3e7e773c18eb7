// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Messages about alerts: written together with the alerts' states, read by the programs that send
 * them.
 *
 * Workload: a few rows an hour, hundreds at once when a fleet rolls out, some thousand kept. Each
 * addition looks through them for those that may go. Locking: the writer's for writing, none for
 * reading.
 */
#include "pp_store.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- writing */

static bool is_text(const char *text)
{
	return text && strnlen(text, PP_ALERT_JSON_MAX_BYTES) < PP_ALERT_JSON_MAX_BYTES;
}

static bool is_sound(const struct pathprof_message_row *row)
{
	return row->rule && row->rule[0] && is_text(row->rule) && is_text(row->binary) &&
	       is_text(row->container) && is_text(row->baseline) && is_text(row->metric) &&
	       is_text(row->summary) && is_text(row->json) && isfinite(row->value) &&
	       isfinite(row->threshold);
}

int pp_store_check_messages(struct pathprof_store *store, const struct pathprof_message_row *rows,
			    size_t cnt, struct pathprof_error *error)
{
	for (size_t i = 0; i < cnt; i++)
		if (!is_sound(&rows[i]))
			return pathprof_fail(error, -EINVAL, "%s: a message is impossible",
					     store->file);
	return 0;
}

static int add_row(struct pathprof_store *store, const struct pathprof_message_row *row,
		   struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_MESSAGE_ADD, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, row->time_ns);
	sqlite3_bind_int64(stmt, 2, row->fired);
	pp_sql_bind_text(stmt, 3, row->rule);
	pp_sql_bind_text(stmt, 4, row->binary);
	pp_sql_bind_text(stmt, 5, row->container);
	pp_sql_bind_text(stmt, 6, row->baseline);
	pp_sql_bind_text(stmt, 7, row->metric);
	sqlite3_bind_double(stmt, 8, row->value);
	sqlite3_bind_double(stmt, 9, row->threshold);
	sqlite3_bind_int64(stmt, 10, row->begin_ns);
	sqlite3_bind_int64(stmt, 11, row->end_ns);
	pp_sql_bind_text(stmt, 12, row->summary);
	pp_sql_bind_text(stmt, 13, row->json);
	return pp_sql_run(store, stmt, error);
}

int pp_store_add_messages(struct pathprof_store *store, const struct pathprof_message_row *rows,
			  size_t cnt, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < cnt; i++)
		r = add_row(store, &rows[i], error);
	if (r == 0)
		r = pp_sql_get(store, PP_STMT_MESSAGES_TRIM, &stmt, error);
	return r < 0 ? r : pp_sql_run(store, stmt, error);
}

/* ---------------------------------------------------------------- reading */

static void take_columns(struct pp_row *row, struct pathprof_message_row *ret_row)
{
	*ret_row = (struct pathprof_message_row){
		.id = pp_row_int(row, 0, 1, INT64_MAX),
		.time_ns = pp_row_time(row, 1),
		.fired = pp_row_int(row, 2, 0, 1),
		.rule = pp_row_text(row, 3),
		.binary = pp_row_text(row, 4),
		.container = pp_row_text(row, 5),
		.baseline = pp_row_text(row, 6),
		.metric = pp_row_text(row, 7),
		.value = sqlite3_column_double(row->stmt, 8),
		.threshold = sqlite3_column_double(row->stmt, 9),
		.begin_ns = pp_row_time(row, 10),
		.end_ns = pp_row_time(row, 11),
		.summary = pp_row_text(row, 12),
		.json = pp_row_text(row, 13),
	};
}

static int read_all(struct pathprof_store *store, sqlite3_stmt *stmt, pathprof_message_row_fn *fn,
		    void *context, struct pathprof_error *error)
{
	int r;

	while ((r = pp_sql_step(store, stmt, error)) > 0) {
		struct pp_row row = PP_ROW(stmt);
		struct pathprof_message_row out;

		take_columns(&row, &out);
		if (row.bad_column >= 0 || !is_sound(&out))
			continue;
		r = fn(context, &out);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}

int pathprof_store_messages(struct pathprof_store *store, int64_t after,
			    pathprof_message_row_fn *fn, void *context,
			    struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_MESSAGES, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, after);
	return read_all(store, stmt, fn, context, error);
}

int pathprof_store_firing(struct pathprof_store *store, pathprof_message_row_fn *fn, void *context,
			  struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_MESSAGES_FIRING, &stmt, error);

	return r < 0 ? r : read_all(store, stmt, fn, context, error);
}

int pathprof_store_newest_message(struct pathprof_store *store, int64_t *ret_id,
				  char ret_identity[PATHPROF_STORE_IDENTITY_LEN],
				  struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_MESSAGE_NEWEST, &stmt, error);
	const char *identity;

	if (r < 0)
		return r;
	r = pp_sql_step(store, stmt, error);
	if (r > 0) {
		struct pp_row row = PP_ROW(stmt);
		int64_t id = pp_row_int(&row, 0, 0, INT64_MAX);

		identity = pp_row_text(&row, 1);
		if (row.bad_column < 0 && strnlen(identity, PATHPROF_STORE_IDENTITY_LEN) ==
						  PATHPROF_STORE_IDENTITY_LEN - 1) {
			*ret_id = id;
			memcpy(ret_identity, identity, PATHPROF_STORE_IDENTITY_LEN);
			r = 0;
		} else {
			r = pathprof_fail(error, -EBADMSG, "%s: it has no identity", store->file);
		}
	}
	sqlite3_reset(stmt);
	return r;
}
