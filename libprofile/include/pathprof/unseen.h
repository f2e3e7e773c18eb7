/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The share of marked paths (no test ran them) among those that windows saw, and a bound on what
 * runs and no window has seen yet.
 *
 * Bursts are the samples; paths of one burst follow one another and are not independent. The known
 * figure of a path is how many bursts at least saw it: looks = samples^2 / squares (profile.h).
 *
 * Share: a ratio of weights. Its interval is Wilson's over the bursts (the widest a cluster sample
 * can be), fewer where weights of bursts differ: n = bursts / d, where d is the mean, by weight, of
 * looks * weight_squares / weight^2 over the paths.
 *
 * Unseen: Good and Turing's estimate, the weight of paths that one burst alone saw over all weight
 * (I. J. Good, "The population frequencies of species and the estimation of population parameters",
 * Biometrika 40, 1953). Its bound is 1.645 times the deviation of that estimate, which Good gives
 * with the paths that two bursts saw, above it, times the root of the number of different paths in
 * a burst, as if they always came together; and three bursts' worth where nothing is known (the
 * rule of three). D. McAllester and R. E. Schapire, "On the convergence rate of Good-Turing
 * estimators", COLT 2000, prove a bound for every distribution, which is wider than most shares
 * that anybody asks for. Ours is an approximation: tests/unit/test_unseen.c shows that it holds in
 * 95 % of simulated programs.
 *
 * Pure arithmetic; any thread.
 */
#ifndef PATHPROF_UNSEEN_H
#define PATHPROF_UNSEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/shares.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_unseen_path {
	double weight;         /* above 0 */
	double weight_squares; /* as in profile.h; 0: not known, taken as even */
	double looks;          /* bursts that saw it, at least; 1 or more */
	bool is_marked;
};

struct pathprof_unseen {
	struct pathprof_share marked; /* of the weight of all paths that were seen; 95 % */
	struct pathprof_share unseen; /* low 0; high with 95 % certainty */
};

/*
 * bursts: that may have seen paths; 0: nothing was sampled, every run was counted, and there is no
 * chance. -EINVAL: a figure is out of range. Without paths the share is not known (NAN).
 */
int pathprof_unseen_work_out(const struct pathprof_unseen_path *paths, size_t path_cnt,
			     uint64_t bursts, struct pathprof_unseen *ret_unseen);

#ifdef __cplusplus
}
#endif

#endif
