// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The schema's version: which migrations a database has seen, and the ones it still needs.
 *
 * PRAGMA user_version counts the migrations applied. Each runs in one transaction with its count,
 * all of a new store in one, so a process killed in between leaves the version before or the one
 * after, and no new store that looks like an old one. Workload: at most once an open. Locking: the
 * writer's lock is held. Ownership: migrations belong to the caller.
 */
#include "pp_store.h"

#include <errno.h>
#include <stdio.h>

unsigned int pp_store_schema_known(const char *const *migrations)
{
	unsigned int cnt = 0;

	while (migrations[cnt])
		cnt++;
	return cnt;
}

int pp_store_schema(struct pathprof_store *store, const char *const *migrations,
		    unsigned int *ret_schema, struct pathprof_error *error)
{
	int64_t version = 0, known = pp_store_schema_known(migrations);
	int r = pp_sql_number(store, "PRAGMA user_version", &version, error);

	if (r < 0)
		return r;
	if (version < 0)
		return pathprof_fail(error, -EBADMSG,
				     "%s: schema version %lld is impossible (the file is damaged)",
				     store->file, (long long)version);
	if (version > known)
		return pathprof_fail(error, -EPROTO,
				     "%s was written by a newer pathprof (schema %lld, this "
				     "program knows %lld): use that one, or another file",
				     store->file, (long long)version, (long long)known);
	*ret_schema = (unsigned int)version;
	return 0;
}

/* The migrations from one version to another. */
static int apply(struct pathprof_store *store, const char *const *migrations, unsigned int from,
		 unsigned int to, struct pathprof_error *error)
{
	char pragmas[96];
	int r = pp_sql_begin(store, error);

	if (r < 0)
		return r;
	snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id=%d; PRAGMA user_version=%u",
		 PP_APPLICATION_ID, to);
	for (; r == 0 && from < to; from++)
		r = pp_sql_exec(store, migrations[from], error);
	if (r == 0)
		r = pp_sql_exec(store, pragmas, error);
	return pp_sql_end(store, r, error);
}

int pp_store_migrate(struct pathprof_store *store, const char *const *migrations,
		     struct pathprof_error *error)
{
	unsigned int version = 0, known = pp_store_schema_known(migrations);
	int r = pp_store_schema(store, migrations, &version, error);

	if (r < 0 || version == known)
		return r;
	/* A migration may rebuild a table that others refer to. */
	r = pp_sql_exec(store, "PRAGMA foreign_keys=OFF", error);
	while (r == 0 && version < known) {
		unsigned int next = version ? version + 1 : known;

		r = apply(store, migrations, version, next, error);
		version = next;
	}
	int on = pp_sql_exec(store, "PRAGMA foreign_keys=ON", r ? NULL : error);
	return r ? r : on;
}

/* The newest pages of a store lie in its log: a copy without it may not even have the tables. */
static int explain_application(struct pathprof_store *store, struct pathprof_error *error)
{
	int64_t objects = 0;
	int r = pp_sql_number(store, "SELECT count(*) FROM sqlite_schema", &objects, error);

	if (r < 0)
		return r;
	if (objects)
		return pathprof_fail(error, -EBADMSG,
				     "%s is an SQLite database, but no pathprof store",
				     store->file);
	return pathprof_fail(error, -EBADMSG,
			     "%s holds no tables: it is no pathprof store, or the copy of one that "
			     "was made without the file -wal beside it, which has the newest "
			     "pages: copy a store with sqlite3 STORE \"VACUUM INTO 'COPY'\", also "
			     "while it is written",
			     store->file);
}

int pp_store_check_shape(struct pathprof_store *store, struct pathprof_error *error)
{
	int64_t application = 0, strangers = 0;
	int r = pp_sql_number(store, "PRAGMA application_id", &application, error);

	/* Views, triggers and virtual tables have no root page; ours has none of them. */
	if (r == 0)
		r = pp_sql_number(store,
				  "SELECT count(*) FROM sqlite_schema WHERE"
				  " coalesce(rootpage, 0) = 0 OR type NOT IN ('table', 'index')",
				  &strangers, error);
	if (r < 0)
		return r;
	if (application != PP_APPLICATION_ID)
		return explain_application(store, error);
	if (strangers)
		return pathprof_fail(error, -EBADMSG,
				     "%s holds views, triggers or virtual tables, as no pathprof "
				     "store does",
				     store->file);
	return 0;
}
