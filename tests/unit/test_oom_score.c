// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The OOM killer's score, as the kernel tells it. Each case runs in a child of its own, for
 * CAP_SYS_RESOURCE, which sets the floor, is given up in it as the unit's processes lack it.
 */
#include "unit.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/oom_score.h"
#include "../../daemon/privilege.h"

#define FLOOR_RIGHT PP_PRIVILEGE(CAP_SYS_RESOURCE)

static int score_now(void)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "re");
	int score = 1;

	if (!file || fscanf(file, "%d", &score) != 1)
		score = 1;
	if (file)
		fclose(file);
	return score;
}

/* The verdict of check in a child that starts with this score and floor, without the right. */
static bool holds_when_started_with(int score, bool (*check)(void))
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(pp_oom_score_set(score) == 0 && pp_privilege_drop(FLOOR_RIGHT, NULL) == 0 &&
				      check()
			      ? 0
			      : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool is_lowered_to_the_floor(void)
{
	return pp_oom_score_set(PP_OOM_SCORE_NEVER) == 0 && score_now() == PP_OOM_SCORE_NEVER;
}

/* The daemon, then its stepper, then one that is forked anew. */
static bool daemon_rises_and_steppers_fall(void)
{
	pp_oom_score_become_ordinary();
	for (int stepper = 0; stepper < 2; stepper++) {
		pid_t pid = fork();
		int status = 1;

		if (pid == 0)
			_exit(is_lowered_to_the_floor() ? 0 : 1);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return false;
	}
	return score_now() == PP_OOM_SCORE_ORDINARY;
}

static bool is_refused_below_the_floor(void)
{
	return pp_oom_score_set(PP_OOM_SCORE_NEVER) == -EACCES && score_now() == 300;
}

static bool stays_as_it_was_set(void)
{
	pp_oom_score_become_ordinary();
	return score_now() == 300;
}

/* Without the right the floor is what this process was started with, and that is the least. */
static bool rises_and_falls_to_the_floor(void)
{
	const int floor = score_now();

	return pp_oom_score_set(floor + 100) == 0 && score_now() == floor + 100 &&
	       pp_oom_score_set(floor) == 0 && score_now() == floor;
}

static void test_unit(void)
{
	/* Elsewhere the guest with a live systemd shows it (tests/systemd/guest/memory.sh). */
	if (pp_privilege_has(FLOOR_RIGHT))
		CU_ASSERT(holds_when_started_with(PP_OOM_SCORE_NEVER,
						  daemon_rises_and_steppers_fall));
	CU_ASSERT(holds_when_started_with(300, rises_and_falls_to_the_floor));
}

static void test_floor(void)
{
	CU_ASSERT(holds_when_started_with(300, is_refused_below_the_floor));
}

static void test_other_score(void)
{
	CU_ASSERT(holds_when_started_with(300, stays_as_it_was_set));
}

static const struct unit_test tests[] = {
	{"a daemon that cannot be killed rises, and its steppers fall", test_unit},
	{"a stepper stays above the floor", test_floor},
	{"a score that somebody chose is kept", test_other_score},
};
UNIT_SUITE(oom_score, tests)
