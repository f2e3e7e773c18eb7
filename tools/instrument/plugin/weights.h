/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile of edges as it lies in the module: how often functions were entered, and weights of the
 * ways out of blocks. Clang puts there what it was given (-fprofile-instr-use= and its like), and
 * we what else is known, for the passes behind.
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

/*
 * Tells the optimiser how often edges ran, by edge, where nobody has told it yet. So it lays out
 * hot code in a row and keeps what that needs in registers, which an edge's additions would
 * otherwise upset.
 */
void weights_give(const struct unit *unit, const struct shape *shape,
		  const struct pathprof_flow *flow, const uint64_t *frequency);

#endif
