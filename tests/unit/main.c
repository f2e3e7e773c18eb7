// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs every registered suite, or the ones named as arguments, each in a process of its own (tests
 * of signals, children and affinity leave traces), and prints one line of counts.
 */
#include "unit.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct suite {
	const char *name;
	const struct unit_test *tests;
	size_t cnt;
};

struct counts {
	unsigned int passed, failed, skipped;
};

static struct suite suites[128];
static size_t suite_cnt;
static unsigned int skipped;
static char tmpdir[64];

void unit_register(const char *suite, const struct unit_test *tests, size_t cnt)
{
	if (suite_cnt == sizeof(suites) / sizeof(suites[0])) {
		fprintf(stderr, "unit: too many suites\n");
		abort();
	}
	suites[suite_cnt++] = (struct suite){suite, tests, cnt};
}

void unit_skip(const char *reason)
{
	CU_pTest test = CU_get_current_test();

	printf("skipped: %s: %s\n", test ? test->pName : "?", reason);
	skipped++;
}

static void remove_tmpdir(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", tmpdir, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

const char *unit_tmpdir(void)
{
	static unsigned int next;
	static char dir[96];

	if (!tmpdir[0]) {
		snprintf(tmpdir, sizeof(tmpdir), "/tmp/pathprof-unit.XXXXXX");
		if (!mkdtemp(tmpdir))
			abort();
		atexit(remove_tmpdir);
	}
	snprintf(dir, sizeof(dir), "%s/%u", tmpdir, next++);
	if (mkdir(dir, 0700))
		abort();
	return dir;
}

static const struct suite *find(const char *name)
{
	for (size_t i = 0; i < suite_cnt; i++)
		if (!strcmp(suites[i].name, name))
			return &suites[i];
	return NULL;
}

static int run_here(const struct suite *suite, struct counts *ret_counts)
{
	CU_pSuite registered;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return -1;
	registered = CU_add_suite(suite->name, NULL, NULL);
	for (size_t i = 0; registered && i < suite->cnt; i++)
		CU_add_test(registered, suite->tests[i].name, suite->tests[i].run);
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	ret_counts->failed = CU_get_number_of_tests_failed();
	ret_counts->skipped = skipped;
	ret_counts->passed = CU_get_number_of_tests_run() - ret_counts->failed - skipped;
	CU_cleanup_registry();
	return 0;
}

/* The counts come back through a pipe; none: the suite died, which is a failure. */
static struct counts run_in_child(const struct suite *suite)
{
	struct counts counts = {0}, died = {.failed = 1};
	int ends[2], status;
	pid_t pid;

	fflush(stdout);
	if (pipe(ends) || (pid = fork()) < 0)
		return died;
	if (pid == 0) {
		int r = run_here(suite, &counts);

		if (r == 0 && write(ends[1], &counts, sizeof(counts)) != sizeof(counts))
			r = -1;
		exit(r ? 1 : 0);
	}
	close(ends[1]);
	if (read(ends[0], &counts, sizeof(counts)) != sizeof(counts))
		counts = died;
	close(ends[0]);
	if (waitpid(pid, &status, 0) == pid && status != 0) {
		printf("suite %s ended with status %#x\n", suite->name, (unsigned int)status);
		counts.failed += !counts.failed;
	}
	return counts;
}

int main(int argc, char **argv)
{
	struct counts all = {0};

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < (argc > 1 ? (size_t)argc - 1 : suite_cnt); i++) {
		const struct suite *suite = argc > 1 ? find(argv[i + 1]) : &suites[i];
		struct counts counts;

		if (!suite) {
			fprintf(stderr, "unit: no suite %s\n", argv[i + 1]);
			return 2;
		}
		counts = run_in_child(suite);
		all.passed += counts.passed;
		all.failed += counts.failed;
		all.skipped += counts.skipped;
	}
	printf("unit: %u passed, %u failed, %u skipped\n", all.passed, all.failed, all.skipped);
	return all.failed || !all.passed;
}
