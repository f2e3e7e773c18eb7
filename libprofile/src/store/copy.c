// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Reading a database of an older schema: its pages are copied into a private temporary database,
 * and the copy is migrated. The file stays as it is, so the pathprof that wrote it still reads it.
 *
 * The copy lies in memory up to COPY_CACHE. The rest goes to a temporary file, which SQLite unlinks
 * as soon as it is open. So the room in the directory of temporary files bounds the size of what
 * can be read, and memory does not.
 *
 * Workload: once an open. Locking: the source is read in one transaction, so a copy that is taken
 * beside a writer is whole. Ownership: the store owns the copy.
 *
 * Source: https://sqlite.org/backup.html, https://sqlite.org/tempfiles.html
 */
#include "pp_store.h"

#include <errno.h>
#include <string.h>

#include "pathprof/schema.h"

#define COPY_CACHE "-65536" /* KiB */

static bool is_of_temporary_file(int code)
{
	return code == -ENOSPC || code == -EACCES || code == -EROFS || code == -EIO;
}

static int explain(struct pathprof_store *store, int code, const struct pathprof_error *why,
		   struct pathprof_error *error)
{
	uint64_t bytes = pp_store_file_bytes(store, "") + pp_store_file_bytes(store, "-wal");
	/* A migration may write a table anew before it drops the old one. */
	unsigned long long mib = (2 * bytes >> 20) + 1;

	if (is_of_temporary_file(code))
		return pathprof_fail(error, code,
				     "%s was written by an older pathprof and is read through a "
				     "copy, which cannot be made (%s): set TMPDIR to a directory "
				     "with room for %llu MiB",
				     store->file, strerror(-code), mib);
	return pathprof_fail(error, code,
			     "%s was written by an older pathprof, and no copy in this one's "
			     "schema can be made of it: %s",
			     store->file, why->text);
}

static int copy_pages(struct pathprof_store *store, sqlite3 *from, struct pathprof_error *error)
{
	sqlite3_backup *backup = sqlite3_backup_init(store->db, "main", from, "main");

	if (!backup)
		return pp_sql_fail(store, error, "cannot be copied");
	sqlite3_backup_step(backup, -1);
	if (sqlite3_backup_finish(backup) != SQLITE_OK)
		return pp_sql_fail(store, error, "cannot be copied");
	return 0;
}

static int make_copy(struct pathprof_store *store, sqlite3 *from, struct pathprof_error *error)
{
	int r = pp_sql_exec(store, "PRAGMA cache_size=" COPY_CACHE, error);

	if (r == 0)
		r = copy_pages(store, from, error);
	if (r == 0)
		r = pp_store_check_still(store, error);
	/* No other process uses the copy. */
	store->as_it_lies = false;
	if (r == 0)
		r = pp_store_migrate(store, pathprof_schema_sqlite, error);
	return r == 0 ? pp_store_check_shape(store, error) : r;
}

int pp_store_read_copy(struct pathprof_store *store, struct pathprof_error *error)
{
	struct pathprof_error why = {""};
	sqlite3 *from = store->db;
	int r;

	store->db = NULL;
	r = pp_store_connect(store, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &why);
	if (r == 0)
		r = make_copy(store, from, &why);
	sqlite3_close(from);
	return r < 0 ? explain(store, r, &why, error) : 0;
}
