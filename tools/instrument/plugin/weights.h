/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile that clang was given (-fprofile-instr-use= and its like), as it lies in the module:
 * how often functions were entered, and weights of the ways out of blocks.
 */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include "pathprof/flow.h"
#include "shape.h"

/* How often edges ran, by edge. False: the profile does not know the function. */
bool weights_take(const struct unit *unit, LLVMValueRef function, const struct shape *shape,
		  const struct pathprof_flow *flow, uint64_t *ret_entries, uint64_t *ret_counts);
/* All that the profile counted; 0: it does not say. */
uint64_t weights_total(const struct unit *unit);

#endif
