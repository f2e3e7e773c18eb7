// SPDX-License-Identifier: GPL-2.0-or-later
/* Helpers for functions that are put into the module and inlined where paths end. */
#include <string.h>

#include "insert.h"

/* Branch weights: fewer than one in a thousand counts is expected to miss. */
#define HIT_WEIGHT  1000
#define MISS_WEIGHT 1

/* LLVM's memory(inaccessiblemem: readwrite). */
#define MEMORY_OF_ITS_OWN 12

static void add_value(struct unit *u, LLVMValueRef function, const char *name, uint64_t value)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(u->context, kind, value));
}

static void add_attribute(struct unit *u, LLVMValueRef function, const char *name)
{
	add_value(u, function, name, 0);
}

/* A builder of its own: the unit's stands in the middle of another function. */
LLVMValueRef make_inlined(struct unit *unit, const char *name, LLVMTypeRef type,
			  void (*fill)(struct unit *unit, LLVMValueRef function))
{
	LLVMValueRef function = LLVMAddFunction(unit->module, name, type);
	LLVMBuilderRef outer = unit->builder;

	LLVMSetLinkage(function, LLVMInternalLinkage);
	add_attribute(unit, function, "alwaysinline");
	add_attribute(unit, function, "nounwind");
	unit->builder = LLVMCreateBuilderInContext(unit->context);
	fill(unit, function);
	LLVMDisposeBuilder(unit->builder);
	unit->builder = outer;
	return function;
}

void put_likely_branch(struct unit *unit, LLVMValueRef condition, LLVMBasicBlockRef likely,
		       LLVMBasicBlockRef unlikely)
{
	LLVMContextRef c = unit->context;
	LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
	LLVMMetadataRef list[] = {
		LLVMMDStringInContext2(c, "branch_weights", strlen("branch_weights")),
		LLVMValueAsMetadata(LLVMConstInt(i32, HIT_WEIGHT, false)),
		LLVMValueAsMetadata(LLVMConstInt(i32, MISS_WEIGHT, false)),
	};
	LLVMMetadataRef node = LLVMMDNodeInContext2(c, list, 3);

	LLVMSetMetadata(LLVMBuildCondBr(unit->builder, condition, likely, unlikely),
			LLVMGetMDKindIDInContext(c, "prof", strlen("prof")),
			LLVMMetadataAsValue(c, node));
}

void put_runtime_call(struct unit *unit, const char *name, LLVMValueRef counter, LLVMValueRef id)
{
	LLVMTypeRef types[] = {unit->pointer, unit->i64};
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(unit->context), types, 2, false);
	LLVMValueRef function = LLVMGetNamedFunction(unit->module, name);
	LLVMValueRef arguments[] = {counter, id}, call;

	if (!function) {
		function = LLVMAddFunction(unit->module, name, type);
		LLVMSetVisibility(function, LLVMHiddenVisibility);
		LLVMSetFunctionCallConv(function, LLVMPreserveMostCallConv);
		/* The program may keep values in registers across the call. */
		add_value(unit, function, "memory", MEMORY_OF_ITS_OWN);
		add_attribute(unit, function, "nounwind");
		add_attribute(unit, function, "willreturn");
	}
	call = LLVMBuildCall2(unit->builder, type, function, arguments, 2, "");
	LLVMSetInstructionCallConv(call, LLVMPreserveMostCallConv);
}
