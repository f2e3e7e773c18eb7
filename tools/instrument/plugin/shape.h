/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The graph of a function that paths are numbered in: a node for each block, or for each piece of
 * one where calls cut it, or inlined code begins or ends (crossing.h), in the order of the module.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include "pathprof/flow.h"
#include "unit.h"

struct piece {
	LLVMBasicBlockRef block;
	LLVMValueRef first; /* instruction; NULL: none is behind the call that cut the block */
	LLVMValueRef end;   /* the next piece's first; NULL: the block's end */
	LLVMValueRef cut;   /* the call that ends it, and paths; NULL: none does */
	/*
	 * Where a path that leaves the function here is counted: before a call that is the last
	 * thing it does (it may never come back), else before the terminator.
	 */
	LLVMValueRef leaving;
};

struct shape {
	struct piece *pieces;
	uint32_t piece_cnt;
	struct pathprof_flow_arc *arcs;
	bool *is_fixed; /* by arc: no code can be put on it */
	uint32_t arc_cnt;
	struct shape_block *blocks; /* by address */
	uint32_t block_cnt;
};

struct shape_block {
	LLVMBasicBlockRef block;
	uint32_t first, last; /* pieces */
	uint32_t in_cnt;      /* blocks that lead here */
	uint32_t seen_from;   /* while edges are taken: the last block that does, and 1 */
	uint32_t out_cnt;     /* different ones that this leads to */
};

void shape_init(struct shape *shape, const struct unit *unit, LLVMValueRef function);
void shape_release(struct shape *shape);
struct shape_block *shape_block_of(const struct shape *shape, LLVMBasicBlockRef block);

/* Another piece of the same block follows. */
bool shape_goes_on(const struct shape *shape, uint32_t piece);
/* Where inlined code begins or ends with this piece; NULL: it does not. */
LLVMValueRef shape_crossing(const struct shape *shape, const struct unit *unit, uint32_t piece);

/* Behind what has to stay at a block's beginning. NULL: nothing may be put in. */
LLVMValueRef shape_first_place(LLVMBasicBlockRef block);

#endif
