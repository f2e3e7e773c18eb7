/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes and users that this daemon leaves alone, for they put a child of it to sleep in the
 * kernel: one table (step/step_silent.h) for what steppers and readers find out, and one line of
 * the log for each user in it who is left alone, and for the first processes of each user within
 * an hour.
 *
 * One table for the whole daemon, for it outlives sources and trackers. The event loop's thread
 * only.
 */
#ifndef PP_SILENT_H
#define PP_SILENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "step/step_silent.h"

/* Whether pid is left alone now. Reads two files of /proc while the table is not empty. */
bool pp_silent_holds(pid_t pid);
/* Whether a process of pid's user was blamed within the hour. Reads a file while the table is not
 * empty. */
bool pp_silent_suspects(pid_t pid);
/*
 * pid put `whom` to sleep; points as of pp_step_silent_add(), or 0: nobody is told. False: it has
 * ended, so nobody is blamed.
 */
bool pp_silent_blame(pid_t pid, uint32_t points, const char *whom);

/* A stepper's own table begins with what is known; *ret_seen is for pp_silent_learn(). */
void pp_silent_copy(struct pp_step_silent *ret_table, uint32_t *ret_seen);
/* Takes over what a stepper has found since *seen. */
void pp_silent_learn(const struct pp_step_silent *table, uint32_t *seen);

#endif
