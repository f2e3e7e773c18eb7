/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steppers that were given up: see step_left.h. */
#include "step_left.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "step_engine.h"
#include "step_watch.h"

#define KILLED_TIMEOUT_MS 200

struct left {
	pid_t pid;
	struct pp_step_hold *hold;
};
static struct left left[PP_STEP_LEFT_MAX];
static unsigned int left_cnt;

static bool has_ended(pid_t pid)
{
	pid_t got = waitpid(pid, NULL, WNOHANG);

	return got == pid || (got < 0 && errno == ECHILD);
}

static bool wait_ended(pid_t pid, int timeout_ms)
{
	struct timespec pause = {0, PP_NSEC_PER_MSEC};

	for (int waited_ms = 0; !has_ended(pid); waited_ms++) {
		if (waited_ms >= timeout_ms)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static char state_of(pid_t pid)
{
	struct pp_step_stat stat;

	return pp_step_read_stat(pid, 0, &stat) ? 'X' : stat.state;
}

/* Removes the traces of a dead stepper from its last target. */
static void put_right(struct pp_step_hold *hold)
{
	if (!hold)
		return;
	pp_step_unpin_orphan(hold);
	munmap(hold, sizeof(*hold));
}

static bool kill_if_harmless(pid_t pid, const struct pp_step_hold *hold)
{
	if (!hold || !pp_step_watch_may_kill(hold, state_of(pid)))
		return false;
	kill(pid, SIGKILL);
	return wait_ended(pid, KILLED_TIMEOUT_MS);
}

bool pp_step_left_take(pid_t pid, struct pp_step_hold *hold, int timeout_ms)
{
	/* One that somebody has stopped would not see that it is to leave. */
	kill(pid, SIGCONT);
	if (wait_ended(pid, timeout_ms) || kill_if_harmless(pid, hold)) {
		put_right(hold);
		return true;
	}
	if (left_cnt < PP_STEP_LEFT_MAX)
		left[left_cnt++] = (struct left){pid, hold};
	return false;
}

unsigned int pp_step_left_reap(void)
{
	for (unsigned int i = left_cnt; i-- > 0;) {
		struct left one = left[i];

		if (!has_ended(one.pid))
			continue;
		left[i] = left[--left_cnt];
		put_right(one.hold);
	}
	return left_cnt;
}
