// SPDX-License-Identifier: GPL-2.0-or-later
/* The directory of a database that lives as long as a command: where it is made, and that it goes.
 */
#include "../../tools/ctl/scratch.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_in_tmpdir(void)
{
	const char *parent = unit_tmpdir();
	struct scratch scratch = SCRATCH_INIT;
	struct pathprof_error error = {""};
	char *directory, file[256];
	struct stat status;

	setenv("TMPDIR", parent, 1);
	CU_ASSERT_EQUAL_FATAL(scratch_make(&scratch, &error), 0);
	directory = strdup(scratch.directory);
	CU_ASSERT_EQUAL(strncmp(directory, parent, strlen(parent)), 0);
	CU_ASSERT_EQUAL_FATAL(stat(directory, &status), 0);
	CU_ASSERT_EQUAL(status.st_mode & 0777, 0700);
	snprintf(file, sizeof(file), "%s/" SCRATCH_DB, directory);
	CU_ASSERT_EQUAL(close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	scratch_remove(&scratch);
	CU_ASSERT_PTR_NULL(scratch.directory);
	CU_ASSERT(access(directory, F_OK) < 0 && errno == ENOENT);
	free(directory);
}

static void test_empty_tmpdir(void)
{
	struct scratch scratch = SCRATCH_INIT;
	struct pathprof_error error = {""};

	setenv("TMPDIR", "", 1);
	CU_ASSERT_EQUAL_FATAL(scratch_make(&scratch, &error), 0);
	CU_ASSERT_EQUAL(strncmp(scratch.directory, "/tmp/", 5), 0);
	scratch_remove(&scratch);
}

static void test_no_tmpdir(void)
{
	struct scratch scratch = SCRATCH_INIT;
	struct pathprof_error error = {""};

	setenv("TMPDIR", "/nonexistent", 1);
	CU_ASSERT_EQUAL(scratch_make(&scratch, &error), -ENOENT);
	CU_ASSERT_PTR_NULL(scratch.directory);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/nonexistent/"));
	scratch_remove(&scratch);
}

/* A process that a signal ends with a file in its directory. */
static _Noreturn void end_by(int ending)
{
	struct scratch scratch = SCRATCH_INIT;
	struct pathprof_error error = {""};
	char file[256];

	if (scratch_make(&scratch, &error) < 0)
		_exit(1);
	snprintf(file, sizeof(file), "%s/" SCRATCH_DB, scratch.directory);
	close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	signal(ending, SIG_DFL);
	raise(ending);
	_exit(1);
}

/* The guard becomes a child of this process when its own parent is gone, and is waited for. */
static bool goes_with(const char *parent, int ending)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		end_by(ending);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != ending)
		return false;
	while (waitpid(-1, &status, 0) > 0)
		;
	/* rmdir() removes nothing but an empty directory. */
	return rmdir(parent) == 0 && mkdir(parent, 0700) == 0;
}

static bool goes_with_each(const char *parent)
{
	static const int endings[] = {SIGTERM, SIGHUP, SIGINT, SIGKILL};
	bool goes = mkdir(parent, 0700) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;

	setenv("TMPDIR", parent, 1);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		goes = goes && goes_with(parent, endings[i]);
	return goes;
}

static void test_signals(void)
{
	char parent[256];
	int status = 0;
	pid_t pid;

	snprintf(parent, sizeof(parent), "%s/signals", unit_tmpdir());
	pid = fork();
	if (pid == 0)
		_exit(goes_with_each(parent) ? 0 : 1);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
}

/* The descriptor may have the number of standard output where that is closed. */
static void test_stray_output(void)
{
	struct scratch scratch = SCRATCH_INIT;
	struct pathprof_error error = {""};
	siginfo_t info = {.si_pid = 0};

	setenv("TMPDIR", unit_tmpdir(), 1);
	CU_ASSERT_EQUAL_FATAL(scratch_make(&scratch, &error), 0);
	CU_ASSERT_EQUAL(write(scratch.held, "x", 1), 1);
	for (int i = 0; i < 100 && !info.si_pid; i++) {
		usleep(1000);
		CU_ASSERT_EQUAL(
			waitid(P_PID, (id_t)scratch.guard, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	}
	CU_ASSERT_EQUAL(info.si_pid, 0);
	CU_ASSERT_EQUAL(access(scratch.directory, F_OK), 0);
	scratch_remove(&scratch);
}

static const struct unit_test tests[] = {
	{"it is made in TMPDIR, its owner's alone, and goes with its files", test_in_tmpdir},
	{"an empty TMPDIR is none", test_empty_tmpdir},
	{"a directory that is not there is named", test_no_tmpdir},
	{"it goes when a signal ends its process", test_signals},
	{"it stays while bytes come where its guard waits for the end", test_stray_output},
};
UNIT_SUITE(scratch, tests)
