/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Declarations that the files of the store share: the connection, its prepared statements, and the
 * handling of SQLite's errors and rows. Everything read from a database file is checked here,
 * because the file may be damaged or made by an enemy: type, range and length of every column.
 *
 * Locking: one connection, one thread. Ownership: the store owns its statements and its lock.
 */
#ifndef PP_STORE_H
#define PP_STORE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "pathprof/store.h"
#include "pp_id_cache.h"

/* "PPRF" in a database's header. */
#define PP_APPLICATION_ID 0x50505246

/* A row's last_window lags behind the truth by less than this: see schema/sqlite/0001_init.sql. */
#define PP_LAST_WINDOW_LAG 64

#define PP_STATUS_MAX_BYTES (1 << 20)
/* The size limit of a text about an alert. */
#define PP_ALERT_JSON_MAX_BYTES (64u << 10)
/* The newest messages; those of alerts that fire are kept beside them. */
#define PP_MESSAGES_KEPT "1024"
/* Ids of the messages that say what fires now. */
#define PP_MESSAGES_OF_FIRING                                                                      \
	"(SELECT max(m.id) FROM alerts a CROSS JOIN messages m ON m.rule = a.rule"                 \
	" AND m.binary = a.binary AND m.container = a.container WHERE a.phase = 2"                 \
	" GROUP BY a.rule, a.binary, a.container)"

/* How long to wait for another process: only opening, closing and checkpoints ever do. */
#define PP_BUSY_MS 2000

/* Statements prepared once a connection, at first use. */
enum pp_stmt {
	PP_STMT_BEGIN,
	PP_STMT_COMMIT,
	PP_STMT_ROLLBACK,
	PP_STMT_BOOT_ADD,
	PP_STMT_BOOT_FIND,
	PP_STMT_BINARY_FIND,
	PP_STMT_BINARY_ADD,
	PP_STMT_BINARY_NAME,
	PP_STMT_PROCESS_FIND,
	PP_STMT_PROCESS_ADD,
	PP_STMT_PROCESS_UPDATE,
	PP_STMT_WINDOW_ADD,
	PP_STMT_WINDOW_END_ADD,
	PP_STMT_WINDOW_DROP_ADD,
	PP_STMT_WINDOW_FILE_ADD,
	PP_STMT_WINDOW_PROCESS_ADD,
	PP_STMT_PATH_FIND,
	PP_STMT_PATH_ADD,
	PP_STMT_PATH_SEEN,
	PP_STMT_PATH_COUNT_ADD,
	PP_STMT_PATH_COUNTS_ADD,
	PP_STMT_EDGE_FIND,
	PP_STMT_EDGE_ADD,
	PP_STMT_EDGE_SEEN,
	PP_STMT_EDGE_COUNT_ADD,
	PP_STMT_EDGE_COUNTS_ADD,
	PP_STMT_CLOCK_COUNT_ADD,
	PP_STMT_CONTEXT_FIND,
	PP_STMT_CONTEXT_ADD,
	PP_STMT_CONTEXT_SEEN,
	PP_STMT_CONTEXT_COUNT_ADD,
	PP_STMT_BINARY_SEEN,
	PP_STMT_STATUS_SET,
	PP_STMT_STATUS_GET,
	PP_STMT_JIT_ADD,
	PP_STMT_JIT_FIND,
	PP_STMT_WINDOW_ENDS,
	PP_STMT_WINDOW_DROPS,
	PP_STMT_KNOWN_PATHS,
	PP_STMT_COUNT_PATHS,
	PP_STMT_DRIFT_ADD,
	PP_STMT_DRIFT_FIND,
	PP_STMT_ALERT_SET,
	PP_STMT_ALERT_REMOVE,
	PP_STMT_ALERTS,
	PP_STMT_MESSAGE_ADD,
	PP_STMT_MESSAGES_TRIM,
	PP_STMT_MESSAGES,
	PP_STMT_MESSAGES_FIRING,
	PP_STMT_MESSAGE_NEWEST,
	PP_STMT_NOTE_SET,
	PP_STMT_NOTE_GET,
	PP_STMT_PORTABLE_ADD,
	PP_STMT_PORTABLE,
	PP_STMT_FUNCTION_KEYS_SET,
	PP_STMT_FUNCTION_KEYS_GET,
	PP_STMT_EARLIER_BUILDS,
	PP_STMT_VALUE_SITE_FIND,
	PP_STMT_VALUE_SITE_ADD,
	PP_STMT_VALUE_COUNT_ADD,
	PP_STMT_VALUE_TOP_ADD,
	PP_STMT_VALUE_DROP_ADD,
	PP_STMT_WINDOW_NOTE_ADD,
	PP_STMT_WINDOW_NOTE_GET,
	PP_STMT_PIECE_COUNT_ADD,
	PP_STMT_SEGMENT_COUNT_ADD,
	PP_STMT_PIECE_FIND,
	PP_STMT_PIECE_ADD,
	PP_STMT_PIECE_SEEN,
	PP_STMT_SEGMENTED_WINDOW_ADD,
	PP_STMT_SEGMENT_SAMPLE_ADD,
	PP_STMT_SEGMENT_SAMPLES_ADD,
	PP_STMT_RANGED_WINDOW_ADD,
	PP_STMT_RANGE_COUNT_ADD,
	PP_STMT_RANGE_COUNTS_ADD,
	PP_STMT_JIT_OF_BUILD,
	PP_STMT_HAS_NAMES,
	PP_STMT_NAMES_COUNT,
	PP_STMT_FUNCTION_NAME_SEEN,
	PP_STMT_FUNCTION_NAME_ADD,
	PP_STMT_PORTABLE_FIRST,
	PP_STMT_PARCEL_PIECES,
	PP_STMT_PARCEL_FIND,
	PP_STMT_PARCEL_SET,
	PP_STMT_PARCEL_WINDOW_ADD,
	PP_STMT_CNT,
};

struct pathprof_store {
	sqlite3 *db;
	sqlite3_stmt *stmts[PP_STMT_CNT];
	char *file;
	int lock_fd;           /* FILE.lock, held by flock; -1 in a reader */
	bool writable, is_new; /* is_new: the file was not there */
	bool as_it_lies;       /* SQLite takes no locks: pp_store_check_still() */
	struct stat lies;
	unsigned int schema;                     /* of the file, when it was opened */
	struct pp_id_cache paths, edges, pieces; /* of a writer */
};

/* After rows were removed or rolled back. */
static inline void pp_store_forget_ids(struct pathprof_store *store)
{
	pp_id_cache_clear(&store->paths);
	pp_id_cache_clear(&store->edges);
	pp_id_cache_clear(&store->pieces);
}

/* ---------------------------------------------------------------- sql.c */

/* The errno of what SQLite said last, and its text behind what was being done. */
int pp_sql_fail(struct pathprof_store *store, struct pathprof_error *error, const char *doing);
/*
 * Lets sum() end at 2^63 - 1. SQLite's own fails beyond, and the whole query with it: one host's
 * impossible counts would hide those of all others. Takes integers alone, anything else makes NULL.
 */
int pp_sql_bound_sums(struct pathprof_store *store, struct pathprof_error *error);
/* -EROFS with a line when the store was opened for reading. */
int pp_sql_writable(struct pathprof_store *store, struct pathprof_error *error);
/* One or more statements without rows. */
int pp_sql_exec(struct pathprof_store *store, const char *sql, struct pathprof_error *error);
/* For one query; the caller finalizes. */
int pp_sql_prepare(struct pathprof_store *store, const char *sql, sqlite3_stmt **ret_stmt,
		   struct pathprof_error *error);
/* One of the prepared ones, fresh, its parameters NULL. The caller resets it when done. */
int pp_sql_get(struct pathprof_store *store, enum pp_stmt which, sqlite3_stmt **ret_stmt,
	       struct pathprof_error *error);
/* 1: a row; 0: the end; or negative. */
int pp_sql_step(struct pathprof_store *store, sqlite3_stmt *stmt, struct pathprof_error *error);
/*
 * Rows of a window's counts, in the order of their key: a statement adds a batch of them, which
 * takes half of the processor time that as many statements take, and those left over one each.
 */
#define PP_ROWS_BATCH 16
struct pp_rows {
	enum pp_stmt one, batch; /* ?1 is the window, then come the columns of a row, and so on */
	int columns;
	void (*bind)(sqlite3_stmt *stmt, int first, const void *row);
	const void *rows;
	size_t cnt, row_bytes;
};
int pp_sql_add_rows(struct pathprof_store *store, const struct pp_rows *rows, int64_t window,
		    struct pathprof_error *error);
/* Runs stmt to its end and resets it. */
int pp_sql_run(struct pathprof_store *store, sqlite3_stmt *stmt, struct pathprof_error *error);
/*
 * The text that stmt, its parameters bound, gives; resets it. The caller frees *ret_text. -ENOENT
 * with `none` as its line when there is no row.
 */
int pp_sql_text(struct pathprof_store *store, sqlite3_stmt *stmt, const char *none, char **ret_text,
		struct pathprof_error *error);
/* The single integer that a query without parameters gives. */
int pp_sql_number(struct pathprof_store *store, const char *sql, int64_t *ret_number,
		  struct pathprof_error *error);
int pp_sql_begin(struct pathprof_store *store, struct pathprof_error *error);
/* Commits when result is 0, else rolls back and forgets the cached ids. Returns what came out. */
int pp_sql_end(struct pathprof_store *store, int result, struct pathprof_error *error);

/* Text with its end; SQLite keeps the pointer, so text must live until the statement is reset. */
void pp_sql_bind_text(sqlite3_stmt *stmt, int parameter, const char *text);
void pp_sql_bind_id(sqlite3_stmt *stmt, int parameter, const struct pathprof_build_id *id);

/*
 * Takes the columns of the row a statement stands on. A column of another type or outside its
 * range gives a harmless value and is remembered; pp_row_end tells.
 */
struct pp_row {
	sqlite3_stmt *stmt;
	int bad_column; /* the first one, -1: none */
};
#define PP_ROW(statement)                                                                          \
	(struct pp_row)                                                                            \
	{                                                                                          \
		.stmt = (statement), .bad_column = -1                                              \
	}

int64_t pp_row_int(struct pp_row *row, int column, int64_t low, int64_t high);
uint64_t pp_row_count(struct pp_row *row, int column);
/* A time since 1970: the difference of two of them fits. */
int64_t pp_row_time(struct pp_row *row, int column);
uint32_t pp_row_u32(struct pp_row *row, int column);
/* 64 bits stored as a signed number. */
uint64_t pp_row_bits(struct pp_row *row, int column);
double pp_row_weight(struct pp_row *row, int column);
/* Never NULL; valid until the statement moves. */
const char *pp_row_text(struct pp_row *row, int column);
/* Bytes in one column, kind in the next. */
void pp_row_id(struct pp_row *row, int column, struct pathprof_build_id *ret_id);
/* 0, or -EBADMSG with the name of the bad column. */
int pp_row_end(const struct pp_row *row, struct pathprof_store *store,
	       struct pathprof_error *error);

/* ---------------------------------------------------------------- portable_rows.c */

/* The same as pathprof_store_function_keys(), but unknown functions are no error: NULL. */
int pp_store_known_functions(struct pathprof_store *store, const struct pathprof_build_id *id,
			     uint64_t **ret_keys, size_t *ret_cnt, struct pathprof_error *error);
/* Copies the portable names of this build's paths that `from` has and `to` lacks. */
int pp_store_copy_portable(struct pathprof_store *to, struct pathprof_store *from,
			   const struct pathprof_build_id *id, struct pathprof_error *error);

/* ---------------------------------------------------------------- parcel_store_names.c */

struct pathprof_parcel;
/* Gives a parcel the names of functions and of paths that the store knows of its builds. */
int pp_store_take_names(struct pathprof_store *store, struct pathprof_parcel *parcel,
			struct pathprof_error *error);

/* ---------------------------------------------------------------- parcel_take.c */

/* Adds a window's counts to those of the parcel's part of its kind, made if need be. -E2BIG: more
 * than fits into memory. */
int pp_store_take_window(struct pathprof_store *store, struct pathprof_parcel *parcel,
			 int64_t window, uint32_t *ret_part, struct pathprof_error *error);

/* The random id that the store was given with its schema. */
int pp_store_identity(struct pathprof_store *store, uint8_t ret_id[16],
		      struct pathprof_error *error);

/* ---------------------------------------------------------------- message_rows.c */

/* -EINVAL: one of them cannot be. */
int pp_store_check_messages(struct pathprof_store *store, const struct pathprof_message_row *rows,
			    size_t cnt, struct pathprof_error *error);
/* In a transaction of the caller's. */
int pp_store_add_messages(struct pathprof_store *store, const struct pathprof_message_row *rows,
			  size_t cnt, struct pathprof_error *error);

/* ---------------------------------------------------------------- migrate.c */

/* How many migrations there are, in a list that ends with NULL. */
unsigned int pp_store_schema_known(const char *const *migrations);
/* How many of them the database has seen. -EPROTO when it is newer; -EBADMSG when it cannot be. */
int pp_store_schema(struct pathprof_store *store, const char *const *migrations,
		    unsigned int *ret_schema, struct pathprof_error *error);
/*
 * Brings the database to the last of the migrations, each in its own transaction. Does nothing when
 * it is there already; -EPROTO when the database is newer.
 */
int pp_store_migrate(struct pathprof_store *store, const char *const *migrations,
		     struct pathprof_error *error);
/* Refuses a database of another application, views, triggers and virtual tables. -EBADMSG. */
int pp_store_check_shape(struct pathprof_store *store, struct pathprof_error *error);

/* ---------------------------------------------------------------- store.c, copy.c */

/*
 * Checks that all that was read of a file without locks is whole: no writer has begun since it was
 * opened. Call it after reading: a writer's pages reach the file only from a log, which is still
 * there, or was there and changed the file's time. -ESTALE, error filled.
 */
int pp_store_check_still(const struct pathprof_store *store, struct pathprof_error *error);

/* Opens name ("": a temporary database) with all of SQLite's guards. The caller closes store->db.
 */
int pp_store_connect(struct pathprof_store *store, const char *name, int flags,
		     struct pathprof_error *error);
/* Puts a migrated copy in the place of a reader's database, which is of an older schema. */
int pp_store_read_copy(struct pathprof_store *store, struct pathprof_error *error);

/* ---------------------------------------------------------------- write.c, retain.c */

/* Row id of a binary, added when new. window: the last one that may refer to it. */
int pp_store_binary(struct pathprof_store *store, const struct pathprof_build_id *id,
		    const char *name, int64_t window, int64_t *ret_row,
		    struct pathprof_error *error);
/* Row id of a path, or a piece of a run, of the binary of that row. window: as above. */
int pp_store_path(struct pathprof_store *store, int64_t window, int64_t binary, uint64_t start,
		  uint32_t length, uint32_t outcomes, int64_t *ret_id,
		  struct pathprof_error *error);
/* The same of a piece of samples. */
int pp_store_piece(struct pathprof_store *store, int64_t window, int64_t binary, uint64_t start,
		   uint32_t length, uint32_t outcomes, int64_t *ret_id,
		   struct pathprof_error *error);
/* The same of an edge between the binaries of these rows. */
int pp_store_edge(struct pathprof_store *store, int64_t window, int64_t from_binary, uint64_t from,
		  int64_t to_binary, uint64_t to, int64_t *ret_id, struct pathprof_error *error);
/*
 * All of a closed window, in a transaction of the caller's. boot: that its processes ran in.
 * ret_id: its window id.
 */
int pp_store_write_window(struct pathprof_store *store, const struct pathprof_profile *profile,
			  const char *boot, int64_t *ret_id, struct pathprof_error *error);
/* After a write: empties a log that has grown long. */
void pp_store_limit_log(struct pathprof_store *store);
/*
 * Removes windows and what only they referred to, in a transaction of the caller's and with foreign
 * keys off. which: SQL that fills temp.gone_windows with some hundred of them at most.
 */
int pp_store_remove_windows(struct pathprof_store *store, const char *which,
			    struct pathprof_error *error);
/* The kernel's id of this boot of the machine; "unknown" when the kernel does not tell. */
void pp_store_read_boot_id(char *text, size_t size);
/*
 * The writer's lock (lock.c). -EBUSY: another process has it, and lives; children of one that is
 * gone are waited for, up to five seconds.
 */
int pp_store_lock(struct pathprof_store *store, struct pathprof_error *error);
void pp_store_unlock(struct pathprof_store *store);

/* Size of FILE and one suffix ("", "-wal", "-shm"); 0 when there is none. */
uint64_t pp_store_file_bytes(const struct pathprof_store *store, const char *suffix);
/* Moves the WAL into the database and empties it, unless a reader is in the way. */
void pp_store_checkpoint(struct pathprof_store *store);

#endif
