// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Callers of a window's paths: chains that are interned, a row each, and counts of path and chain.
 * See pp_window_write.h.
 */
#include "pp_window_write.h"

#include <errno.h>
#include <stdlib.h>

static int see_context(struct pp_window_write *w, int64_t id)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_CONTEXT_SEEN, &stmt, w->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, w->window);
	return pp_sql_run(w->store, stmt, w->error);
}

static int add_context(struct pp_window_write *w, const int64_t key[3], int64_t *ret_id)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_CONTEXT_ADD, &stmt, w->error);

	if (r < 0)
		return r;
	for (int i = 0; i < 3; i++)
		sqlite3_bind_int64(stmt, i + 1, key[i]);
	sqlite3_bind_int64(stmt, 4, w->window);
	r = pp_sql_run(w->store, stmt, w->error);
	if (r == 0)
		*ret_id = sqlite3_last_insert_rowid(w->store->db);
	return r;
}

/* key: parent, binary, function. */
static int context_id(struct pp_window_write *w, const int64_t key[3], int64_t *ret_id)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_CONTEXT_FIND, &stmt, w->error);

	if (r < 0)
		return r;
	for (int i = 0; i < 3; i++)
		sqlite3_bind_int64(stmt, i + 1, key[i]);
	r = pp_sql_step(w->store, stmt, w->error);
	if (r > 0)
		*ret_id = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	if (r < 0)
		return r;
	return r ? see_context(w, *ret_id) : add_context(w, key, ret_id);
}

/* Callers come before those they call. */
static int write_context_keys(struct pp_window_write *w, int64_t *ids)
{
	const struct pathprof_profile *p = w->profile;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < p->context_cnt; i++) {
		const struct pathprof_caller *c = &p->contexts[i];
		const int64_t key[] = {
			ids[c->parent],
			c->binary == PATHPROF_NO_INDEX ? 0 : w->binaries[c->binary],
			(int64_t)c->function,
		};

		r = context_id(w, key, &ids[i]);
	}
	return r;
}

static int write_context_count(struct pp_window_write *w, int64_t context,
			       const struct pathprof_caller_count *count)
{
	const struct pathprof_path_count *c = &w->profile->paths[count->path];
	sqlite3_stmt *stmt = NULL;
	int64_t path = 0;
	int r = pp_store_path(w->store, w->window, w->binaries[c->binary], c->start, c->length,
			      c->outcomes, &path, w->error);

	if (r == 0)
		r = pp_sql_get(w->store, PP_STMT_CONTEXT_COUNT_ADD, &stmt, w->error);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, w->window);
	sqlite3_bind_int64(stmt, 2, context);
	sqlite3_bind_int64(stmt, 3, path);
	sqlite3_bind_int64(stmt, 4, w->processes[c->process]);
	sqlite3_bind_int64(stmt, 5, (int64_t)count->samples);
	sqlite3_bind_double(stmt, 6, count->weight);
	return pp_sql_run(w->store, stmt, w->error);
}

int pp_window_write_contexts(struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;
	int64_t *ids = calloc((size_t)p->context_cnt + 1, sizeof(*ids));
	int r;

	if (!ids)
		return pp_window_refuse(w, -ENOMEM, "out of memory");
	r = write_context_keys(w, ids);
	for (uint32_t i = 0; r == 0 && i < p->context_count_cnt; i++)
		r = write_context_count(w, ids[p->context_counts[i].context],
					&p->context_counts[i]);
	free(ids);
	return r;
}
