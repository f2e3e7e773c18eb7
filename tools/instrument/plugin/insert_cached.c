// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting in a cache: where the path has its entry a count costs a multiplication, a comparison
 * and an addition; where it has not, the runtime is called. The function that does so is put into
 * the module once, and then inlined wherever a path ends.
 */
#include <string.h>

#include "insert.h"
#include "pathprof/instrument_abi.h"

#define CACHED_SYMBOL "__pathprof_count_cached"

/* Of a thousand counts hardly one is a miss. */
#define HIT_WEIGHT  1000
#define MISS_WEIGHT 1

struct cached_function {
	struct unit *unit;
	LLVMValueRef cache, counter, id;
	LLVMBasicBlockRef hit, miss;
};

static LLVMValueRef number(struct unit *u, uint64_t value)
{
	return LLVMConstInt(u->i64, value, false);
}

static LLVMTypeRef cached_type(const struct unit *u)
{
	LLVMTypeRef arguments[] = {u->pointer, u->pointer, u->i64};

	return LLVMFunctionType(LLVMVoidTypeInContext(u->context), arguments, 3, false);
}

static void add_attribute(struct unit *u, LLVMValueRef function, const char *name)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(u->context, kind, 0));
}

static void set_weights(struct unit *u, LLVMValueRef branch)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(u->context);
	LLVMMetadataRef list[] = {
		LLVMMDStringInContext2(u->context, "branch_weights", strlen("branch_weights")),
		LLVMValueAsMetadata(LLVMConstInt(i32, HIT_WEIGHT, false)),
		LLVMValueAsMetadata(LLVMConstInt(i32, MISS_WEIGHT, false)),
	};
	LLVMMetadataRef node = LLVMMDNodeInContext2(u->context, list, 3);

	LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(u->context, "prof", strlen("prof")),
			LLVMMetadataAsValue(u->context, node));
}

/* The address of the pair of counters that is the path's entry. */
static LLVMValueRef put_entry(struct cached_function *f)
{
	LLVMBuilderRef b = f->unit->builder;
	LLVMValueRef hash = LLVMBuildMul(b, f->id, number(f->unit, PATHPROF_CACHE_FACTOR), "");
	LLVMValueRef entry = LLVMBuildLShr(b, hash, number(f->unit, 64 - PATHPROF_CACHE_BITS), "");
	LLVMValueRef first = LLVMBuildShl(b, entry, number(f->unit, 1), "");

	return LLVMBuildGEP2(b, f->unit->i64, f->cache, &first, 1, "");
}

static void put_look(struct cached_function *f)
{
	LLVMBuilderRef b = f->unit->builder;
	LLVMValueRef entry = put_entry(f), one = number(f->unit, 1);
	LLVMValueRef key = LLVMBuildLoad2(b, f->unit->i64, entry, "");
	LLVMValueRef wanted = LLVMBuildAdd(b, f->id, one, "");
	LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, key, wanted, "");

	set_weights(f->unit, LLVMBuildCondBr(b, same, f->hit, f->miss));
	LLVMPositionBuilderAtEnd(b, f->hit);
	put_increment(f->unit, LLVMBuildGEP2(b, f->unit->i64, entry, &one, 1, ""));
	LLVMBuildRetVoid(b);
}

static void put_miss(struct cached_function *f)
{
	struct unit *u = f->unit;
	LLVMValueRef arguments[] = {f->counter, f->id}, call;

	LLVMPositionBuilderAtEnd(u->builder, f->miss);
	call = LLVMBuildCall2(u->builder, unit_hashed_type(u), unit_hashed(u), arguments, 2, "");
	LLVMSetInstructionCallConv(call, LLVMPreserveMostCallConv);
	LLVMBuildRetVoid(u->builder);
}

static void fill_cached(struct unit *u, LLVMValueRef function)
{
	LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(u->context, function, "");
	struct cached_function f = {
		.unit = u,
		.cache = LLVMGetParam(function, 0),
		.counter = LLVMGetParam(function, 1),
		.id = LLVMGetParam(function, 2),
		.hit = LLVMAppendBasicBlockInContext(u->context, function, ""),
		.miss = LLVMAppendBasicBlockInContext(u->context, function, ""),
	};

	LLVMPositionBuilderAtEnd(u->builder, entry);
	put_look(&f);
	put_miss(&f);
}

/* The builder is in the middle of another function. */
static LLVMValueRef make_cached(struct unit *u)
{
	LLVMValueRef function = LLVMAddFunction(u->module, CACHED_SYMBOL, cached_type(u));
	LLVMBuilderRef outer = u->builder;

	LLVMSetLinkage(function, LLVMInternalLinkage);
	add_attribute(u, function, "alwaysinline");
	add_attribute(u, function, "nounwind");
	u->builder = LLVMCreateBuilderInContext(u->context);
	fill_cached(u, function);
	LLVMDisposeBuilder(u->builder);
	u->builder = outer;
	return function;
}

void put_cached(struct unit *unit, LLVMValueRef cache, LLVMValueRef counter, LLVMValueRef id)
{
	LLVMValueRef arguments[] = {cache, counter, id};

	if (!unit->cached)
		unit->cached = make_cached(unit);
	LLVMBuildCall2(unit->builder, cached_type(unit), unit->cached, arguments, 3, "");
}
