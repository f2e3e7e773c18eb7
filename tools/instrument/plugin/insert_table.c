// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting in a table of interesting paths (pathprof/preferential.h). The slots' keys are
 * constants, which all threads share. Any other path is passed to the runtime.
 */
#include <stdlib.h>

#include "insert.h"

#define TABLE_FUNCTION  "__pathprof_count_in_table"
#define HOT_FUNCTION    "__pathprof_count_hot_in_table"
#define RESIDUAL_SYMBOL "__pathprof_count_residual" /* defined by the runtime */

static LLVMValueRef constant(const struct unit *u, uint64_t value)
{
	return LLVMConstInt(u->i64, value, false);
}

/* Parameters of the functions that are put into the module. HOT_BEFORE: the register's value on the
 * hot path. */
enum { KEYS, COUNTERS, COUNTER, REGISTER, STEP, MASK, HALF, BITS, HOT_BEFORE, HOT_SLOT, ARGUMENTS };

static LLVMTypeRef table_type(const struct unit *u)
{
	LLVMTypeRef types[ARGUMENTS] = {u->pointer, u->pointer, u->pointer, u->i64, u->i64,
					u->i64,     u->i64,     u->i64,     u->i64, u->i64};

	return LLVMFunctionType(LLVMVoidTypeInContext(u->context), types, ARGUMENTS, false);
}

static LLVMValueRef put_path(struct unit *u, LLVMValueRef function)
{
	return LLVMBuildAdd(u->builder, LLVMGetParam(function, REGISTER),
			    LLVMGetParam(function, STEP), "");
}

static LLVMValueRef put_look(struct unit *u, LLVMValueRef function, LLVMValueRef path,
			     LLVMValueRef *ret_same)
{
	LLVMBuilderRef b = u->builder;
	LLVMValueRef slot = LLVMBuildAnd(b, path, LLVMGetParam(function, MASK), "");
	LLVMValueRef at = LLVMBuildGEP2(b, u->i64, LLVMGetParam(function, KEYS), &slot, 1, "");

	*ret_same = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildLoad2(b, u->i64, at, ""), path, "");
	return slot;
}

static void put_residual(struct unit *u, LLVMValueRef function, LLVMValueRef path)
{
	LLVMBuilderRef b = u->builder;
	LLVMValueRef sum = LLVMBuildAdd(b, path, LLVMGetParam(function, HALF), "");
	LLVMValueRef id = LLVMBuildLShr(b, sum, LLVMGetParam(function, BITS), "");

	put_runtime_call(u, RESIDUAL_SYMBOL, LLVMGetParam(function, COUNTER), id);
}

static void fill(struct unit *u, LLVMValueRef function)
{
	LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMBasicBlockRef hit = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMBasicBlockRef miss = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMBuilderRef b = u->builder;
	LLVMValueRef path, slot, same;

	LLVMPositionBuilderAtEnd(b, entry);
	path = put_path(u, function);
	slot = put_look(u, function, path, &same);
	put_likely_branch(u, same, hit, miss);
	LLVMPositionBuilderAtEnd(b, hit);
	put_increment(u, LLVMBuildGEP2(b, u->i64, LLVMGetParam(function, COUNTERS), &slot, 1, ""));
	LLVMBuildRetVoid(b);
	LLVMPositionBuilderAtEnd(b, miss);
	put_residual(u, function, path);
	LLVMBuildRetVoid(b);
}

/* Compares with the hot path before looking into the table. */
static void fill_hot(struct unit *u, LLVMValueRef function)
{
	LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMBasicBlockRef hit = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMBasicBlockRef other = LLVMAppendBasicBlockInContext(u->context, function, "");
	LLVMValueRef slot = LLVMGetParam(function, HOT_SLOT), arguments[ARGUMENTS];
	LLVMBuilderRef b = u->builder;

	LLVMPositionBuilderAtEnd(b, entry);
	put_likely_branch(u,
			  LLVMBuildICmp(b, LLVMIntEQ, LLVMGetParam(function, REGISTER),
					LLVMGetParam(function, HOT_BEFORE), ""),
			  hit, other);
	LLVMPositionBuilderAtEnd(b, hit);
	put_increment(u, LLVMBuildGEP2(b, u->i64, LLVMGetParam(function, COUNTERS), &slot, 1, ""));
	LLVMBuildRetVoid(b);
	LLVMPositionBuilderAtEnd(b, other);
	LLVMGetParams(function, arguments);
	LLVMBuildCall2(b, table_type(u), u->in_table, arguments, ARGUMENTS, "");
	LLVMBuildRetVoid(b);
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
		  LLVMValueRef path_register, uint64_t step, uint32_t hot)
{
	struct unit *u = in->unit;
	LLVMValueRef arguments[ARGUMENTS];

	if (!in->keys)
		in->keys = make_keys(u, in->table);
	if (!u->in_table)
		u->in_table = make_inlined(u, TABLE_FUNCTION, table_type(u), fill);
	if (!u->in_hot_table && hot)
		u->in_hot_table = make_inlined(u, HOT_FUNCTION, table_type(u), fill_hot);
	arguments[KEYS] = in->keys;
	arguments[COUNTERS] = counters;
	arguments[COUNTER] = counter;
	arguments[REGISTER] = path_register;
	arguments[STEP] = constant(u, step);
	arguments[MASK] = constant(u, (1ull << in->table->slot_bits) - 1);
	arguments[HALF] = constant(u, 1ull << (in->table->number_bits - 1));
	arguments[BITS] = constant(u, in->table->number_bits);
	arguments[HOT_BEFORE] = constant(u, hot ? in->table->keys[hot - 1] - step : 0);
	arguments[HOT_SLOT] = constant(u, hot ? hot - 1 : 0);
	LLVMBuildCall2(u->builder, table_type(u), hot ? u->in_hot_table : u->in_table, arguments,
		       ARGUMENTS, "");
}
