// SPDX-License-Identifier: GPL-2.0-or-later
/* User time by /proc/stat: made-up files, and this process' own time in the real one. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../daemon/user_time.h"

#define FIRST "pid:[4026531836]"

static int read_made_up(const char *text, const char *namespace, uint64_t *ret_ns)
{
	char dir[] = "/tmp/pathprof-unit-XXXXXX", stat[64], link[64];
	FILE *file;
	int r;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(stat, sizeof(stat), "%s/stat", dir);
	snprintf(link, sizeof(link), "%s/pid", dir);
	CU_ASSERT_EQUAL_FATAL(symlink(namespace, link), 0);
	file = fopen(stat, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
	r = pp_user_time_read(stat, link, ret_ns);
	unlink(stat);
	unlink(link);
	rmdir(dir);
	return r;
}

static void test_made_up(void)
{
	const uint64_t tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t ns = 7;

	CU_ASSERT_EQUAL(read_made_up("cpu  1000 200 9 9 9 9 9 9 300 50\ncpu0 1 2\n", FIRST, &ns),
			0);
	CU_ASSERT_EQUAL(ns, 850 * tick_ns);
	ns = 7;
	CU_ASSERT_EQUAL(read_made_up("cpu  1000 200 9\n", FIRST, &ns), -EBADMSG);
	CU_ASSERT_EQUAL(read_made_up("cpu  10 200 9 9 9 9 9 9 300 50\n", FIRST, &ns), -EBADMSG);
	CU_ASSERT_EQUAL(read_made_up("", FIRST, &ns), -EBADMSG);
	/* a container's tells of programs that are not there */
	CU_ASSERT_EQUAL(read_made_up("cpu  9 9 9 9 9 9 9 9 0 0\n", "pid:[4026532177]", &ns),
			-ENOTSUP);
	CU_ASSERT_EQUAL(pp_user_time_read("/nonexistent", "/nonexistent", &ns), -ENOENT);
	CU_ASSERT_EQUAL(ns, 7);
}

static uint64_t own_user_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_utime.tv_sec * 1000000000ull +
	       (uint64_t)usage.ru_utime.tv_usec * 1000;
}

/* The user time that the file tells of more while we compute for 0.4 s. */
static uint64_t told_while_computing(void)
{
	uint64_t begin_ns = 0, end_ns = 0, own_ns = own_user_ns();

	CU_ASSERT_EQUAL(pp_user_time_read(PP_USER_TIME_STAT, PP_USER_TIME_NS, &begin_ns), 0);
	while (own_user_ns() < own_ns + 400000000ull)
		;
	CU_ASSERT_EQUAL(pp_user_time_read(PP_USER_TIME_STAT, PP_USER_TIME_NS, &end_ns), 0);
	return end_ns - begin_ns;
}

/*
 * The kernel's ticks count what we computed, give or take some. A host that takes the CPU away
 * takes ticks as well, so some of several spans may be bad ones.
 */
static void test_real(void)
{
	uint64_t ns, told_ns = 0;

	if (pp_user_time_read(PP_USER_TIME_STAT, PP_USER_TIME_NS, &ns) == -ENOTSUP)
		return;
	for (int i = 0; i < 20 && told_ns <= 200000000ull; i++)
		told_ns = told_while_computing();
	CU_ASSERT(told_ns > 200000000ull);
}

static const struct unit_test tests[] = {
	{"what /proc/stat says, and what it cannot", test_made_up},
	{"our own time is in it", test_real},
};
UNIT_SUITE(user_time, tests)
