/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The two kinds of shares: TIME and RUNS.
 *
 *   TIME  the share of CPU time that was spent while a path (function, binary, process) ran
 *   RUNS  how often a path ran, as a share of all runs
 *
 * Windows that begin where a clock strikes see all code as often as its time says. With a horizon
 * in instructions each covers an equal stretch of the program, so the paths of a function are seen
 * in the proportion of their runs (paths.h has the weights). How much time a function took is known
 * far better from the clock itself, which samples a hundred times as often as windows are taken. So
 * this is double sampling with post-stratification (Cochran, Sampling Techniques, 12.2): the time
 * T(f) of a function comes from all clock samples, the mix of its paths from the windows:
 *
 *   TIME(p) = T(f) * I(p) / sum of I(q) over the paths q of f
 *   RUNS(p) = weight(p) / sum of weight(q) over all paths q
 *
 * where I(p) = sum of weight * own instructions, and f is the function in which p begins.
 * Instructions stand for time within a function; that is a model.
 *
 * A function with samples and without paths has TIME and no RUNS. Functions that windows saw and
 * the clock found once or never form a pool: T is that of the pool, and I(q) are summed over all of
 * it. So a path that was plainly seen has figures above zero, and the functions' TIME still adds
 * up. A pool without any sample takes in the functions that have the fewest, if that is three at
 * most; where others have more, its TIME is 0 with the upper bound of zero samples. Intervals of
 * its members reach at least as far as those of their own samples.
 *
 * RUNS follow the weights alone: windows that cover equal stretches see each path in proportion to
 * its runs already, and T(f) / I would bring in that instructions take unequal time. Without clock
 * samples TIME is not known (NAN); of a path without instructions neither.
 *
 * Intervals take bursts for clusters: what all paths of a function share, that its bursts are so
 * many, is no error of their mix. Paths longer than a burst are never seen, and their time is given
 * to those that are: the low end of an interval allows for as much of it as the bursts'
 * instructions show, and for as many runs as can have taken so many instructions (docs/shares.md).
 * Code of which bursts show no path, or hardly any since they ended early there, may have run as
 * often an instruction as what was seen: low ends of RUNS allow for all of it, high ends for what
 * the function itself lacks. Pure arithmetic; any thread.
 */
#ifndef PATHPROF_SHARES_H
#define PATHPROF_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An estimate and its 95 % interval, shares from 0 to 1; all NAN: not known. */
struct pathprof_share {
	double value, low, high;
};

struct pathprof_shares_function {
	uint64_t clock_samples;           /* in: found in it by the clock */
	bool kernel;                      /* in: no window follows it, and RUNS leave it out */
	struct pathprof_share time, runs; /* out */
};

struct pathprof_shares_path {
	uint32_t function;     /* in: index of the function in which the path begins */
	uint64_t samples;      /* in: times seen whole */
	double squares;        /* in: as in profile.h; 0: not known, each sample counts by itself */
	double weight;         /* in: as in profile.h */
	double weight_squares; /* in: as in profile.h; 0: not known, squares stand for it */
	double insns;          /* in: as in profile.h; 0: not known */
	struct pathprof_share time, runs; /* out */
};

struct pathprof_shares {
	struct pathprof_shares_function *functions;
	size_t function_cnt;
	struct pathprof_shares_path *paths;
	size_t path_cnt;
	uint64_t clock_samples; /* all there are, those in no function (the kernel) included */
	uint64_t bursts;        /* windows that the paths come from: no path was seen in more;
				   0: not known */
	/*
	 * The instructions of all paths for each clock sample in functions, as they would be if no
	 * path were too long for a window. 0: not known.
	 */
	double insns_a_sample;
	/* Instructions of a window: a path that is longer is never seen whole. 0: not known. */
	double horizon;
	/* Clock samples for which those bursts stand that ended before their horizon. */
	double cut_samples;
	/* out: the most that runs in no window can be, a share of all runs; NAN: no path was seen
	 */
	double unseen;
};

/*
 * Fills the outputs. -EINVAL: an index or a figure is out of range, a path of no samples or no
 * weight included; -ENOMEM. Nothing is filled then.
 */
int pathprof_shares_work_out(struct pathprof_shares *shares);

/* The interval of a share of clock samples: cnt of all, cnt <= all. */
struct pathprof_share pathprof_share_of_samples(uint64_t cnt, uint64_t all);

#ifdef __cplusplus
}
#endif

#endif
