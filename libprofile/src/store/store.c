// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Opening and closing a store.
 *
 * One writer, who holds a lock (lock.c). Readers take none; WAL lets them read while a window is
 * written. Databases of an older schema are read through a copy (copy.c).
 *
 * The file may be damaged or hostile. SQLite is told so (defensive, no trusted schema, no views,
 * no triggers, cell checks), its limits are lowered, and whatever is not of our shape is refused.
 *
 * Workload: once a process. Locking: see lock.c. Ownership: the caller frees the store.
 */
#include "pp_store.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pathprof/schema.h"

#define CACHE_SETS      8192 /* 64 Ki entries of 48 bytes each for paths, edges, pieces */
#define VALUE_MAX_BYTES (4 << 20)
#define SQL_MAX_BYTES   (1 << 20)
#define WRITER_PRAGMAS                                                                             \
	"PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY; PRAGMA secure_delete=OFF;"           \
	"PRAGMA cache_size=-8000; PRAGMA foreign_keys=ON"

/* ---------------------------------------------------------------- file names */

/* file:...?mode, all but plain characters escaped, so that a name is never taken for options. */
static char *make_uri(const char *file, const char *options)
{
	char *uri = malloc(3 * strlen(file) + strlen(options) + 16), *to = uri;

	if (!uri)
		return NULL;
	/* A relative name gets "./": ":memory:" and "//host/" then mean nothing special. */
	to += sprintf(to, "file:%s", file[0] == '/' ? "" : "./");
	for (; file[0] == '/' && file[1] == '/'; file++)
		;
	for (const char *from = file; *from; from++) {
		unsigned char c = (unsigned char)*from;

		if (isalnum(c) || strchr("/._-", c))
			*to++ = (char)c;
		else
			to += sprintf(to, "%%%02X", c);
	}
	memcpy(to, options, strlen(options) + 1);
	return uri;
}

/*
 * The same file by the same name, or two names would mean two locks. SQLite resolves it, since
 * realpath() refuses a link to a file that is still to be made.
 */
static char *resolve(const char *file)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	char name[PATH_MAX];
	int r;

	if (!vfs)
		return NULL;
	r = vfs->xFullPathname(vfs, file, sizeof(name), name);
	return strdup(r == SQLITE_OK || r == SQLITE_OK_SYMLINK ? name : file);
}

static int check_file(const char *file, enum pathprof_store_mode mode, struct pathprof_error *error)
{
	struct stat status;

	if (!file || !file[0])
		return pathprof_fail(error, -EINVAL, "no file name for the store");
	if (stat(file, &status) < 0) {
		int r = -errno;

		if (r == -ENOENT && mode == PATHPROF_STORE_WRITE)
			return 0;
		if (r == -ENOENT)
			return pathprof_fail(error, r, "%s: no such store", file);
		return pathprof_fail(error, r, "%s: %s", file, strerror(-r));
	}
	if (!S_ISREG(status.st_mode))
		return pathprof_fail(error, -EINVAL, "%s: not a regular file", file);
	return 0;
}

uint64_t pp_store_file_bytes(const struct pathprof_store *store, const char *suffix)
{
	char *name = sqlite3_mprintf("%s%s", store->file, suffix);
	struct stat status;
	uint64_t bytes = 0;

	if (name && stat(name, &status) == 0 && status.st_size > 0)
		bytes = (uint64_t)status.st_size;
	sqlite3_free(name);
	return bytes;
}

/* ---------------------------------------------------------------- the connection */

static int harden(struct pathprof_store *store, struct pathprof_error *error)
{
	static const int options[][2] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
		{SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_DQS_DML, 0},
	};
	int r;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (sqlite3_db_config(store->db, options[i][0], options[i][1], NULL) != SQLITE_OK)
			return pp_sql_fail(store, error, "cannot configure SQLite");
	sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
	sqlite3_limit(store->db, SQLITE_LIMIT_SQL_LENGTH, SQL_MAX_BYTES);
	sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_busy_timeout(store->db, PP_BUSY_MS);
	r = pp_sql_bound_sums(store, error);
	return r ? r : pp_sql_exec(store, "PRAGMA cell_size_check=ON", error);
}

int pp_store_connect(struct pathprof_store *store, const char *name, int flags,
		     struct pathprof_error *error)
{
	int r = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);

	if (!store->db)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	return r == SQLITE_OK ? harden(store, error) : pp_sql_fail(store, error, "cannot open");
}

static int connect(struct pathprof_store *store, const char *options, int flags,
		   struct pathprof_error *error)
{
	char *uri = make_uri(store->file, options);
	int r;

	if (!uri)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	r = pp_store_connect(store, uri, flags | SQLITE_OPEN_URI, error);
	free(uri);
	return r;
}

static void disconnect(struct pathprof_store *store)
{
	for (int i = 0; i < PP_STMT_CNT; i++) {
		sqlite3_finalize(store->stmts[i]);
		store->stmts[i] = NULL;
	}
	sqlite3_close(store->db);
	store->db = NULL;
}

/* ---------------------------------------------------------------- readers */

static int read_first(struct pathprof_store *store, const char *options,
		      struct pathprof_error *error)
{
	int r = connect(store, options, SQLITE_OPEN_READONLY, error);

	if (r == 0)
		r = pp_store_check_shape(store, error);
	if (r == 0)
		r = pp_store_schema(store, pathprof_schema_sqlite, &store->schema, error);
	return r;
}

int pp_store_check_still(const struct pathprof_store *store, struct pathprof_error *error)
{
	struct stat now;

	if (!store->as_it_lies)
		return 0;
	if (stat(store->file, &now) == 0 && now.st_dev == store->lies.st_dev &&
	    now.st_ino == store->lies.st_ino && now.st_size == store->lies.st_size &&
	    now.st_mtim.tv_sec == store->lies.st_mtim.tv_sec &&
	    now.st_mtim.tv_nsec == store->lies.st_mtim.tv_nsec &&
	    !pp_store_file_bytes(store, "-wal"))
		return 0;
	return pathprof_fail(
		error, -ESTALE,
		"%s: a writer began on it while it was read, and what was read may not "
		"belong together: read it again",
		store->file);
}

/* From here on SQLite looks at nothing but the file: see pp_store_check_still(). */
static int read_as_it_lies(struct pathprof_store *store, struct pathprof_error *error)
{
	if (stat(store->file, &store->lies) < 0)
		return pathprof_fail(error, -errno, "%s: %s", store->file, strerror(errno));
	store->as_it_lies = true;
	return read_first(store, "?mode=ro&immutable=1", error);
}

/*
 * WAL needs a shared-memory file beside the database. Where it cannot be made, and no WAL holds
 * newer pages, the database alone is complete and nobody is writing: it is read as it lies.
 */
static int open_as_it_is(struct pathprof_store *store, struct pathprof_error *error)
{
	int r = read_first(store, "?mode=ro", error);

	if (r != -EACCES && r != -EROFS)
		return r;
	if (pp_store_file_bytes(store, "-wal"))
		return pathprof_fail(error, -EACCES,
				     "%s: its write-ahead log cannot be shared: read it as a user "
				     "who may write to its directory",
				     store->file);
	disconnect(store);
	return read_as_it_lies(store, error);
}

static int open_reader(struct pathprof_store *store, enum pathprof_store_mode mode,
		       struct pathprof_error *error)
{
	const unsigned int known = pp_store_schema_known(pathprof_schema_sqlite);
	int r = open_as_it_is(store, error);

	if (r < 0 || store->schema == known)
		return r;
	if (mode == PATHPROF_STORE_READ)
		return pp_store_read_copy(store, error);
	return pathprof_fail(error, -EPROTO,
			     "%s was written by an older pathprof (schema %u, this program reads "
			     "%u): start this version's pathprofd on it",
			     store->file, store->schema, known);
}

/* ---------------------------------------------------------------- the writer */

/* A database of another program must not get our tables. */
static int check_ours_or_empty(struct pathprof_store *store, struct pathprof_error *error)
{
	int64_t objects = 0, version = 0;
	int r = pp_sql_number(store, "SELECT count(*) FROM sqlite_schema", &objects, error);

	if (r == 0)
		r = pp_sql_number(store, "PRAGMA user_version", &version, error);
	if (r < 0)
		return r;
	return objects || version ? pp_store_check_shape(store, error) : 0;
}

static int enable_wal(struct pathprof_store *store, struct pathprof_error *error)
{
	int64_t is_wal = 0;
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(store, "PRAGMA journal_mode=WAL", &stmt, error);

	if (r < 0)
		return r;
	r = pp_sql_step(store, stmt, error);
	if (r > 0)
		is_wal = !sqlite3_stricmp((const char *)sqlite3_column_text(stmt, 0), "wal");
	sqlite3_finalize(stmt);
	if (r >= 0 && !is_wal)
		return pathprof_fail(error, -ENOTSUP,
				     "%s: no write-ahead log on this file system: use a local one",
				     store->file);
	return r < 0 ? r : 0;
}

static int make_ready(struct pathprof_store *store, struct pathprof_error *error)
{
	int r = connect(store, "?mode=rwc", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error);

	if (r == 0)
		r = check_ours_or_empty(store, error);
	/* Before the first page is written: later it would need a VACUUM. */
	if (r == 0)
		r = pp_sql_exec(store, "PRAGMA auto_vacuum=INCREMENTAL", error);
	if (r == 0)
		r = enable_wal(store, error);
	if (r == 0)
		r = pp_sql_exec(store, WRITER_PRAGMAS, error);
	if (r == 0)
		r = pp_id_cache_init(&store->paths, CACHE_SETS);
	if (r == 0)
		r = pp_id_cache_init(&store->edges, CACHE_SETS);
	if (r == 0)
		r = pp_id_cache_init(&store->pieces, CACHE_SETS);
	store->writable = true;
	if (r == 0)
		r = pp_store_schema(store, pathprof_schema_sqlite, &store->schema, error);
	if (r == 0)
		r = pp_store_migrate(store, pathprof_schema_sqlite, error);
	if (r == 0)
		r = pp_store_check_shape(store, error);
	return r;
}

/* Removes the database, but not its lock file: see lock.c. */
static void remove_file(struct pathprof_store *store)
{
	disconnect(store);
	unlink(store->file);
}

/* A new file that cannot be completed, on a full disk for example, is removed. */
static int open_writer(struct pathprof_store *store, struct pathprof_error *error)
{
	int r = pp_store_lock(store, error);

	if (r < 0)
		return r;
	store->is_new = access(store->file, F_OK) < 0;
	r = make_ready(store, error);
	if (r < 0 && store->is_new)
		remove_file(store);
	return r;
}

/* ---------------------------------------------------------------- public */

int pathprof_store_open(struct pathprof_store **ret_store, const char *file,
			enum pathprof_store_mode mode, struct pathprof_error *error)
{
	int r = check_file(file, mode, error);

	if (r < 0)
		return r;
	struct pathprof_store *store = calloc(1, sizeof(*store));
	if (!store)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	store->lock_fd = -1;
	store->file = resolve(file);
	if (!store->file)
		r = pathprof_fail(error, -ENOMEM, "out of memory");
	else if (mode == PATHPROF_STORE_WRITE)
		r = open_writer(store, error);
	else
		r = open_reader(store, mode, error);
	if (r < 0) {
		pathprof_store_free(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

void pathprof_store_free(struct pathprof_store *store)
{
	if (!store)
		return;
	disconnect(store);
	/* After the connection, which may still write the WAL back. */
	pp_store_unlock(store);
	pp_id_cache_release(&store->paths);
	pp_id_cache_release(&store->edges);
	pp_id_cache_release(&store->pieces);
	free(store->file);
	free(store);
}

void pathprof_store_free_unused(struct pathprof_store *store)
{
	int64_t has_windows = 1;

	if (store && store->is_new &&
	    pp_sql_number(store, "SELECT EXISTS (SELECT 1 FROM windows)", &has_windows, NULL) ==
		    0 &&
	    !has_windows)
		remove_file(store);
	pathprof_store_free(store);
}

unsigned int pathprof_store_schema(const struct pathprof_store *store, unsigned int *ret_known)
{
	*ret_known = pp_store_schema_known(pathprof_schema_sqlite);
	return store->schema;
}

int pathprof_store_size(struct pathprof_store *store, uint64_t *ret_bytes)
{
	*ret_bytes = pp_store_file_bytes(store, "") + pp_store_file_bytes(store, "-wal") +
		     pp_store_file_bytes(store, "-shm");
	return 0;
}
