// SPDX-License-Identifier: GPL-2.0-or-later
/* The stepper's post: see step_post.h. */
#include "step_post.h"

#include "step_engine.h"

/* A preempted thread is looked at in less; after more it may have gone on in between. */
#define AT_ONCE_NS 300000
#define MOVES_MAX  4
/* Some periods of the sampler's default frequency; a slow budget waits longer for its burst. */
#define PATIENCE_NS (50 * PP_NSEC_PER_MSEC)

static bool is_held_up(const struct pp_sample *sample, int here, uint64_t now_ns)
{
	return sample->cpu == here && now_ns - sample->time_ns <= AT_ONCE_NS;
}

static bool is_impatient(const struct pp_step_post *post, uint64_t now_ns)
{
	return post->moves >= MOVES_MAX || (post->moves && now_ns >= post->until_ns);
}

bool pp_step_post_takes(struct pp_step_post *post, const struct pp_sample *sample, int here,
			uint64_t now_ns)
{
	if (sample->fresh &&
	    (sample->cpu < 0 || is_held_up(sample, here, now_ns) || is_impatient(post, now_ns))) {
		post->moves = 0;
		return true;
	}
	if (!post->moves)
		post->until_ns = now_ns + PATIENCE_NS;
	if (post->moves < MOVES_MAX)
		post->moves++;
	post->cpu = sample->cpu;
	return false;
}

void pp_step_post_leave(struct pp_step_post *post)
{
	post->moves = 0;
}

void pp_step_post_give_up(struct pp_step_post *post)
{
	post->moves = MOVES_MAX;
}

int pp_step_post_cpu(const struct pp_step_post *post, uint64_t now_ns)
{
	return post->moves && !is_impatient(post, now_ns) ? post->cpu : -1;
}
