/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides where the stepper waits for a sample. A thread goes on after it was sampled: until the
 * stepper has come from another CPU it is somewhere else, asleep, or in a system call. So the
 * stepper first goes to the CPU of some sample, each with the same chance, and waits there for the
 * next one. That one wakes it on the thread's own CPU, which takes the CPU from the thread, and the
 * burst begins at the instruction that was sampled.
 *
 * If this does not come about (the CPU has become idle, or its thread is not preempted), the
 * stepper takes any fresh sample after a while.
 *
 * Called once a sample; pure arithmetic; the stepper's one thread owns it.
 */
#ifndef PP_STEP_POST_H
#define PP_STEP_POST_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler.h"

struct pp_step_post {
	int cpu; /* where to wait; valid while moves */
	uint32_t moves;
	uint64_t until_ns; /* CLOCK_MONOTONIC: then any fresh sample is taken */
};

/*
 * Whether this sample is worth a burst, for a stepper that runs on CPU here. False: it should go to
 * post->cpu and wait there until post->until_ns.
 */
bool pp_step_post_takes(struct pp_step_post *post, const struct pp_sample *sample, int here,
			uint64_t now_ns);
/* Ends the wait there without a burst: the next sample says where to go. */
void pp_step_post_leave(struct pp_step_post *post);
/* The stepper may not go there: it takes the next fresh sample. */
void pp_step_post_give_up(struct pp_step_post *post);
/* The CPU whose samples are awaited, or -1 for all. */
int pp_step_post_cpu(const struct pp_step_post *post, uint64_t now_ns);

#endif
