// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of file servers: which they are, and children that do not come back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "../../daemon/track/track_remote.h"
#include "unit.h"

static void test_own_mounts(void)
{
	struct pp_remote *remote;
	struct stat st;

	CU_ASSERT_EQUAL_FATAL(pp_remote_new(&remote), 0);
	CU_ASSERT_EQUAL_FATAL(stat("/proc", &st), 0);
	CU_ASSERT_FALSE(pp_remote_has(remote, getpid(), major(st.st_dev), minor(st.st_dev)));
	CU_ASSERT_FALSE(pp_remote_path(getpid(), "/proc/self/maps"));
	/* of no mount: with a disk it is no server's */
	CU_ASSERT_FALSE(pp_remote_has(remote, getpid(), 254, 77777));
	CU_ASSERT_TRUE(pp_remote_has(remote, getpid(), 0, 77777));
	pp_remote_free(remote);
}

static int doubled(void *context, void *answer)
{
	int number = 2 * *(int *)context;

	memcpy(answer, &number, sizeof(number));
	return 0;
}

static int refusing(void *context, void *answer)
{
	return -ENOENT;
}

/* Takes 20 ms of CPU time. */
static int computing(void *context, void *answer)
{
	const clock_t begin = clock();

	while (clock() - begin < CLOCKS_PER_SEC / 50)
		;
	return 0;
}

static int never(void *context, void *answer)
{
	pause();
	return 0;
}

static int crashing(void *context, void *answer)
{
	_exit(3);
}

/*
 * What one that has lost no time yet answers, and the CPU time of its children. On a busy machine a
 * child may be given up before it was ever run, so it is asked again.
 */
static int asked(pp_remote_fn *fn, void *context, int *answer, uint64_t *ret_cpu_ns)
{
	int r = -ETIMEDOUT;

	for (int i = 0; i < 100 && r == -ETIMEDOUT; i++) {
		struct pp_remote *remote;

		CU_ASSERT_EQUAL_FATAL(pp_remote_new(&remote), 0);
		r = pp_remote_ask(remote, 1, fn, context, answer, sizeof(*answer));
		*ret_cpu_ns = pp_remote_cpu_ns(remote);
		pp_remote_free(remote);
	}
	return r;
}

static void test_answers(void)
{
	int number = 21, answer = 0;
	uint64_t cpu_ns;

	CU_ASSERT_EQUAL(asked(doubled, &number, &answer, &cpu_ns), 0);
	CU_ASSERT_EQUAL(answer, 42);
	CU_ASSERT_EQUAL(asked(refusing, NULL, &answer, &cpu_ns), -ENOENT);
	CU_ASSERT_EQUAL(asked(crashing, NULL, &answer, &cpu_ns), -ECHILD);
	CU_ASSERT_EQUAL(answer, 42);
}

static void test_account(void)
{
	int answer = 0;
	uint64_t cpu_ns = 0;

	CU_ASSERT_EQUAL(asked(computing, NULL, &answer, &cpu_ns), 0);
	CU_ASSERT(cpu_ns >= 19000000);
}

static void test_silence(void)
{
	uint64_t begin_ns = pp_monotonic_ns();
	struct pp_remote *remote;
	int r, answer = 0;

	CU_ASSERT_EQUAL_FATAL(pp_remote_new(&remote), 0);
	for (uint64_t dev = 1; dev <= 20; dev++) {
		r = pp_remote_ask(remote, dev, never, NULL, &answer, sizeof(answer));
		CU_ASSERT(r == -ETIMEDOUT || r == -EBUSY);
	}
	/* half a second of waiting, however many do not answer */
	CU_ASSERT_EQUAL(r, -EBUSY);
	CU_ASSERT(pp_monotonic_ns() - begin_ns >= 400000000);
	CU_ASSERT(pp_monotonic_ns() - begin_ns < 5000000000);
	pp_remote_free(remote);
}

static const struct unit_test tests[] = {
	{"disks and the kernel's file systems are nobody else's", test_own_mounts},
	{"a child's answer is handed on, and so is that there is none", test_answers},
	{"what children compute is counted", test_account},
	{"who does not answer is waited for a while only", test_silence},
};

UNIT_SUITE(track_remote, tests)
