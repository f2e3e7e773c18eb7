/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a stepper is still at its work, as the daemon sees it from outside: by the page they
 * share (step.h) and the state that /proc gives. Looked at twice a second; no system calls.
 */
#ifndef PP_STEP_WATCH_H
#define PP_STEP_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "step.h"

struct pp_step_watch {
	uint64_t started_ns; /* CLOCK_MONOTONIC: before its first sign it is not due */
	uint64_t busy_ns;    /* of the page when it was last seen late */
	uint32_t late_cnt;   /* looks in a row that found it late, at the same thing */
};

enum pp_step_verdict {
	PP_STEP_WELL,
	PP_STEP_ASLEEP, /* the thread it turned to has put it to sleep */
	PP_STEP_MUTE,   /* no sign of it for other reasons: stopped, or gone astray */
};

/* state: the letter of /proc/PID/stat. A suspended machine takes two looks, and so does this. */
enum pp_step_verdict pp_step_watch_look(struct pp_step_watch *watch,
					const struct pp_step_hold *hold, char state,
					uint64_t now_ns);
/*
 * Whether it has been ready to run for longer than a thread of its policy waits on any CPU: then
 * the one that it has tied itself to belongs to a thread of higher priority.
 */
bool pp_step_watch_is_starved(const struct pp_step_hold *hold, char state, uint64_t now_ns);
/* Whether no target would come to harm if it were killed now. */
bool pp_step_watch_may_kill(const struct pp_step_hold *hold, char state);

#endif
