/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of a side takes its binaries' code to know: the conditional branches that its paths decided,
 * and which of its edges are calls. Paths and edges whose code is not to be had are left out and
 * summed in `unreadable`. One thread.
 */
#ifndef CTL_SIDE_CODE_H
#define CTL_SIDE_CODE_H

#include "side.h"

/* Turns paths into branches, drops edges that are no calls, or puts places of the clock together by
 * function, as the kind wants; 0. */
int side_code_refine(struct side *side);
/* The branches of a side of paths; the two share symbols, the caller releases *ret_branches by
 * side_code_release_branches(). -errno. */
int side_code_branches(struct side *ret_branches, const struct side *paths);
void side_code_release_branches(struct side *branches);

#endif
