// SPDX-License-Identifier: GPL-2.0-or-later
/* Whom this daemon leaves alone: see silent.h. */
#include "silent.h"

#include <inttypes.h>

#include "shared/log.h"
#include "base/clock.h"
#include "track/track_proc.h"

/*
 * A process that executes a program may be slow to read it on a busy machine, and then whoever
 * attaches waits a moment. It is left alone for that, and named only when it is so after a rest.
 */
#define SEIZED_TIMES 2
/* Points of a user within an hour up to which processes are named. */
#define NAMED_POINTS 8

static struct pp_step_silent silent;

bool pp_silent_suspects(pid_t pid)
{
	pid_t inner_pid;
	uid_t uid;

	return silent.uid_cnt && !pp_proc_status(pid, &inner_pid, &uid) &&
	       pp_step_silent_knows_user(&silent, uid, pp_monotonic_ns());
}

bool pp_silent_holds(pid_t pid)
{
	struct pp_stat stat;
	pid_t inner_pid;
	uid_t uid;

	if (!silent.pid_cnt || pp_proc_stat(pid, &stat) || pp_proc_status(pid, &inner_pid, &uid))
		return false;
	return pp_step_silent_holds(&silent, pid, stat.start_time, uid, pp_monotonic_ns());
}

/* However many processes a user has, the log names but the first of an hour. */
static bool is_told(pid_t pid, uint64_t start_time, uint32_t uid, uint32_t points, uint32_t times)
{
	uint32_t before = pp_step_silent_points_of(&silent, uid) - points;

	return points && (before < NAMED_POINTS || points == PP_STEP_SILENT_STEPPER) &&
	       pp_step_silent_tell(&silent, pid, start_time, times);
}

/* Each process and user is told of once, a process when it was found silent so many times, for
 * points. */
static void add(pid_t pid, uint64_t start_time, uint32_t uid, uint32_t points, const char *whom,
		uint32_t times)
{
	uint64_t now_ns = pp_monotonic_ns();
	bool was_held = pp_step_silent_holds_user(&silent, uid, now_ns);

	pp_step_silent_add(&silent, pid, start_time, uid, points, now_ns);
	if (is_told(pid, start_time, uid, points, times))
		pp_log(LOG_WARNING,
		       "process %d of user %" PRIu32 " put %s to sleep in the kernel; it is left "
		       "alone %s",
		       pid, uid, whom,
		       points == PP_STEP_SILENT_STEPPER ? "from now on" : "for a while");
	if (!was_held && pp_step_silent_holds_user(&silent, uid, now_ns))
		pp_log(LOG_WARNING,
		       "user %" PRIu32 " is left alone for an hour: that user's processes put "
		       "children of the daemon to sleep again and again",
		       uid);
}

bool pp_silent_blame(pid_t pid, uint32_t points, const char *whom)
{
	struct pp_stat stat;
	pid_t inner_pid;
	uid_t uid;

	if (pp_proc_stat(pid, &stat) || pp_proc_status(pid, &inner_pid, &uid))
		return false;
	add(pid, stat.start_time, uid, points, whom, 1);
	return true;
}

void pp_silent_copy(struct pp_step_silent *ret_table, uint32_t *ret_seen)
{
	*ret_table = silent;
	*ret_seen = silent.total;
}

void pp_silent_learn(const struct pp_step_silent *table, uint32_t *seen)
{
	uint32_t total = __atomic_load_n(&table->total, __ATOMIC_ACQUIRE);

	if (total <= *seen)
		return;
	for (uint32_t i = 0; i < table->pid_cnt && i < PP_STEP_SILENT_PID_MAX; i++) {
		const struct pp_step_silent_pid *entry = &table->pids[i];

		if (entry->number > *seen)
			add(entry->pid, entry->start_time, entry->uid, PP_STEP_SILENT_SEIZE,
			    "whoever attaches to it", SEIZED_TIMES);
	}
	*seen = total;
}
