/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Paths of a function that an edge profile tells by itself, so that they need not be counted.
 *
 *   - A path is obvious that has an edge which no other warm one runs over. A function of obvious
 *     paths only is told as a whole.
 *   - An edge where paths end, back to a loop mostly, is told where the profile knows most of what
 *     ends there: three quarters of the branch flow is definite (pp_ways.h).
 *
 * Source: Joshi, Bond and Zilles, Targeted Path Profiling (2004), 3; Bond and McKinley, Practical
 * Path Profiling for Dynamic Optimizers (2005), which takes the second rule, and three quarters,
 * for whole functions. By edge it takes a hot loop out of a function that is counted otherwise;
 * what is left there tells how a run compares with the profile.
 */
#ifndef PP_OBVIOUS_H
#define PP_OBVIOUS_H

#include "pp_ways.h"

/*
 * *ret_all: every one of these paths is obvious, and there is one. By edge where paths end: each
 * that ends there is; NULL: that is of no interest. -ENOMEM.
 */
int pp_obvious(const struct pathprof_function_paths *warm, bool *ret_by_edge, bool *ret_all);
/* By edge whether it is told, of those where paths end that ran `least` times or more. -ENOMEM. */
int pp_obvious_ends(const struct pp_profiled *profiled, bool *ret_is_told);

#endif
