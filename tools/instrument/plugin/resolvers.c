// SPDX-License-Identifier: GPL-2.0-or-later
#include "resolvers.h"

#include <string.h>

/* An attribute of our own, since `noprofile` would keep the function from being inlined. */
#define MARK "pathprof-resolver"

bool resolvers_run(LLVMValueRef function)
{
	return LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, MARK,
					     strlen(MARK)) != NULL;
}

/* The function that an instruction calls by name; NULL: it does not. */
static LLVMValueRef callee_of(LLVMValueRef instruction)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);

	if (opcode != LLVMCall && opcode != LLVMInvoke)
		return NULL;
	return LLVMIsAFunction(LLVMGetCalledValue(instruction));
}

/* Recursion is as deep as a chain of calls. */
static void mark(const struct unit *unit, LLVMValueRef function)
{
	if (!function || LLVMIsDeclaration(function) || resolvers_run(function))
		return;
	LLVMAddAttributeAtIndex(
		function, LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(unit->context, MARK, strlen(MARK), "", 0));
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
	     b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			mark(unit, callee_of(i));
}

void resolvers_mark(const struct unit *unit)
{
	for (LLVMValueRef i = LLVMGetFirstGlobalIFunc(unit->module); i;
	     i = LLVMGetNextGlobalIFunc(i))
		mark(unit, LLVMIsAFunction(LLVMGetGlobalIFuncResolver(i)));
}
