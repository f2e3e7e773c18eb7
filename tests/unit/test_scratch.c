// SPDX-License-Identifier: GPL-2.0-or-later
/* The directory of a database that lives as long as a command: where it is made, and that it goes.
 */
#include "../../tools/ctl/scratch.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_in_tmpdir(void)
{
	const char *parent = unit_tmpdir();
	struct pathprof_error error = {""};
	char *directory = NULL, file[256];
	struct stat status;

	setenv("TMPDIR", parent, 1);
	CU_ASSERT_EQUAL_FATAL(scratch_make(&directory, &error), 0);
	CU_ASSERT_EQUAL(strncmp(directory, parent, strlen(parent)), 0);
	CU_ASSERT_EQUAL_FATAL(stat(directory, &status), 0);
	CU_ASSERT_EQUAL(status.st_mode & 0777, 0700);
	snprintf(file, sizeof(file), "%s/" SCRATCH_DB, directory);
	CU_ASSERT_EQUAL(close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	scratch_remove(directory);
	CU_ASSERT(access(directory, F_OK) < 0 && errno == ENOENT);
	free(directory);
}

static void test_empty_tmpdir(void)
{
	struct pathprof_error error = {""};
	char *directory = NULL;

	setenv("TMPDIR", "", 1);
	CU_ASSERT_EQUAL_FATAL(scratch_make(&directory, &error), 0);
	CU_ASSERT_EQUAL(strncmp(directory, "/tmp/", 5), 0);
	scratch_remove(directory);
	free(directory);
}

static void test_no_tmpdir(void)
{
	struct pathprof_error error = {""};
	char *directory = NULL;

	setenv("TMPDIR", "/nonexistent", 1);
	CU_ASSERT_EQUAL(scratch_make(&directory, &error), -ENOENT);
	CU_ASSERT_PTR_NULL(directory);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/nonexistent/"));
	scratch_remove(NULL);
}

static const struct unit_test tests[] = {
	{"it is made in TMPDIR, its owner's alone, and goes with its files", test_in_tmpdir},
	{"an empty TMPDIR is none", test_empty_tmpdir},
	{"a directory that is not there is named", test_no_tmpdir},
};
UNIT_SUITE(scratch, tests)
