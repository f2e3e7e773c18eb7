// SPDX-License-Identifier: GPL-2.0-or-later
/* A directory for the command's time: see scratch.h. */
#include "scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/cleanup.h"

int scratch_make(char **ret_directory, struct pathprof_error *error)
{
	const char *parent = getenv("TMPDIR");
	_cleanup_free_ char *directory = ctl_printf("%s/pathprof-XXXXXX", parent ?: "/tmp");

	if (!mkdtemp(directory))
		return pathprof_fail(error, -errno, "%s: %s", directory, strerror(errno));
	*ret_directory = directory;
	directory = NULL;
	return 0;
}

void scratch_remove(const char *directory)
{
	static const char *const names[] = {SCRATCH_DB, SCRATCH_DB "-wal", SCRATCH_DB "-shm",
					    SCRATCH_DB ".lock", SCRATCH_PROFILE};

	if (!directory)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_free_ char *file = ctl_printf("%s/%s", directory, names[i]);

		(void)unlink(file);
	}
	(void)rmdir(directory);
}
