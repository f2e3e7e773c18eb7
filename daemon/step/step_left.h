/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steppers that were given up and are still there: asleep in the kernel, where they may not be
 * killed for the sake of their targets, or cannot be. They leave by themselves when they wake, for
 * their sockets have ended. A handful in a year, for hours at most or until a neighbour lets go.
 *
 * The process has one list, for they outlive the source that gave them up. The event loop's thread
 * only.
 */
#ifndef PP_STEP_LEFT_H
#define PP_STEP_LEFT_H

#include <stdbool.h>
#include <sys/types.h>

#include "step.h"

#define PP_STEP_LEFT_MAX 8

/*
 * Takes over a child and its page: it is waited for timeout_ms, killed where that does no harm, and
 * else kept. True when it has ended, and what it left was put right.
 */
bool pp_step_left_take(pid_t pid, struct pp_step_hold *hold, int timeout_ms);
/* Waits for those that have ended since, without sleeping. How many are still there. */
unsigned int pp_step_left_reap(void);

#endif
