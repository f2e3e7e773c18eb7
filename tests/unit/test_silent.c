// SPDX-License-Identifier: GPL-2.0-or-later
/* The processes that the daemon leaves alone: its children report them to one table. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/silent.h"
#include "base/clock.h"
#include "../../daemon/track/track_proc.h"
#include "../../daemon/track/track_reader.h"
#include "unit.h"

static pid_t start_idle(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int never_called(void *context, const struct pp_vma *vma)
{
	CU_ASSERT(false);
	return 0;
}

/* A process blamed by a reader is left alone by the reader and by steppers started later. */
static void test_blamed(void)
{
	pid_t pid = start_idle(), other = start_idle();
	struct pp_step_silent table;
	struct pp_reader *reader;
	struct pp_stat stat;
	uint32_t seen;

	CU_ASSERT_EQUAL_FATAL(pp_reader_new(&reader), 0);
	CU_ASSERT_EQUAL_FATAL(pp_proc_stat(pid, &stat), 0);
	CU_ASSERT_FALSE(pp_silent_holds(pid));
	CU_ASSERT(pp_silent_blame(pid, PP_STEP_SILENT_SEIZE, "a test"));
	CU_ASSERT(pp_silent_holds(pid));
	CU_ASSERT_FALSE(pp_silent_holds(other));
	CU_ASSERT_EQUAL(pp_reader_vmas(reader, pid, 0, never_called, NULL), -ETIMEDOUT);
	CU_ASSERT_EQUAL(pp_reader_look(reader, pid, 0, 4096), -ETIMEDOUT);
	pp_silent_copy(&table, &seen);
	CU_ASSERT(pp_step_silent_holds(&table, pid, stat.start_time, getuid(), pp_monotonic_ns()));
	end(pid);
	/* another process with its number is not blamed */
	CU_ASSERT_FALSE(pp_silent_blame(pid, PP_STEP_SILENT_SEIZE, "a test"));
	pp_reader_free(reader);
	end(other);
}

/* Processes that a stepper found are learnt once each. */
static void test_learnt(void)
{
	pid_t pid = start_idle();
	struct pp_step_silent table;
	struct pp_stat stat;
	uint32_t seen, before;

	CU_ASSERT_EQUAL_FATAL(pp_proc_stat(pid, &stat), 0);
	pp_silent_copy(&table, &seen);
	before = seen;
	pp_silent_learn(&table, &seen);
	CU_ASSERT_FALSE(pp_silent_holds(pid));
	pp_step_silent_add(&table, pid, stat.start_time, getuid(), PP_STEP_SILENT_SEIZE,
			   pp_monotonic_ns());
	pp_silent_learn(&table, &seen);
	pp_silent_learn(&table, &seen);
	CU_ASSERT(pp_silent_holds(pid));
	pp_silent_copy(&table, &seen);
	CU_ASSERT_EQUAL(seen, before + 1);
	/* one that has gone astray writes what it likes */
	table.total = UINT32_MAX;
	table.pid_cnt = UINT32_MAX;
	pp_silent_learn(&table, &seen);
	CU_ASSERT_EQUAL(seen, UINT32_MAX);
	end(pid);
}

static const struct unit_test tests[] = {
	{"who put a reader to sleep is read no more, nor stepped", test_blamed},
	{"what a stepper found out is learnt once", test_learnt},
};

UNIT_SUITE(silent, tests)
