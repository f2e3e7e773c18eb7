// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Profile files: a store with one window, made of what a filter selects in another.
 *
 * Workload: an hour of one host, some hundred thousand counts, once a command. The selected counts
 * are summed up in memory (bounded) and written as one window under a temporary name; then the file
 * is closed, without a write-ahead log, and renamed: a reader sees all of it or none.
 *
 * The boot that processes ran in is not kept: two of different boots with the same pid, start time
 * and exec count become one. Totals but clock samples are those of the windows, also when only
 * some of their processes are selected.
 *
 * Locking: none on the source beyond a snapshot; the new file has its writer's lock until it is
 * done. Ownership: nothing is kept.
 */
#include "pp_query.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_MAX_BYTES ((size_t)2 << 30)
#define NOTE_MAX_BYTES   (64u << 10)

struct extract {
	struct pathprof_store *store;
	struct pathprof_profile profile;
	uint32_t window_cnt;
	const char *note;             /* NULL: none */
	pathprof_store_fill_fn *fill; /* NULL: nothing more goes in */
	void *fill_context;
};

/* ---------------------------------------------------------------- windows */

/*
 * The clock of those windows that had one. If there are several rates, the greatest, as in ctl's
 * measure_load(); the kernel is in it only where no window's clock left it out.
 */
static void add_clock(struct pathprof_profile *p, const struct pathprof_window_row *row)
{
	if (!row->clock_hz)
		return;
	p->clock_kernel = row->clock_kernel && (p->clock_kernel || !p->clock_hz);
	if (row->clock_hz > p->clock_hz)
		p->clock_hz = row->clock_hz;
}

/*
 * Newest first: source and length of bursts are the newest window's. Clock samples add up on their
 * own, as their places come.
 */
static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct extract *e = context;
	struct pathprof_profile *p = &e->profile;

	if (!e->window_cnt++) {
		p->begin_ns = row->begin_ns;
		p->end_ns = row->end_ns;
		p->source = row->source;
		p->basis = row->basis;
		p->taken_wanted = row->taken_wanted;
		p->horizon = row->horizon;
		p->weighed = row->weighed;
	}
	add_clock(p, row);
	if (row->begin_ns < p->begin_ns)
		p->begin_ns = row->begin_ns;
	if (row->end_ns > p->end_ns)
		p->end_ns = row->end_ns;
	pathprof_totals_add(&p->totals, &row->totals);
	return 0;
}

/* Figures of different kinds mean different things (shares.h), and the new file is one window. */
static int check_kinds(const struct extract *e, const struct pathprof_filter *filter,
		       struct pathprof_error *error)
{
	enum pathprof_window_kind newest;
	char text[128] = "";
	unsigned int kinds;
	int r = pathprof_store_kinds(e->store, filter, &kinds, &newest, error);

	if (r < 0 || !(kinds & (kinds - 1)))
		return r;
	for (int kind = PATHPROF_KIND_BRANCHES; kind < PATHPROF_KIND_CNT; kind++) {
		size_t len = strlen(text);

		if (kinds & 1u << kind)
			snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
				 pathprof_window_kind_text((enum pathprof_window_kind)kind));
	}
	return pathprof_fail(error, -EINVAL,
			     "%s: windows of several kinds cannot be added up (%s): select some of "
			     "one kind",
			     e->store->file, text);
}

static int take_windows(struct extract *e, const struct pathprof_filter *filter,
			struct pathprof_error *error)
{
	int r = check_kinds(e, filter, error);

	if (r == 0)
		r = pathprof_store_windows(e->store, filter, take_window, e, error);
	if (r == 0 && !e->window_cnt)
		return pathprof_fail(error, -ENODATA, "%s: nothing is selected", e->store->file);
	return r;
}

/* ---------------------------------------------------------------- counts */

#define PROCESS_COLUMNS                                                                            \
	"o.pid, o.start_time, o.exec_cnt, o.comm, o.container, o.binary IS NOT NULL,"              \
	" coalesce(x.build_id, x''), coalesce(x.kind, 0), coalesce(x.name, '')"
#define PROCESS_JOIN                                                                               \
	" CROSS JOIN processes o ON o.id = s.process LEFT JOIN binaries x ON x.id = o.binary"

/* Text of a row that the profile copies: it asks for no const. */
static char *row_text(struct pp_row *row, int column)
{
	union {
		const char *in;
		char *out;
	} text = {.in = pp_row_text(row, column)};

	return text.out;
}

static uint32_t take_binary(struct extract *e, struct pp_row *row, int column)
{
	struct pathprof_build_id id;

	pp_row_id(row, column, &id);
	return pathprof_profile_binary(&e->profile, &id, pp_row_text(row, column + 2));
}

static uint32_t take_process(struct extract *e, struct pp_row *row, int column)
{
	struct pathprof_process process = {
		.pid = pp_row_u32(row, column),
		.start_time = pp_row_count(row, column + 1),
		.exec_cnt = pp_row_u32(row, column + 2),
		.comm = row_text(row, column + 3),
		.container = row_text(row, column + 4),
		.binary = PATHPROF_NO_INDEX,
	};

	if (pp_row_int(row, column + 5, 0, 1))
		process.binary = take_binary(e, row, column + 6);
	return pathprof_profile_process(&e->profile, &process);
}

static void path_query(struct pp_query *q)
{
	pp_query_add(q, "SELECT t.start, t.length, t.outcomes, s.samples, s.weight, b.build_id,"
			" b.kind, b.name, " PROCESS_COLUMNS ", s.squares, s.insns,"
			" s.weight_squares FROM (SELECT"
			" c.path AS path, c.process AS process, sum(c.samples) AS samples,"
			" total(c.weight) AS weight, " PP_SUM_SQUARES " AS squares, " PP_SUM_INSNS
			" AS insns, " PP_SUM_WEIGHT_SQUARES
			" AS weight_squares FROM path_counts c WHERE 1");
	pp_query_add_window_set(q);
	pp_query_add_process_set(q);
	pp_query_add_path_set(q);
	pp_query_add(q, " GROUP BY c.path, c.process) s CROSS JOIN paths t ON t.id = s.path"
			" CROSS JOIN binaries b ON b.id = t.binary" PROCESS_JOIN);
}

static uint64_t row_squares(struct pp_row *row, int column)
{
	double squares = pp_row_weight(row, column);

	return squares < 9e18 ? (uint64_t)squares : (uint64_t)9e18;
}

static int take_path(struct pp_query *q, struct pp_row *row, void *context,
		     struct pathprof_error *error)
{
	struct extract *e = context;
	const struct pathprof_path_count path = {
		.process = take_process(e, row, 8),
		.binary = take_binary(e, row, 5),
		.start = pp_row_bits(row, 0),
		.length = (uint32_t)pp_row_int(row, 1, 0, 32),
		.outcomes = pp_row_u32(row, 2),
		.samples = pp_row_count(row, 3),
		.weight = pp_row_weight(row, 4),
		.squares = row_squares(row, 17),
		.insns = pp_row_weight(row, 18),
		.weight_squares = pp_row_weight(row, 19),
	};
	int r = pp_row_end(row, q->store, error);

	if (r == 0)
		pathprof_profile_add_path(&e->profile, &path);
	return r;
}

static void edge_query(struct pp_query *q)
{
	pp_query_add(q, "SELECT g.from_offset, g.to_offset, s.count, s.mispredicted, f.build_id,"
			" f.kind, f.name, t.build_id, t.kind, t.name, " PROCESS_COLUMNS
			", s.weight FROM (SELECT c.edge AS edge, c.process AS process,"
			" sum(c.count) AS count, sum(c.mispredicted) AS mispredicted,"
			" total(c.weight) AS weight FROM edge_counts c WHERE 1");
	pp_query_add_window_set(q);
	pp_query_add_process_set(q);
	pp_query_add_edge_set(q);
	pp_query_add(q, " GROUP BY c.edge, c.process) s CROSS JOIN edges g ON g.id = s.edge"
			" CROSS JOIN binaries f ON f.id = g.from_binary"
			" CROSS JOIN binaries t ON t.id = g.to_binary" PROCESS_JOIN);
}

static int take_edge(struct pp_query *q, struct pp_row *row, void *context,
		     struct pathprof_error *error)
{
	struct extract *e = context;
	const struct pathprof_edge_count edge = {
		.process = take_process(e, row, 10),
		.from_binary = take_binary(e, row, 4),
		.to_binary = take_binary(e, row, 7),
		.from = pp_row_bits(row, 0),
		.to = pp_row_bits(row, 1),
		.count = pp_row_count(row, 2),
		.mispredicted = pp_row_count(row, 3),
		.weight = pp_row_weight(row, 19),
	};
	int r = pp_row_end(row, q->store, error);

	if (r == 0)
		pathprof_profile_add_edge(&e->profile, &edge);
	return r;
}

static void clock_query(struct pp_query *q)
{
	pp_query_add(q, "SELECT s.place, s.samples, s.binary <> 0, coalesce(b.build_id, x''),"
			" coalesce(b.kind, 0), coalesce(b.name, ''), " PROCESS_COLUMNS
			" FROM (SELECT c.binary AS binary, c.place AS place, c.process AS process,"
			" sum(c.samples) AS samples FROM clock_counts c WHERE 1");
	pp_query_add_clock_set(q);
	pp_query_add(q, " GROUP BY c.binary, c.place, c.process) s" PROCESS_JOIN
			" LEFT JOIN binaries b ON b.id = s.binary");
}

static int take_clock(struct pp_query *q, struct pp_row *row, void *context,
		      struct pathprof_error *error)
{
	struct extract *e = context;
	bool in_file = pp_row_int(row, 2, 0, 1) != 0;
	const struct pathprof_clock_count clock = {
		.process = take_process(e, row, 6),
		.binary = in_file ? take_binary(e, row, 3) : PATHPROF_NO_INDEX,
		.place = pp_row_place(row, 0, in_file),
		.samples = pp_row_count(row, 1),
	};
	int r = pp_row_end(row, q->store, error);

	if (r == 0)
		pathprof_profile_add_clock(&e->profile, &clock);
	return r;
}

/* Takes the files of those binaries whose counts were taken. */
static int take_file(void *context, const struct pathprof_file_row *row)
{
	struct extract *e = context;

	for (uint32_t i = 0; i < e->profile.binary_cnt; i++)
		if (pathprof_build_id_equal(&e->profile.binaries[i].id, &row->binary_id))
			pathprof_profile_add_file(&e->profile, i, &row->file);
	return 0;
}

static int take_counts(struct extract *e, const struct pathprof_filter *filter,
		       struct pathprof_error *error)
{
	struct pp_query q;
	int r;

	pp_query_begin(&q, e->store, filter);
	path_query(&q);
	r = pp_query_run(&q, 0, take_path, e, error);
	if (r < 0)
		return r;
	pp_query_begin(&q, e->store, filter);
	edge_query(&q);
	r = pp_query_run(&q, 0, take_edge, e, error);
	if (r < 0)
		return r;
	pp_query_begin(&q, e->store, filter);
	clock_query(&q);
	r = pp_query_run(&q, 0, take_clock, e, error);
	return r < 0 ? r : pathprof_store_files(e->store, filter, take_file, e, error);
}

/* All queries read one snapshot. */
static int select_all(struct extract *e, const struct pathprof_filter *filter,
		      struct pathprof_error *error)
{
	uint64_t full, bad;
	int r = pp_sql_exec(e->store, "BEGIN", error);

	if (r < 0)
		return r;
	r = take_windows(e, filter, error);
	full = e->profile.totals.drops[PATHPROF_DROP_TABLE_FULL];
	bad = e->profile.totals.drops[PATHPROF_DROP_MALFORMED];
	if (r == 0)
		r = take_counts(e, filter, error);
	pp_sql_exec(e->store, "ROLLBACK", NULL);
	if (r < 0)
		return r;
	if (e->profile.totals.drops[PATHPROF_DROP_TABLE_FULL] != full)
		return pathprof_fail(error, -E2BIG,
				     "%s: more is selected than fits into memory: select less",
				     e->store->file);
	if (e->profile.totals.drops[PATHPROF_DROP_MALFORMED] != bad)
		return pathprof_fail(error, -EBADMSG,
				     "%s: an impossible count (the file is damaged)",
				     e->store->file);
	if (!e->profile.path_cnt && !e->profile.edge_cnt && !e->profile.clock_cnt)
		return pathprof_fail(error, -ENODATA, "%s: nothing is selected", e->store->file);
	return 0;
}

/* ---------------------------------------------------------------- the new file */

static int set_note(struct pathprof_store *store, const char *note, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_NOTE_SET, &stmt, error);

	if (r < 0)
		return r;
	pp_sql_bind_text(stmt, 1, note);
	return pp_sql_run(store, stmt, error);
}

/* Writes the portable names of paths, and whatever the caller adds. */
static int write_names(const struct extract *e, struct pathprof_store *store,
		       struct pathprof_error *error)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < e->profile.binary_cnt; i++)
		r = pp_store_copy_portable(store, e->store, &e->profile.binaries[i].id, error);
	if (r == 0 && e->fill)
		r = e->fill(e->fill_context, store, error);
	return r;
}

static int write_extract(void *context, struct pathprof_store *store, struct pathprof_error *error)
{
	const struct extract *e = context;
	int r = pathprof_store_add_window(store, &e->profile, NULL, error);

	if (r == 0)
		r = write_names(e, store, error);
	return r == 0 && e->note ? set_note(store, e->note, error) : r;
}

/* Without the log a file needs nothing beside it to be read. */
static int write_file(const char *file, pathprof_store_fill_fn *fill, void *context,
		      struct pathprof_error *error)
{
	struct pathprof_store *store = NULL;
	int r = pathprof_store_open(&store, file, PATHPROF_STORE_WRITE, error);

	if (r < 0)
		return r;
	r = fill(context, store, error);
	for (int i = 0; i < PP_STMT_CNT; i++)
		if (store->stmts[i])
			sqlite3_reset(store->stmts[i]);
	if (r == 0)
		r = pp_sql_exec(store, "PRAGMA journal_mode=DELETE", error);
	pathprof_store_free(store);
	return r;
}

static void remove_with(const char *file, const char *suffix)
{
	char *name = sqlite3_mprintf("%s%s", file, suffix);

	if (name)
		unlink(name);
	sqlite3_free(name);
}

static void remove_leftovers(const char *file)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", ".lock"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		remove_with(file, suffixes[i]);
}

static int exists(const char *file, struct pathprof_error *error)
{
	return pathprof_fail(error, -EEXIST,
			     "%s: there is such a file: remove it, or use another "
			     "name",
			     file);
}

static int move(const char *from, const char *file, bool replace, struct pathprof_error *error)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, file, replace ? 0 : RENAME_NOREPLACE) == 0)
		return 0;
	int r = -errno;
	if (r == -EINVAL && !replace) {
		/* a file system that cannot do it at once: a hard link never replaces either */
		r = link(from, file) == 0 ? 0 : -errno;
		if (r == 0)
			unlink(from);
	}
	if (r == -EEXIST)
		return exists(file, error);
	return r ? pathprof_fail(error, r, "%s: %s", file, strerror(-r)) : 0;
}

/* A log beside the old file would be taken for the new one's. */
static int check_target(const char *file, bool replace, struct pathprof_error *error)
{
	char *log = sqlite3_mprintf("%s-wal", file);
	int r = 0;

	if (!log)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	if (!file[0])
		r = pathprof_fail(error, -EINVAL, "no name for the profile file");
	else if (!replace && access(file, F_OK) == 0)
		r = exists(file, error);
	else if (access(log, F_OK) == 0)
		r = pathprof_fail(error, -EBUSY, "%s: it is being written to: use another name",
				  file);
	sqlite3_free(log);
	return r;
}

static int write_beside(const char *file, bool replace, pathprof_store_fill_fn *fill, void *context,
			struct pathprof_error *error)
{
	char *beside = sqlite3_mprintf("%s.%ld.new", file, (long)getpid());

	if (!beside)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	remove_leftovers(beside);
	int r = write_file(beside, fill, context, error);
	if (r == 0)
		r = move(beside, file, replace, error);
	remove_leftovers(beside);
	sqlite3_free(beside);
	return r;
}

/* ---------------------------------------------------------------- public */

int pathprof_store_extract(struct pathprof_store *store, const struct pathprof_filter *filter,
			   const char *file, const char *note, bool replace,
			   struct pathprof_error *error)
{
	return pathprof_store_extract_filled(store, filter, file, note, replace, NULL, NULL, error);
}

int pathprof_store_extract_filled(struct pathprof_store *store,
				  const struct pathprof_filter *filter, const char *file,
				  const char *note, bool replace, pathprof_store_fill_fn *fill,
				  void *context, struct pathprof_error *error)
{
	const struct pathprof_filter all = {0};
	struct extract e = {.store = store, .note = note, .fill = fill, .fill_context = context};
	int r = check_target(file, replace, error);

	if (r == 0 && note && strnlen(note, NOTE_MAX_BYTES + 1) > NOTE_MAX_BYTES)
		r = pathprof_fail(error, -E2BIG, "%s: the note is longer than 64 KiB", file);
	if (r < 0)
		return r;
	struct pathprof_filter unlimited = filter ? *filter : all;
	unlimited.limit = 0;
	if (pathprof_profile_init(&e.profile, MEMORY_MAX_BYTES) < 0)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	r = select_all(&e, &unlimited, error);
	if (r == 0)
		r = write_beside(file, replace, write_extract, &e, error);
	pathprof_profile_release(&e.profile);
	return r;
}

int pathprof_store_make(const char *file, bool replace, pathprof_store_fill_fn *fill, void *context,
			struct pathprof_error *error)
{
	int r = check_target(file, replace, error);

	return r < 0 ? r : write_beside(file, replace, fill, context, error);
}

int pathprof_store_note(struct pathprof_store *store, char **ret_note, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_NOTE_GET, &stmt, error);

	return r < 0 ? r : pp_sql_text(store, stmt, "no note came with it", ret_note, error);
}
