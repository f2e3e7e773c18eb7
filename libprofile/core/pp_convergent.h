/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The convergent profiler of one instruction (B. Calder, P. Feller, A. Eustace, "Value Profiling",
 * MICRO 1997, section on convergent value profiling): a TNV table that is switched off while its
 * invariance stands still.
 *
 * The invariance is the share of all executions profiled so far that the top half of the table
 * counts. It is tested after each convergence interval of profiled executions, against what it was
 * at the test before. Profiling goes on if it grew by more than `increase` or fell by more than
 * `decrease`; otherwise it has converged. The paper's two heuristics are two settings:
 *
 *   increasing   increase 0, decrease PP_CONVERGENT_ONE: goes on while the invariance grows
 *   bounds       increase and decrease small: goes on while it changes
 *
 * After convergence nothing is profiled for a back-off: the executions so far times `backoff`,
 * which grow exponentially as long as the instruction converges at once again; or, where `random`
 * is set, times a number drawn each time from 0 to twice that. Then it is profiled for another
 * interval.
 *
 * The paper leaves two things open. Here the first test has nothing to compare with, so profiling
 * goes on: an instruction is profiled for two intervals at least. And shares are in parts of a
 * million, rounded down: a growth of less is none.
 *
 * Workload: every execution; those left out cost a counter and a comparison. Any context; the
 * caller owns the state.
 */
#ifndef PP_CONVERGENT_H
#define PP_CONVERGENT_H

#include "pp_random.h"
#include "pp_tnv.h"

#define PP_CONVERGENT_ONE         1000000                    /* a share of 100 %, a back-off of 1 */
#define PP_CONVERGENT_BACKOFF_MAX (1000 * PP_CONVERGENT_ONE) /* twice that still is a __u32 */

struct pp_convergent_config {
	struct pp_tnv_config tnv;
	__u32 interval; /* executions profiled from one test to the next, 1 or more */
	__u32 increase; /* 0..PP_CONVERGENT_ONE */
	__u32 decrease; /* 0..PP_CONVERGENT_ONE */
	__u32 backoff;  /* 0 (every execution is profiled) ..PP_CONVERGENT_BACKOFF_MAX */
	__u32 random;   /* 1: drawn anew at each convergence */
	__u32 pad;
};

/* All zeroes and pp_convergent_init(): nothing executed. */
struct pp_convergent {
	__u64 executed; /* profiled or not; back-offs are exact up to 2^53 */
	__u64 pause;    /* executions still to be left out */
	__u32 since_test;
	__u32 is_tested; /* 1: share is that of a test */
	__u32 share;     /* invariance at the last test, in parts of PP_CONVERGENT_ONE */
	__u32 pad;
	struct pp_random random;
	struct pp_tnv tnv;
};

/* The seed is that of random back-offs. */
PP_INLINE void pp_convergent_init(struct pp_convergent *c, __u64 seed)
{
	pp_random_init(&c->random, seed);
}

/* The invariance: what the top half of the table counts, over executions profiled, of which there
 * are some. */
PP_INLINE __u32 pp_convergent_share(const struct pp_tnv *t, const struct pp_tnv_config *config)
{
	__u64 top = 0, all = t->profiled;
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < PP_TNV_MAX / 2; i++) {
		if (i >= config->size / 2)
			break;
		top += t->entry[i].count;
	}
	if (all >> 40) { /* the product would not fit */
		top >>= 24;
		all >>= 24;
	}
	return (__u32)(top * PP_CONVERGENT_ONE / all);
}

/* The executions that the back-off after a convergence leaves out. */
PP_INLINE __u64 pp_convergent_backoff(struct pp_convergent *c,
				      const struct pp_convergent_config *config)
{
	__u64 factor = config->backoff, whole = c->executed / PP_CONVERGENT_ONE;

	if (config->random)
		factor = ((pp_random_next(&c->random) >> 32) * (2 * factor)) >> 32;
	return whole * factor + c->executed % PP_CONVERGENT_ONE * factor / PP_CONVERGENT_ONE;
}

/* The end of an interval: has the profile converged? */
PP_INLINE void pp_convergent_test(struct pp_convergent *c,
				  const struct pp_convergent_config *config)
{
	__u32 before = c->share, is_first = !c->is_tested;

	c->since_test = 0;
	c->is_tested = 1;
	c->share = pp_convergent_share(&c->tnv, &config->tnv);
	if (is_first || c->share > before + config->increase ||
	    c->share + config->decrease < before)
		return;
	c->pause = pp_convergent_backoff(c, config);
}

/* The instruction produced value. 1: that was profiled; 0: it was left out. */
PP_INLINE __u32 pp_convergent_step(struct pp_convergent *c,
				   const struct pp_convergent_config *config, __u64 value)
{
	c->executed++;
	if (c->pause) {
		c->pause--;
		return 0;
	}
	pp_tnv_add(&c->tnv, &config->tnv, value, 1);
	if (++c->since_test >= config->interval)
		pp_convergent_test(c, config);
	return 1;
}

#endif
