// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Parcels into a store: each part becomes a window, and a row says of which store and slot it is.
 *
 * Workload: some ten parcels a second, each of some thousand rows; rarely one that replaces what an
 * emptier one of the same store and slot brought. All of a parcel is one transaction.
 *
 * The processes of a parcel are workloads of a boot that no machine has: "store:" and the id of the
 * parcel's store. Locking: the writer's. Ownership: nothing of the parcel is kept.
 */
#include "pathprof/parcel_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pp_store.h"

#define BOOT_PREFIX "store:"
#define BOOT_LEN    (sizeof(BOOT_PREFIX) + 2 * PATHPROF_PARCEL_STORE_BYTES)

struct adding {
	struct pathprof_store *store;
	const struct pathprof_parcel *parcel;
	int64_t row;         /* of parcels, 0: none yet */
	uint32_t window_cnt; /* that it stands for */
	char boot[BOOT_LEN];
	struct pathprof_error *error;
};

/* ---------------------------------------------------------------- what is there */

static int find(struct adding *a)
{
	sqlite3_stmt *stmt = NULL;
	int code = pp_sql_get(a->store, PP_STMT_PARCEL_FIND, &stmt, a->error);

	if (code < 0)
		return code;
	sqlite3_bind_blob(stmt, 1, a->parcel->store, sizeof(a->parcel->store), SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, a->parcel->slot_s);
	code = pp_sql_step(a->store, stmt, a->error);
	if (code > 0) {
		struct pp_row row = PP_ROW(stmt);

		a->row = pp_row_int(&row, 0, 1, INT64_MAX);
		a->window_cnt = pp_row_u32(&row, 1);
		code = pp_row_end(&row, a->store, a->error);
	}
	sqlite3_reset(stmt);
	return code;
}

/* Its windows would be counted once more. */
static int check_other(const struct adding *a)
{
	uint8_t own[PATHPROF_PARCEL_STORE_BYTES];
	int code = pp_store_identity(a->store, own, a->error);

	if (code == 0 && !memcmp(own, a->parcel->store, sizeof(own)))
		return pathprof_fail(a->error, -EINVAL,
				     "%s: the parcel was made of this database, which has its "
				     "windows already: add it to another one",
				     a->store->file);
	return code;
}

/* ---------------------------------------------------------------- writing */

static int remove_windows(struct adding *a)
{
	char which[128];

	snprintf(which, sizeof(which),
		 "INSERT INTO temp.gone_windows SELECT window FROM parcel_windows"
		 " WHERE parcel = %lld",
		 (long long)a->row);
	return pp_store_remove_windows(a->store, which, a->error);
}

static int write_row(struct adding *a)
{
	const struct pathprof_parcel_host *host = &a->parcel->host;
	sqlite3_stmt *stmt = NULL;
	int code = pp_sql_get(a->store, PP_STMT_PARCEL_SET, &stmt, a->error);

	if (code < 0)
		return code;
	if (a->row)
		sqlite3_bind_int64(stmt, 1, a->row);
	sqlite3_bind_blob(stmt, 2, a->parcel->store, sizeof(a->parcel->store), SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, a->parcel->slot_s);
	sqlite3_bind_int64(stmt, 4, pathprof_parcel_window_cnt(a->parcel));
	pp_sql_bind_text(stmt, 5, host->name);
	pp_sql_bind_text(stmt, 6, host->model);
	pp_sql_bind_text(stmt, 7, host->kernel);
	pp_sql_bind_text(stmt, 8, host->os);
	sqlite3_bind_int64(stmt, 9, host->cpus);
	sqlite3_bind_int64(stmt, 10, host->sent_ns);
	code = pp_sql_run(a->store, stmt, a->error);
	if (code == 0 && !a->row)
		a->row = sqlite3_last_insert_rowid(a->store->db);
	return code;
}

static int write_part(struct adding *a, const struct pathprof_parcel_part *part)
{
	sqlite3_stmt *stmt = NULL;
	int64_t window = 0;
	int code = pp_store_write_window(a->store, &part->profile, a->boot, &window, a->error);

	if (code == 0)
		code = pp_sql_get(a->store, PP_STMT_PARCEL_WINDOW_ADD, &stmt, a->error);
	if (code < 0)
		return code;
	sqlite3_bind_int64(stmt, 1, a->row);
	sqlite3_bind_int64(stmt, 2, window);
	return pp_sql_run(a->store, stmt, a->error);
}

static int write_all(struct adding *a, bool replaces)
{
	int code = pp_sql_begin(a->store, a->error);

	if (code < 0)
		return code;
	if (replaces)
		code = remove_windows(a);
	if (code == 0)
		code = write_row(a);
	for (uint32_t i = 0; code == 0 && i < a->parcel->part_cnt; i++)
		code = write_part(a, &a->parcel->parts[i]);
	return pp_sql_end(a->store, code, a->error);
}

/* Foreign keys are off while windows are removed: see retain.c. */
static int replace(struct adding *a)
{
	int code = pp_sql_exec(a->store, "PRAGMA foreign_keys=OFF", a->error);

	if (code == 0)
		code = write_all(a, true);
	int on = pp_sql_exec(a->store, "PRAGMA foreign_keys=ON", code ? NULL : a->error);
	return code ? code : on;
}

static void name_boot(struct adding *a)
{
	char *at = a->boot + snprintf(a->boot, sizeof(a->boot), BOOT_PREFIX);

	for (int i = 0; i < PATHPROF_PARCEL_STORE_BYTES; i++)
		at += snprintf(at, 3, "%02x", a->parcel->store[i]);
}

int pathprof_store_add_parcel(struct pathprof_store *store, const struct pathprof_parcel *parcel,
			      enum pathprof_parcel_added *ret_added, struct pathprof_error *error)
{
	struct adding a = {.store = store, .parcel = parcel, .error = error};
	bool replaces;
	int code = pp_sql_writable(store, error);

	if (code == 0 && !pathprof_parcel_window_cnt(parcel))
		code = pathprof_fail(error, -EINVAL, "the parcel has no windows");
	if (code == 0)
		code = check_other(&a);
	if (code == 0)
		code = find(&a);
	if (code < 0)
		return code;
	if (a.window_cnt >= pathprof_parcel_window_cnt(parcel)) {
		*ret_added = PATHPROF_PARCEL_KNOWN;
		return 0;
	}
	name_boot(&a);
	replaces = a.row != 0;
	code = replaces ? replace(&a) : write_all(&a, false);
	if (code < 0)
		return code;
	pp_store_limit_log(store);
	*ret_added = replaces ? PATHPROF_PARCEL_REPLACED : PATHPROF_PARCEL_ADDED;
	return 0;
}
