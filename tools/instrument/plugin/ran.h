/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The edge counts of an earlier build, as metadata that stays with the code when it is inlined: for
 * each block with several successors, how often each was taken.
 */
#ifndef RAN_H
#define RAN_H

#include "pathprof/flow.h"
#include "shape.h"

/* by_edge: the counts of the flow's edges, which are the shape's arcs. */
void ran_mark(const struct unit *unit, LLVMValueRef function, const struct shape *shape,
	      const struct pathprof_flow *flow, const uint64_t *by_edge);
/*
 * By arc, how often it ran, over all copies of the code together; used only for ordering. An arc
 * without a count of its own has that of the hottest arc into its source. free() it. NULL: the
 * function was not marked.
 */
uint64_t *ran_heat(const struct unit *unit, LLVMValueRef function, const struct shape *shape);

#endif
