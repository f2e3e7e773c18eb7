// SPDX-License-Identifier: GPL-2.0-or-later
/* Choosing the database, and opening it. */
#include "ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text/cleanup.h"
#include "text/text.h"

#define SYSTEM_STATE "/var/lib/pathprof"
#define SYSTEM_DB    SYSTEM_STATE "/profile.db"

static char *user_state(const char *file)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (state && *state == '/')
		return ctl_printf("%s/pathprof/%s", state, file);
	if (home && *home == '/')
		return ctl_printf("%s/.local/state/pathprof/%s", home, file);
	return NULL;
}

char *ctl_state_path(const char *file)
{
	if (geteuid() == 0 && !getenv("XDG_STATE_HOME"))
		return ctl_printf("%s/%s", SYSTEM_STATE, file);
	return user_state(file);
}

/* The database named by --db or the environment; NULL if neither names one. */
static char *named_db(const struct ctl_options *options)
{
	const char *from_env = getenv("PATHPROF_DB");

	if (options->db)
		return ctl_strdup(options->db);
	return from_env && *from_env ? ctl_strdup(from_env) : NULL;
}

char *ctl_service_db_path(const struct ctl_options *options)
{
	char *path = named_db(options);

	return path ? path : ctl_strdup(SYSTEM_DB);
}

char *ctl_db_path(const struct ctl_options *options)
{
	char *path = named_db(options);

	if (path)
		return path;
	/* whoever may not look into the directory is told so when the database is opened */
	if (access(SYSTEM_DB, F_OK) == 0 || errno == EACCES)
		return ctl_strdup(SYSTEM_DB);
	path = user_state("profile.db");
	if (path && (geteuid() != 0 || access(path, F_OK) == 0))
		return path;
	free(path);
	return ctl_strdup(SYSTEM_DB);
}

static const char *user_name(void)
{
	const struct passwd *user = getpwuid(geteuid());

	return user ? user->pw_name : "$USER";
}

static int count_window(void *context, const struct pathprof_window_row *row)
{
	(void)row;
	++*(unsigned int *)context;
	return 0;
}

/* Checks that the window of --window exists. */
static int check_window(struct pathprof_store *store, const char *path, int64_t window)
{
	const struct pathprof_filter filter = {.window = window};
	struct pathprof_error error = {""};
	unsigned int cnt = 0;
	int r = pathprof_store_windows(store, &filter, count_window, &cnt, &error);

	if (r < 0)
		return ctl_fail_error(path, r, &error);
	if (!cnt)
		return ctl_fail("%s: no window %" PRId64 ": `pathprofctl windows` lists them", path,
				window);
	return CTL_OK;
}

char *ctl_db_size_text(struct pathprof_store *store)
{
	uint64_t bytes = 0;
	char text[32];

	pathprof_store_size(store, &bytes);
	return ctl_printf("%s with its write-ahead log", text_bytes(text, sizeof(text), bytes));
}

int ctl_db_open(struct pathprof_store **ret_store, const struct ctl_options *options,
		enum pathprof_store_mode mode)
{
	_cleanup_free_ char *path = ctl_db_path(options);
	struct pathprof_error error = {""};
	struct stat status;
	int r;

	if (stat(path, &status) < 0 || access(path, R_OK) < 0) {
		if (errno == EACCES && !strcmp(path, SYSTEM_DB))
			return ctl_fail("%s: you may not read it: join its group, `sudo usermod "
					"-aG pathprof %s`, and log in again; or take a profile of "
					"your own with pathprofctl record",
					path, user_name());
		if (errno != ENOENT)
			return ctl_fail("%s: %s: name another with --db", path, strerror(errno));
		return ctl_fail("%s: no such database: start the service (`sudo systemctl enable "
				"--now pathprofd`), profile one program (`pathprofctl record -- "
				"COMMAND`), or name another with --db",
				path);
	}
	if (!S_ISREG(status.st_mode))
		return ctl_fail("%s: not a database file: name one with --db", path);
	r = pathprof_store_open(ret_store, path, mode, &error);
	if (r < 0)
		return ctl_fail_error(path, r, &error);
	return options->filter.window ? check_window(*ret_store, path, options->filter.window)
				      : CTL_OK;
}
