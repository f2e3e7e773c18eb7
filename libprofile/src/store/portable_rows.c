// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Names of paths that outlive their build, the functions of a build, and which builds there were
 * before one.
 *
 * Workload: some thousand rows when a build is new, a few a minute afterwards; read once a build
 * when the daemon starts. Locking: the writer's for writing, none for reading.
 */
#include "pp_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 4096
#define KEY_BYTES      8

static int bind_build(struct pathprof_store *store, enum pp_stmt which,
		      const struct pathprof_build_id *id, sqlite3_stmt **ret_stmt,
		      struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r;

	if (id->len_bytes > PATHPROF_BUILD_ID_MAX)
		return pathprof_fail(error, -EINVAL, "%s: malformed identity", store->file);
	r = pp_sql_get(store, which, &stmt, error);
	if (r < 0)
		return r;
	pp_sql_bind_id(stmt, 1, id);
	sqlite3_bind_int(stmt, 2, id->kind);
	*ret_stmt = stmt;
	return 0;
}

/* ---------------------------------------------------------------- names of paths */

static int add_row(struct pathprof_store *store, const struct pathprof_build_id *id,
		   const struct pathprof_portable_row *row, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = bind_build(store, PP_STMT_PORTABLE_ADD, id, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 3, (int64_t)row->start);
	sqlite3_bind_int64(stmt, 4, row->length);
	sqlite3_bind_int64(stmt, 5, row->outcomes);
	sqlite3_bind_int64(stmt, 6, (int64_t)row->function);
	sqlite3_bind_int64(stmt, 7, (int64_t)row->place);
	pp_sql_bind_text(stmt, 8, row->function_name);
	return pp_sql_run(store, stmt, error);
}

int pathprof_store_add_portable(struct pathprof_store *store, const struct pathprof_build_id *id,
				const struct pathprof_portable_row *rows, size_t cnt,
				struct pathprof_error *error)
{
	int r = pp_sql_writable(store, error);

	for (size_t i = 0; r == 0 && i < cnt; i++)
		if (rows[i].function_name &&
		    strnlen(rows[i].function_name, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES)
			r = pathprof_fail(error, -E2BIG, "%s: a function's name is too long",
					  store->file);
	if (r == 0)
		r = pp_sql_begin(store, error);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < cnt; i++)
		r = add_row(store, id, &rows[i], error);
	return pp_sql_end(store, r, error);
}

static int take_portable(struct pathprof_store *store, sqlite3_stmt *stmt,
			 pathprof_portable_row_fn *fn, void *context, struct pathprof_error *error)
{
	struct pp_row row = PP_ROW(stmt);
	const struct pathprof_portable_row out = {
		.path_id = pp_row_int(&row, 0, INT64_MIN, INT64_MAX),
		.start = pp_row_bits(&row, 1),
		.length = (uint32_t)pp_row_int(&row, 2, 0, 32),
		.outcomes = pp_row_u32(&row, 3),
		.function = pp_row_bits(&row, 4),
		.place = pp_row_bits(&row, 5),
		.function_name = pp_row_text(&row, 6),
	};
	int r = pp_row_end(&row, store, error);

	return r < 0 ? r : fn(context, &out);
}

int pathprof_store_portable(struct pathprof_store *store, const struct pathprof_build_id *id,
			    pathprof_portable_row_fn *fn, void *context,
			    struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = bind_build(store, PP_STMT_PORTABLE, id, &stmt, error);

	if (r < 0)
		return r;
	while ((r = pp_sql_step(store, stmt, error)) > 0) {
		r = take_portable(store, stmt, fn, context, error);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}

/* ---------------------------------------------------------------- functions of a build */

static bool is_ascending(const uint64_t *keys, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++)
		if (keys[i - 1] >= keys[i])
			return false;
	return true;
}

static void put_key(uint8_t *bytes, uint64_t key)
{
	for (int i = 0; i < KEY_BYTES; i++)
		bytes[i] = (uint8_t)(key >> (8 * i));
}

static uint64_t get_key(const uint8_t *bytes)
{
	uint64_t key = 0;

	for (int i = 0; i < KEY_BYTES; i++)
		key |= (uint64_t)bytes[i] << (8 * i);
	return key;
}

static int write_keys(struct pathprof_store *store, const struct pathprof_build_id *id,
		      const uint8_t *bytes, size_t len_bytes, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = bind_build(store, PP_STMT_FUNCTION_KEYS_SET, id, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_blob64(stmt, 3, bytes, len_bytes, SQLITE_STATIC);
	r = pp_sql_run(store, stmt, error);
	if (r == 0 && !sqlite3_changes(store->db))
		r = pathprof_fail(error, -ENOENT, "%s: the build is not in this store",
				  store->file);
	return r;
}

int pathprof_store_set_function_keys(struct pathprof_store *store,
				     const struct pathprof_build_id *id, const uint64_t *keys,
				     size_t cnt, struct pathprof_error *error)
{
	int r = pp_sql_writable(store, error);
	uint8_t *bytes;

	if (r < 0)
		return r;
	if (cnt > PATHPROF_FUNCTION_KEYS_MAX)
		return pathprof_fail(error, -E2BIG, "%s: more functions than are kept",
				     store->file);
	if (!is_ascending(keys, cnt))
		return pathprof_fail(error, -EINVAL, "%s: functions out of order", store->file);
	bytes = malloc(cnt * KEY_BYTES + 1);
	if (!bytes)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < cnt; i++)
		put_key(bytes + i * KEY_BYTES, keys[i]);
	r = write_keys(store, id, bytes, cnt * KEY_BYTES, error);
	free(bytes);
	return r;
}

static int take_keys(struct pathprof_store *store, sqlite3_stmt *stmt, uint64_t **ret_keys,
		     size_t *ret_cnt, struct pathprof_error *error)
{
	const uint8_t *bytes = sqlite3_column_blob(stmt, 0);
	size_t len_bytes = (size_t)sqlite3_column_bytes(stmt, 0), cnt = len_bytes / KEY_BYTES;
	uint64_t *keys;

	if (sqlite3_column_type(stmt, 0) != SQLITE_BLOB || len_bytes % KEY_BYTES ||
	    cnt > PATHPROF_FUNCTION_KEYS_MAX)
		return pathprof_fail(error, -EBADMSG,
				     "%s: an impossible list of functions (the file is damaged)",
				     store->file);
	keys = malloc((cnt + 1) * sizeof(*keys));
	if (!keys)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < cnt; i++)
		keys[i] = get_key(bytes + i * KEY_BYTES);
	if (!is_ascending(keys, cnt)) {
		free(keys);
		return pathprof_fail(error, -EBADMSG, "%s: a list of functions out of order",
				     store->file);
	}
	*ret_keys = keys;
	*ret_cnt = cnt;
	return 0;
}

int pathprof_store_function_keys(struct pathprof_store *store, const struct pathprof_build_id *id,
				 uint64_t **ret_keys, size_t *ret_cnt, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = bind_build(store, PP_STMT_FUNCTION_KEYS_GET, id, &stmt, error);

	if (r < 0)
		return r;
	r = pp_sql_step(store, stmt, error);
	if (r == 0)
		r = pathprof_fail(error, -ENOENT, "%s: the functions of this build are not known",
				  store->file);
	else if (r > 0)
		r = take_keys(store, stmt, ret_keys, ret_cnt, error);
	sqlite3_reset(stmt);
	return r;
}

int pp_store_known_functions(struct pathprof_store *store, const struct pathprof_build_id *id,
			     uint64_t **ret_keys, size_t *ret_cnt, struct pathprof_error *error)
{
	struct pathprof_error why = {""};
	uint64_t *keys = NULL;
	size_t cnt = 0;
	int r = pathprof_store_function_keys(store, id, &keys, &cnt, &why);

	if (r < 0 && r != -ENOENT)
		return pathprof_fail(error, r, "%s", why.text);
	*ret_keys = keys;
	*ret_cnt = cnt;
	return 0;
}

/* ---------------------------------------------------------------- into a profile file */

struct copying {
	struct pathprof_store *to;
	const struct pathprof_build_id *id;
	struct pathprof_error *error;
};

static int copy_row(void *context, const struct pathprof_portable_row *row)
{
	const struct copying *copying = context;

	return add_row(copying->to, copying->id, row, copying->error);
}

static int copy_keys(struct pathprof_store *to, struct pathprof_store *from,
		     const struct pathprof_build_id *id, struct pathprof_error *error)
{
	uint64_t *keys = NULL;
	size_t cnt = 0;
	int r = pp_store_known_functions(from, id, &keys, &cnt, error);

	if (r == 0 && keys)
		r = pathprof_store_set_function_keys(to, id, keys, cnt, error);
	free(keys);
	/* of no path that was selected */
	return r == -ENOENT ? 0 : r;
}

int pp_store_copy_portable(struct pathprof_store *to, struct pathprof_store *from,
			   const struct pathprof_build_id *id, struct pathprof_error *error)
{
	struct copying copying = {.to = to, .id = id, .error = error};
	int r = pp_sql_begin(to, error);

	if (r < 0)
		return r;
	r = pathprof_store_portable(from, id, copy_row, &copying, error);
	if (r == 0)
		r = copy_keys(to, from, id, error);
	return pp_sql_end(to, r, error);
}

/* ---------------------------------------------------------------- builds before one */

static int take_earlier(struct pathprof_store *store, sqlite3_stmt *stmt,
			pathprof_earlier_build_row_fn *fn, void *context,
			struct pathprof_error *error)
{
	struct pp_row row = PP_ROW(stmt);
	struct pathprof_earlier_build_row out = {
		.last_from_ns = pp_row_time(&row, 2),
		.last_until_ns = pp_row_time(&row, 3),
	};
	int r;

	pp_row_id(&row, 0, &out.binary_id);
	r = pp_row_end(&row, store, error);
	return r < 0 ? r : fn(context, &out);
}

int pathprof_store_earlier_builds(struct pathprof_store *store, const struct pathprof_build_id *id,
				  const char *name, pathprof_earlier_build_row_fn *fn,
				  void *context, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = bind_build(store, PP_STMT_EARLIER_BUILDS, id, &stmt, error);

	if (r < 0)
		return r;
	pp_sql_bind_text(stmt, 3, name);
	while ((r = pp_sql_step(store, stmt, error)) > 0) {
		r = take_earlier(store, stmt, fn, context, error);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}
