// SPDX-License-Identifier: GPL-2.0-or-later
/* A directory for the command's time: see scratch.h. */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text/cleanup.h"

static void remove_directory(const char *directory)
{
	DIR *entries = opendir(directory);
	const struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)unlinkat(dirfd(entries), entry->d_name, 0);
	if (entries)
		closedir(entries);
	(void)rmdir(directory);
}

/* ---------------------------------------------------------------- the guard */

/* The guard ignores signals that end a command, since they may be sent to the whole group. */
static void outlive(void)
{
	static const int signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};

	setsid();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
}

static _Noreturn void be_guard(const char *directory, int waits_for)
{
	ssize_t n;
	char byte;

	outlive();
	/* The guard must not keep inherited pipes open: their readers wait for the last writer. */
	if (dup2(waits_for, STDIN_FILENO) < 0 || close_range(STDIN_FILENO + 1, ~0u, 0) < 0)
		_exit(1);
	/* If standard output or error was closed, the pipe's write end may have that number, and
	 * programs started here may write into it. */
	do
		n = read(STDIN_FILENO, &byte, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	remove_directory(directory);
	_exit(0);
}

static int start_guard(struct scratch *scratch)
{
	int ends[2], r = 0;

	/* Without O_CLOEXEC, so that programs started here hold it, too. */
	if (pipe(ends) < 0)
		return -errno;
	scratch->guard = fork();
	if (scratch->guard == 0)
		be_guard(scratch->directory, ends[0]);
	if (scratch->guard < 0)
		r = -errno;
	close(ends[0]);
	if (r < 0)
		close(ends[1]);
	else
		scratch->held = ends[1];
	return r;
}

/* The guard is killed while it waits: once the directory is gone, others may take its name. And a
 * process that hangs in a file system may hold the descriptor for ever. */
static void end_guard(const struct scratch *scratch)
{
	kill(scratch->guard, SIGKILL);
	while (waitpid(scratch->guard, NULL, 0) < 0 && errno == EINTR)
		;
	close(scratch->held);
}

/* ---------------------------------------------------------------- */

int scratch_make(struct scratch *scratch, struct pathprof_error *error)
{
	const char *parent = getenv("TMPDIR");
	_cleanup_free_ char *directory =
		ctl_printf("%s/pathprof-XXXXXX", parent && *parent ? parent : "/tmp");
	int r;

	if (!mkdtemp(directory))
		return pathprof_fail(error, -errno, "%s: %s", directory, strerror(errno));
	scratch->directory = directory;
	r = start_guard(scratch);
	if (r < 0) {
		scratch->directory = NULL;
		(void)rmdir(directory);
		return pathprof_fail(error, r, "%s: no process that removes it can be started: %s",
				     directory, strerror(-r));
	}
	directory = NULL;
	return 0;
}

void scratch_remove(struct scratch *scratch)
{
	if (!scratch->directory)
		return;
	remove_directory(scratch->directory);
	end_guard(scratch);
	free(scratch->directory);
	*scratch = (struct scratch)SCRATCH_INIT;
}
