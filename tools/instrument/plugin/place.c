// SPDX-License-Identifier: GPL-2.0-or-later
#include "place.h"

#include <string.h>

#include "alias.h"
#include "pathprof/instrument_abi.h"

#define DISTANCE_SYMBOL "__pathprof_distance" /* defined by the runtime */
#define POINTER_SYMBOL  "__pathprof_pointer"
#define MOVE_SYMBOL     "__pathprof_move"

/* Code for a shared library accesses thread-local variables in another way than an executable's. */
static bool is_for_library(LLVMModuleRef module)
{
	return LLVMGetModuleFlag(module, "PIC Level", strlen("PIC Level")) &&
	       !LLVMGetModuleFlag(module, "PIE Level", strlen("PIE Level"));
}

static LLVMValueRef make_distance(const struct unit *u)
{
	LLVMValueRef distance = LLVMAddGlobal(u->module, u->i64, DISTANCE_SYMBOL);

	LLVMSetVisibility(distance, LLVMHiddenVisibility);
	LLVMSetThreadLocalMode(distance, LLVMInitialExecTLSModel);
	return distance;
}

static void make_pointer(struct unit *u)
{
	u->place = LLVMAddGlobal(u->module, u->pointer, POINTER_SYMBOL);
	LLVMSetInitializer(u->place, u->table);
	LLVMSetLinkage(u->place, LLVMInternalLinkage);
	LLVMSetThreadLocalMode(u->place, LLVMLocalExecTLSModel);
}

static LLVMValueRef put_at_distance(struct unit *u, LLVMValueRef index)
{
	LLVMBuilderRef b = u->builder;
	LLVMValueRef distance = LLVMBuildLoad2(b, u->i64, u->place, "");
	LLVMValueRef table = LLVMConstPtrToInt(u->table, u->i64), address;
	LLVMValueRef offset = LLVMBuildShl(b, index, LLVMConstInt(u->i64, 3, false), "");

	alias_set_apart(u, distance, ALIAS_PLACE);
	address = LLVMBuildAdd(b, LLVMBuildAdd(b, table, distance, ""), offset, "");
	return LLVMBuildIntToPtr(b, address, u->pointer, "");
}

static LLVMValueRef put_at_pointer(struct unit *u, LLVMValueRef index)
{
	LLVMValueRef table = LLVMBuildLoad2(u->builder, u->pointer, u->place, "");

	alias_set_apart(u, table, ALIAS_PLACE);
	return LLVMBuildGEP2(u->builder, u->i64, table, &index, 1, "");
}

LLVMValueRef place_put(struct unit *unit, LLVMValueRef index)
{
	bool has_pointer = !is_for_library(unit->module);

	if (!unit->place && has_pointer)
		make_pointer(unit);
	else if (!unit->place)
		unit->place = make_distance(unit);
	return has_pointer ? put_at_pointer(unit, index) : put_at_distance(unit, index);
}

/* ---------------------------------------------------------------- the runtime's access to it */

/* void move(void): sets the pointer according to the calling thread's distance. */
static LLVMValueRef make_move(struct unit *u)
{
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(u->context), NULL, 0, false);
	LLVMValueRef function = LLVMAddFunction(u->module, MOVE_SYMBOL, type), distance;
	LLVMTypeRef byte = LLVMInt8TypeInContext(u->context);

	LLVMSetLinkage(function, LLVMInternalLinkage);
	LLVMPositionBuilderAtEnd(u->builder,
				 LLVMAppendBasicBlockInContext(u->context, function, ""));
	distance = LLVMBuildLoad2(u->builder, u->i64, make_distance(u), "");
	LLVMBuildStore(u->builder, LLVMBuildGEP2(u->builder, byte, u->table, &distance, 1, ""),
		       u->place);
	LLVMBuildRetVoid(u->builder);
	return function;
}

void place_finish(struct unit *unit)
{
	LLVMValueRef entry;

	if (!unit->place || is_for_library(unit->module))
		return;
	entry = LLVMAddGlobal(unit->module, unit->pointer, "");
	LLVMSetInitializer(entry, make_move(unit));
	LLVMSetLinkage(entry, LLVMPrivateLinkage);
	LLVMSetSection(entry, PATHPROF_MOVES_SECTION);
	unit_keep(unit, entry, "llvm.used");
}
