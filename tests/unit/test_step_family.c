// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Members of a family are found among real processes, whose parents live or have ended, and whose
 * numbers and times of start are compared.
 */
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/step/step_engine.h"
#include "../../daemon/step/step_family.h"

static struct pp_step_family family;

struct asked {
	pid_t pid;
	uint64_t start_time;
	unsigned int cnt;
	bool is_member;
};

static bool answer(void *context, pid_t pid, uint64_t start_time)
{
	struct asked *asked = context;

	asked->cnt++;
	asked->pid = pid;
	asked->start_time = start_time;
	return asked->is_member;
}

/* Sleeps until it is killed; ends with this process. */
static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return pid;
}

/* Starts a process whose parent has ended; *ret_parent: the parent's pid. */
static pid_t start_orphan(pid_t *ret_parent)
{
	int ends[2];
	pid_t orphan = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	*ret_parent = fork();
	if (*ret_parent == 0) {
		orphan = fork();
		if (orphan == 0) {
			alarm(60);
			pause();
			_exit(0);
		}
		_exit(write(ends[1], &orphan, sizeof(orphan)) != sizeof(orphan));
	}
	CU_ASSERT_EQUAL_FATAL(read(ends[0], &orphan, sizeof(orphan)), (ssize_t)sizeof(orphan));
	CU_ASSERT_EQUAL(waitpid(*ret_parent, NULL, 0), *ret_parent);
	close(ends[0]);
	close(ends[1]);
	return orphan;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_parents(void)
{
	pid_t child = start_sleeper();

	memset(&family, 0, sizeof(family));
	CU_ASSERT(pp_step_family_has(&family, child, child));
	CU_ASSERT(pp_step_family_has(&family, getpid(), child));
	CU_ASSERT(pp_step_family_has(NULL, getpid(), child));
	CU_ASSERT_FALSE(pp_step_family_is_asked(&family));
	CU_ASSERT_FALSE(pp_step_family_has(&family, child, getpid()));
	CU_ASSERT(pp_step_family_is_asked(&family));
	end(child);
	CU_ASSERT_FALSE(pp_step_family_has(NULL, getpid(), child));
}

static void test_orphan(void)
{
	struct pp_step_stat stat;
	struct asked asked = {.is_member = true};
	pid_t parent, orphan = start_orphan(&parent);

	memset(&family, 0, sizeof(family));
	CU_ASSERT_EQUAL_FATAL(pp_step_read_stat(orphan, 0, &stat), 0);
	CU_ASSERT_FALSE(pp_step_family_has(&family, parent, orphan));
	pp_step_family_answer(&family, false, answer, &asked);
	CU_ASSERT_EQUAL(asked.cnt, 1);
	CU_ASSERT_EQUAL(asked.pid, orphan);
	CU_ASSERT_EQUAL(asked.start_time, stat.start_time);
	CU_ASSERT(pp_step_family_has(&family, parent, orphan));
	CU_ASSERT_FALSE(pp_step_family_is_asked(&family));
	kill(orphan, SIGKILL);
}

static void test_stranger(void)
{
	struct asked asked = {.is_member = false};

	memset(&family, 0, sizeof(family));
	CU_ASSERT_FALSE(pp_step_family_has(&family, getpid() + 1, getpid()));
	pp_step_family_answer(&family, false, answer, &asked);
	pp_step_family_answer(&family, false, answer, &asked);
	CU_ASSERT_EQUAL(asked.cnt, 1);
	CU_ASSERT_FALSE(pp_step_family_has(&family, getpid() + 1, getpid()));
	CU_ASSERT_FALSE(pp_step_family_is_asked(&family));
	/* its fork was told of late */
	asked.is_member = true;
	pp_step_family_answer(&family, true, answer, &asked);
	CU_ASSERT_EQUAL(asked.cnt, 2);
	CU_ASSERT(pp_step_family_has(&family, getpid() + 1, getpid()));
	pp_step_family_answer(&family, true, answer, &asked);
	CU_ASSERT_EQUAL(asked.cnt, 2);
}

/* An answer about an earlier process with the same number does not count. */
static void test_number_again(void)
{
	struct asked asked = {.is_member = true};
	uint64_t *entry = &family.entries[(unsigned int)getpid() % PP_STEP_FAMILY_PLACES];

	memset(&family, 0, sizeof(family));
	CU_ASSERT_FALSE(pp_step_family_has(&family, getpid() + 1, getpid()));
	pp_step_family_answer(&family, false, answer, &asked);
	CU_ASSERT(pp_step_family_has(&family, getpid() + 1, getpid()));
	*entry -= UINT64_C(1) << 22;
	CU_ASSERT_FALSE(pp_step_family_has(&family, getpid() + 1, getpid()));
	CU_ASSERT(pp_step_family_is_asked(&family));
}

static const struct unit_test tests[] = {
	{"by the parents that /proc names", test_parents},
	{"whose parents have ended: by the answer", test_orphan},
	{"who is not of it is asked about once, and anew when it is time", test_stranger},
	{"another process with the same number", test_number_again},
};
UNIT_SUITE(step_family, tests)
