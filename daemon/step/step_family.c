/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of the recorded family: see step_family.h. */
#include "step_family.h"

#include <stddef.h>

#include "step_engine.h"

#define DEPTH_MAX 64

/* An entry: the state in its two highest bits, the time when the process began, its pid. */
#define PID_BITS   22 /* the kernel's PID_MAX_LIMIT */
#define START_BITS 40
enum state { ASKED = 1, MEMBER = 2, STRANGER = 3 };

static uint64_t pack(pid_t pid, uint64_t start_time, enum state state)
{
	const uint64_t start = start_time & ((UINT64_C(1) << START_BITS) - 1);

	return (uint64_t)state << (PID_BITS + START_BITS) | start << PID_BITS | (uint64_t)pid;
}

static enum state state_of(uint64_t entry)
{
	return (enum state)(entry >> (PID_BITS + START_BITS));
}

static pid_t pid_of(uint64_t entry)
{
	return (pid_t)(entry & ((1u << PID_BITS) - 1));
}

static uint64_t start_of(uint64_t entry)
{
	return entry >> PID_BITS & ((UINT64_C(1) << START_BITS) - 1);
}

static uint64_t *place_of(struct pp_step_family *family, pid_t pid)
{
	return &family->entries[(uint32_t)pid % PP_STEP_FAMILY_PLACES];
}

/* 0: nothing is known of it. */
static enum state look_up(struct pp_step_family *family, pid_t pid, uint64_t start_time)
{
	uint64_t entry = family ? __atomic_load_n(place_of(family, pid), __ATOMIC_RELAXED) : 0;

	return entry && entry == pack(pid, start_time, state_of(entry)) ? state_of(entry) : 0;
}

static void remember(struct pp_step_family *family, pid_t pid, uint64_t start_time,
		     enum state state)
{
	if (family)
		__atomic_store_n(place_of(family, pid), pack(pid, start_time, state),
				 __ATOMIC_RELAXED);
}

/* Whether one of its ancestors is known to be a member. */
static bool descends(struct pp_step_family *family, pid_t only_pid, pid_t pid)
{
	for (int depth = 0; pid > 0 && depth < DEPTH_MAX; depth++) {
		struct pp_step_stat stat;

		if (pid == only_pid)
			return true;
		if (pp_step_read_stat(pid, 0, &stat))
			return false;
		if (look_up(family, pid, stat.start_time) == MEMBER)
			return true;
		pid = stat.ppid;
	}
	return false;
}

bool pp_step_family_has(struct pp_step_family *family, pid_t only_pid, pid_t pid)
{
	struct pp_step_stat stat;
	enum state state;

	if (pid == only_pid)
		return true;
	if (pp_step_read_stat(pid, 0, &stat))
		return false;
	state = look_up(family, pid, stat.start_time);
	if (state)
		return state == MEMBER;
	state = descends(family, only_pid, stat.ppid) ? MEMBER : ASKED;
	remember(family, pid, stat.start_time, state);
	return state == MEMBER;
}

bool pp_step_family_is_asked(const struct pp_step_family *family)
{
	for (size_t i = 0; i < PP_STEP_FAMILY_PLACES; i++)
		if (state_of(__atomic_load_n(&family->entries[i], __ATOMIC_RELAXED)) == ASKED)
			return true;
	return false;
}

static void answer(uint64_t *place, bool again, pp_step_family_fn *is_member, void *context)
{
	const uint64_t mask = ~(UINT64_C(3) << (PID_BITS + START_BITS));
	uint64_t entry = __atomic_load_n(place, __ATOMIC_RELAXED), known;

	if (state_of(entry) != ASKED && !(again && state_of(entry) == STRANGER))
		return;
	known = is_member(context, pid_of(entry), start_of(entry)) ? MEMBER : STRANGER;
	/* the stepper may have put another process there meanwhile, whose turn is the next time */
	(void)__atomic_compare_exchange_n(place, &entry,
					  (entry & mask) | known << (PID_BITS + START_BITS), false,
					  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void pp_step_family_answer(struct pp_step_family *family, bool again, pp_step_family_fn *is_member,
			   void *context)
{
	for (size_t i = 0; i < PP_STEP_FAMILY_PLACES; i++)
		answer(&family->entries[i], again, is_member, context);
}
