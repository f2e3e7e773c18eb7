// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting in a cache: a hit costs a multiplication, a comparison and an addition; a miss calls the
 * runtime. The function that does so is put into the module once, and inlined wherever a path ends.
 */
#include "insert.h"

#define CACHED_SYMBOL "__pathprof_count_cached"
#define HASHED_SYMBOL "__pathprof_count_hashed" /* defined by the runtime */

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

/* The address of the pair of counters that is the path's cache entry. */
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

	put_likely_branch(f->unit, same, f->hit, f->miss);
	LLVMPositionBuilderAtEnd(b, f->hit);
	put_increment(f->unit, LLVMBuildGEP2(b, f->unit->i64, entry, &one, 1, ""));
	LLVMBuildRetVoid(b);
}

static void put_miss(struct cached_function *f)
{
	LLVMPositionBuilderAtEnd(f->unit->builder, f->miss);
	put_runtime_call(f->unit, HASHED_SYMBOL, f->counter, f->id);
	LLVMBuildRetVoid(f->unit->builder);
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

void put_cached(struct unit *unit, LLVMValueRef cache, LLVMValueRef counter, LLVMValueRef id)
{
	LLVMValueRef arguments[] = {cache, counter, id};

	if (!unit->cached)
		unit->cached = make_inlined(unit, CACHED_SYMBOL, cached_type(unit), fill_cached);
	LLVMBuildCall2(unit->builder, cached_type(unit), unit->cached, arguments, 3, "");
}
