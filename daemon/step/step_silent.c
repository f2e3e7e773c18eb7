/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom a stepper leaves alone, for they put one to sleep: see step_silent.h. */
#include "step_silent.h"

#include <stddef.h>

#define NSEC_PER_SEC   1000000000ull
#define SEIZE_FIRST_NS (10 * NSEC_PER_SEC)
#define SEIZE_TIMES    9 /* ten seconds doubled so often are more than an hour */
#define USER_NS        (3600 * NSEC_PER_SEC)

/* Bounds a count of the page: a stepper that has gone astray may have written any number. */
static uint32_t at_most(uint32_t cnt, uint32_t max)
{
	return cnt < max ? cnt : max;
}

static const struct pp_step_silent_pid *find_pid(const struct pp_step_silent *silent, int32_t pid,
						 uint64_t start_time)
{
	uint32_t cnt = at_most(silent->pid_cnt, PP_STEP_SILENT_PID_MAX);

	for (uint32_t i = 0; i < cnt; i++)
		if (silent->pids[i].pid == pid && silent->pids[i].start_time == start_time)
			return &silent->pids[i];
	return NULL;
}

static const struct pp_step_silent_uid *find_uid(const struct pp_step_silent *silent, uint32_t uid)
{
	uint32_t cnt = at_most(silent->uid_cnt, PP_STEP_SILENT_UID_MAX);

	for (uint32_t i = 0; i < cnt; i++)
		if (silent->uids[i].uid == uid)
			return &silent->uids[i];
	return NULL;
}

bool pp_step_silent_holds_user(const struct pp_step_silent *silent, uint32_t uid, uint64_t now_ns)
{
	const struct pp_step_silent_uid *user = silent ? find_uid(silent, uid) : NULL;

	return user && now_ns < user->until_ns;
}

uint32_t pp_step_silent_points_of(const struct pp_step_silent *silent, uint32_t uid)
{
	const struct pp_step_silent_uid *user = find_uid(silent, uid);

	return user ? user->points : 0;
}

bool pp_step_silent_knows_user(const struct pp_step_silent *silent, uint32_t uid, uint64_t now_ns)
{
	const struct pp_step_silent_uid *user = find_uid(silent, uid);

	return user && now_ns - user->since_ns <= USER_NS;
}

bool pp_step_silent_holds(const struct pp_step_silent *silent, int32_t pid, uint64_t start_time,
			  uint32_t uid, uint64_t now_ns)
{
	const struct pp_step_silent_pid *entry;

	if (!silent || !silent->pid_cnt)
		return false;
	entry = find_pid(silent, pid, start_time);
	return (entry && now_ns < entry->until_ns) ||
	       pp_step_silent_holds_user(silent, uid, now_ns);
}

/* A new place, or that of the one who would be touched again soonest. */
static struct pp_step_silent_pid *place_for_pid(struct pp_step_silent *silent)
{
	struct pp_step_silent_pid *soonest = &silent->pids[0];

	if (silent->pid_cnt < PP_STEP_SILENT_PID_MAX)
		return &silent->pids[silent->pid_cnt++];
	for (uint32_t i = 1; i < PP_STEP_SILENT_PID_MAX; i++)
		if (silent->pids[i].until_ns < soonest->until_ns ||
		    (silent->pids[i].until_ns == soonest->until_ns &&
		     silent->pids[i].number < soonest->number))
			soonest = &silent->pids[i];
	return soonest;
}

/* A new place, or that of the one whose points are oldest. */
static struct pp_step_silent_uid *place_for_uid(struct pp_step_silent *silent)
{
	struct pp_step_silent_uid *oldest = &silent->uids[0];

	if (silent->uid_cnt < PP_STEP_SILENT_UID_MAX)
		return &silent->uids[silent->uid_cnt++];
	for (uint32_t i = 1; i < PP_STEP_SILENT_UID_MAX; i++)
		if (silent->uids[i].since_ns < oldest->since_ns)
			oldest = &silent->uids[i];
	return oldest;
}

static void add_points(struct pp_step_silent *silent, uint32_t uid, uint32_t points,
		       uint64_t now_ns)
{
	struct pp_step_silent_uid *user = (struct pp_step_silent_uid *)find_uid(silent, uid);

	if (!user) {
		user = place_for_uid(silent);
		*user = (struct pp_step_silent_uid){.uid = uid, .since_ns = now_ns};
	}
	if (now_ns - user->since_ns > USER_NS) {
		user->since_ns = now_ns;
		user->points = 0;
	}
	user->points += points;
	if (user->points >= PP_STEP_SILENT_LIMIT)
		user->until_ns = now_ns + USER_NS;
}

static uint64_t until(uint32_t points, uint32_t times, uint64_t now_ns)
{
	if (points == PP_STEP_SILENT_STEPPER)
		return UINT64_MAX;
	return now_ns + (SEIZE_FIRST_NS << at_most(times - 1, SEIZE_TIMES));
}

uint32_t pp_step_silent_add(struct pp_step_silent *silent, int32_t pid, uint64_t start_time,
			    uint32_t uid, uint32_t points, uint64_t now_ns)
{
	struct pp_step_silent_pid *entry;

	if (!silent)
		return 0;
	silent->pid_cnt = at_most(silent->pid_cnt, PP_STEP_SILENT_PID_MAX);
	silent->uid_cnt = at_most(silent->uid_cnt, PP_STEP_SILENT_UID_MAX);
	entry = (struct pp_step_silent_pid *)find_pid(silent, pid, start_time);
	if (!entry) {
		entry = place_for_pid(silent);
		*entry = (struct pp_step_silent_pid){
			.pid = pid, .uid = uid, .start_time = start_time};
	}
	entry->times++;
	entry->number = silent->total + 1;
	/* one that is left alone for good stays so */
	if (entry->until_ns != UINT64_MAX)
		entry->until_ns = until(points, entry->times, now_ns);
	add_points(silent, uid, points, now_ns);
	__atomic_store_n(&silent->total, entry->number, __ATOMIC_RELEASE);
	return entry->times;
}

bool pp_step_silent_tell(struct pp_step_silent *silent, int32_t pid, uint64_t start_time,
			 uint32_t times)
{
	struct pp_step_silent_pid *entry =
		(struct pp_step_silent_pid *)find_pid(silent, pid, start_time);

	if (!entry || entry->told || entry->times < times)
		return false;
	entry->told = true;
	return true;
}
