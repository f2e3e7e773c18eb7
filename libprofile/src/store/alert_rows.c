// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Alerts' states, kept over restarts, written with what is to be told of them.
 *
 * Workload: some hundred rows at most, those that changed rewritten once a window in one
 * transaction. Locking: the writer's for writing, none for reading.
 */
#include "pp_store.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- writing */

static bool is_sound(const struct pathprof_alert_row *row)
{
	return row->rule && row->rule[0] && row->binary && isfinite(row->state.value) &&
	       pathprof_alert_state_check(&row->state) == 0 &&
	       (!row->json ||
		strnlen(row->json, PP_ALERT_JSON_MAX_BYTES) < PP_ALERT_JSON_MAX_BYTES);
}

static bool tells_nothing(const struct pathprof_alert_row *row)
{
	return row->state.phase == PATHPROF_ALERT_QUIET && !row->state.fired_ns;
}

static void bind_key(sqlite3_stmt *stmt, const struct pathprof_alert_row *row)
{
	pp_sql_bind_text(stmt, 1, row->rule);
	pp_sql_bind_text(stmt, 2, row->binary);
	pp_sql_bind_text(stmt, 3, row->container);
}

static void bind_state(sqlite3_stmt *stmt, const struct pathprof_alert_row *row)
{
	const struct pathprof_alert_state *s = &row->state;

	pp_sql_bind_text(stmt, 4, row->baseline);
	sqlite3_bind_int64(stmt, 5, s->phase);
	sqlite3_bind_int64(stmt, 6, s->streak_cnt);
	sqlite3_bind_int64(stmt, 7, s->since_ns);
	sqlite3_bind_int64(stmt, 8, s->fired_ns);
	sqlite3_bind_int64(stmt, 9, s->resolved_ns);
	sqlite3_bind_int64(stmt, 10, s->seen_ns);
	sqlite3_bind_double(stmt, 11, s->value);
	pp_sql_bind_text(stmt, 12, row->json);
}

static int set_row(struct pathprof_store *store, const struct pathprof_alert_row *row,
		   struct pathprof_error *error)
{
	bool gone = tells_nothing(row);
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, gone ? PP_STMT_ALERT_REMOVE : PP_STMT_ALERT_SET, &stmt, error);

	if (r < 0)
		return r;
	bind_key(stmt, row);
	if (!gone)
		bind_state(stmt, row);
	return pp_sql_run(store, stmt, error);
}

int pathprof_store_set_alerts(struct pathprof_store *store, const struct pathprof_alert_row *rows,
			      size_t cnt, const struct pathprof_message_row *messages,
			      size_t message_cnt, struct pathprof_error *error)
{
	int r = pp_sql_writable(store, error);

	for (size_t i = 0; r == 0 && i < cnt; i++)
		if (!is_sound(&rows[i]))
			r = pathprof_fail(error, -EINVAL, "%s: an alert's state is impossible",
					  store->file);
	if (r == 0)
		r = pp_store_check_messages(store, messages, message_cnt, error);
	if (r == 0)
		r = pp_sql_begin(store, error);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < cnt; i++)
		r = set_row(store, &rows[i], error);
	if (r == 0 && message_cnt)
		r = pp_store_add_messages(store, messages, message_cnt, error);
	return pp_sql_end(store, r, error);
}

/* ---------------------------------------------------------------- reading */

static void take_state(struct pp_row *row, struct pathprof_alert_state *ret_state)
{
	ret_state->phase = (uint32_t)pp_row_int(row, 4, 0, PATHPROF_ALERT_PHASE_CNT - 1);
	ret_state->streak_cnt = pp_row_u32(row, 5);
	ret_state->since_ns = pp_row_time(row, 6);
	ret_state->fired_ns = pp_row_time(row, 7);
	ret_state->resolved_ns = pp_row_time(row, 8);
	ret_state->seen_ns = pp_row_time(row, 9);
	ret_state->value = sqlite3_column_double(row->stmt, 10);
}

/* Skips an impossible row: its alert starts from a new state, and the others are still read. */
static int take_row(sqlite3_stmt *stmt, pathprof_alert_row_fn *fn, void *context)
{
	struct pp_row row = PP_ROW(stmt);
	struct pathprof_alert_row out = {
		.rule = pp_row_text(&row, 0),
		.binary = pp_row_text(&row, 1),
		.container = pp_row_text(&row, 2),
		.baseline = pp_row_text(&row, 3),
		.json = pp_row_text(&row, 11),
	};

	take_state(&row, &out.state);
	if (row.bad_column >= 0 || !is_sound(&out))
		return 0;
	return fn(context, &out);
}

int pathprof_store_alerts(struct pathprof_store *store, pathprof_alert_row_fn *fn, void *context,
			  struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_ALERTS, &stmt, error);

	if (r < 0)
		return r;
	while ((r = pp_sql_step(store, stmt, error)) > 0) {
		r = take_row(stmt, fn, context);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}
