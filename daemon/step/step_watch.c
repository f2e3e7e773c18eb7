/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a stepper is still at its work: see step_watch.h. */
#include "step_watch.h"

#define NSEC_PER_SEC 1000000000ull
/* A thread is done with after some tens of milliseconds, unless the stepper gets no CPU. */
#define BUSY_MAX_NS (2 * NSEC_PER_SEC)
#define MUTE_MAX_NS (10 * NSEC_PER_SEC)
/* A stepper that is ready to run may have to wait so long for a CPU on a busy machine. */
#define RUNNABLE_MAX_NS (60 * NSEC_PER_SEC)
#define LOOK_CNT        2
#define STARVED_NS      (NSEC_PER_SEC / 4)

static bool is_sleeping(char state)
{
	return state == 'S' || state == 'D';
}

static enum pp_step_verdict judge(const struct pp_step_watch *watch,
				  const struct pp_step_hold *hold, uint64_t busy_ns, char state,
				  uint64_t now_ns)
{
	uint64_t due_ns = __atomic_load_n(&hold->due_ns, __ATOMIC_ACQUIRE);
	uint64_t patience_ns = state == 'R' ? RUNNABLE_MAX_NS : MUTE_MAX_NS;

	/* The socket tells of the stepper's end. */
	if (state == 'Z' || state == 'X')
		return PP_STEP_WELL;
	if (busy_ns && is_sleeping(state) && now_ns > busy_ns && now_ns - busy_ns > BUSY_MAX_NS)
		return PP_STEP_ASLEEP;
	if (due_ns < watch->started_ns)
		due_ns = watch->started_ns;
	return now_ns > due_ns && now_ns - due_ns > patience_ns ? PP_STEP_MUTE : PP_STEP_WELL;
}

enum pp_step_verdict pp_step_watch_look(struct pp_step_watch *watch,
					const struct pp_step_hold *hold, char state,
					uint64_t now_ns)
{
	uint64_t busy_ns = __atomic_load_n(&hold->busy_ns, __ATOMIC_ACQUIRE);
	enum pp_step_verdict verdict = judge(watch, hold, busy_ns, state, now_ns);

	if (verdict == PP_STEP_WELL || busy_ns != watch->busy_ns)
		watch->late_cnt = 0;
	watch->busy_ns = busy_ns;
	if (verdict != PP_STEP_WELL && ++watch->late_cnt < LOOK_CNT)
		return PP_STEP_WELL;
	return verdict;
}

bool pp_step_watch_is_starved(const struct pp_step_hold *hold, char state, uint64_t now_ns)
{
	uint64_t due_ns = __atomic_load_n(&hold->due_ns, __ATOMIC_ACQUIRE);

	return state == 'R' && due_ns && now_ns > due_ns && now_ns - due_ns > STARVED_NS;
}

bool pp_step_watch_may_kill(const struct pp_step_hold *hold, char state)
{
	return is_sleeping(state) && !__atomic_load_n(&hold->harms, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&hold->armed, __ATOMIC_ACQUIRE);
}
