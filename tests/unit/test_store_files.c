// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store as files: who may open it, and how it is migrated.
 */
#include "test_store.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../libprofile/src/store/pp_store.h"
#include "pathprof/schema.h"

#define PATHS 200

static int open_code(const char *file, enum pathprof_store_mode mode, struct pathprof_error *error)
{
	struct pathprof_store *store = NULL;
	int code = pathprof_store_open(&store, file, mode, error);

	CU_ASSERT_EQUAL(code == 0, store != NULL);
	pathprof_store_free(store);
	return code;
}

/* ---------------------------------------------------------------- opening */

static void test_missing_file(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "none");
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, &error), -ENOENT);
	CU_ASSERT(strstr(error.text, "no such store") != NULL);
	CU_ASSERT_EQUAL(access(file, F_OK), -1);
	CU_ASSERT_EQUAL(open_code(dir, PATHPROF_STORE_WRITE, &error), -EINVAL);
	CU_ASSERT_EQUAL(open_code("", PATHPROF_STORE_WRITE, &error), -EINVAL);
	CU_ASSERT_EQUAL(open_code("/nonexistent/db", PATHPROF_STORE_WRITE, &error), -ENOENT);
}

static void test_strange_names(void)
{
	static const char *const names[] = {"a?mode=memory", "b%41 c#d", ":memory:", "file:x"};
	const char *dir = unit_tmpdir();
	char *cwd = getcwd(NULL, 0);

	CU_ASSERT_EQUAL_FATAL(chdir(dir), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		pathprof_store_free(world_open(names[i], PATHPROF_STORE_WRITE));
		CU_ASSERT_EQUAL(access(names[i], F_OK), 0);
		pathprof_store_free(world_open(names[i], PATHPROF_STORE_READ));
	}
	CU_ASSERT_EQUAL_FATAL(chdir(cwd), 0);
	free(cwd);
}

static void test_second_writer(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "db");
	const char *other_name = world_file(dir, "link");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};
	char pid[32];

	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_WRITE, &error), -EBUSY);
	snprintf(pid, sizeof(pid), "(process %ld)", (long)getpid());
	CU_ASSERT(strstr(error.text, pid) != NULL);
	CU_ASSERT_EQUAL_FATAL(symlink(file, other_name), 0);
	CU_ASSERT_EQUAL(open_code(other_name, PATHPROF_STORE_WRITE, &error), -EBUSY);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, &error), 0);
	pathprof_store_free(store);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_WRITE, &error), 0);
}

/* A link may come before the file that it leads to. */
static void test_second_writer_behind_a_link(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "db");
	const char *link = world_file(dir, "link");
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL_FATAL(symlink("db", link), 0);
	struct pathprof_store *store = world_open(link, PATHPROF_STORE_WRITE);

	CU_ASSERT_EQUAL(access(file, F_OK), 0);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_WRITE, &error), -EBUSY);
	CU_ASSERT_EQUAL(open_code(link, PATHPROF_STORE_WRITE, &error), -EBUSY);
	pathprof_store_free(store);
}

/* A disk that is full takes no process id into the lock. */
static void test_second_writer_after_a_nameless(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "db");
	struct pathprof_error error = {""};
	int fd = open(world_file(dir, "db.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(flock(fd, LOCK_EX), 0);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_WRITE, &error), -EBUSY);
	CU_ASSERT(strstr(error.text, "writes to this store: stop it") != NULL);
	close(fd);
}

/* A writer that is gone may have left a child, which holds the lock for as long as it lives. */
static void test_writer_after_a_killed_one(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	pid_t writer = fork();

	CU_ASSERT_FATAL(writer >= 0);
	if (writer == 0) {
		world_open(file, PATHPROF_STORE_WRITE);
		if (fork() == 0)
			usleep(300000);
		_exit(0);
	}
	CU_ASSERT_EQUAL(waitpid(writer, NULL, 0), writer);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_WRITE, NULL), 0);
}

/* A child that was forked while the store was open holds nobody up once it is closed. */
static void test_writer_with_a_child(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	pid_t child = fork();

	CU_ASSERT_FATAL(child >= 0);
	if (child == 0) {
		pause();
		_exit(0);
	}
	pathprof_store_free(store);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_WRITE, NULL), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void test_reader_cannot_write(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	const struct pathprof_build_id id = world_binary_id(0);
	struct pathprof_error error = {""};
	struct pathprof_profile p;

	pathprof_store_free(world_open(file, PATHPROF_STORE_WRITE));
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	world_window(&p, 1, 1, 1);
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, &error), -EROFS);
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, "{}", &error), -EROFS);
	CU_ASSERT_EQUAL(world_add_symbol(store, &id, 1, 1, "x", &error), -EROFS);
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &(struct pathprof_retention){.max_bytes = 1},
					      NULL, &error),
			-EROFS);
	pathprof_profile_release(&p);
	pathprof_store_free(store);
}

/* A commit writes what was changed, and SQLite counts it among the questions. */
static void test_no_room_to_commit(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};
	struct pathprof_profile p;
	struct rlimit before, none;

	world_fill(store, 1, 1, 1);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	world_window(&p, 2, 2 * WORLD_STEP_NS, 1);
	signal(SIGXFSZ, SIG_IGN);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_FSIZE, &none);
	int code = pathprof_store_add_window(store, &p, NULL, &error);
	setrlimit(RLIMIT_FSIZE, &before);
	CU_ASSERT_EQUAL(code, -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/db: cannot write: "));
	CU_ASSERT_EQUAL(world_window_cnt(store), 1);
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, &error), 0);
	pathprof_profile_release(&p);
	pathprof_store_free(store);
}

/* Reads as a user without rights to the directory, in a child that has given them up. */
static int read_as_nobody(const char *file)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		struct pathprof_store *store = NULL;
		int code = setgid(65534) || setuid(65534);

		if (!code)
			code = pathprof_store_open(&store, file, PATHPROF_STORE_READ, NULL);
		if (!code)
			code = world_window_cnt(store) != 3;
		_exit(code < 0 ? -code : code);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int pass_by(void *context, const struct pathprof_window_row *row)
{
	(void)context;
	(void)row;
	return 0;
}

/* The code that a reader of a file as it lies gets once a writer has added a window to it. */
static int read_while_written(const char *file)
{
	struct pathprof_store *store = NULL;
	int opened[2], written[2], status = -1;
	pid_t pid;
	char byte;

	CU_ASSERT_EQUAL_FATAL(pipe(opened) | pipe(written), 0);
	pid = fork();
	if (pid == 0) {
		int code = setgid(65534) || setuid(65534);

		if (!code)
			code = pathprof_store_open(&store, file, PATHPROF_STORE_READ, NULL);
		close(opened[1]);
		close(written[1]);
		while (read(written[0], &byte, 1) > 0)
			;
		if (!code)
			code = pathprof_store_windows(store, NULL, pass_by, NULL, NULL);
		_exit(code < 0 ? -code : code);
	}
	close(opened[1]);
	close(written[0]);
	while (read(opened[0], &byte, 1) > 0)
		;
	store = world_open(file, PATHPROF_STORE_WRITE);
	world_fill(store, 4, 4, PATHS);
	pathprof_store_free(store);
	close(written[1]);
	close(opened[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_reader_without_rights(void)
{
	if (getuid() != 0) {
		unit_skip("needs root to give its rights up");
		return;
	}
	const char *dir = unit_tmpdir(), *file = world_file(dir, "db");
	char up[160];
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);

	snprintf(up, sizeof(up), "%s/..", dir);
	CU_ASSERT_EQUAL(chmod(up, 0755) | chmod(dir, 0755) | chmod(file, 0644), 0);
	world_fill(store, 1, 3, PATHS);
	CU_ASSERT_EQUAL(read_as_nobody(file), 0);
	pathprof_store_free(store);
	/* No WAL, no shared memory, and no right to make them: the file as it lies. */
	CU_ASSERT_EQUAL(read_as_nobody(file), 0);
	CU_ASSERT_EQUAL(read_while_written(file), ESTALE);
	CU_ASSERT_EQUAL(chmod(file, 0600), 0);
	CU_ASSERT_EQUAL(read_as_nobody(file), EACCES);
}

/* ---------------------------------------------------------------- migrations */

static int64_t version_of(const char *file)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *stmt = NULL;
	int64_t version = -1;

	CU_ASSERT_EQUAL_FATAL(sqlite3_open(file, &db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		version = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return version;
}

static int64_t known_version(void)
{
	int64_t cnt = 0;

	while (pathprof_schema_sqlite[cnt])
		cnt++;
	return cnt;
}

static void test_new_file_is_migrated(void)
{
	const char *file = world_file(unit_tmpdir(), "db");

	close(open(file, O_CREAT | O_WRONLY, 0600));
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, NULL), -EBADMSG);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_WRITE, NULL), 0);
	CU_ASSERT_EQUAL(version_of(file), known_version());
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, NULL), 0);
}

static void test_newer_is_refused(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_error error = {""};

	pathprof_store_free(world_open(file, PATHPROF_STORE_WRITE));
	world_sqlite(file, "PRAGMA user_version=999");
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_WRITE, &error), -EPROTO);
	CU_ASSERT(strstr(error.text, "was written by a newer pathprof (schema 999, this program "
				     "knows ") != NULL);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, &error), -EPROTO);
	CU_ASSERT_EQUAL(version_of(file), 999);
	world_sqlite(file, "PRAGMA user_version=-1");
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_WRITE, &error), -EBADMSG);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, &error), -EBADMSG);
}

static void test_older_is_brought_up(void)
{
	static const char create_a[] = "CREATE TABLE a(x);";
	static const char extend_a[] = "ALTER TABLE a ADD COLUMN y; INSERT INTO a VALUES (1, 2);";
	static const char create_b[] = "CREATE TABLE b(z);";
	static const char *const first[] = {create_a, NULL};
	static const char *const good[] = {create_a, extend_a, create_b, NULL};
	static const char *const bad[] = {create_a,
					  extend_a,
					  create_b,
					  "CREATE TABLE c(z);",
					  "CREATE TABLE d(z); INSERT INTO nowhere VALUES (1);",
					  NULL};
	char name[] = "memory";
	struct pathprof_store store = {.file = name, .lock_fd = -1, .writable = true};
	struct pathprof_error error = {""};
	unsigned int schema = 0;
	int64_t number = 0;

	CU_ASSERT_EQUAL_FATAL(sqlite3_open(":memory:", &store.db), SQLITE_OK);
	CU_ASSERT_EQUAL(pp_store_migrate(&store, first, &error), 0);
	CU_ASSERT_EQUAL(pp_store_schema(&store, good, &schema, &error), 0);
	CU_ASSERT_EQUAL(schema, 1);
	CU_ASSERT_EQUAL(pp_store_migrate(&store, good, &error), 0);
	CU_ASSERT_EQUAL(pp_store_migrate(&store, good, &error), 0);
	CU_ASSERT_EQUAL(pp_store_schema(&store, good, &schema, &error), 0);
	CU_ASSERT_EQUAL(schema, 3);
	CU_ASSERT_EQUAL(pp_sql_number(&store, "SELECT count(*) FROM a", &number, &error), 0);
	CU_ASSERT_EQUAL(number, 1);
	CU_ASSERT_EQUAL(pp_store_migrate(&store, first, &error), -EPROTO);
	/* A migration that fails leaves those before it, and nothing of itself. */
	CU_ASSERT_EQUAL(pp_store_migrate(&store, bad, &error), -EBADMSG);
	CU_ASSERT_EQUAL(pp_sql_number(&store, "PRAGMA user_version", &number, &error), 0);
	CU_ASSERT_EQUAL(number, 4);
	CU_ASSERT_EQUAL(pp_sql_number(&store, "SELECT count(*) FROM sqlite_schema", &number, NULL),
			0);
	CU_ASSERT_EQUAL(number, 3);
	CU_ASSERT_EQUAL(pp_sql_number(&store, "PRAGMA foreign_keys", &number, &error), 0);
	CU_ASSERT_EQUAL(number, 1);
	for (int i = 0; i < PP_STMT_CNT; i++)
		sqlite3_finalize(store.stmts[i]);
	sqlite3_close(store.db);
}

/* Some terminals obey U+009B as they do an escape sequence. */
static void test_controls_in_errors(void)
{
	struct pathprof_error error = {""};
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);

	CU_ASSERT(pp_sql_exec(store, "SELECT 1 FROM \"a\xc2\x9b\x1b[mb\"", &error) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no such table: a   [mb"));
	pathprof_store_free(store);
}

static void test_other_databases(void)
{
	const char *dir = unit_tmpdir(), *theirs = world_file(dir, "theirs");
	const char *view = world_file(dir, "view");
	struct pathprof_error error = {""};

	world_sqlite(theirs, "CREATE TABLE t(x)");
	CU_ASSERT_EQUAL(open_code(theirs, PATHPROF_STORE_WRITE, &error), -EBADMSG);
	CU_ASSERT(strstr(error.text, "no pathprof store") != NULL);
	CU_ASSERT_EQUAL(open_code(theirs, PATHPROF_STORE_READ, &error), -EBADMSG);
	pathprof_store_free(world_open(view, PATHPROF_STORE_WRITE));
	world_sqlite(view, "DROP TABLE edge_counts; CREATE VIEW edge_counts AS SELECT 1 AS window");
	CU_ASSERT_EQUAL(open_code(view, PATHPROF_STORE_WRITE, &error), -EBADMSG);
	CU_ASSERT_EQUAL(open_code(view, PATHPROF_STORE_READ, &error), -EBADMSG);
	CU_ASSERT(strstr(error.text, "views") != NULL);
}

/* Another process copies: to close the file here would drop the locks that the writer has on it. */
static void copy_file(const char *from, const char *to)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0) {
		execlp("cp", "cp", from, to, (char *)NULL);
		_exit(127);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL_FATAL(status, 0);
}

static void check_says_log(const char *file)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, &error), -EBADMSG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, file));
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "without the file -wal beside it"));
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "VACUUM INTO"));
}

/* The log of a young store has all there is. */
static void test_copy_without_log(void)
{
	const char *dir = unit_tmpdir(), *live = world_file(dir, "live");
	const char *copy = world_file(dir, "copy"), *empty = world_file(dir, "empty");
	struct pathprof_store *store = world_open(live, PATHPROF_STORE_WRITE);

	copy_file(live, copy);
	check_says_log(copy);
	copy_file("/dev/null", empty);
	check_says_log(empty);
	pathprof_store_free(store);
	CU_ASSERT_EQUAL(open_code(live, PATHPROF_STORE_READ, NULL), 0);
}

/* ---------------------------------------------------------------- a full disk */

/* In a process of its own: files grow to so many bytes, and no further. */
static int make_within(const char *file, rlim_t bytes)
{
	const struct rlimit limit = {bytes, bytes};
	pid_t child = fork();
	int status;

	if (child == 0) {
		signal(SIGXFSZ, SIG_IGN);
		_exit(setrlimit(RLIMIT_FSIZE, &limit) ||
		      open_code(file, PATHPROF_STORE_WRITE, NULL) == 0);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	return status;
}

/* Wherever the making ends, no half of a store is left, and an empty file becomes one. */
static void test_disk_full_while_made(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "new"), *made;

	for (rlim_t bytes = 100; bytes < 60000; bytes += 9973) {
		CU_ASSERT_EQUAL(make_within(file, bytes), 0);
		CU_ASSERT(access(file, F_OK) < 0);
	}
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_WRITE, NULL), 0);
	made = world_file(dir, "empty");
	copy_file("/dev/null", made);
	CU_ASSERT_EQUAL(make_within(made, 30000), 0);
	CU_ASSERT_EQUAL(open_code(made, PATHPROF_STORE_WRITE, NULL), 0);
	CU_ASSERT_EQUAL(open_code(made, PATHPROF_STORE_READ, NULL), 0);
}

/* ---------------------------------------------------------------- reading older schemas */

/* A window as every schema has had it: one path, seen 7 times. */
static const char one_window[] =
	"INSERT INTO boots VALUES (1, 'boot');"
	"INSERT INTO binaries VALUES (1, x'abcd', 1, '/bin/old', 1);"
	"INSERT INTO processes VALUES (1, 1, 42, 1, 0, 'old', '', 1, 1);"
	"INSERT INTO windows(id, begin_ns, end_ns, source, basis, taken_wanted, bursts, branches,"
	" taken, steps, paths, stopped_ns, source_cpu_ns)"
	" VALUES (1, 1000, 2000, 1, 1, 32, 3, 30, 20, 90, 7, 0, 0);"
	"INSERT INTO window_processes VALUES (1, 1);"
	"INSERT INTO paths VALUES (1, 1, 4096, 2, 1, 1);"
	"INSERT INTO path_counts(window, path, process, samples, weight)"
	" VALUES (1, 1, 1, 7, 7.0);";

/* A database as a pathprof of that schema left it. */
static void make_of_schema(const char *file, unsigned int schema)
{
	char version[96];

	world_sqlite(file, "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL");
	for (unsigned int i = 0; i < schema; i++)
		world_sqlite(file, pathprof_schema_sqlite[i]);
	snprintf(version, sizeof(version), "PRAGMA application_id=%d; PRAGMA user_version=%u",
		 PP_APPLICATION_ID, schema);
	world_sqlite(file, version);
}

static size_t read_bytes(const char *file, char *bytes, size_t size)
{
	FILE *in = fopen(file, "re");

	CU_ASSERT_PTR_NOT_NULL_FATAL(in);
	size_t len = fread(bytes, 1, size, in);
	CU_ASSERT_FATAL(feof(in));
	fclose(in);
	return len;
}

static int take_old_path(void *context, const struct pathprof_path_row *row)
{
	++*(int *)context;
	CU_ASSERT_STRING_EQUAL(row->binary_name, "/bin/old");
	CU_ASSERT_EQUAL(row->samples, 7);
	CU_ASSERT_EQUAL(row->share, 1);
	return 0;
}

static void check_old(const char *file, unsigned int schema)
{
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_READ);
	unsigned int kinds = 0, known = 0;
	enum pathprof_window_kind newest;
	struct pathprof_error error = {""};
	int rows = 0;

	CU_ASSERT_EQUAL(pathprof_store_schema(store, &known), schema);
	CU_ASSERT_EQUAL(known, known_version());
	CU_ASSERT_EQUAL(pathprof_store_paths(store, NULL, take_old_path, &rows, &error), 0);
	CU_ASSERT_EQUAL(rows, 1);
	CU_ASSERT_EQUAL(pathprof_store_kinds(store, NULL, &kinds, &newest, &error), 0);
	CU_ASSERT_EQUAL(kinds, 1u << PATHPROF_KIND_TAKEN);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), 0);
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, "{}", &error), -EROFS);
	pathprof_store_free(store);
}

/* Every schema there was. */
static void test_older_is_read(void)
{
	static char before[1 << 20], after[1 << 20];
	const char *dir = unit_tmpdir();
	struct pathprof_error error;

	CU_ASSERT_FATAL(known_version() > 1);
	for (unsigned int schema = 1; schema < known_version(); schema++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", schema);
		const char *file = world_file(dir, name);
		make_of_schema(file, schema);
		world_sqlite(file, one_window);
		size_t len = read_bytes(file, before, sizeof(before));
		check_old(file, schema);
		CU_ASSERT_EQUAL(read_bytes(file, after, sizeof(after)), len);
		CU_ASSERT_EQUAL(memcmp(before, after, len), 0);
		CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_FOLLOW, &error), -EPROTO);
		CU_ASSERT(strstr(error.text, "older") != NULL);
	}
}

/* Windows that the old writer has not yet moved out of its log are read as well. */
static void test_older_is_read_beside_its_writer(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	sqlite3 *writer = NULL;

	make_of_schema(file, 1);
	CU_ASSERT_EQUAL_FATAL(sqlite3_open(file, &writer), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_exec(writer, one_window, NULL, NULL, NULL), SQLITE_OK);
	check_old(file, 1);
	sqlite3_close(writer);
}

static const char eighty_megabytes[] =
	"PRAGMA wal_autocheckpoint=0; CREATE TABLE bulk(x BLOB); WITH RECURSIVE n(i) AS (SELECT 1"
	" UNION ALL SELECT i + 1 FROM n WHERE i < 80) INSERT INTO bulk SELECT zeroblob(1000000)"
	" FROM n";

static void expect_no_room(const char *file)
{
	struct pathprof_error error = {""};
	struct rlimit limit, small;

	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, &error), 0);
	getrlimit(RLIMIT_FSIZE, &limit);
	small = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = limit.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, &error), -EIO);
	setrlimit(RLIMIT_FSIZE, &limit);
	signal(SIGXFSZ, SIG_DFL);
	CU_ASSERT(strstr(error.text, "set TMPDIR to a directory with room for 15") != NULL);
}

/* A large copy spills into a temporary file; without room for it, opening fails and says so. */
static void test_older_without_room(void)
{
	const char *file = world_file(unit_tmpdir(), "db");

	make_of_schema(file, 1);
	world_sqlite(file, eighty_megabytes);
	expect_no_room(file);
}

/* Pages to be copied may lie in the log. */
static void test_older_log_without_room(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	sqlite3 *writer = NULL;

	make_of_schema(file, 1);
	CU_ASSERT_EQUAL_FATAL(sqlite3_open(file, &writer), SQLITE_OK);
	CU_ASSERT_EQUAL(sqlite3_exec(writer, eighty_megabytes, NULL, NULL, NULL), SQLITE_OK);
	expect_no_room(file);
	sqlite3_close(writer);
}

static void test_older_and_damaged(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_error error = {""};

	make_of_schema(file, 1);
	world_sqlite(file, "DROP TABLE path_counts");
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, &error), -EBADMSG);
	CU_ASSERT(strstr(error.text, "older pathprof") != NULL);
	CU_ASSERT(strstr(error.text, "no such table: path_counts") != NULL);
	CU_ASSERT(strstr(error.text, "damaged") != NULL);
	CU_ASSERT_EQUAL(truncate(file, 8192), 0);
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, &error), -EBADMSG);
}

/* ---------------------------------------------------------------- reading while writing */

static void test_reader_beside_writer(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	int to_parent[2], status = -1;
	const uint64_t windows = unit_rounds(50, 150);
	uint64_t before = 0, cnt = 0;

	pathprof_store_free(world_open(file, PATHPROF_STORE_WRITE));
	CU_ASSERT_EQUAL_FATAL(pipe(to_parent), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct pathprof_store *writer = world_open(file, PATHPROF_STORE_WRITE);

		close(to_parent[0]);
		world_fill(writer, 1, windows, PATHS);
		pathprof_store_free(writer);
		_exit(0);
	}
	close(to_parent[1]);
	struct pathprof_store *reader = world_open(file, PATHPROF_STORE_READ);
	for (char end; cnt < windows; before = cnt) {
		cnt = world_window_cnt(reader);
		CU_ASSERT(cnt >= before);
		if (cnt % 10 == 0)
			CU_ASSERT_EQUAL(pathprof_store_check(reader, NULL), 0);
		/* The write end closes with the writer; until then there is nothing to read. */
		if (fcntl(to_parent[0], F_SETFL, O_NONBLOCK) == 0 &&
		    read(to_parent[0], &end, 1) == 0)
			break;
	}
	waitpid(pid, &status, 0);
	close(to_parent[0]);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(world_window_cnt(reader), windows);
	pathprof_store_free(reader);
}

/* ---------------------------------------------------------------- the schema before */

/* Windows written before have no horizon, no clock samples, and no instructions of paths. */
static void test_schema_before_shares(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	enum pathprof_window_kind newest;
	unsigned int kinds = 0;

	world_fill(store, 1, 4, PATHS);
	pathprof_store_free(store);
	world_sqlite(file, WORLD_WITHOUT_SHARES "PRAGMA user_version=3");
	CU_ASSERT_EQUAL(open_code(file, PATHPROF_STORE_READ, NULL), 0);
	store = world_open(file, PATHPROF_STORE_WRITE);
	CU_ASSERT_EQUAL(pathprof_store_kinds(store, NULL, &kinds, &newest, NULL), 0);
	CU_ASSERT_EQUAL(kinds, 1u << PATHPROF_KIND_BRANCHES | 1u << PATHPROF_KIND_TAKEN);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(insns) FROM path_counts"), 0);
	CU_ASSERT_EQUAL(world_number(file, "SELECT sum(clock_samples) FROM windows"), 0);
	world_fill(store, 5, 1, PATHS);
	CU_ASSERT(world_number(file, "SELECT sum(samples) FROM clock_counts") > 0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, NULL), 0);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"a full disk leaves no half of a new store", test_disk_full_while_made},
	{"a missing file is told, not made", test_missing_file},
	{"a file name is never taken for options", test_strange_names},
	{"a second writer is refused, by any name of the file", test_second_writer},
	{"a second writer behind a link made before its file", test_second_writer_behind_a_link},
	{"a second writer is told no process that nobody knows",
	 test_second_writer_after_a_nameless},
	{"the children of a writer that is gone are waited for", test_writer_after_a_killed_one},
	{"a writer's child keeps no lock", test_writer_with_a_child},
	{"a reader cannot write", test_reader_cannot_write},
	{"a window that cannot be written is said to be so", test_no_room_to_commit},
	{"a reader without rights to the directory reads", test_reader_without_rights},
	{"a new file is migrated", test_new_file_is_migrated},
	{"a newer schema is refused", test_newer_is_refused},
	{"an older schema is brought up, step by step", test_older_is_brought_up},
	{"databases of others are refused", test_other_databases},
	{"a copy without its log is told, and how to make one", test_copy_without_log},
	{"no error has a control character", test_controls_in_errors},
	{"every older schema is read, and the file stays as it is", test_older_is_read},
	{"an older schema is read beside its writer", test_older_is_read_beside_its_writer},
	{"an older schema that has no room for its copy is told", test_older_without_room},
	{"the room that an older schema's log takes is told, too", test_older_log_without_room},
	{"an older schema that is damaged is told", test_older_and_damaged},
	{"a reader sees whole windows while they are written", test_reader_beside_writer},
	{"windows of the schema before keep their meaning", test_schema_before_shares},
};
UNIT_SUITE(store_files, tests)
