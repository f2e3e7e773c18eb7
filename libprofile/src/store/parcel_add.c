// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Parcels into a store: each part becomes a window, and a row says of which store, slot and host
 * they are.
 *
 * Workload: some ten parcels a second, each of some thousand rows; rarely one that replaces what an
 * emptier one of the same store and slot brought. All of a parcel is one transaction.
 *
 * The processes of a parcel are workloads of a boot that no machine has: "store:" and the id of the
 * parcel's store. Locking: the writer's. Ownership: nothing of the parcel is kept.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pp_parcel_pieces.h"

struct adding {
	struct pathprof_store *store;
	const struct pathprof_parcel *parcel;
	struct pp_parcel_pieces pieces; /* what is there of its slot */
	char boot[PP_PARCEL_BOOT_LEN];
	struct pathprof_error *error;
};

/* ---------------------------------------------------------------- what is there */

/* The row of this store, slot and host; 0: there is none. */
static int find(struct adding *a, int64_t *ret_row)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(a->store, PP_STMT_PARCEL_FIND, &stmt, a->error);

	*ret_row = 0;
	if (r < 0)
		return r;
	sqlite3_bind_blob(stmt, 1, a->parcel->store, sizeof(a->parcel->store), SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, a->parcel->slot_s);
	pp_sql_bind_text(stmt, 3, a->parcel->host.name);
	r = pp_sql_step(a->store, stmt, a->error);
	if (r > 0) {
		struct pp_row row = PP_ROW(stmt);

		*ret_row = pp_row_int(&row, 0, 1, INT64_MAX);
		r = pp_row_end(&row, a->store, a->error);
	}
	sqlite3_reset(stmt);
	return r;
}

/* Refuses a parcel of this store itself, whose windows would be counted twice. */
static int check_other(const struct adding *a)
{
	uint8_t own[PATHPROF_PARCEL_STORE_BYTES];
	int r = pp_store_identity(a->store, own, a->error);

	if (r == 0 && !memcmp(own, a->parcel->store, sizeof(own)))
		return pathprof_fail(a->error, -EINVAL,
				     "%s: the parcel was made of this database, which has its "
				     "windows already: add it to another one",
				     a->store->file);
	return r;
}

/* ---------------------------------------------------------------- writing */

/* "INSERT ... VALUES (1),(2)" of the windows that go; NULL: no memory. */
static char *name_gone(const struct pp_parcel_pieces *pieces)
{
	char *text = sqlite3_mprintf("INSERT INTO temp.gone_windows VALUES (0)");

	for (size_t i = 0; text && i < pieces->cnt; i++)
		if (pieces->list[i].gone)
			text = sqlite3_mprintf("%z,(%lld)", text,
					       (long long)pieces->list[i].window);
	return text;
}

static int remove_windows(struct adding *a)
{
	char *which = name_gone(&a->pieces);
	int r;

	if (!which)
		return pathprof_fail(a->error, -ENOMEM, "out of memory");
	r = pp_store_remove_windows(a->store, which, a->error);
	sqlite3_free(which);
	return r;
}

/* Windows that the host's row stands for beside those of the parcel. */
static int64_t other_windows(const struct adding *a, int64_t row)
{
	int64_t cnt = 0;

	for (size_t i = 0; i < a->pieces.cnt; i++)
		if (a->pieces.list[i].parcel == row && !a->pieces.list[i].gone)
			cnt += (int64_t)a->pieces.list[i].key_cnt;
	return cnt;
}

static int write_row(struct adding *a, int64_t *ret_row)
{
	const struct pathprof_parcel_host *host = &a->parcel->host;
	sqlite3_stmt *stmt = NULL;
	int r = find(a, ret_row);

	if (r == 0)
		r = pp_sql_get(a->store, PP_STMT_PARCEL_SET, &stmt, a->error);
	if (r < 0)
		return r;
	if (*ret_row)
		sqlite3_bind_int64(stmt, 1, *ret_row);
	sqlite3_bind_blob(stmt, 2, a->parcel->store, sizeof(a->parcel->store), SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, a->parcel->slot_s);
	sqlite3_bind_int64(stmt, 4,
			   pathprof_parcel_window_cnt(a->parcel) + other_windows(a, *ret_row));
	pp_sql_bind_text(stmt, 5, host->name);
	pp_sql_bind_text(stmt, 6, host->model);
	pp_sql_bind_text(stmt, 7, host->kernel);
	pp_sql_bind_text(stmt, 8, host->os);
	sqlite3_bind_int64(stmt, 9, host->cpus);
	sqlite3_bind_int64(stmt, 10, host->sent_ns);
	pp_sql_bind_text(stmt, 11, host->labels);
	r = pp_sql_run(a->store, stmt, a->error);
	if (r == 0 && !*ret_row)
		*ret_row = sqlite3_last_insert_rowid(a->store->db);
	return r;
}

static int write_piece(struct adding *a, int64_t row, int64_t window,
		       const struct pathprof_parcel_part *part)
{
	sqlite3_stmt *stmt = NULL;
	size_t bytes = 0;
	uint8_t *recorded = pp_parcel_pieces_recorded(part, &bytes);
	int r = recorded ? pp_sql_get(a->store, PP_STMT_PARCEL_WINDOW_ADD, &stmt, a->error)
			 : pathprof_fail(a->error, -ENOMEM, "out of memory");

	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, row);
		sqlite3_bind_int64(stmt, 2, window);
		sqlite3_bind_blob64(stmt, 3, recorded, bytes, SQLITE_STATIC);
		r = pp_sql_run(a->store, stmt, a->error);
	}
	free(recorded);
	return r;
}

static int write_part(struct adding *a, int64_t row, const struct pathprof_parcel_part *part)
{
	int64_t window = 0;
	int r = pp_store_write_window(a->store, &part->profile, a->boot, &window, a->error);

	return r ? r : write_piece(a, row, window, part);
}

static int write_all(struct adding *a, bool replaces)
{
	int64_t row = 0;
	int r = pp_sql_begin(a->store, a->error);

	if (r < 0)
		return r;
	if (replaces)
		r = remove_windows(a);
	if (r == 0)
		r = write_row(a, &row);
	for (uint32_t i = 0; r == 0 && i < a->parcel->part_cnt; i++)
		r = write_part(a, row, &a->parcel->parts[i]);
	return pp_sql_end(a->store, r, a->error);
}

/* Foreign keys are off while windows are removed: see retain.c. */
static int replace(struct adding *a)
{
	int r = pp_sql_exec(a->store, "PRAGMA foreign_keys=OFF", a->error);

	if (r == 0)
		r = write_all(a, true);
	int on = pp_sql_exec(a->store, "PRAGMA foreign_keys=ON", r ? NULL : a->error);
	return r ? r : on;
}

static bool is_any_gone(const struct pp_parcel_pieces *pieces)
{
	for (size_t i = 0; i < pieces->cnt; i++)
		if (pieces->list[i].gone)
			return true;
	return false;
}

static int add(struct adding *a, enum pathprof_parcel_added *ret_added)
{
	enum pathprof_parcel_added added = PATHPROF_PARCEL_KNOWN;
	int r = pp_parcel_pieces_judge(&a->pieces, a->parcel, &added, a->error);

	if (r == 0 && added != PATHPROF_PARCEL_KNOWN) {
		pp_parcel_boot(a->parcel->store, a->boot);
		r = is_any_gone(&a->pieces) ? replace(a) : write_all(a, false);
		pp_store_limit_log(a->store);
	}
	if (r == 0)
		*ret_added = added;
	return r;
}

int pathprof_store_add_parcel(struct pathprof_store *store, const struct pathprof_parcel *parcel,
			      enum pathprof_parcel_added *ret_added, struct pathprof_error *error)
{
	struct adding a = {.store = store, .parcel = parcel, .error = error};
	int r = pp_sql_writable(store, error);

	if (r == 0 && !pathprof_parcel_window_cnt(parcel))
		r = pathprof_fail(error, -EINVAL, "the parcel has no windows");
	if (r == 0)
		r = check_other(&a);
	if (r == 0)
		r = pp_parcel_pieces_read(&a.pieces, store, parcel->store, parcel->slot_s,
					  parcel->host.name, error);
	if (r == 0)
		r = add(&a, ret_added);
	pp_parcel_pieces_release(&a.pieces);
	return r;
}
