/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Ranges that no path gave. A path whose calls take more than a window is never seen whole, yet its
 * branches are, and the code between them would look cold. So if branches led to a place more often
 * than ranges begin there, the rest is followed through the code: it divides at each conditional
 * branch by the branches' own counts.
 *
 * A block ran as often as branches led to it, and as what is before it ran on: as often as that
 * ran less what its own branch took away. That needs all taken branches and nothing else; behind a
 * call nothing runs on, since its return is a branch as well.
 *
 * Workload: once a store; the graph's blocks and the profile's branches and ranges.
 */
#ifndef PP_FILL_H
#define PP_FILL_H

#include "pp_branch_profile.h"

/* -ENOMEM, -E2BIG. */
int pp_fill(struct pathprof_branch_profile *p, const struct pathprof_graph *graph);

#endif
