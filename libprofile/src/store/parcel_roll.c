// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Rolling: windows that parcels of one store and host brought in an hour become one window of each
 * kind. Sums stay, and so does which recorded windows are in them; the time of each within the hour
 * goes.
 *
 * All of an hour is one transaction: readers see the windows of before or those of after, and a
 * process killed meanwhile leaves those of before. The new windows are written before the old ones
 * go, so that names of what both refer to stay.
 *
 * Workload: an hour of a host at a time, 12 parcels of some thousand counts, some 100 ms; the
 * caller says how often. Locking: the writer's. Ownership: nothing is kept.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pp_parcel_pieces.h"

#define HOUR_S 3600

/* A parcel's part of a window. */
struct piece {
	int64_t parcel, window;
	uint32_t part; /* of the sum: its window's kind */
	uint8_t *recorded;
	size_t bytes;
};

struct roll {
	struct pathprof_store *store;
	struct pathprof_parcel sum; /* its slot is the hour */
	struct piece *pieces;       /* by window */
	size_t cnt;
	struct pathprof_error *error;
};

/* ---------------------------------------------------------------- what is to be rolled */

static int take_first(struct roll *roll, sqlite3_stmt *stmt)
{
	struct pp_row row = PP_ROW(stmt);
	const void *id = sqlite3_column_blob(stmt, 0);

	if (!id || sqlite3_column_bytes(stmt, 0) != PATHPROF_PARCEL_STORE_BYTES)
		row.bad_column = 0;
	else
		memcpy(roll->sum.store, id, PATHPROF_PARCEL_STORE_BYTES);
	snprintf(roll->sum.host.name, sizeof(roll->sum.host.name), "%s", pp_row_text(&row, 1));
	roll->sum.slot_s = pp_row_int(&row, 2, 0, INT64_MAX / 1000000000) / HOUR_S * HOUR_S;
	return pp_row_end(&row, roll->store, roll->error);
}

/* The oldest hour that was not rolled. 0: there is none. */
static int find_hour(struct roll *roll, int64_t before_s)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(roll->store,
			       "SELECT store, host, slot FROM parcels WHERE NOT rolled"
			       " AND slot < ?1 ORDER BY slot LIMIT 1",
			       &stmt, roll->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, before_s / HOUR_S * HOUR_S);
	r = pp_sql_step(roll->store, stmt, roll->error);
	if (r > 0) {
		int bad = take_first(roll, stmt);

		r = bad < 0 ? bad : 1;
	}
	sqlite3_finalize(stmt);
	return r;
}

static int bind_hour(struct roll *roll, const char *sql, sqlite3_stmt **ret_stmt)
{
	int r = pp_sql_prepare(roll->store, sql, ret_stmt, roll->error);

	if (r < 0)
		return r;
	sqlite3_bind_blob(*ret_stmt, 1, roll->sum.store, sizeof(roll->sum.store), SQLITE_STATIC);
	pp_sql_bind_text(*ret_stmt, 2, roll->sum.host.name);
	sqlite3_bind_int64(*ret_stmt, 3, roll->sum.slot_s);
	sqlite3_bind_int64(*ret_stmt, 4, roll->sum.slot_s + HOUR_S);
	return 0;
}

static int take_piece(struct roll *roll, sqlite3_stmt *stmt)
{
	struct pp_row row = PP_ROW(stmt);
	struct piece *piece;

	if (pp_resize(&roll->pieces, roll->cnt + 1) < 0)
		return pathprof_fail(roll->error, -ENOMEM, "out of memory");
	piece = &roll->pieces[roll->cnt];
	*piece = (struct piece){
		.parcel = pp_row_int(&row, 0, 1, INT64_MAX),
		.window = pp_row_int(&row, 1, 1, INT64_MAX),
		.bytes = (size_t)sqlite3_column_bytes(stmt, 2),
	};
	piece->recorded = malloc(piece->bytes + 1);
	if (!piece->recorded)
		return pathprof_fail(roll->error, -ENOMEM, "out of memory");
	roll->cnt++;
	if (piece->bytes)
		memcpy(piece->recorded, sqlite3_column_blob(stmt, 2), piece->bytes);
	return pp_row_end(&row, roll->store, roll->error);
}

/* Leaves out pieces whose windows are not known: a fuller parcel may still take their place. */
static int read_pieces(struct roll *roll)
{
	sqlite3_stmt *stmt = NULL;
	int code =
		bind_hour(roll,
			  "SELECT p.id, c.window, c.recorded FROM parcels p CROSS JOIN"
			  " parcel_windows c ON c.parcel = p.id WHERE p.store = ?1 AND p.host = ?2"
			  " AND p.slot >= ?3 AND p.slot < ?4 AND c.recorded IS NOT NULL"
			  " ORDER BY c.window, p.id",
			  &stmt);

	if (code < 0)
		return code;
	while ((code = pp_sql_step(roll->store, stmt, roll->error)) > 0) {
		code = take_piece(roll, stmt);
		if (code < 0)
			break;
	}
	sqlite3_finalize(stmt);
	return code;
}

static bool is_first_of_window(const struct roll *roll, size_t at)
{
	return !at || roll->pieces[at - 1].window != roll->pieces[at].window;
}

/* Adds up the windows, each once. */
static int sum_up(struct roll *roll)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < roll->cnt; i++) {
		if (is_first_of_window(roll, i))
			r = pp_store_take_window(roll->store, &roll->sum, roll->pieces[i].window,
						 &roll->pieces[i].part, roll->error);
		else
			roll->pieces[i].part = roll->pieces[i - 1].part;
	}
	return r;
}

/* ---------------------------------------------------------------- writing */

/* All that one parcel recorded in windows of this part. */
static int write_parcel(struct roll *roll, int64_t parcel, uint32_t part, int64_t window)
{
	sqlite3_stmt *stmt = NULL;
	uint8_t *recorded = NULL;
	size_t bytes = 0;
	int r = pp_sql_get(roll->store, PP_STMT_PARCEL_WINDOW_ADD, &stmt, roll->error);

	for (size_t i = 0; r == 0 && i < roll->cnt; i++) {
		const struct piece *piece = &roll->pieces[i];

		if (piece->parcel != parcel || piece->part != part)
			continue;
		if (pp_resize(&recorded, bytes + piece->bytes + 1) < 0)
			r = pathprof_fail(roll->error, -ENOMEM, "out of memory");
		else
			memcpy(recorded + bytes, piece->recorded, piece->bytes);
		bytes += piece->bytes;
	}
	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, parcel);
		sqlite3_bind_int64(stmt, 2, window);
		sqlite3_bind_blob64(stmt, 3, recorded, bytes, SQLITE_STATIC);
		r = pp_sql_run(roll->store, stmt, roll->error);
	}
	free(recorded);
	return r;
}

static bool is_first_of_parcel(const struct roll *roll, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (roll->pieces[i].parcel == roll->pieces[at].parcel &&
		    roll->pieces[i].part == roll->pieces[at].part)
			return false;
	return true;
}

static int write_part(struct roll *roll, uint32_t part)
{
	char boot[PP_PARCEL_BOOT_LEN];
	int64_t window = 0;
	int code =
		pp_store_write_window(roll->store, &roll->sum.parts[part].profile,
				      pp_parcel_boot(roll->sum.store, boot), &window, roll->error);

	for (size_t i = 0; code == 0 && i < roll->cnt; i++)
		if (roll->pieces[i].part == part && is_first_of_parcel(roll, i))
			code = write_parcel(roll, roll->pieces[i].parcel, part, window);
	return code;
}

/* A window that is alone of its kind stays. */
static bool is_alone(const struct roll *roll, uint32_t part)
{
	return roll->sum.parts[part].window_cnt < 2;
}

static int remove_old(struct roll *roll)
{
	char *which = sqlite3_mprintf("INSERT INTO temp.gone_windows VALUES (0)");
	int r;

	for (size_t i = 0; which && i < roll->cnt; i++)
		if (is_first_of_window(roll, i) && !is_alone(roll, roll->pieces[i].part))
			which = sqlite3_mprintf("%z,(%lld)", which,
						(long long)roll->pieces[i].window);
	if (!which)
		return pathprof_fail(roll->error, -ENOMEM, "out of memory");
	r = pp_store_remove_windows(roll->store, which, roll->error);
	sqlite3_free(which);
	return r;
}

static int mark(struct roll *roll)
{
	sqlite3_stmt *stmt = NULL;
	int r = bind_hour(roll,
			  "UPDATE parcels SET rolled = 1 WHERE store = ?1 AND host = ?2"
			  " AND slot >= ?3 AND slot < ?4",
			  &stmt);

	if (r < 0)
		return r;
	r = pp_sql_step(roll->store, stmt, roll->error);
	sqlite3_finalize(stmt);
	return r;
}

static int write_all(struct roll *roll)
{
	bool any = false;
	int r = pp_sql_begin(roll->store, roll->error);

	if (r < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < roll->sum.part_cnt; i++) {
		if (is_alone(roll, i))
			continue;
		any = true;
		r = write_part(roll, i);
	}
	if (r == 0 && any)
		r = remove_old(roll);
	if (r == 0)
		r = mark(roll);
	return pp_sql_end(roll->store, r, roll->error);
}

/* Foreign keys are off while windows are removed: see retain.c. */
static int write_unchecked(struct roll *roll)
{
	int r = pp_sql_exec(roll->store, "PRAGMA foreign_keys=OFF", roll->error);
	int on;

	if (r == 0)
		r = write_all(roll);
	on = pp_sql_exec(roll->store, "PRAGMA foreign_keys=ON", r ? NULL : roll->error);
	return r ? r : on;
}

/* ---------------------------------------------------------------- an hour */

static void release(struct roll *roll)
{
	for (size_t i = 0; i < roll->cnt; i++)
		free(roll->pieces[i].recorded);
	free(roll->pieces);
	pathprof_parcel_release(&roll->sum);
}

/* More than a sum can hold: it stays as it is, and is not looked at again. */
static int give_up(struct roll *roll)
{
	pathprof_parcel_release(&roll->sum);
	roll->sum.parts = NULL;
	roll->sum.part_cnt = 0;
	return write_unchecked(roll);
}

int pathprof_store_roll(struct pathprof_store *store, int64_t before_s, bool *ret_rolled,
			struct pathprof_error *error)
{
	struct roll roll = {.store = store, .error = error};
	int r = pp_sql_writable(store, error);

	*ret_rolled = false;
	if (r == 0)
		r = find_hour(&roll, before_s);
	*ret_rolled = r > 0;
	if (r > 0)
		r = read_pieces(&roll);
	if (*ret_rolled && r == 0)
		r = sum_up(&roll);
	if (*ret_rolled && r == 0)
		r = write_unchecked(&roll);
	if (*ret_rolled && (r == -E2BIG || r == -ERANGE || r == -EOVERFLOW))
		r = give_up(&roll);
	pp_store_limit_log(store);
	release(&roll);
	return r;
}

int pathprof_store_roll_next(struct pathprof_store *store, int64_t before_s, int64_t *ret_hour_s,
			     struct pathprof_error *error)
{
	struct roll roll = {.store = store, .error = error};
	int r = find_hour(&roll, before_s);

	*ret_hour_s = r > 0 ? roll.sum.slot_s : -1;
	return r < 0 ? r : 0;
}
