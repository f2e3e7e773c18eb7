/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Increments for any weights of a function's ways: the numbers of its paths, or what a preferential
 * table takes. Weights have the form of increments: one a start, an edge and a way out.
 */
#ifndef PP_INCREMENTS_H
#define PP_INCREMENTS_H

#include "pathprof/increments.h"
#include "pp_function_paths.h"

/* The weights that add up to the number of every path. -ENOMEM. */
int pp_increments_weights(struct pathprof_increments *ret_weights,
			  const struct pathprof_function_paths *paths);
/* The same as pathprof_increments_init(), but for sums of these weights along paths. */
int pp_increments_of_weights(struct pathprof_increments *ret_increments,
			     const struct pathprof_increments *weights,
			     const struct pathprof_function_paths *paths, const uint64_t *frequency,
			     const bool *is_fixed);

#endif
