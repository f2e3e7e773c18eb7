/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which edges ran by the counts of an earlier build, as metadata that goes with the code when it is
 * inlined: of each block with several ways out, how often each was taken.
 */
#ifndef RAN_H
#define RAN_H

#include "pathprof/flow.h"
#include "shape.h"

/* by_edge: how often those of the flow ran, which are the shape's arcs. */
void ran_mark(const struct unit *unit, LLVMValueRef function, const struct shape *shape,
	      const struct pathprof_flow *flow, const uint64_t *by_edge);
/*
 * By arc how often it ran, of all copies of the code together, for an order alone: one without a
 * count of its own has that of the hottest way to it. free() it. NULL: the function was not marked.
 */
uint64_t *ran_heat(const struct unit *unit, LLVMValueRef function, const struct shape *shape);

#endif
