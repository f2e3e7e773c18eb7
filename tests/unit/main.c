// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs every registered suite, or the ones named as arguments, and prints one line of counts:
 *
 *   unit [-j N] [SUITE...]
 *
 * Each suite has a process of its own, because tests of signals, children and affinity leave
 * traces. With -j, N suites run at once, and what a suite prints appears when it has ended.
 * PATHPROF_ROUNDS=full makes the tests that try many random cases try all of them.
 */
#include "unit.h"

#include <CUnit/Basic.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX 64
#define TMPDIR   "/tmp/pathprof-unit.XXXXXX"

struct suite {
	const char *name;
	const struct unit_test *tests;
	size_t cnt;
};

struct counts {
	unsigned int passed, failed, skipped;
};

static struct suite suites[256];
static size_t suite_cnt;
static unsigned int skipped;
static char *tmpdir; /* of this suite, where the runner sees it; "": none was made */

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
	static CU_pTest last;
	CU_pTest test = CU_get_current_test();

	printf("skipped: %s: %s\n", test ? test->pName : "?", reason);
	/* A test may leave out several of its cases. */
	skipped += test != last;
	last = test;
}

unsigned int unit_rounds(unsigned int brief, unsigned int full)
{
	const char *rounds = getenv("PATHPROF_ROUNDS");

	return rounds && !strcmp(rounds, "full") ? full : brief;
}

const char *unit_tmpdir(void)
{
	static unsigned int next;
	static char dir[96];

	if (!tmpdir[0]) {
		strcpy(tmpdir, TMPDIR);
		if (!mkdtemp(tmpdir))
			abort();
	}
	/* A child of the suite counts on its own. */
	do
		snprintf(dir, sizeof(dir), "%s/%u", tmpdir, next++);
	while (mkdir(dir, 0700) && errno == EEXIST);
	if (access(dir, W_OK))
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
	ret_counts->passed = CU_get_number_of_tests_run() - ret_counts->failed;
	ret_counts->passed -= skipped < ret_counts->passed ? skipped : ret_counts->passed;
	CU_cleanup_registry();
	return 0;
}

/* The results that a suite's process leaves in shared memory. */
struct left {
	struct counts counts;
	char tmpdir[sizeof(TMPDIR)]; /* a suite that dies cannot remove it */
};

/* A suite while it runs. */
struct running {
	const struct suite *suite;
	struct left *left;
	pid_t pid;
	FILE *said; /* NULL: the suite prints to our own output */
};

static struct running running[JOBS_MAX];
static size_t running_cnt;

/* A suite that dies leaves this count: one failure. */
static const struct counts died = {.failed = 1};

static void run_in_child(const struct running *r)
{
	if (r->said && (dup2(fileno(r->said), 1) < 0 || dup2(fileno(r->said), 2) < 0))
		exit(1);
	tmpdir = r->left->tmpdir;
	exit(run_here(r->suite, &r->left->counts) ? 1 : 0);
}

static int start(const struct suite *suite, bool alone)
{
	struct running *r = &running[running_cnt];

	*r = (struct running){.suite = suite, .said = alone ? NULL : tmpfile()};
	r->left = mmap(NULL, sizeof(*r->left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (r->left == MAP_FAILED || (!alone && !r->said))
		return -1;
	r->left->counts = died;
	fflush(stdout);
	r->pid = fork();
	if (r->pid == 0)
		run_in_child(r);
	running_cnt++;
	return r->pid < 0 ? -1 : 0;
}

static void print_said(FILE *said)
{
	char line[4096];

	rewind(said);
	while (fgets(line, sizeof(line), said))
		fputs(line, stdout);
	fclose(said);
}

static void remove_tmpdir(const char *name)
{
	pid_t pid = *name ? fork() : -1;

	if (pid == 0) {
		execlp("rm", "rm", "-rf", name, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* Waits for one of the running suites and adds up what it counted. */
static void finish_one(struct counts *all)
{
	struct running *r = NULL;
	struct counts *counts;
	int status;
	pid_t pid = wait(&status);

	for (size_t i = 0; i < running_cnt; i++)
		if (running[i].pid == pid)
			r = &running[i];
	if (!r)
		return;
	counts = &r->left->counts;
	if (r->said)
		print_said(r->said);
	if (status != 0) {
		printf("suite %s ended with status %#x\n", r->suite->name, (unsigned int)status);
		counts->failed += !counts->failed;
	}
	all->passed += counts->passed;
	all->failed += counts->failed;
	all->skipped += counts->skipped;
	remove_tmpdir(r->left->tmpdir);
	munmap(r->left, sizeof(*r->left));
	*r = running[--running_cnt];
}

int main(int argc, char **argv)
{
	struct counts all = {0};
	size_t jobs = 1, first = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && !strcmp(argv[1], "-j")) {
		jobs = strtoul(argv[2], NULL, 10);
		first = 3;
	}
	if (jobs < 1 || jobs > JOBS_MAX) {
		fprintf(stderr, "unit: -j takes a number from 1 to %d\n", JOBS_MAX);
		return 2;
	}
	for (size_t i = 0; i < ((size_t)argc > first ? (size_t)argc - first : suite_cnt); i++) {
		const struct suite *suite =
			(size_t)argc > first ? find(argv[first + i]) : &suites[i];

		if (!suite) {
			fprintf(stderr, "unit: no suite %s\n", argv[first + i]);
			return 2;
		}
		if (running_cnt == jobs)
			finish_one(&all);
		if (start(suite, jobs == 1)) {
			perror("unit");
			return 2;
		}
	}
	while (running_cnt)
		finish_one(&all);
	printf("unit: %u passed, %u failed, %u skipped\n", all.passed, all.failed, all.skipped);
	return all.failed || !all.passed;
}
