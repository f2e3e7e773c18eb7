// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs every registered suite, or the ones named as arguments, and prints one line of counts. */
#include "unit.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct suite {
	const char *name;
	const struct unit_test *tests;
	size_t cnt;
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
	if (access(dir, F_OK) == 0)
		abort();
	char command[128];
	snprintf(command, sizeof(command), "mkdir %s", dir);
	if (system(command)) /* NOLINT(cert-env33-c): a name made here */
		abort();
	return dir;
}

static int wanted(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return argc < 2;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	for (size_t i = 0; i < suite_cnt; i++) {
		if (!wanted(argc, argv, suites[i].name))
			continue;
		CU_pSuite suite = CU_add_suite(suites[i].name, NULL, NULL);
		for (size_t j = 0; suite && j < suites[i].cnt; j++)
			CU_add_test(suite, suites[i].tests[j].name, suites[i].tests[j].run);
	}
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	unsigned int run = CU_get_number_of_tests_run();
	unsigned int failed = CU_get_number_of_tests_failed();
	CU_cleanup_registry();
	printf("unit: %u passed, %u failed, %u skipped\n", run - failed - skipped, failed, skipped);
	return failed || run == 0;
}
