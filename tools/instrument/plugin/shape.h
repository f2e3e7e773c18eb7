/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The graph of a function, in which paths are numbered. A node is a block, or a piece of one that
 * calls or the ends of inlined code (crossing.h) divide, in the order of the module.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include "pathprof/flow.h"
#include "unit.h"

struct piece {
	LLVMBasicBlockRef block;
	LLVMValueRef first; /* its first instruction; NULL: the call that cut the block is last */
	LLVMValueRef end;   /* the first instruction of the next piece; NULL: the block's end */
	LLVMValueRef cut;   /* the call that ends the piece and a path; NULL: none does */
	/*
	 * Paths that leave the function here are counted before this: a call that is the last thing
	 * it does (and may never return), or else the terminator.
	 */
	LLVMValueRef leaving;
};

struct shape {
	struct piece *pieces;
	uint32_t piece_cnt;
	struct pathprof_flow_arc *arcs;
	bool *is_fixed; /* by arc: it cannot be split */
	uint32_t arc_cnt;
	struct shape_block *blocks; /* sorted by address */
	uint32_t block_cnt;
};

struct shape_block {
	LLVMBasicBlockRef block;
	uint32_t first, last; /* pieces */
	uint32_t in_cnt;      /* number of blocks that lead here */
	uint32_t seen_from;   /* while edges are taken: the last block that led here, plus 1 */
	uint32_t out_cnt;     /* number of distinct successors */
};

void shape_init(struct shape *shape, const struct unit *unit, LLVMValueRef function);
void shape_release(struct shape *shape);
struct shape_block *shape_block_of(const struct shape *shape, LLVMBasicBlockRef block);

/* Whether another piece of the same block follows. */
bool shape_goes_on(const struct shape *shape, uint32_t piece);
/* The marker with which this piece begins if inlined code begins or ends there; NULL: none. */
LLVMValueRef shape_crossing(const struct shape *shape, const struct unit *unit, uint32_t piece);

/* The first place behind PHI nodes and pads; NULL: nothing may be inserted. */
LLVMValueRef shape_first_place(LLVMBasicBlockRef block);

#endif
