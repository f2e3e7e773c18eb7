// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Names of functions and portable paths between a store and parcels. A store keeps names of
 * functions where it keeps those of generated code: the builds of both have no file to look in.
 *
 * Workload: some thousand names when a host begins to send, a few afterwards; read once a parcel.
 * The first name that a host gives to a function of a build stays: no host can rename what others
 * ran. Locking: the writer's, or a snapshot of the caller's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../parcel/pp_parcel_builds.h"
#include "pathprof/parcel_names.h"
#include "pathprof/parcel_store.h"
#include "pp_store.h"

/* ---------------------------------------------------------------- into a parcel */

/* Names of one build on their way into a parcel. */
struct take {
	struct pathprof_store *store;
	struct pathprof_parcel *parcel;
	const struct pp_build *build;
	struct pathprof_parcel_names *names;
	struct pathprof_error *error;
};

/* Functions for which a parcel has no room stay without a name. */
static int fits(struct take *t, int code)
{
	return code == -ENOMEM ? pathprof_fail(t->error, code, "out of memory") : 0;
}

static bool has_offset_in(const struct pp_build *build, uint64_t start, uint64_t len_bytes)
{
	size_t low = 0, high = build->offset_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (build->offsets[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < build->offset_cnt &&
	       (build->offsets[low] == start || build->offsets[low] - start < len_bytes);
}

static int take_function(struct take *t, struct pp_row *row)
{
	uint64_t start = pp_row_bits(row, 0), len_bytes = pp_row_count(row, 1);
	const char *name = pp_row_text(row, 2);
	int r = pp_row_end(row, t->store, t->error);

	if (r < 0 || !has_offset_in(t->build, start, len_bytes) || start > UINT64_MAX - len_bytes)
		return r;
	return fits(t, pathprof_parcel_add_function(t->parcel, t->names, start, len_bytes, name));
}

static int take_functions(struct take *t)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(t->store, PP_STMT_JIT_OF_BUILD, &stmt, t->error);

	if (r < 0)
		return r;
	pp_sql_bind_id(stmt, 1, &t->build->id);
	sqlite3_bind_int(stmt, 2, t->build->id.kind);
	while ((r = pp_sql_step(t->store, stmt, t->error)) > 0) {
		struct pp_row row = PP_ROW(stmt);

		r = take_function(t, &row);
		if (r < 0)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}

static int take_portable(void *context, const struct pathprof_portable_row *row)
{
	struct take *t = context;
	const struct pathprof_parcel_portable portable = {row->start, row->length, row->outcomes,
							  row->function, row->place};

	if (!pp_build_has(t->build->paths, t->build->path_cnt,
			  pp_build_path(row->start, row->length, row->outcomes)))
		return 0;
	return fits(t, pathprof_parcel_add_portable(t->parcel, t->names, &portable));
}

static int take_keys(struct take *t)
{
	size_t cnt = 0;
	int code =
		pp_store_known_functions(t->store, &t->build->id, &t->names->keys, &cnt, t->error);

	/* A build of very many functions is compared where its files are. */
	if (code == 0 && cnt > PATHPROF_PARCEL_KEYS_MAX) {
		free(t->names->keys);
		t->names->keys = NULL;
		cnt = 0;
	}
	t->names->key_cnt = (uint32_t)cnt;
	return code;
}

/* Most builds have no names in the store. */
static int has_any(struct take *t, bool *ret_has)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(t->store, PP_STMT_HAS_NAMES, &stmt, t->error);

	if (r < 0)
		return r;
	pp_sql_bind_id(stmt, 1, &t->build->id);
	sqlite3_bind_int(stmt, 2, t->build->id.kind);
	r = pp_sql_step(t->store, stmt, t->error);
	*ret_has = r > 0;
	sqlite3_reset(stmt);
	return r < 0 ? r : 0;
}

static int take_build(struct take *t)
{
	bool has = false;
	int r = has_any(t, &has);

	if (r < 0 || !has)
		return r;
	t->names = pathprof_parcel_names_of(t->parcel, &t->build->id);
	if (!t->names)
		return pathprof_fail(t->error, -ENOMEM, "out of memory");
	r = take_functions(t);
	if (r == 0)
		r = pathprof_store_portable(t->store, &t->build->id, take_portable, t, t->error);
	return r ? r : take_keys(t);
}

int pp_store_take_names(struct pathprof_store *store, struct pathprof_parcel *parcel,
			struct pathprof_error *error)
{
	struct take t = {.store = store, .parcel = parcel, .error = error};
	struct pp_builds builds = {.cnt = 0};
	size_t keys = 0;
	int r = fits(&t, pp_builds_of(&builds, parcel));

	for (size_t i = 0; r == 0 && i < builds.cnt; i++) {
		t.build = &builds.list[i];
		t.names = NULL;
		r = take_build(&t);
		if (t.names && keys + t.names->key_cnt > PATHPROF_PARCEL_KEYS_MAX)
			t.names->key_cnt = 0;
		keys += t.names ? t.names->key_cnt : 0;
	}
	pp_builds_release(&builds);
	return r;
}

/* ---------------------------------------------------------------- out of a parcel */

struct add {
	struct pathprof_store *store;
	const struct pathprof_parcel_names *names;
	int64_t binary, function_cnt; /* its row, and how many of its functions have names */
	uint64_t cut;
	struct pathprof_error *error;
};

/* Row of the build; 0: nothing of it was counted here. */
static int find_build(struct add *a)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(a->store, PP_STMT_NAMES_COUNT, &stmt, a->error);

	a->binary = a->function_cnt = 0;
	if (r < 0)
		return r;
	pp_sql_bind_id(stmt, 1, &a->names->id);
	sqlite3_bind_int(stmt, 2, a->names->id.kind);
	r = pp_sql_step(a->store, stmt, a->error);
	if (r > 0) {
		a->binary = sqlite3_column_int64(stmt, 0);
		a->function_cnt = sqlite3_column_int64(stmt, 1);
	}
	sqlite3_reset(stmt);
	return r < 0 ? r : 0;
}

static int write_function(struct add *a, enum pp_stmt which,
			  const struct pathprof_parcel_function *function)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(a->store, which, &stmt, a->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, a->binary);
	sqlite3_bind_int64(stmt, 2, (int64_t)function->start);
	sqlite3_bind_int64(stmt, 3, (int64_t)function->len_bytes);
	if (which == PP_STMT_FUNCTION_NAME_ADD)
		pp_sql_bind_text(stmt, 4, function->name);
	return pp_sql_run(a->store, stmt, a->error);
}

/* One that is known takes no more room, and is not left out where there is none. */
static int add_function(struct add *a, const struct pathprof_parcel_function *function)
{
	int r = write_function(a, PP_STMT_FUNCTION_NAME_SEEN, function);

	if (r < 0 || sqlite3_changes(a->store->db))
		return r;
	if (a->function_cnt >= PATHPROF_STORE_FUNCTIONS_MAX) {
		a->cut++;
		return 0;
	}
	a->function_cnt++;
	return write_function(a, PP_STMT_FUNCTION_NAME_ADD, function);
}

static int add_portable(struct add *a, const struct pathprof_parcel_portable *portable)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(a->store, PP_STMT_PORTABLE_FIRST, &stmt, a->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, a->binary);
	sqlite3_bind_int64(stmt, 2, (int64_t)portable->start);
	sqlite3_bind_int64(stmt, 3, portable->length);
	sqlite3_bind_int64(stmt, 4, portable->outcomes);
	sqlite3_bind_int64(stmt, 5, (int64_t)portable->function);
	sqlite3_bind_int64(stmt, 6, (int64_t)portable->place);
	return pp_sql_run(a->store, stmt, a->error);
}

static int add_keys(struct add *a)
{
	uint64_t *known = NULL;
	size_t cnt = 0;
	int r = pp_store_known_functions(a->store, &a->names->id, &known, &cnt, a->error);
	bool is_known = known != NULL;

	free(known);
	if (r < 0 || is_known)
		return r;
	return pathprof_store_set_function_keys(a->store, &a->names->id, a->names->keys,
						a->names->key_cnt, a->error);
}

static int add_build(struct add *a)
{
	const struct pathprof_parcel_names *names = a->names;
	int r = find_build(a);

	for (uint32_t i = 0; r == 0 && i < names->function_cnt; i++)
		if (a->binary)
			r = add_function(a, &names->functions[i]);
		else
			a->cut++;
	for (uint32_t i = 0; r == 0 && a->binary && i < names->portable_cnt; i++)
		r = add_portable(a, &names->portables[i]);
	return r || !a->binary || !names->key_cnt ? r : add_keys(a);
}

int pathprof_store_add_names(struct pathprof_store *store, const struct pathprof_parcel *parcel,
			     uint64_t *ret_cut, struct pathprof_error *error)
{
	struct add a = {.store = store, .error = error};
	int r = pp_sql_writable(store, error);

	*ret_cut = 0;
	if (r < 0 || !parcel->name_cnt)
		return r;
	r = pp_sql_begin(store, error);
	if (r < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < parcel->name_cnt; i++) {
		a.names = &parcel->names[i];
		r = add_build(&a);
	}
	r = pp_sql_end(store, r, error);
	if (r == 0)
		*ret_cut = a.cut;
	return r;
}
