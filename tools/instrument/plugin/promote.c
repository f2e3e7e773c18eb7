// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The comparison is put into a function of its own, which takes the pointer and the arguments and
 * is inlined in place of the call: LLVM then splits blocks and joins values.
 */
#include "promote.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "inlining.h"

#define TARGETS_MAX 16
/* At least OFTEN - 1 of OFTEN calls must be of the compared function. */
#define OFTEN           10
#define PROMOTED_SYMBOL "__pathprof_promoted"
/* The kind of metadata of branches that compare a pointer. */
#define COMPARE_NAME "pathprof-target"

struct values {
	LLVMValueRef *values;
	uint32_t cnt, room;
};

static void add_value(struct values *v, LLVMValueRef value)
{
	if (pp_grow(&v->values, v->cnt, &v->room) < 0)
		must_allocate(SIZE_MAX, 1);
	v->values[v->cnt++] = value;
}

static unsigned int kind_of(const struct unit *unit)
{
	return LLVMGetMDKindIDInContext(unit->context, COMPARE_NAME, strlen(COMPARE_NAME));
}

/* ---------------------------------------------------------------- which calls and functions */

static bool is_call_of(LLVMValueRef user, LLVMValueRef function)
{
	return (LLVMIsACallInst(user) || LLVMIsAInvokeInst(user)) &&
	       LLVMGetCalledValue(user) == function;
}

/* Whether the function is used in any way but a direct call. */
static bool is_address_taken(LLVMValueRef function)
{
	for (LLVMUseRef u = LLVMGetFirstUse(function); u; u = LLVMGetNextUse(u))
		if (!is_call_of(LLVMGetUser(u), function))
			return true;
	return false;
}

static bool may_be_target(const struct unit *unit, LLVMValueRef function)
{
	return !LLVMIsDeclaration(function) &&
	       LLVMGetLinkage(function) != LLVMAvailableExternallyLinkage &&
	       !LLVMIsFunctionVarArg(LLVMGlobalGetValueType(function)) &&
	       !unit_leaves_out(unit, function) && is_address_taken(function);
}

static void take_targets(const struct unit *unit, struct values *targets)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(unit->module); f; f = LLVMGetNextFunction(f))
		if (may_be_target(unit, f))
			add_value(targets, f);
}

/* Excludes calls whose callee may return twice, must-tail calls, and those with operand bundles. */
static bool is_by_pointer(const struct unit *unit, LLVMValueRef call)
{
	LLVMValueRef callee = LLVMIsACallInst(call) ? LLVMGetCalledValue(call) : NULL;

	return callee && !LLVMIsAFunction(callee) && !LLVMIsAInlineAsm(callee) &&
	       !LLVMIsAConstant(callee) && !LLVMIsFunctionVarArg(LLVMGetCalledFunctionType(call)) &&
	       LLVMGetTailCallKind(call) != LLVMTailCallKindMustTail &&
	       !LLVMGetNumOperandBundles(call) &&
	       !LLVMGetCallSiteEnumAttribute(call, LLVMAttributeFunctionIndex, unit->returns_twice);
}

static void take_calls(const struct unit *unit, LLVMValueRef function, struct values *calls)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
	     b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (is_by_pointer(unit, i))
				add_value(calls, i);
}

/* ---------------------------------------------------------------- one call */

/* Clones the call with that callee; its arguments are the function's parameters but the first. */
static void put_call(struct unit *unit, LLVMValueRef function, LLVMValueRef call,
		     LLVMValueRef callee)
{
	LLVMValueRef copy = LLVMInstructionClone(call);
	unsigned int cnt = LLVMGetNumArgOperands(call);

	for (unsigned int i = 0; i < cnt; i++)
		LLVMSetOperand(copy, i, LLVMGetParam(function, i + 1));
	LLVMSetOperand(copy, (unsigned int)LLVMGetNumOperands(copy) - 1, callee);
	LLVMInstructionSetDebugLoc(copy, NULL);
	LLVMInsertIntoBuilder(unit->builder, copy);
	if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMVoidTypeKind)
		LLVMBuildRetVoid(unit->builder);
	else
		LLVMBuildRet(unit->builder, copy);
}

static LLVMBasicBlockRef append_block(const struct unit *unit, LLVMValueRef function)
{
	return LLVMAppendBasicBlockInContext(unit->context, function, "");
}

static void put_compare(struct unit *unit, LLVMValueRef function, LLVMValueRef target,
			uint32_t which, LLVMBasicBlockRef same, LLVMBasicBlockRef other)
{
	LLVMValueRef is =
		LLVMBuildICmp(unit->builder, LLVMIntEQ, LLVMGetParam(function, 0), target, "");
	LLVMValueRef branch = LLVMBuildCondBr(unit->builder, is, same, other);
	LLVMMetadataRef number = LLVMValueAsMetadata(LLVMConstInt(unit->i64, which, false));
	LLVMMetadataRef node = LLVMMDNodeInContext2(unit->context, &number, 1);

	LLVMSetMetadata(branch, kind_of(unit), LLVMMetadataAsValue(unit->context, node));
}

static LLVMTypeRef type_with_pointer(const struct unit *unit, LLVMTypeRef type)
{
	unsigned int cnt = LLVMCountParamTypes(type);
	LLVMTypeRef *types = must_allocate((size_t)cnt + 1, sizeof(LLVMTypeRef)), made;

	types[0] = unit->pointer;
	LLVMGetParamTypes(type, types + 1);
	made = LLVMFunctionType(LLVMGetReturnType(type), types, cnt + 1, false);
	free(types);
	return made;
}

static LLVMValueRef make_comparing(struct unit *unit, LLVMValueRef call,
				   const struct values *targets)
{
	LLVMTypeRef type = LLVMGetCalledFunctionType(call);
	LLVMValueRef function =
		LLVMAddFunction(unit->module, PROMOTED_SYMBOL, type_with_pointer(unit, type));
	LLVMBasicBlockRef at = append_block(unit, function);

	LLVMSetLinkage(function, LLVMInternalLinkage);
	for (uint32_t t = 0; t < targets->cnt; t++) {
		LLVMBasicBlockRef same = append_block(unit, function);
		LLVMBasicBlockRef other = append_block(unit, function);

		LLVMPositionBuilderAtEnd(unit->builder, at);
		put_compare(unit, function, targets->values[t], t, same, other);
		LLVMPositionBuilderAtEnd(unit->builder, same);
		put_call(unit, function, call, targets->values[t]);
		at = other;
	}
	LLVMPositionBuilderAtEnd(unit->builder, at);
	put_call(unit, function, call, LLVMGetParam(function, 0));
	return function;
}

static void replace_call(struct unit *unit, LLVMValueRef call, LLVMValueRef function)
{
	unsigned int cnt = LLVMGetNumArgOperands(call);
	LLVMValueRef *arguments = must_allocate((size_t)cnt + 1, sizeof(LLVMValueRef)), made;

	arguments[0] = LLVMGetCalledValue(call);
	for (unsigned int i = 0; i < cnt; i++)
		arguments[i + 1] = LLVMGetArgOperand(call, i);
	LLVMPositionBuilderBefore(unit->builder, call);
	made = LLVMBuildCall2(unit->builder, LLVMGlobalGetValueType(function), function, arguments,
			      cnt + 1, "");
	inlining_ask(unit, made);
	if (LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMVoidTypeKind)
		LLVMReplaceAllUsesWith(call, made);
	LLVMInstructionEraseFromParent(call);
	free(arguments);
}

static LLVMValueRef promote(struct unit *unit, LLVMValueRef call, const struct values *targets)
{
	struct values own = {0};
	LLVMValueRef function = NULL;

	for (uint32_t t = 0; t < targets->cnt; t++)
		if (LLVMGlobalGetValueType(targets->values[t]) == LLVMGetCalledFunctionType(call) &&
		    LLVMGetFunctionCallConv(targets->values[t]) == LLVMGetInstructionCallConv(call))
			add_value(&own, targets->values[t]);
	if (own.cnt && own.cnt <= TARGETS_MAX) {
		function = make_comparing(unit, call, &own);
		replace_call(unit, call, function);
	}
	free(own.values);
	return function;
}

/* ---------------------------------------------------------------- all of them */

void promote_calls(struct unit *unit)
{
	struct values targets = {0}, calls = {0}, made = {0};

	take_targets(unit, &targets);
	for (LLVMValueRef f = LLVMGetFirstFunction(unit->module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f) && !unit_leaves_out(unit, f))
			take_calls(unit, f, &calls);
	for (uint32_t c = 0; c < calls.cnt; c++) {
		LLVMValueRef function = promote(unit, calls.values[c], &targets);

		if (function)
			add_value(&made, function);
	}
	if (made.cnt)
		inlining_run(unit);
	for (uint32_t i = 0; i < made.cnt; i++)
		if (!LLVMGetFirstUse(made.values[i]))
			LLVMDeleteFunction(made.values[i]);
	free(targets.values);
	free(calls.values);
	free(made.values);
}

void promote_drop_if_rare(const struct unit *unit, LLVMBasicBlockRef block, uint64_t same,
			  uint64_t other, uint64_t *calls)
{
	LLVMValueRef branch = LLVMGetBasicBlockTerminator(block);
	LLVMValueRef node = LLVMGetMetadata(branch, kind_of(unit)), which;

	if (!node || LLVMGetMDNodeNumOperands(node) != 1 || !LLVMIsConditional(branch))
		return;
	LLVMGetMDNodeOperands(node, &which);
	if (LLVMConstIntGetZExtValue(which) == 0)
		*calls = same + other;
	if (same < *calls - *calls / OFTEN)
		LLVMSetCondition(branch,
				 LLVMConstInt(LLVMInt1TypeInContext(unit->context), 0, false));
}
