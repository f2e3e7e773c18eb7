// SPDX-License-Identifier: GPL-2.0-or-later
#include "insert.h"

#define ORACLE_SYMBOL "__pathprof_oracle"

/* The events at a node, as tests/scenario/counting_oracle.py numbers them. */
enum { NODE_BEGINS = 0, CALL_CUTS = 1, FUNCTION_IS_LEFT = 2 };

static LLVMValueRef constant32(const struct unit *unit, uint32_t value)
{
	return LLVMConstInt(LLVMInt32TypeInContext(unit->context), value, false);
}

/* void oracle(function's first counter, activation, node, what) */
static void put_call(struct insertion *in, uint32_t node, uint32_t what)
{
	struct unit *u = in->unit;
	LLVMTypeRef i32 = LLVMInt32TypeInContext(u->context);
	LLVMTypeRef types[] = {u->pointer, u->pointer, i32, i32};
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(u->context), types, 4, false);
	LLVMValueRef first = LLVMConstInt(u->i64, in->first_counter, false);
	LLVMValueRef oracle = LLVMGetNamedFunction(u->module, ORACLE_SYMBOL);
	LLVMValueRef arguments[] = {LLVMConstGEP2(u->i64, u->table, &first, 1), in->path_register,
				    constant32(u, node), constant32(u, what)};

	if (!oracle)
		oracle = LLVMAddFunction(u->module, ORACLE_SYMBOL, type);
	LLVMBuildCall2(u->builder, type, oracle, arguments, 4, "");
}

static void put_node(struct insertion *in, uint32_t node)
{
	const struct piece *piece = &in->shape->pieces[node];
	LLVMValueRef place = shape_first_place(piece->block);

	if (node && shape_goes_on(in->shape, node - 1))
		place = piece[-1].end ? piece->first : piece[-1].cut;
	while (!node && LLVMGetInstructionOpcode(place) == LLVMAlloca)
		place = LLVMGetNextInstruction(place);
	LLVMPositionBuilderBefore(in->unit->builder, place);
	put_call(in, node, NODE_BEGINS);
	if (piece->cut) {
		LLVMPositionBuilderBefore(in->unit->builder, piece->cut);
		put_call(in, node, CALL_CUTS);
	}
	if (in->flow->nodes[node].exits) {
		LLVMPositionBuilderBefore(in->unit->builder, piece->leaving);
		put_call(in, node, FUNCTION_IS_LEFT);
	}
}

void insert_oracle(struct insertion *in, LLVMValueRef function)
{
	LLVMPositionBuilderBefore(in->unit->builder,
				  LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
	in->path_register = LLVMBuildAlloca(in->unit->builder, in->unit->i64, "");
	for (uint32_t v = 0; v < in->flow->node_cnt; v++)
		if (in->flow->nodes[v].reached)
			put_node(in, v);
}
