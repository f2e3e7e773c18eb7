// SPDX-License-Identifier: GPL-2.0-or-later
#include "shape.h"

#include <stdlib.h>

#include "crossing.h"

/* ---------------------------------------------------------------- instructions */

static bool is_call(LLVMValueRef instruction)
{
	return instruction && LLVMGetInstructionOpcode(instruction) == LLVMCall;
}

static bool is_any_call(LLVMValueRef instruction)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);

	return opcode == LLVMCall || opcode == LLVMInvoke || opcode == LLVMCallBr;
}

static bool is_intrinsic(LLVMValueRef call)
{
	LLVMValueRef callee = LLVMIsAFunction(LLVMGetCalledValue(call));

	return callee && LLVMGetIntrinsicID(callee) != 0;
}

static bool returns_twice(const struct unit *unit, LLVMValueRef call)
{
	LLVMValueRef callee = LLVMIsAFunction(LLVMGetCalledValue(call));

	return LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex,
					    unit->returns_twice) ||
	       (callee && unit_has_attribute(callee, unit->returns_twice));
}

/* The return after the call returns nothing but the call's value. */
static bool is_returned(LLVMValueRef call, LLVMValueRef terminator)
{
	return LLVMGetNumOperands(terminator) == 0 || LLVMGetOperand(terminator, 0) == call;
}

static LLVMValueRef leaving_place(const struct unit *unit, LLVMBasicBlockRef block)
{
	LLVMValueRef terminator = LLVMGetBasicBlockTerminator(block);
	LLVMValueRef before = LLVMGetPreviousInstruction(terminator);

	while (crossing_is(unit, before))
		before = LLVMGetPreviousInstruction(before);
	if (!is_call(before) || returns_twice(unit, before))
		return terminator;
	switch (LLVMGetInstructionOpcode(terminator)) {
	case LLVMUnreachable:
		return before;
	case LLVMRet:
		return !is_intrinsic(before) && is_returned(before, terminator) ? before
										: terminator;
	default:
		return terminator;
	}
}

LLVMValueRef shape_first_place(LLVMBasicBlockRef block)
{
	LLVMValueRef i = LLVMGetFirstInstruction(block);

	for (; i; i = LLVMGetNextInstruction(i)) {
		switch (LLVMGetInstructionOpcode(i)) {
		case LLVMPHI:
		case LLVMLandingPad:
		case LLVMCleanupPad:
		case LLVMCatchPad:
			break;
		case LLVMCatchSwitch:
			return NULL;
		default:
			return i;
		}
	}
	return NULL;
}

static bool is_asm(LLVMValueRef call)
{
	return LLVMIsAInlineAsm(LLVMGetCalledValue(call)) != NULL;
}

/*
 * Whether a path ends with this call and the next begins behind it. A path ends before a call that
 * is the function's last action; an invoke is one only as a terminator.
 */
static bool cuts(const struct unit *unit, LLVMValueRef instruction, LLVMValueRef leaving)
{
	if (!is_any_call(instruction) || crossing_is(unit, instruction) ||
	    (instruction == leaving && is_call(instruction)))
		return false;
	if (returns_twice(unit, instruction))
		return true;
	return unit->cut_calls && !is_intrinsic(instruction) && !is_asm(instruction);
}

/* ---------------------------------------------------------------- nodes */

/* Inlined code begins or ends here, and the current piece is not empty. */
static bool begins_piece(const struct unit *unit, LLVMValueRef instruction, LLVMValueRef first)
{
	if (!crossing_is(unit, instruction))
		return false;
	while (first != instruction && LLVMGetInstructionOpcode(first) == LLVMPHI)
		first = LLVMGetNextInstruction(first);
	return first != instruction;
}

/* The pieces of a block, stored in pieces unless that is NULL. */
static uint32_t cut_block(const struct unit *unit, LLVMBasicBlockRef block, struct piece *pieces)
{
	LLVMValueRef leaving = leaving_place(unit, block);
	LLVMValueRef first = LLVMGetFirstInstruction(block), next;
	uint32_t cnt = 0;

	for (LLVMValueRef i = first; i; i = next) {
		bool cut = cuts(unit, i, leaving);

		next = LLVMGetNextInstruction(i);
		if (!cut && !begins_piece(unit, i, first))
			continue;
		if (pieces)
			pieces[cnt] =
				(struct piece){block, first, cut ? next : i, cut ? i : NULL, NULL};
		cnt++;
		first = cut ? next : i;
	}
	if (pieces)
		pieces[cnt] = (struct piece){block, first, NULL, NULL, leaving};
	return cnt + 1;
}

bool shape_goes_on(const struct shape *shape, uint32_t piece)
{
	return piece + 1 < shape->piece_cnt &&
	       shape->pieces[piece + 1].block == shape->pieces[piece].block;
}

LLVMValueRef shape_crossing(const struct shape *shape, const struct unit *unit, uint32_t piece)
{
	LLVMValueRef i = shape->pieces[piece].first;

	while (i && LLVMGetInstructionOpcode(i) == LLVMPHI)
		i = LLVMGetNextInstruction(i);
	return crossing_is(unit, i) ? i : NULL;
}

static int by_address(const void *x, const void *y)
{
	const struct shape_block *a = x, *b = y;

	return (a->block > b->block) - (a->block < b->block);
}

struct shape_block *shape_block_of(const struct shape *shape, LLVMBasicBlockRef block)
{
	struct shape_block key = {.block = block};

	return bsearch(&key, shape->blocks, shape->block_cnt, sizeof(key), by_address);
}

static void make_nodes(struct shape *s, const struct unit *unit, LLVMValueRef function)
{
	uint32_t piece = 0, at = 0;

	s->block_cnt = LLVMCountBasicBlocks(function);
	s->blocks = must_allocate(s->block_cnt, sizeof(*s->blocks));
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
	     b = LLVMGetNextBasicBlock(b)) {
		uint32_t cnt = cut_block(unit, b, NULL);

		s->blocks[at++] = (struct shape_block){b, piece, piece + cnt - 1, 0, 0, 0};
		piece += cnt;
	}
	s->piece_cnt = piece;
	s->pieces = must_allocate(piece, sizeof(*s->pieces));
	for (uint32_t b = 0; b < at; b++)
		cut_block(unit, s->blocks[b].block, &s->pieces[s->blocks[b].first]);
	qsort(s->blocks, s->block_cnt, sizeof(s->blocks[0]), by_address);
}

/* ---------------------------------------------------------------- edges */

static bool can_be_split(LLVMValueRef terminator, LLVMBasicBlockRef to)
{
	switch (LLVMGetInstructionOpcode(terminator)) {
	case LLVMBr:
	case LLVMSwitch:
		return true;
	case LLVMInvoke:
		return LLVMGetUnwindDest(terminator) != to;
	default:
		return false;
	}
}

static void add_arc(struct shape *s, uint32_t from, uint32_t to, bool cut)
{
	s->arcs[s->arc_cnt++] = (struct pathprof_flow_arc){from, to, cut};
}

/* Takes each successor block once, in the order of the terminator. */
static void take_edges(struct shape *s, struct shape_block *block)
{
	LLVMValueRef terminator = LLVMGetBasicBlockTerminator(block->block);
	uint32_t cnt = LLVMGetNumSuccessors(terminator);

	for (uint32_t k = 0; k < cnt; k++) {
		struct shape_block *to = shape_block_of(s, LLVMGetSuccessor(terminator, k));

		if (to->seen_from == block->first + 1)
			continue;
		to->seen_from = block->first + 1;
		to->in_cnt++;
		block->out_cnt++;
		add_arc(s, block->last, to->first, false);
	}
}

static uint32_t count_edges(const struct shape *s)
{
	uint32_t cnt = s->piece_cnt;

	for (uint32_t b = 0; b < s->block_cnt; b++)
		cnt += LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(s->blocks[b].block));
	return cnt;
}

static void make_edges(struct shape *s)
{
	uint32_t room = count_edges(s);

	s->arcs = must_allocate(room, sizeof(*s->arcs));
	for (uint32_t p = 0; p < s->piece_cnt; p++) {
		if (shape_goes_on(s, p))
			add_arc(s, p, p + 1, s->pieces[p].cut != NULL);
		else
			take_edges(s, shape_block_of(s, s->pieces[p].block));
	}
}

static bool no_code_fits(const struct shape *s, const struct pathprof_flow_arc *arc)
{
	const struct piece *from = &s->pieces[arc->from], *to = &s->pieces[arc->to];

	if (shape_goes_on(s, arc->from) || shape_block_of(s, from->block)->out_cnt == 1)
		return false;
	if (shape_block_of(s, to->block)->in_cnt == 1)
		return !shape_first_place(to->block);
	return !can_be_split(LLVMGetBasicBlockTerminator(from->block), to->block);
}

void shape_init(struct shape *shape, const struct unit *unit, LLVMValueRef function)
{
	*shape = (struct shape){0};
	make_nodes(shape, unit, function);
	make_edges(shape);
	shape->is_fixed = must_allocate(shape->arc_cnt, sizeof(*shape->is_fixed));
	for (uint32_t a = 0; a < shape->arc_cnt; a++)
		shape->is_fixed[a] = no_code_fits(shape, &shape->arcs[a]);
}

void shape_release(struct shape *shape)
{
	free(shape->pieces);
	free(shape->arcs);
	free(shape->is_fixed);
	free(shape->blocks);
}
