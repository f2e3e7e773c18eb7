// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Writing: one window in one transaction, the daemon's status, names of generated code.
 *
 * Workload: a window of 10,000 paths, of which some percent are new, in tens of milliseconds.
 * Ids of known paths and edges come from a cache; counts are inserted in the order of their key,
 * so the table grows at its end.
 *
 * Locking: the writer's. Ownership: nothing of the profile is kept.
 */
#include "pp_window_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* A longer log slows every reader; only one that holds an old snapshot lets it grow so far. */
#define WAL_MAX_BYTES (16u << 20)

/* A row of path_counts (samples, weight, ...) or edge_counts (count, mispredicted, weight). */
struct count_row {
	int64_t subject, process;
	uint64_t count, mispredicted, squares;
	double weight, insns, weight_squares;
};

/* ---------------------------------------------------------------- boots, binaries, processes */

void pp_store_read_boot_id(char *text, size_t size)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	if (!text[0])
		snprintf(text, size, "unknown");
}

static int find_boot(struct pathprof_store *store, const char *boot, int64_t *ret_row,
		     struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_BOOT_ADD, &stmt, error);

	if (r < 0)
		return r;
	pp_sql_bind_text(stmt, 1, boot);
	r = pp_sql_run(store, stmt, error);
	if (r == 0)
		r = pp_sql_get(store, PP_STMT_BOOT_FIND, &stmt, error);
	if (r < 0)
		return r;
	pp_sql_bind_text(stmt, 1, boot);
	r = pp_sql_step(store, stmt, error);
	if (r > 0)
		*ret_row = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	if (r == 0)
		r = pathprof_fail(error, -EBADMSG, "%s: boot not found", store->file);
	return r < 0 ? r : 0;
}

static int add_binary(struct pathprof_store *store, const struct pathprof_build_id *id,
		      const char *name, int64_t window, int64_t *ret_row,
		      struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_BINARY_ADD, &stmt, error);

	if (r < 0)
		return r;
	pp_sql_bind_id(stmt, 1, id);
	sqlite3_bind_int(stmt, 2, id->kind);
	pp_sql_bind_text(stmt, 3, name);
	sqlite3_bind_int64(stmt, 4, window);
	r = pp_sql_run(store, stmt, error);
	if (r == 0)
		*ret_row = sqlite3_last_insert_rowid(store->db);
	return r;
}

static int name_binary(struct pathprof_store *store, int64_t row, const char *name,
		       struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_BINARY_NAME, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, row);
	pp_sql_bind_text(stmt, 2, name);
	return pp_sql_run(store, stmt, error);
}

int pp_store_binary(struct pathprof_store *store, const struct pathprof_build_id *id,
		    const char *name, int64_t window, int64_t *ret_row,
		    struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	bool unnamed = false;
	int r = pp_sql_get(store, PP_STMT_BINARY_FIND, &stmt, error);

	if (r < 0)
		return r;
	pp_sql_bind_id(stmt, 1, id);
	sqlite3_bind_int(stmt, 2, id->kind);
	r = pp_sql_step(store, stmt, error);
	if (r > 0) {
		*ret_row = sqlite3_column_int64(stmt, 0);
		unnamed = sqlite3_column_bytes(stmt, 1) == 0;
	}
	sqlite3_reset(stmt);
	if (r == 0)
		return add_binary(store, id, name, window, ret_row, error);
	/* Names of generated code may have come before the window that names its process. */
	if (r > 0 && unnamed && name && name[0])
		return name_binary(store, *ret_row, name, error);
	return r < 0 ? r : 0;
}

static int write_binaries(struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->binary_cnt; i++)
		r = pp_store_binary(w->store, &p->binaries[i].id, p->binaries[i].name, w->window,
				    &w->binaries[i], w->error);
	return r;
}

static int write_file(struct pp_window_write *w, int64_t binary, const struct pathprof_file *file)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_WINDOW_FILE_ADD, &stmt, w->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, w->window);
	sqlite3_bind_int64(stmt, 2, binary);
	sqlite3_bind_int64(stmt, 3, file->owner);
	sqlite3_bind_int64(stmt, 4, (int64_t)file->device);
	sqlite3_bind_int64(stmt, 5, (int64_t)file->inode);
	return pp_sql_run(w->store, stmt, w->error);
}

/* Retention looks for these rows in all windows: last_window of the binary need not follow. */
static int write_files(struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;
	int r = 0;

	for (uint32_t i = 0; i < p->binary_cnt; i++)
		for (uint32_t j = 0; r == 0 && j < p->binaries[i].file_cnt; j++)
			r = write_file(w, w->binaries[i], &p->binaries[i].files[j]);
	return r;
}

static void bind_process(const struct pp_window_write *w, sqlite3_stmt *stmt, int64_t boot,
			 const struct pathprof_process *process)
{
	sqlite3_bind_int64(stmt, 1, boot);
	sqlite3_bind_int64(stmt, 2, process->pid);
	sqlite3_bind_int64(stmt, 3, (int64_t)process->start_time);
	sqlite3_bind_int64(stmt, 4, process->exec_cnt);
	if (sqlite3_bind_parameter_count(stmt) == 4)
		return;
	pp_sql_bind_text(stmt, 5, process->comm);
	pp_sql_bind_text(stmt, 6, process->container);
	if (process->binary != PATHPROF_NO_INDEX)
		sqlite3_bind_int64(stmt, 7, w->binaries[process->binary]);
	sqlite3_bind_int64(stmt, 8, w->window);
}

static int find_process(struct pp_window_write *w, int64_t boot,
			const struct pathprof_process *process, int64_t *ret_row)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_PROCESS_FIND, &stmt, w->error);

	if (r < 0)
		return r;
	bind_process(w, stmt, boot, process);
	r = pp_sql_step(w->store, stmt, w->error);
	if (r > 0)
		*ret_row = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r;
}

/* Adds the process, or brings its row up to date with what this window knows of it. */
static int write_process(struct pp_window_write *w, int64_t boot,
			 const struct pathprof_process *process, int64_t *ret_row)
{
	sqlite3_stmt *stmt = NULL;
	int64_t row = 0;
	int known = find_process(w, boot, process, &row);

	if (known < 0)
		return known;
	int r = pp_sql_get(w->store, known ? PP_STMT_PROCESS_UPDATE : PP_STMT_PROCESS_ADD, &stmt,
			   w->error);
	if (r < 0)
		return r;
	bind_process(w, stmt, boot, process);
	if (known)
		sqlite3_bind_int64(stmt, 9, row);
	r = pp_sql_run(w->store, stmt, w->error);
	if (r == 0)
		*ret_row = known ? row : sqlite3_last_insert_rowid(w->store->db);
	return r;
}

static int write_window_process(struct pp_window_write *w, int64_t process)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_WINDOW_PROCESS_ADD, &stmt, w->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, w->window);
	sqlite3_bind_int64(stmt, 2, process);
	return pp_sql_run(w->store, stmt, w->error);
}

static int write_processes(struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;
	int64_t boot = 0;
	int r = p->process_cnt ? find_boot(w->store, w->boot, &boot, w->error) : 0;

	for (uint32_t i = 0; r == 0 && i < p->process_cnt; i++) {
		r = write_process(w, boot, &p->processes[i], &w->processes[i]);
		if (r == 0)
			r = write_window_process(w, w->processes[i]);
	}
	return r;
}

/* ---------------------------------------------------------------- the window itself */

static int write_header(struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;
	const struct pathprof_totals *t = &p->totals;
	const int64_t columns[] = {
		p->begin_ns,
		p->end_ns,
		p->source,
		p->basis,
		p->taken_wanted,
		(int64_t)t->bursts,
		(int64_t)t->branches,
		(int64_t)t->taken,
		(int64_t)t->steps,
		(int64_t)t->paths,
		(int64_t)t->stopped_ns,
		(int64_t)t->source_cpu_ns,
		p->horizon,
		p->clock_hz,
		p->clock_kernel,
		(int64_t)t->insns,
		(int64_t)t->pathless,
		(int64_t)t->clock_samples,
		p->weighed,
	};
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_WINDOW_ADD, &stmt, w->error);

	if (r < 0)
		return r;
	for (int i = 0; i < (int)(sizeof(columns) / sizeof(columns[0])); i++)
		sqlite3_bind_int64(stmt, i + 1, columns[i]);
	r = pp_sql_run(w->store, stmt, w->error);
	if (r == 0)
		w->window = sqlite3_last_insert_rowid(w->store->db);
	return r;
}

static int write_reasons(struct pp_window_write *w, enum pp_stmt which, const uint64_t *counts,
			 int cnt)
{
	sqlite3_stmt *stmt = NULL;
	int r = 0;

	for (int i = 0; r == 0 && i < cnt; i++) {
		if (!counts[i])
			continue;
		if (counts[i] > PP_COUNT_MAX)
			return pp_window_refuse(w, -EOVERFLOW,
						"a count of reasons is 2^63 or more");
		r = pp_sql_get(w->store, which, &stmt, w->error);
		if (r < 0)
			return r;
		sqlite3_bind_int64(stmt, 1, w->window);
		sqlite3_bind_int(stmt, 2, i);
		sqlite3_bind_int64(stmt, 3, (int64_t)counts[i]);
		r = pp_sql_run(w->store, stmt, w->error);
	}
	return r;
}

static int write_totals(struct pp_window_write *w)
{
	const struct pathprof_totals *t = &w->profile->totals;
	int r = write_reasons(w, PP_STMT_WINDOW_END_ADD, t->ends, PATHPROF_END_CNT);

	if (r == 0)
		r = write_reasons(w, PP_STMT_WINDOW_DROP_ADD, t->drops, PATHPROF_DROP_CNT);
	return r;
}

/* ---------------------------------------------------------------- ids of paths and edges */

/* The statements and the cache of one kind of subject. */
struct subject {
	enum pp_stmt find, add, seen;
	struct pp_id_cache *cache;
};

static void bind_key(sqlite3_stmt *stmt, const struct pp_id_key *key)
{
	for (int i = 0; i < 4; i++)
		sqlite3_bind_int64(stmt, i + 1, (int64_t)key->word[i]);
}

/* 1 when the row exists. */
static int find_subject(struct pp_window_write *w, const struct subject *subject,
			const struct pp_id_key *key, int64_t *ret_id, int64_t *ret_last_window)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, subject->find, &stmt, w->error);

	if (r < 0)
		return r;
	bind_key(stmt, key);
	r = pp_sql_step(w->store, stmt, w->error);
	if (r > 0) {
		*ret_id = sqlite3_column_int64(stmt, 0);
		*ret_last_window = sqlite3_column_int64(stmt, 1);
	}
	sqlite3_reset(stmt);
	return r;
}

/* 1: it was added; 0: it is there. */
static int add_subject(struct pp_window_write *w, const struct subject *subject,
		       const struct pp_id_key *key, int64_t *ret_id)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, subject->add, &stmt, w->error);

	if (r < 0)
		return r;
	bind_key(stmt, key);
	sqlite3_bind_int64(stmt, 5, w->window);
	r = pp_sql_run(w->store, stmt, w->error);
	if (r < 0 || sqlite3_changes(w->store->db) == 0)
		return r;
	*ret_id = sqlite3_last_insert_rowid(w->store->db);
	return 1;
}

static int touch_subject(struct pp_window_write *w, const struct subject *subject,
			 struct pp_id_entry *entry)
{
	sqlite3_stmt *stmt = NULL;

	if (w->window < entry->last_window + PP_LAST_WINDOW_LAG)
		return 0;
	int r = pp_sql_get(w->store, subject->seen, &stmt, w->error);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, entry->id);
	sqlite3_bind_int64(stmt, 2, w->window);
	r = pp_sql_run(w->store, stmt, w->error);
	if (r == 0)
		entry->last_window = w->window;
	return r;
}

static int subject_id(struct pp_window_write *w, const struct subject *subject,
		      const struct pp_id_key *key, int64_t *ret_id)
{
	struct pp_id_entry *entry = pp_id_cache_find(subject->cache, key);
	int64_t id = 0, last_window = w->window;

	if (!entry) {
		/* what the cache has not seen is new, but for the first windows of a writer */
		int r = add_subject(w, subject, key, &id);

		if (r == 0)
			r = find_subject(w, subject, key, &id, &last_window);
		if (r < 0)
			return r;
		pp_id_cache_add(subject->cache, key, id, last_window);
		entry = pp_id_cache_find(subject->cache, key);
	}
	*ret_id = entry->id;
	return touch_subject(w, subject, entry);
}

/* ---------------------------------------------------------------- counts */

static int compare_rows(const void *a, const void *b)
{
	const struct count_row *x = a, *y = b;

	if (x->subject != y->subject)
		return x->subject < y->subject ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

/* 0: not known. */
static void bind_known(sqlite3_stmt *stmt, int parameter, double sum)
{
	if (sum > 0)
		sqlite3_bind_double(stmt, parameter, sum);
	else
		sqlite3_bind_null(stmt, parameter);
}

static void bind_path_row(sqlite3_stmt *stmt, int first, const void *add)
{
	const struct count_row *row = add;

	sqlite3_bind_int64(stmt, first, row->subject);
	sqlite3_bind_int64(stmt, first + 1, row->process);
	sqlite3_bind_int64(stmt, first + 2, (int64_t)row->count);
	sqlite3_bind_double(stmt, first + 3, row->weight);
	if (row->squares)
		sqlite3_bind_int64(stmt, first + 4, (int64_t)row->squares);
	else
		sqlite3_bind_null(stmt, first + 4);
	bind_known(stmt, first + 5, row->insns);
	bind_known(stmt, first + 6, row->weight_squares);
}

static void bind_edge_row(sqlite3_stmt *stmt, int first, const void *add)
{
	const struct count_row *row = add;

	sqlite3_bind_int64(stmt, first, row->subject);
	sqlite3_bind_int64(stmt, first + 1, row->process);
	sqlite3_bind_int64(stmt, first + 2, (int64_t)row->count);
	sqlite3_bind_int64(stmt, first + 3, (int64_t)row->mispredicted);
	bind_known(stmt, first + 4, row->weight);
}

static int write_path_rows(struct pp_window_write *w, struct count_row *rows, uint32_t cnt)
{
	const struct pp_rows add = {
		PP_STMT_PATH_COUNT_ADD, PP_STMT_PATH_COUNTS_ADD, 7, bind_path_row, rows, cnt,
		sizeof(*rows)};

	qsort(rows, cnt, sizeof(*rows), compare_rows);
	return pp_sql_add_rows(w->store, &add, w->window, w->error);
}

static int write_edge_rows(struct pp_window_write *w, struct count_row *rows, uint32_t cnt)
{
	const struct pp_rows add = {
		PP_STMT_EDGE_COUNT_ADD, PP_STMT_EDGE_COUNTS_ADD, 5, bind_edge_row, rows, cnt,
		sizeof(*rows)};

	qsort(rows, cnt, sizeof(*rows), compare_rows);
	return pp_sql_add_rows(w->store, &add, w->window, w->error);
}

static int path_id(struct pp_window_write *w, const struct pp_id_key *key, int64_t *ret_id)
{
	const struct subject subject = {
		.find = PP_STMT_PATH_FIND,
		.add = PP_STMT_PATH_ADD,
		.seen = PP_STMT_PATH_SEEN,
		.cache = &w->store->paths,
	};

	return subject_id(w, &subject, key, ret_id);
}

int pp_store_path(struct pathprof_store *store, int64_t window, int64_t binary, uint64_t start,
		  uint32_t length, uint32_t outcomes, int64_t *ret_id, struct pathprof_error *error)
{
	struct pp_window_write w = {.store = store, .window = window, .error = error};
	const struct pp_id_key key = {{(uint64_t)binary, start, length, outcomes}};

	return path_id(&w, &key, ret_id);
}

int pp_store_piece(struct pathprof_store *store, int64_t window, int64_t binary, uint64_t start,
		   uint32_t length, uint32_t outcomes, int64_t *ret_id,
		   struct pathprof_error *error)
{
	struct pp_window_write w = {.store = store, .window = window, .error = error};
	const struct pp_id_key key = {{(uint64_t)binary, start, length, outcomes}};
	const struct subject subject = {
		.find = PP_STMT_PIECE_FIND,
		.add = PP_STMT_PIECE_ADD,
		.seen = PP_STMT_PIECE_SEEN,
		.cache = &store->pieces,
	};

	return subject_id(&w, &subject, &key, ret_id);
}

static int fill_path_rows(struct pp_window_write *w, struct count_row *rows)
{
	const struct pathprof_profile *p = w->profile;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->path_cnt; i++) {
		const struct pathprof_path_count *c = &p->paths[i];
		const struct pp_id_key key = {
			{(uint64_t)w->binaries[c->binary], c->start, c->length, c->outcomes}};

		rows[i] = (struct count_row){.process = w->processes[c->process],
					     .count = c->samples,
					     .weight = c->weight,
					     .insns = c->insns,
					     .weight_squares = c->weight_squares,
					     .squares = c->squares < PP_COUNT_MAX ? c->squares
										  : PP_COUNT_MAX};
		r = path_id(w, &key, &rows[i].subject);
	}
	return r;
}

static int edge_id(struct pp_window_write *w, const struct pp_id_key *key, int64_t *ret_id)
{
	const struct subject subject = {
		.find = PP_STMT_EDGE_FIND,
		.add = PP_STMT_EDGE_ADD,
		.seen = PP_STMT_EDGE_SEEN,
		.cache = &w->store->edges,
	};

	return subject_id(w, &subject, key, ret_id);
}

int pp_store_edge(struct pathprof_store *store, int64_t window, int64_t from_binary, uint64_t from,
		  int64_t to_binary, uint64_t to, int64_t *ret_id, struct pathprof_error *error)
{
	struct pp_window_write w = {.store = store, .window = window, .error = error};
	const struct pp_id_key key = {{(uint64_t)from_binary, from, (uint64_t)to_binary, to}};

	return edge_id(&w, &key, ret_id);
}

static int fill_edge_rows(struct pp_window_write *w, struct count_row *rows)
{
	const struct pathprof_profile *p = w->profile;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->edge_cnt; i++) {
		const struct pathprof_edge_count *c = &p->edges[i];
		const struct pp_id_key key = {{(uint64_t)w->binaries[c->from_binary], c->from,
					       (uint64_t)w->binaries[c->to_binary], c->to}};

		rows[i] = (struct count_row){.process = w->processes[c->process],
					     .count = c->count,
					     .mispredicted = c->mispredicted,
					     .weight = c->weight};
		r = edge_id(w, &key, &rows[i].subject);
	}
	return r;
}

static int write_counts(struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;
	uint32_t most = p->path_cnt > p->edge_cnt ? p->path_cnt : p->edge_cnt;
	struct count_row *rows = calloc((size_t)most + 1, sizeof(*rows));

	if (!rows)
		return pp_window_refuse(w, -ENOMEM, "out of memory");
	int r = fill_path_rows(w, rows);
	if (r == 0)
		r = write_path_rows(w, rows, p->path_cnt);
	if (r == 0)
		r = fill_edge_rows(w, rows);
	if (r == 0)
		r = write_edge_rows(w, rows, p->edge_cnt);
	free(rows);
	return r;
}

/* ---------------------------------------------------------------- clock samples */

/* The binary's last_window bounds the search for who refers to it: see retain.c. */
static int touch_binary(struct pp_window_write *w, int64_t binary)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_BINARY_SEEN, &stmt, w->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, binary);
	sqlite3_bind_int64(stmt, 2, w->window);
	return pp_sql_run(w->store, stmt, w->error);
}

/* A row of clock_counts. */
struct clock_row {
	int64_t binary, place, process, samples;
};

static int compare_clock_rows(const void *a, const void *b)
{
	const struct clock_row *x = a, *y = b;

	if (x->binary != y->binary)
		return x->binary < y->binary ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

static struct clock_row clock_row(const struct pp_window_write *w,
				  const struct pathprof_clock_count *c)
{
	return (struct clock_row){
		.binary = c->binary == PATHPROF_NO_INDEX ? 0 : w->binaries[c->binary],
		.place = (int64_t)c->place,
		.process = w->processes[c->process],
		.samples = (int64_t)c->samples,
	};
}

static int write_clock_row(struct pp_window_write *w, const struct clock_row *row)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(w->store, PP_STMT_CLOCK_COUNT_ADD, &stmt, w->error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, w->window);
	sqlite3_bind_int64(stmt, 2, row->binary);
	sqlite3_bind_int64(stmt, 3, row->place);
	sqlite3_bind_int64(stmt, 4, row->process);
	sqlite3_bind_int64(stmt, 5, row->samples);
	return pp_sql_run(w->store, stmt, w->error);
}

static int write_clocks(struct pp_window_write *w)
{
	const struct pathprof_profile *p = w->profile;
	struct clock_row *rows = calloc((size_t)p->clock_cnt + 1, sizeof(*rows));
	int64_t touched = 0;
	int r = 0;

	if (!rows)
		return pp_window_refuse(w, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < p->clock_cnt; i++)
		rows[i] = clock_row(w, &p->clocks[i]);
	qsort(rows, p->clock_cnt, sizeof(*rows), compare_clock_rows);
	for (uint32_t i = 0; r == 0 && i < p->clock_cnt; i++) {
		if (rows[i].binary != touched)
			r = touch_binary(w, rows[i].binary);
		touched = rows[i].binary;
		if (r == 0)
			r = write_clock_row(w, &rows[i]);
	}
	free(rows);
	return r;
}

/* ---------------------------------------------------------------- public */

static int write_window(struct pp_window_write *w)
{
	int r = write_header(w);

	if (r == 0)
		r = write_totals(w);
	if (r == 0)
		r = write_binaries(w);
	if (r == 0)
		r = write_files(w);
	if (r == 0)
		r = write_processes(w);
	if (r == 0)
		r = write_counts(w);
	if (r == 0)
		r = write_clocks(w);
	if (r == 0)
		r = pp_window_write_contexts(w);
	if (r == 0 && w->profile->is_ordered)
		r = pp_window_write_segments(w);
	return r;
}

int pp_store_write_window(struct pathprof_store *store, const struct pathprof_profile *profile,
			  const char *boot, int64_t *ret_id, struct pathprof_error *error)
{
	struct pp_window_write w = {
		.store = store, .profile = profile, .boot = boot, .error = error};
	int r = pp_window_check(&w);

	if (r < 0)
		return r;
	w.binaries = calloc((size_t)profile->binary_cnt + 1, sizeof(*w.binaries));
	w.processes = calloc((size_t)profile->process_cnt + 1, sizeof(*w.processes));
	if (!w.binaries || !w.processes)
		r = pp_window_refuse(&w, -ENOMEM, "out of memory");
	else
		r = write_window(&w);
	free(w.binaries);
	free(w.processes);
	if (r == 0)
		*ret_id = w.window;
	return r;
}

void pp_store_limit_log(struct pathprof_store *store)
{
	if (pp_store_file_bytes(store, "-wal") > WAL_MAX_BYTES)
		pp_store_checkpoint(store);
}

int pathprof_store_add_window(struct pathprof_store *store, const struct pathprof_profile *profile,
			      int64_t *ret_id, struct pathprof_error *error)
{
	int64_t window = 0;
	char boot[64];
	int r = pp_sql_writable(store, error);

	if (r == 0)
		r = pp_sql_begin(store, error);
	if (r < 0)
		return r;
	pp_store_read_boot_id(boot, sizeof(boot));
	r = pp_store_write_window(store, profile, boot, &window, error);
	r = pp_sql_end(store, r, error);
	if (r < 0)
		return r;
	pp_store_limit_log(store);
	if (ret_id)
		*ret_id = window;
	return 0;
}

int pathprof_store_set_status(struct pathprof_store *store, const char *json,
			      struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_writable(store, error);

	if (r < 0)
		return r;
	if (!json || strnlen(json, PP_STATUS_MAX_BYTES + 1) > PP_STATUS_MAX_BYTES)
		return pathprof_fail(error, -EINVAL, "%s: no status, or one of over 1 MiB",
				     store->file);
	r = pp_sql_get(store, PP_STMT_STATUS_SET, &stmt, error);
	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, pp_realtime_ns());
	pp_sql_bind_text(stmt, 2, json);
	r = pp_sql_run(store, stmt, error);
	if (r == 0 && sqlite3_changes(store->db) == 0)
		return pathprof_fail(error, -EINVAL, "%s: the status is no JSON object",
				     store->file);
	return r;
}

static int check_jit_symbols(const struct pathprof_store *store,
			     const struct pathprof_jit_symbol *symbols, size_t cnt,
			     struct pathprof_error *error)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct pathprof_jit_symbol *s = &symbols[i];

		if (!s->name || s->id->len_bytes > PATHPROF_BUILD_ID_MAX ||
		    s->id->kind > PATHPROF_ID_JIT || s->len_bytes > PP_COUNT_MAX ||
		    s->start > UINT64_MAX - s->len_bytes)
			return pathprof_fail(error, -EINVAL,
					     "%s: malformed symbol of generated code", store->file);
	}
	return 0;
}

static int write_jit_symbol(struct pathprof_store *store, int64_t binary,
			    const struct pathprof_jit_symbol *symbol, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_JIT_ADD, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, binary);
	sqlite3_bind_int64(stmt, 2, (int64_t)symbol->start);
	sqlite3_bind_int64(stmt, 3, (int64_t)symbol->len_bytes);
	pp_sql_bind_text(stmt, 4, symbol->name);
	return pp_sql_run(store, stmt, error);
}

static int write_jit_symbols(struct pathprof_store *store,
			     const struct pathprof_jit_symbol *symbols, size_t cnt,
			     struct pathprof_error *error)
{
	int64_t window = 0, binary = 0;
	/* The window that is open now will be the next. */
	int r = pp_sql_number(store,
			      "SELECT 1 + coalesce(max(seq), 0) FROM sqlite_sequence"
			      " WHERE name = 'windows'",
			      &window, error);

	for (size_t i = 0; i < cnt && r == 0; i++) {
		if (i == 0 || symbols[i].id != symbols[i - 1].id)
			r = pp_store_binary(store, symbols[i].id, "", window, &binary, error);
		if (r == 0)
			r = write_jit_symbol(store, binary, &symbols[i], error);
	}
	return r;
}

int pathprof_store_add_jit_symbols(struct pathprof_store *store,
				   const struct pathprof_jit_symbol *symbols, size_t cnt,
				   struct pathprof_error *error)
{
	int r = pp_sql_writable(store, error);

	if (r == 0)
		r = check_jit_symbols(store, symbols, cnt, error);
	if (r == 0)
		r = pp_sql_begin(store, error);
	if (r < 0)
		return r;
	r = write_jit_symbols(store, symbols, cnt, error);
	return pp_sql_end(store, r, error);
}
