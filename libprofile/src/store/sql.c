// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * SQLite as the store uses it: errors as errno and one line, statements prepared once, rows whose
 * every column is checked.
 *
 * Workload: tens of thousands of short statements a window. Locking and ownership: pp_store.h.
 */
#include "pp_store.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/controls.h"

#define EIGHT(row)   row ", " row ", " row ", " row ", " row ", " row ", " row ", " row
#define A_BATCH(row) EIGHT(row) ", " EIGHT(row)
#define RANGE_MERGE  " ON CONFLICT DO UPDATE SET count = count + excluded.count"

static const char *const texts[PP_STMT_CNT] = {
	[PP_STMT_BEGIN] = "BEGIN IMMEDIATE",
	[PP_STMT_COMMIT] = "COMMIT",
	[PP_STMT_ROLLBACK] = "ROLLBACK",
	[PP_STMT_BOOT_ADD] = "INSERT INTO boots(boot_id) VALUES (?1) ON CONFLICT DO NOTHING",
	[PP_STMT_BOOT_FIND] = "SELECT id FROM boots WHERE boot_id = ?1",
	[PP_STMT_BINARY_FIND] = "SELECT id, name FROM binaries WHERE build_id = ?1 AND kind = ?2",
	[PP_STMT_BINARY_ADD] = "INSERT INTO binaries(build_id, kind, name, last_window)"
			       " VALUES (?1, ?2, ?3, ?4)",
	[PP_STMT_BINARY_NAME] = "UPDATE binaries SET name = ?2 WHERE id = ?1",
	[PP_STMT_PROCESS_FIND] = "SELECT id FROM processes WHERE boot = ?1 AND pid = ?2"
				 " AND start_time = ?3 AND exec_cnt = ?4",
	[PP_STMT_PROCESS_ADD] =
		"INSERT INTO processes(boot, pid, start_time, exec_cnt, comm, container, binary,"
		" last_window) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[PP_STMT_PROCESS_UPDATE] =
		"UPDATE processes SET comm = ?5, container = ?6, binary = coalesce(?7, binary),"
		" last_window = ?8 WHERE id = ?9 AND (comm <> ?5 OR container <> ?6 OR"
		" coalesce(?7 <> binary, ?7 IS NOT NULL) OR last_window + 63 < ?8)",
	[PP_STMT_WINDOW_ADD] =
		"INSERT INTO windows(begin_ns, end_ns, source, basis, taken_wanted, bursts,"
		" branches, taken, steps, paths, stopped_ns, source_cpu_ns, horizon, clock_hz,"
		" clock_kernel, insns, pathless, clock_samples, weighed) VALUES (?1, ?2, ?3, ?4,"
		" ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
	[PP_STMT_WINDOW_END_ADD] = "INSERT INTO window_ends VALUES (?1, ?2, ?3)",
	[PP_STMT_WINDOW_DROP_ADD] = "INSERT INTO window_drops VALUES (?1, ?2, ?3)",
	[PP_STMT_WINDOW_FILE_ADD] = "INSERT INTO window_files VALUES (?1, ?2, ?3, ?4, ?5)",
	[PP_STMT_WINDOW_PROCESS_ADD] =
		"INSERT INTO window_processes VALUES (?1, ?2) ON CONFLICT DO NOTHING",
	[PP_STMT_PATH_FIND] = "SELECT id, last_window FROM paths WHERE binary = ?1 AND start = ?2"
			      " AND length = ?3 AND outcomes = ?4",
	[PP_STMT_PATH_ADD] = "INSERT INTO paths(binary, start, length, outcomes, last_window)"
			     " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
	[PP_STMT_PATH_SEEN] = "UPDATE paths SET last_window = ?2 WHERE id = ?1",
	[PP_STMT_PATH_COUNT_ADD] =
		"INSERT INTO path_counts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[PP_STMT_PATH_COUNTS_ADD] =
		"INSERT INTO path_counts VALUES " A_BATCH("(?1, ?, ?, ?, ?, ?, ?, ?)"),
	[PP_STMT_EDGE_FIND] = "SELECT id, last_window FROM edges WHERE from_binary = ?1"
			      " AND from_offset = ?2 AND to_binary = ?3 AND to_offset = ?4",
	[PP_STMT_EDGE_ADD] = "INSERT INTO edges(from_binary, from_offset, to_binary, to_offset,"
			     " last_window) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
	[PP_STMT_EDGE_SEEN] = "UPDATE edges SET last_window = ?2 WHERE id = ?1",
	[PP_STMT_EDGE_COUNT_ADD] = "INSERT INTO edge_counts VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[PP_STMT_EDGE_COUNTS_ADD] =
		"INSERT INTO edge_counts VALUES " A_BATCH("(?1, ?, ?, ?, ?, ?)"),
	[PP_STMT_CLOCK_COUNT_ADD] = "INSERT INTO clock_counts VALUES (?1, ?2, ?3, ?4, ?5)",
	[PP_STMT_CONTEXT_FIND] = "SELECT id, last_window FROM contexts WHERE parent = ?1"
				 " AND binary = ?2 AND function = ?3",
	[PP_STMT_CONTEXT_ADD] = "INSERT INTO contexts(parent, binary, function, last_window)"
				" VALUES (?1, ?2, ?3, ?4)",
	[PP_STMT_CONTEXT_SEEN] =
		"UPDATE contexts SET last_window = ?2 WHERE id = ?1 AND last_window + 63 < ?2",
	[PP_STMT_CONTEXT_COUNT_ADD] =
		"INSERT INTO context_counts VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE"
		" SET samples = samples + excluded.samples, weight = weight + excluded.weight",
	[PP_STMT_BINARY_SEEN] =
		"UPDATE binaries SET last_window = ?2 WHERE id = ?1 AND last_window + 63 < ?2",
	[PP_STMT_STATUS_SET] = "INSERT OR REPLACE INTO daemon_status SELECT 1, ?1, ?2 WHERE"
			       " CASE WHEN json_valid(?2) THEN json_type(?2) = 'object' END",
	[PP_STMT_STATUS_GET] = "SELECT json FROM daemon_status",
	[PP_STMT_JIT_ADD] = "INSERT INTO jit_symbols VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE"
			    " SET len_bytes = ?3, name = ?4 WHERE len_bytes <> ?3 OR name <> ?4",
	[PP_STMT_JIT_FIND] = "SELECT j.start, j.len_bytes, j.name FROM binaries b"
			     " CROSS JOIN jit_symbols j ON j.binary = b.id WHERE b.build_id = ?1"
			     " AND b.kind = ?2 AND j.start <= ?3 ORDER BY j.start DESC LIMIT 16",
	[PP_STMT_JIT_OF_BUILD] =
		"SELECT j.start, j.len_bytes, j.name FROM binaries b CROSS JOIN jit_symbols j"
		" ON j.binary = b.id WHERE b.build_id = ?1 AND b.kind = ?2",
	[PP_STMT_HAS_NAMES] =
		"SELECT 1 FROM binaries b WHERE b.build_id = ?1 AND b.kind = ?2 AND (EXISTS"
		" (SELECT 1 FROM jit_symbols j WHERE j.binary = b.id) OR EXISTS"
		" (SELECT 1 FROM binary_functions f WHERE f.binary = b.id))",
	[PP_STMT_NAMES_COUNT] =
		"SELECT b.id, (SELECT count(*) FROM jit_symbols j WHERE j.binary = b.id)"
		" FROM binaries b WHERE b.build_id = ?1 AND b.kind = ?2",
	[PP_STMT_FUNCTION_NAME_SEEN] = "UPDATE jit_symbols SET len_bytes = max(len_bytes, ?3)"
				       " WHERE binary = ?1 AND start = ?2",
	[PP_STMT_FUNCTION_NAME_ADD] = "INSERT INTO jit_symbols VALUES (?1, ?2, ?3, ?4)",
	[PP_STMT_PORTABLE_FIRST] =
		"INSERT OR IGNORE INTO portable_paths SELECT t.id, ?5, ?6, CASE WHEN ?5 = 0 THEN ''"
		" ELSE coalesce((SELECT CASE WHEN ?2 - j.start < max(j.len_bytes, 1) THEN"
		" j.name END FROM jit_symbols j WHERE j.binary = ?1 AND j.start <= ?2"
		" ORDER BY j.start DESC LIMIT 1), '') END FROM paths t"
		" WHERE t.binary = ?1 AND t.start = ?2 AND t.length = ?3 AND t.outcomes = ?4",
	[PP_STMT_WINDOW_ENDS] = "SELECT reason, count FROM window_ends WHERE window = ?1",
	[PP_STMT_WINDOW_DROPS] = "SELECT reason, count FROM window_drops WHERE window = ?1",
	[PP_STMT_KNOWN_PATHS] = "SELECT t.id, b.name, t.start, t.length, t.outcomes FROM binaries b"
				" CROSS JOIN paths t ON t.binary = b.id WHERE b.build_id = ?1"
				" AND b.kind = ?2",
	[PP_STMT_COUNT_PATHS] = "SELECT count(*) FROM path_counts WHERE window = ?1",
	[PP_STMT_DRIFT_ADD] = "INSERT INTO drift VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
			      " ?11, ?12, ?13, ?14, ?15)",
	[PP_STMT_DRIFT_FIND] =
		"SELECT w.id, w.begin_ns, w.end_ns, b.build_id, b.kind, b.name, d.container,"
		" d.baseline, d.window_samples, d.baseline_samples, d.kl, d.kl_corrected, d.kl_low,"
		" d.kl_high, d.overlap, d.angle, d.coverage_static, d.coverage_dynamic, d.matched"
		" FROM windows w CROSS JOIN drift d ON d.window = w.id"
		" CROSS JOIN binaries b ON b.id = d.binary"
		" WHERE (?1 = 0 OR w.end_ns > ?1) AND (?2 = 0 OR w.begin_ns < ?2)"
		" AND (?3 = 0 OR w.id = ?3) AND (?4 = '' OR b.name = ?4"
		" OR (instr(?4, '/') = 0 AND substr(b.name, -1 - length(?4)) = '/' || ?4)"
		" OR (?5 <> '' AND substr(lower(hex(b.build_id)), 1, length(?5)) = ?5))"
		" AND substr(d.container, 1, length(?6)) = ?6 AND (?7 = '' OR d.baseline = ?7)"
		" AND (?9 = 0 OR ?9 = CASE WHEN w.basis = 2 THEN 1 WHEN w.horizon = 0 THEN 3"
		" WHEN w.weighed THEN 4 ELSE 2 END)"
		" ORDER BY w.end_ns DESC, w.id DESC, b.name, b.id, d.container, d.baseline LIMIT "
		"?8",
	[PP_STMT_ALERT_SET] =
		"INSERT OR REPLACE INTO alerts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
		" ?9, ?10, ?11, ?12)",
	[PP_STMT_ALERT_REMOVE] = "DELETE FROM alerts WHERE rule = ?1 AND binary = ?2"
				 " AND container = ?3",
	[PP_STMT_ALERTS] = "SELECT rule, binary, container, baseline, phase, streak, since_ns,"
			   " fired_ns, resolved_ns, seen_ns, value, json FROM alerts"
			   " ORDER BY phase = 2 DESC, phase = 1 DESC, since_ns DESC, rule, binary,"
			   " container",
	[PP_STMT_MESSAGE_ADD] = "INSERT INTO messages VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
				" ?9, ?10, ?11, ?12, ?13)",
	[PP_STMT_MESSAGES_TRIM] = "DELETE FROM messages WHERE id <= (SELECT max(id) FROM messages) "
				  "- " PP_MESSAGES_KEPT " AND id NOT IN " PP_MESSAGES_OF_FIRING,
	[PP_STMT_MESSAGES] = "SELECT id, time_ns, fired, rule, binary, container, baseline, metric,"
			     " value, threshold, begin_ns, end_ns, summary, json FROM messages"
			     " WHERE id > ?1 ORDER BY id",
	[PP_STMT_MESSAGES_FIRING] =
		"SELECT id, time_ns, fired, rule, binary, container, baseline, metric, value,"
		" threshold, begin_ns, end_ns, summary, json FROM messages WHERE fired = 1"
		" AND id IN " PP_MESSAGES_OF_FIRING " ORDER BY id",
	[PP_STMT_MESSAGE_NEWEST] =
		"SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0),"
		" (SELECT value FROM meta WHERE name = 'identity')",
	[PP_STMT_NOTE_SET] = "INSERT OR REPLACE INTO meta(name, value) VALUES ('note', ?1)",
	[PP_STMT_NOTE_GET] = "SELECT value FROM meta WHERE name = 'note'",
	[PP_STMT_PORTABLE_ADD] =
		"INSERT OR REPLACE INTO portable_paths SELECT t.id, ?6, ?7, ?8 FROM binaries b"
		" CROSS JOIN paths t ON t.binary = b.id WHERE b.build_id = ?1 AND b.kind = ?2"
		" AND t.start = ?3 AND t.length = ?4 AND t.outcomes = ?5",
	[PP_STMT_PORTABLE] =
		"SELECT t.id, t.start, t.length, t.outcomes, n.function, n.place, n.name"
		" FROM binaries b CROSS JOIN paths t ON t.binary = b.id"
		" CROSS JOIN portable_paths n ON n.path = t.id WHERE b.build_id = ?1 AND b.kind = "
		"?2",
	[PP_STMT_FUNCTION_KEYS_SET] = "INSERT OR REPLACE INTO binary_functions SELECT id, ?3 FROM"
				      " binaries WHERE build_id = ?1 AND kind = ?2",
	[PP_STMT_FUNCTION_KEYS_GET] =
		"SELECT f.keys FROM binaries b CROSS JOIN binary_functions f ON f.binary = b.id"
		" WHERE b.build_id = ?1 AND b.kind = ?2",
	/* paths were last seen in the window that they name, or up to 63 later */
	[PP_STMT_EARLIER_BUILDS] =
		"SELECT e.build_id, e.kind, (SELECT w.end_ns FROM windows w WHERE w.id <= e.last"
		" ORDER BY w.id DESC LIMIT 1) AS low, (SELECT w.end_ns FROM windows w WHERE"
		" w.id <= e.last + 63 ORDER BY w.id DESC LIMIT 1) AS high FROM (SELECT"
		" p.build_id AS build_id, p.kind AS kind, (SELECT max(t.last_window) FROM paths t"
		" WHERE t.binary = p.id) AS last FROM binaries b CROSS JOIN binaries p ON"
		" p.id < b.id AND p.name = ?3 WHERE b.build_id = ?1 AND b.kind = ?2"
		" AND p.kind IN (1, 2)) e WHERE low IS NOT NULL AND high IS NOT NULL"
		" ORDER BY e.last DESC",
	[PP_STMT_VALUE_SITE_FIND] =
		"SELECT id FROM value_sites WHERE binary = ?1 AND start = ?2 AND argument = ?3",
	[PP_STMT_VALUE_SITE_ADD] = "INSERT INTO value_sites(binary, start, argument, function)"
				   " VALUES (?1, ?2, ?3, ?4)",
	[PP_STMT_VALUE_COUNT_ADD] = "INSERT INTO value_counts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[PP_STMT_VALUE_TOP_ADD] = "INSERT INTO value_tops VALUES (?1, ?2, ?3, ?4)",
	[PP_STMT_WINDOW_NOTE_ADD] = "INSERT OR REPLACE INTO window_notes VALUES (?1, ?2)",
	[PP_STMT_WINDOW_NOTE_GET] = "SELECT note FROM window_notes WHERE window = ?1",
	[PP_STMT_PIECE_COUNT_ADD] = "INSERT INTO piece_counts VALUES (?1, ?2, ?3)"
				    " ON CONFLICT DO UPDATE SET count = count + excluded.count",
	[PP_STMT_SEGMENT_COUNT_ADD] = "INSERT INTO segment_counts VALUES (?1, ?2, ?3, ?4)"
				      " ON CONFLICT DO UPDATE SET count = count + excluded.count",
	[PP_STMT_PIECE_FIND] = "SELECT id, last_window FROM pieces WHERE binary = ?1 AND start = ?2"
			       " AND length = ?3 AND outcomes = ?4",
	[PP_STMT_PIECE_ADD] = "INSERT INTO pieces(binary, start, length, outcomes, last_window)"
			      " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
	[PP_STMT_PIECE_SEEN] = "UPDATE pieces SET last_window = ?2 WHERE id = ?1",
	[PP_STMT_SEGMENTED_WINDOW_ADD] = "INSERT INTO segmented_windows VALUES (?1, ?2)",
	[PP_STMT_SEGMENT_SAMPLE_ADD] =
		"INSERT INTO segment_samples VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[PP_STMT_SEGMENT_SAMPLES_ADD] =
		"INSERT INTO segment_samples VALUES " A_BATCH("(?1, ?, ?, ?, ?, ?, ?, ?)"),
	[PP_STMT_RANGED_WINDOW_ADD] = "INSERT INTO ranged_windows VALUES (?1)",
	[PP_STMT_RANGE_COUNT_ADD] = "INSERT INTO range_counts VALUES (?1, ?2, ?3, ?4)" RANGE_MERGE,
	[PP_STMT_RANGE_COUNTS_ADD] =
		"INSERT INTO range_counts VALUES " A_BATCH("(?1, ?, ?, ?)") RANGE_MERGE,
	[PP_STMT_PARCEL_PIECES] =
		"SELECT p.id, p.windows, p.host, c.window, c.recorded, (SELECT count(*) FROM"
		" parcel_windows o WHERE o.window = c.window) FROM parcels p"
		" CROSS JOIN parcel_windows c ON c.parcel = p.id WHERE p.store = ?1 AND p.slot = "
		"?2",
	[PP_STMT_PARCEL_FIND] =
		"SELECT id FROM parcels WHERE store = ?1 AND slot = ?2 AND host = ?3",
	[PP_STMT_PARCEL_SET] =
		"INSERT INTO parcels VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0)"
		" ON CONFLICT(id) DO UPDATE SET windows = excluded.windows, host = excluded.host,"
		" model = excluded.model, kernel = excluded.kernel, os = excluded.os,"
		" cpus = excluded.cpus, sent_ns = excluded.sent_ns, labels = excluded.labels,"
		" rolled = 0",
	[PP_STMT_PARCEL_WINDOW_ADD] = "INSERT INTO parcel_windows VALUES (?1, ?2, ?3)",
	[PP_STMT_VALUE_DROP_ADD] = "INSERT INTO value_drops VALUES (?1, ?2, ?3)",
};

/* ---------------------------------------------------------------- errors */

/* The system's error tells if too many files are open; every other failure counts as missing
 * rights, the usual cause. */
static int why_not_open(sqlite3 *db)
{
	int r = sqlite3_system_errno(db);

	return r == EMFILE || r == ENFILE ? -r : -EACCES;
}

static int errno_of(sqlite3 *db)
{
	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return why_not_open(db);
	case SQLITE_IOERR:
		return -EIO;
	case SQLITE_TOOBIG:
		return -E2BIG;
	case SQLITE_INTERRUPT:
		return -EINTR;
	case SQLITE_CONSTRAINT:
		return -EINVAL;
	}
	/* Our statements are fixed and fit our schema: what else fails, fails because of the file.
	 */
	return -EBADMSG;
}

static const char *advice_of(int code)
{
	switch (code) {
	case -EBADMSG:
		return "the file is damaged or no pathprof store";
	case -EINVAL:
		return "what is to be stored contradicts itself";
	case -EBUSY:
		return "another program holds it, try again";
	case -ENOSPC:
		return "free some space or lower the retention bound";
	case -EMFILE:
		return "this process may open no more files: raise the limit (ulimit -n)";
	case -ENFILE:
		return "this machine may open no more files: raise fs.file-max";
	case -EACCES:
	case -EROFS:
		return "check the rights of the file and its directory";
	}
	return "see the system's log for the device";
}

/* SQLite quotes names out of the file, and its integrity check writes several lines. */
static void make_one_line(char *text)
{
	pp_controls_replace(text, strlen(text), ' ');
}

int pp_sql_fail(struct pathprof_store *store, struct pathprof_error *error, const char *doing)
{
	int r = errno_of(store->db);
	const char *said = sqlite3_errmsg(store->db);

	/* A full disk stops only writing; a query may have to write a temporary file. */
	if (r == -ENOSPC)
		doing = "cannot write";
	pathprof_fail(error, r, "%s: %s: %.200s (%s)", store->file, doing, said, advice_of(r));
	if (error)
		make_one_line(error->text);
	return r;
}

int pp_sql_writable(struct pathprof_store *store, struct pathprof_error *error)
{
	if (store->writable)
		return 0;
	return pathprof_fail(error, -EROFS, "%s: opened for reading only", store->file);
}

/* ---------------------------------------------------------------- sums */

struct sum {
	int64_t sum;
	bool is_known, is_bad; /* has an integer; has something else */
};

static void add_to_sum(sqlite3_context *context, int cnt, sqlite3_value **values)
{
	struct sum *sum = sqlite3_aggregate_context(context, sizeof(*sum));
	int type = sqlite3_value_type(values[0]);
	int64_t value = sqlite3_value_int64(values[0]);

	if (!sum || type == SQLITE_NULL)
		return;
	sum->is_known = true;
	sum->is_bad |= type != SQLITE_INTEGER;
	if (__builtin_add_overflow(sum->sum, value, &sum->sum))
		sum->sum = value > 0 ? INT64_MAX : INT64_MIN;
}

static void end_sum(sqlite3_context *context)
{
	const struct sum *sum = sqlite3_aggregate_context(context, 0);

	if (sum && sum->is_known && !sum->is_bad)
		sqlite3_result_int64(context, sum->sum);
}

int pp_sql_bound_sums(struct pathprof_store *store, struct pathprof_error *error)
{
	if (sqlite3_create_function(store->db, "sum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
				    NULL, add_to_sum, end_sum) == SQLITE_OK)
		return 0;
	return pp_sql_fail(store, error, "cannot configure SQLite");
}

/* ---------------------------------------------------------------- statements */

int pp_sql_exec(struct pathprof_store *store, const char *sql, struct pathprof_error *error)
{
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return pp_sql_fail(store, error, "cannot run a statement");
}

int pp_sql_prepare(struct pathprof_store *store, const char *sql, sqlite3_stmt **ret_stmt,
		   struct pathprof_error *error)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return pp_sql_fail(store, error, "cannot query");
	*ret_stmt = stmt;
	return 0;
}

int pp_sql_get(struct pathprof_store *store, enum pp_stmt which, sqlite3_stmt **ret_stmt,
	       struct pathprof_error *error)
{
	sqlite3_stmt *stmt = store->stmts[which];

	if (!stmt) {
		if (sqlite3_prepare_v3(store->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT,
				       &stmt, NULL) != SQLITE_OK)
			return pp_sql_fail(store, error, "cannot query");
		store->stmts[which] = stmt;
	}
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	*ret_stmt = stmt;
	return 0;
}

/* SQLite calls COMMIT read-only, since it changes nothing by itself, but it writes the changes made
 * before: statements without columns count as writing, too. */
static bool writes(sqlite3_stmt *stmt)
{
	return !sqlite3_stmt_readonly(stmt) || !sqlite3_column_count(stmt);
}

int pp_sql_step(struct pathprof_store *store, sqlite3_stmt *stmt, struct pathprof_error *error)
{
	int r = sqlite3_step(stmt);
	int still = pp_store_check_still(store, error);

	if (still < 0)
		return still;
	if (r == SQLITE_ROW || r == SQLITE_DONE)
		return r == SQLITE_ROW;
	return pp_sql_fail(store, error, writes(stmt) ? "cannot write" : "cannot read");
}

int pp_sql_run(struct pathprof_store *store, sqlite3_stmt *stmt, struct pathprof_error *error)
{
	int r;

	do
		r = pp_sql_step(store, stmt, error);
	while (r > 0);
	sqlite3_reset(stmt);
	return r;
}

/* Adds cnt rows, from index `at` on. */
static int add_some(struct pathprof_store *store, const struct pp_rows *rows, int64_t window,
		    size_t at, size_t cnt, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, cnt == 1 ? rows->one : rows->batch, &stmt, error);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, window);
	for (size_t i = 0; i < cnt; i++)
		rows->bind(stmt, 2 + (int)i * rows->columns,
			   (const char *)rows->rows + (at + i) * rows->row_bytes);
	return pp_sql_run(store, stmt, error);
}

int pp_sql_add_rows(struct pathprof_store *store, const struct pp_rows *rows, int64_t window,
		    struct pathprof_error *error)
{
	int r = 0;

	for (size_t at = 0, cnt; at < rows->cnt && r == 0; at += cnt) {
		cnt = rows->cnt - at < PP_ROWS_BATCH ? 1 : PP_ROWS_BATCH;
		r = add_some(store, rows, window, at, cnt, error);
	}
	return r;
}

int pp_sql_text(struct pathprof_store *store, sqlite3_stmt *stmt, const char *none, char **ret_text,
		struct pathprof_error *error)
{
	char *text = NULL;
	int r = pp_sql_step(store, stmt, error);

	if (r == 0)
		r = pathprof_fail(error, -ENOENT, "%s: %s", store->file, none);
	if (r > 0) {
		struct pp_row row = PP_ROW(stmt);
		const char *found = pp_row_text(&row, 0);

		r = pp_row_end(&row, store, error);
		text = r == 0 ? strdup(found) : NULL;
		if (r == 0 && !text)
			r = pathprof_fail(error, -ENOMEM, "out of memory");
	}
	sqlite3_reset(stmt);
	if (r == 0)
		*ret_text = text;
	return r;
}

int pp_sql_number(struct pathprof_store *store, const char *sql, int64_t *ret_number,
		  struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_prepare(store, sql, &stmt, error);

	if (r < 0)
		return r;
	r = pp_sql_step(store, stmt, error);
	if (r == 0)
		r = pathprof_fail(error, -EBADMSG, "%s: no answer to: %s", store->file, sql);
	if (r > 0) {
		*ret_number = sqlite3_column_int64(stmt, 0);
		r = 0;
	}
	sqlite3_finalize(stmt);
	return r;
}

static int run_fixed(struct pathprof_store *store, enum pp_stmt which, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, which, &stmt, error);

	return r < 0 ? r : pp_sql_run(store, stmt, error);
}

int pp_sql_begin(struct pathprof_store *store, struct pathprof_error *error)
{
	return run_fixed(store, PP_STMT_BEGIN, error);
}

int pp_sql_end(struct pathprof_store *store, int result, struct pathprof_error *error)
{
	if (result == 0)
		result = run_fixed(store, PP_STMT_COMMIT, error);
	if (result == 0)
		return 0;
	/* Some errors have rolled back already; one that has not must not leave us in between. */
	if (!sqlite3_get_autocommit(store->db))
		run_fixed(store, PP_STMT_ROLLBACK, NULL);
	pp_store_forget_ids(store);
	return result;
}

void pp_sql_bind_text(sqlite3_stmt *stmt, int parameter, const char *text)
{
	sqlite3_bind_text(stmt, parameter, text ? text : "", -1, SQLITE_STATIC);
}

void pp_sql_bind_id(sqlite3_stmt *stmt, int parameter, const struct pathprof_build_id *id)
{
	sqlite3_bind_blob(stmt, parameter, id->bytes, id->len_bytes, SQLITE_STATIC);
}

/* ---------------------------------------------------------------- rows */

static void mark_bad(struct pp_row *row, int column)
{
	if (row->bad_column < 0)
		row->bad_column = column;
}

int64_t pp_row_int(struct pp_row *row, int column, int64_t low, int64_t high)
{
	int64_t value = sqlite3_column_int64(row->stmt, column);

	if (sqlite3_column_type(row->stmt, column) == SQLITE_INTEGER && value >= low &&
	    value <= high)
		return value;
	mark_bad(row, column);
	return low;
}

uint64_t pp_row_count(struct pp_row *row, int column)
{
	return (uint64_t)pp_row_int(row, column, 0, INT64_MAX);
}

int64_t pp_row_time(struct pp_row *row, int column)
{
	return pp_row_int(row, column, 0, INT64_MAX);
}

uint32_t pp_row_u32(struct pp_row *row, int column)
{
	return (uint32_t)pp_row_int(row, column, 0, UINT32_MAX);
}

uint64_t pp_row_bits(struct pp_row *row, int column)
{
	return (uint64_t)pp_row_int(row, column, INT64_MIN, INT64_MAX);
}

double pp_row_weight(struct pp_row *row, int column)
{
	int type = sqlite3_column_type(row->stmt, column);
	double value = sqlite3_column_double(row->stmt, column);

	if ((type == SQLITE_FLOAT || type == SQLITE_INTEGER) && isfinite(value) && value >= 0)
		return value;
	mark_bad(row, column);
	return 0;
}

const char *pp_row_text(struct pp_row *row, int column)
{
	int type = sqlite3_column_type(row->stmt, column);
	const char *text = (const char *)sqlite3_column_text(row->stmt, column);

	if (type == SQLITE_TEXT && text)
		return text;
	mark_bad(row, column);
	return "";
}

void pp_row_id(struct pp_row *row, int column, struct pathprof_build_id *ret_id)
{
	const void *bytes = sqlite3_column_blob(row->stmt, column);
	int len_bytes = sqlite3_column_bytes(row->stmt, column);

	*ret_id = (struct pathprof_build_id){0};
	ret_id->kind = (uint8_t)pp_row_int(row, column + 1, PATHPROF_ID_NONE, PATHPROF_ID_JIT);
	if (sqlite3_column_type(row->stmt, column) != SQLITE_BLOB || len_bytes < 0 ||
	    len_bytes > PATHPROF_BUILD_ID_MAX) {
		mark_bad(row, column);
		return;
	}
	ret_id->len_bytes = (uint8_t)len_bytes;
	if (len_bytes)
		memcpy(ret_id->bytes, bytes, (size_t)len_bytes);
}

int pp_row_end(const struct pp_row *row, struct pathprof_store *store, struct pathprof_error *error)
{
	if (row->bad_column < 0)
		return 0;
	const char *name = sqlite3_column_name(row->stmt, row->bad_column);
	pathprof_fail(
		error, -EBADMSG,
		"%s: a row's %s has an impossible value (the file is damaged or no pathprof store)",
		store->file, name ? name : "column");
	if (error)
		make_one_line(error->text);
	return -EBADMSG;
}
