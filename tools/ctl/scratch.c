// SPDX-License-Identifier: GPL-2.0-or-later
/* A directory for the command's time: see scratch.h. */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/cleanup.h"

int scratch_make(char **ret_directory, struct pathprof_error *error)
{
	const char *parent = getenv("TMPDIR");
	_cleanup_free_ char *directory =
		ctl_printf("%s/pathprof-XXXXXX", parent && *parent ? parent : "/tmp");

	if (!mkdtemp(directory))
		return pathprof_fail(error, -errno, "%s: %s", directory, strerror(errno));
	*ret_directory = directory;
	directory = NULL;
	return 0;
}

void scratch_remove(const char *directory)
{
	DIR *entries = directory ? opendir(directory) : NULL;
	const struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)unlinkat(dirfd(entries), entry->d_name, 0);
	if (entries)
		closedir(entries);
	if (directory)
		(void)rmdir(directory);
}
