// SPDX-License-Identifier: GPL-2.0-or-later
#include "crossing.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "pathprof/instrument_abi.h"
#include "shape.h"

#define CROSSING_SYMBOL "__pathprof_crossing"

enum { KIND, FUNCTION, ARGUMENTS };

static LLVMValueRef constant(const struct unit *unit, uint32_t value)
{
	return LLVMConstInt(LLVMInt32TypeInContext(unit->context), value, false);
}

static LLVMTypeRef crossing_type(const struct unit *unit)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(unit->context), types[] = {i32, i32};

	return LLVMFunctionType(LLVMVoidTypeInContext(unit->context), types, ARGUMENTS, false);
}

/* Declares it as nounwind, so that inlining into an invoke leaves it a call. */
static LLVMValueRef declare(const struct unit *unit)
{
	LLVMValueRef made = LLVMAddFunction(unit->module, CROSSING_SYMBOL, crossing_type(unit));
	unsigned int nounwind = LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind"));

	LLVMAddAttributeAtIndex(made, LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(unit->context, nounwind, 0));
	return made;
}

static void put(struct unit *unit, LLVMValueRef before, uint32_t kind, uint32_t function)
{
	LLVMValueRef arguments[] = {constant(unit, kind), constant(unit, function)}, made;

	if (!unit->crossing)
		unit->crossing = declare(unit);
	LLVMPositionBuilderBefore(unit->builder, before);
	made = LLVMBuildCall2(unit->builder, crossing_type(unit), unit->crossing, arguments,
			      ARGUMENTS, "");
	LLVMInstructionSetDebugLoc(made, NULL);
}

/* Whether exactly one edge leads to the block. */
static bool has_one_way_in(LLVMBasicBlockRef block)
{
	LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));

	return use && !LLVMGetNextUse(use);
}

/* The instruction behind the call. NULL: other edges lead there as well, or no place. */
static LLVMValueRef behind(LLVMValueRef call)
{
	if (LLVMGetInstructionOpcode(call) != LLVMInvoke)
		return LLVMGetNextInstruction(call);
	return has_one_way_in(LLVMGetNormalDest(call)) ? shape_first_place(LLVMGetNormalDest(call))
						       : NULL;
}

void crossing_put_around(struct unit *unit, LLVMValueRef call, uint32_t caller, uint32_t callee)
{
	LLVMValueRef next = behind(call);

	put(unit, call, PATHPROF_CROSSING_CALL, callee);
	if (next)
		put(unit, next, PATHPROF_CROSSING_RETURN, caller);
}

bool crossing_is(const struct unit *unit, LLVMValueRef instruction)
{
	return unit->crossing && instruction && LLVMIsACallInst(instruction) &&
	       LLVMGetCalledValue(instruction) == unit->crossing;
}

struct crossing crossing_read(LLVMValueRef instruction)
{
	LLVMValueRef kind = LLVMGetOperand(instruction, KIND);

	return (struct crossing){
		(uint32_t)LLVMConstIntGetZExtValue(kind),
		(uint32_t)LLVMConstIntGetZExtValue(LLVMGetOperand(instruction, FUNCTION))};
}

void crossing_remove_around(const struct unit *unit, LLVMValueRef call)
{
	LLVMValueRef next = behind(call), before = LLVMGetPreviousInstruction(call);

	if (!crossing_is(unit, before))
		return;
	LLVMInstructionEraseFromParent(before);
	if (crossing_is(unit, next))
		LLVMInstructionEraseFromParent(next);
}

void crossing_remove_all(struct unit *unit)
{
	LLVMUseRef use;

	if (!unit->crossing)
		return;
	while ((use = LLVMGetFirstUse(unit->crossing)))
		LLVMInstructionEraseFromParent(LLVMGetUser(use));
	LLVMDeleteFunction(unit->crossing);
	unit->crossing = NULL;
}
