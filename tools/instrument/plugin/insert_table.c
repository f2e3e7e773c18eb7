// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting in a table of interesting paths (pathprof/preferential.h). What its slots are compared
 * with are constants, which all threads share. Of any other path the runtime is told.
 */
#include <stdlib.h>

#include "insert.h"

#define TABLE_FUNCTION  "__pathprof_count_in_table"
#define RESIDUAL_SYMBOL "__pathprof_count_residual" /* of the runtime */

/* Of the function that is put into the module. */
enum { KEYS, COUNTERS, COUNTER, REGISTER, MASK, HALF, BITS, ARGUMENTS };

static LLVMTypeRef table_type(const struct unit *u)
{
	LLVMTypeRef types[ARGUMENTS] = {u->pointer, u->pointer, u->pointer, u->i64,
					u->i64,     u->i64,     u->i64};

	return LLVMFunctionType(LLVMVoidTypeInContext(u->context), types, ARGUMENTS, false);
}

static LLVMValueRef put_look(struct unit *u, LLVMValueRef function, LLVMValueRef *ret_same)
{
	LLVMBuilderRef b = u->builder;
	LLVMValueRef path = LLVMGetParam(function, REGISTER);
	LLVMValueRef slot = LLVMBuildAnd(b, path, LLVMGetParam(function, MASK), "");
	LLVMValueRef at = LLVMBuildGEP2(b, u->i64, LLVMGetParam(function, KEYS), &slot, 1, "");

	*ret_same = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildLoad2(b, u->i64, at, ""), path, "");
	return slot;
}

static void put_residual(struct unit *u, LLVMValueRef function)
{
	LLVMBuilderRef b = u->builder;
	LLVMValueRef sum =
		LLVMBuildAdd(b, LLVMGetParam(function, REGISTER), LLVMGetParam(function, HALF), "");
	LLVMValueRef id = LLVMBuildLShr(b, sum, LLVMGetParam(function, BITS), "");

	put_runtime_call(u, RESIDUAL_SYMBOL, LLVMGetParam(function, COUNTER), id);
}

static void fill(struct unit *u, LLVMValueRef function)
{
	LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMBasicBlockRef hit = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMBasicBlockRef miss = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMBuilderRef b = u->builder;
	LLVMValueRef slot, same;

	LLVMPositionBuilderAtEnd(b, entry);
	slot = put_look(u, function, &same);
	put_likely_branch(u, same, hit, miss);
	LLVMPositionBuilderAtEnd(b, hit);
	put_increment(u, LLVMBuildGEP2(b, u->i64, LLVMGetParam(function, COUNTERS), &slot, 1, ""));
	LLVMBuildRetVoid(b);
	LLVMPositionBuilderAtEnd(b, miss);
	put_residual(u, function);
	LLVMBuildRetVoid(b);
}

/* The builder is in the middle of another function. */
static LLVMValueRef make(struct unit *u)
{
	LLVMValueRef function = make_inlined(u, TABLE_FUNCTION, table_type(u));
	LLVMBuilderRef outer = u->builder;

	u->builder = LLVMCreateBuilderInContext(u->context);
	fill(u, function);
	LLVMDisposeBuilder(u->builder);
	u->builder = outer;
	return function;
}

static LLVMValueRef make_keys(const struct unit *u, const struct pathprof_preferential *table)
{
	uint64_t cnt = 1ull << table->slot_bits;
	LLVMValueRef *values = must_allocate(cnt, sizeof(LLVMValueRef)), list, keys;

	for (uint64_t i = 0; i < cnt; i++)
		values[i] = LLVMConstInt(u->i64, table->keys[i], false);
	list = LLVMConstArray2(u->i64, values, cnt);
	free(values);
	keys = LLVMAddGlobal(u->module, LLVMTypeOf(list), "");
	LLVMSetInitializer(keys, list);
	LLVMSetLinkage(keys, LLVMPrivateLinkage);
	LLVMSetGlobalConstant(keys, true);
	LLVMSetAlignment(keys, sizeof(uint64_t));
	return keys;
}

void put_in_table(struct insertion *in, LLVMValueRef counters, LLVMValueRef counter,
		  LLVMValueRef path_register)
{
	struct unit *u = in->unit;
	LLVMValueRef arguments[ARGUMENTS];

	if (!in->keys)
		in->keys = make_keys(u, in->table);
	if (!u->in_table)
		u->in_table = make(u);
	arguments[KEYS] = in->keys;
	arguments[COUNTERS] = counters;
	arguments[COUNTER] = counter;
	arguments[REGISTER] = path_register;
	arguments[MASK] = LLVMConstInt(u->i64, (1ull << in->table->slot_bits) - 1, false);
	arguments[HALF] = LLVMConstInt(u->i64, 1ull << (in->table->number_bits - 1), false);
	arguments[BITS] = LLVMConstInt(u->i64, in->table->number_bits, false);
	LLVMBuildCall2(u->builder, table_type(u), u->in_table, arguments, ARGUMENTS, "");
}
