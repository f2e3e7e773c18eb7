/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two sides over different builds of a binary: paths of functions that both builds have in the same
 * shape get keys that outlive a build (pathprof/match.h), all others are left out and told as a
 * share. Binaries are paired by path, else by file name. Needs the code of both builds. One thread.
 */
#ifndef CTL_SIDE_MATCH_H
#define CTL_SIDE_MATCH_H

#include "side.h"

struct side_match {
	uint32_t binary_cnt;       /* pairs of builds; 0: nothing to match */
	uint32_t failed_cnt;       /* of these, where the code of a build is not to be had */
	double a_share, b_share;   /* of each side's weight what is compared, 0..1 */
	struct pathprof_error why; /* of the last that failed */
};

/* Paths only. CTL_OK; sides are finished again. -errno. */
int side_match_builds(struct side *a, struct side *b, const struct ctl_options *options,
		      struct side_match *ret_match);

#endif
