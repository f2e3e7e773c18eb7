/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A module's edge profile: how often functions were entered, and the branch weights of blocks.
 * Clang sets it from the profile it was given (-fprofile-instr-use= and the like); we add what else
 * is known, for later passes.
 */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include "pathprof/flow.h"
#include "shape.h"

/* Fills ret_counts with how often each edge ran. False: the profile does not know the function. */
bool weights_take(const struct unit *unit, LLVMValueRef function, const struct shape *shape,
		  const struct pathprof_flow *flow, uint64_t *ret_entries, uint64_t *ret_counts);
/* The profile's total count; 0: unknown. */
uint64_t weights_total(const struct unit *unit);

/*
 * Sets branch weights from how often edges ran, by edge, where there are none yet. So the optimiser
 * lays out hot code in a row and keeps its values in registers, which an edge's additions would
 * otherwise upset.
 */
void weights_give(const struct unit *unit, const struct shape *shape,
		  const struct pathprof_flow *flow, const uint64_t *frequency);

#endif
