/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes are of the family that is recorded: one process and all that it started. Samples
 * of CPUs come from whatever runs there, and only those of the family are wanted.
 *
 * The parents in /proc tell it, as long as they live. If they have ended, as those of a program
 * that a script has left in the background, only the daemon's tracker knows, which has heard of
 * every fork: the stepper leaves a question in the page that both share and takes the process for a
 * stranger until it is answered, mostly within half a second.
 *
 * Workload: asked once a sample, some hundred times a second while a burst is due. The table has a
 * bounded number of places by pid; a process that loses its place is asked about anew. Each entry
 * is one word, which both sides exchange atomically; no other memory hangs on it.
 */
#ifndef PP_STEP_FAMILY_H
#define PP_STEP_FAMILY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PP_STEP_FAMILY_PLACES 1024

struct pp_step_family {
	uint64_t entries[PP_STEP_FAMILY_PLACES]; /* 0: free; packed in step_family.c */
};

/* The stepper's side. family NULL: there is nobody to ask. */
bool pp_step_family_has(struct pp_step_family *family, pid_t only_pid, pid_t pid);

/* start_time: clock ticks since boot when pid began, as /proc says. */
typedef bool pp_step_family_fn(void *context, pid_t pid, uint64_t start_time);
/* Whether questions wait for an answer. */
bool pp_step_family_is_asked(const struct pp_step_family *family);
/*
 * The daemon's side: answers them by is_member. again: strangers as well, since events of forks may
 * come late on a busy machine.
 */
void pp_step_family_answer(struct pp_step_family *family, bool again, pp_step_family_fn *is_member,
			   void *context);

#endif
