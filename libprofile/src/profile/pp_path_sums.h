/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The figures of a path count as additions come in: how often, what it weighs, and the squares by
 * burst and slice that say how many independent looks that is. See pathprof/profile.h.
 *
 * Workload: millions of additions. Pure; the caller's memory.
 */
#ifndef PP_PATH_SUMS_H
#define PP_PATH_SUMS_H

#include "pathprof/profile.h"

/* Sets all figures to those of a path that was not seen yet; the key stays. */
void pp_path_sums_begin(struct pathprof_path_count *entry);
void pp_path_sums_add(struct pathprof_path_count *entry, const struct pathprof_path_count *add);

#endif
