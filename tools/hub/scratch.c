// SPDX-License-Identifier: GPL-2.0-or-later
/* The directory that profiles are made in: see scratch.h. */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DIRECTORY (O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---------------------------------------------------------------- removing */

/* Removes an entry that may be gone. */
typedef void remove_fn(int directory, const char *name);

static void remove_file(int directory, const char *name)
{
	(void)unlinkat(directory, name, 0);
}

/* Closes the descriptor. */
static void remove_entries(int directory, remove_fn *remove_one)
{
	DIR *entries = directory < 0 ? NULL : fdopendir(directory);
	const struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_one(directory, entry->d_name);
	if (entries)
		closedir(entries);
	else if (directory >= 0)
		close(directory);
}

/* Removes the directory of an earlier start, or a file that lies beside it. */
static void remove_start(int directory, const char *name)
{
	if (unlinkat(directory, name, 0) == 0)
		return;
	remove_entries(openat(directory, name, O_RDONLY | DIRECTORY), remove_file);
	(void)unlinkat(directory, name, AT_REMOVEDIR);
}

/* ---------------------------------------------------------------- taking over */

static int refuse(const char *path, const char *what, struct pathprof_error *error)
{
	return pathprof_fail(error, -EEXIST,
			     "%s: profiles are to be made there, but it is %s: remove it", path,
			     what);
}

/* Returns a descriptor. The directory may have been made by anybody who may write beside the
 * database. */
static int open_own(const char *path, struct pathprof_error *error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | DIRECTORY);
	struct stat status;

	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return refuse(path, "a link or a file", error);
	if (fd < 0 || fstat(fd, &status) < 0)
		return pathprof_fail(error, -errno, "%s: %s", path, strerror(errno));
	if (status.st_uid != geteuid())
		return refuse(path, "another user's", error);
	if (fchmod(fd, 0700) < 0)
		return pathprof_fail(error, -errno, "%s: %s", path, strerror(errno));
	return pp_steal_fd(&fd);
}

static int take_over(const char *path, struct pathprof_error *error)
{
	int fd;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return pathprof_fail(error, -errno,
				     "%s: it cannot be made (%s): let the hub write where its "
				     "database is",
				     path, strerror(errno));
	fd = open_own(path, error);
	if (fd < 0)
		return fd;
	remove_entries(fd, remove_start);
	return 0;
}

int hub_scratch_new(char **ret_scratch, const char *db, struct pathprof_error *error)
{
	char *scratch, *last;
	int r;

	if (asprintf(&scratch, "%s.pgo/XXXXXX", db) < 0)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	last = strrchr(scratch, '/');
	*last = 0;
	r = take_over(scratch, error);
	*last = '/';
	if (r == 0 && !mkdtemp(scratch))
		r = pathprof_fail(error, -errno, "%s: %s", scratch, strerror(errno));
	if (r < 0)
		free(scratch);
	else
		*ret_scratch = scratch;
	return r;
}

/* ---------------------------------------------------------------- life */

void hub_scratch_empty(const char *scratch)
{
	remove_entries(open(scratch, O_RDONLY | DIRECTORY), remove_file);
}

void hub_scratch_free(char *scratch)
{
	if (!scratch)
		return;
	hub_scratch_empty(scratch);
	(void)rmdir(scratch);
	*strrchr(scratch, '/') = 0;
	(void)rmdir(scratch);
	free(scratch);
}
