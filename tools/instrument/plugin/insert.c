// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The path register is a stack slot, which later passes turn into a register.
 *
 * A count is one x86-64 instruction that adds to memory, so a signal handler cannot interrupt it.
 * No optimisation may keep the sum in a register, so a killed process has counted everything, but
 * for turns of loops that are to be deferred (turns.h). It is inline assembly that declares its
 * only effect: on its counter, which nothing else in the program touches (alias.h).
 */
#include "insert.h"

#include <string.h>

#include "alias.h"
#include "place.h"
#include "turns.h"

static LLVMValueRef constant(const struct insertion *in, uint64_t value)
{
	return LLVMConstInt(in->unit->i64, value, false);
}

/* ---------------------------------------------------------------- inserted instructions */

static void put_start(struct insertion *in, uint32_t node)
{
	LLVMBuildStore(in->unit->builder, constant(in, in->increments->start[node]),
		       in->path_register);
}

/* An edge's update of the register: it adds a value or sets it. */
struct step {
	uint64_t value;
	bool sets; /* instead of adding */
};

static struct step edge_step(const struct insertion *in, uint32_t edge)
{
	const struct pathprof_increments *i = in->increments;

	return (struct step){i->edge[edge], i->edge_sets && i->edge_sets[edge]};
}

static struct step leave_step(const struct insertion *in, uint32_t node)
{
	const struct pathprof_increments *i = in->increments;

	return (struct step){i->leave[node], i->leave_sets && i->leave_sets[node]};
}

static bool is_silent(const struct insertion *in, uint32_t edge)
{
	return in->increments->edge_silent && in->increments->edge_silent[edge];
}

static LLVMValueRef put_sum(struct insertion *in, struct step step)
{
	LLVMBuilderRef b = in->unit->builder;
	LLVMValueRef sum;

	if (step.sets)
		return constant(in, step.value);
	sum = LLVMBuildLoad2(b, in->unit->i64, in->path_register, "");
	return step.value ? LLVMBuildAdd(b, sum, constant(in, step.value), "") : sum;
}

/* The address of this thread's counter at an index relative to the function's first. */
static LLVMValueRef put_counter(struct insertion *in, LLVMValueRef index)
{
	LLVMBuilderRef b = in->unit->builder;

	return place_put(in->unit, LLVMBuildAdd(b, index, constant(in, in->first_counter), ""));
}

/* One instruction that changes a counter, the operand $0; $2: the amount, NULL: it has none. */
static void put_change(struct unit *unit, const char *text, const char *constraints,
		       LLVMValueRef counter, LLVMValueRef amount)
{
	LLVMTypeRef types[] = {unit->pointer, unit->pointer, unit->i64};
	unsigned int cnt = amount ? 3 : 2;
	LLVMTypeRef type =
		LLVMFunctionType(LLVMVoidTypeInContext(unit->context), types, cnt, false);
	LLVMValueRef arguments[] = {counter, counter, amount};
	LLVMValueRef code =
		LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), false,
				 false, LLVMInlineAsmDialectATT, false);
	LLVMValueRef call = LLVMBuildCall2(unit->builder, type, code, arguments, cnt, "");

	for (LLVMAttributeIndex i = 1; i <= 2; i++)
		LLVMAddCallSiteAttribute(call, i, unit->counter_type);
	for (size_t i = 0; i < UNIT_INCREMENT_ATTRIBUTES; i++)
		LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
					 unit->increment_attributes[i]);
	alias_set_apart(unit, call, ALIAS_COUNTER);
}

#define CLOBBERS ",~{dirflag},~{fpsr},~{flags}"

void put_increment(struct unit *unit, LLVMValueRef counter)
{
	put_change(unit, "incq $0", "=*m,*m" CLOBBERS, counter, NULL);
}

void put_addition(struct unit *unit, LLVMValueRef counter, LLVMValueRef amount)
{
	put_change(unit, "addq $2, $0", "=*m,*m,r" CLOBBERS, counter, amount);
}

/* hot: as for put_in_table(). */
static void put_count(struct insertion *in, struct step step, uint32_t hot)
{
	LLVMValueRef first = constant(in, in->first_counter);
	LLVMValueRef counter = LLVMConstGEP2(in->unit->i64, in->unit->table, &first, 1);

	switch (in->counting) {
	case PATHPROF_COUNTING_ARRAY:
	case PATHPROF_COUNTING_WARM:
		put_increment(in->unit, put_counter(in, put_sum(in, step)));
		break;
	case PATHPROF_COUNTING_HASH:
		put_cached(in->unit, put_counter(in, constant(in, 0)), counter, put_sum(in, step));
		break;
	case PATHPROF_COUNTING_TABLE:
		put_in_table(in, put_counter(in, constant(in, 0)), counter,
			     put_sum(in, (struct step){.value = step.sets ? step.value : 0,
						       .sets = step.sets}),
			     step.sets ? 0 : step.value, hot);
		break;
	}
}

/* ---------------------------------------------------------------- places of insertion */

/* A PHI node cannot be changed: a new one takes its place, in which `between` stands for `from`. */
static void replace_phi(LLVMBuilderRef b, LLVMValueRef phi, LLVMBasicBlockRef from,
			LLVMBasicBlockRef between)
{
	LLVMValueRef made;
	bool had = false;

	LLVMPositionBuilderBefore(b, phi);
	made = LLVMBuildPhi(b, LLVMTypeOf(phi), "");
	for (unsigned int i = 0; i < LLVMCountIncoming(phi); i++) {
		LLVMBasicBlockRef block = LLVMGetIncomingBlock(phi, i);
		LLVMValueRef value = LLVMGetIncomingValue(phi, i);

		if (block == from && had)
			continue;
		if (block == from) {
			had = true;
			block = between;
		}
		LLVMAddIncoming(made, &value, &block, 1);
	}
	LLVMReplaceAllUsesWith(phi, made);
	LLVMInstructionEraseFromParent(phi);
}

static LLVMValueRef split_edge(struct unit *unit, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
	LLVMBasicBlockRef between = LLVMInsertBasicBlockInContext(unit->context, to, "");
	LLVMValueRef terminator = LLVMGetBasicBlockTerminator(from), next;

	LLVMPositionBuilderBefore(unit->builder, terminator);
	LLVMMetadataRef place = LLVMGetCurrentDebugLocation2(unit->builder);

	for (unsigned int k = 0; k < LLVMGetNumSuccessors(terminator); k++)
		if (LLVMGetSuccessor(terminator, k) == to)
			LLVMSetSuccessor(terminator, k, between);
	LLVMPositionBuilderAtEnd(unit->builder, between);
	LLVMSetCurrentDebugLocation2(unit->builder, place);
	LLVMValueRef jump = LLVMBuildBr(unit->builder, to);

	for (LLVMValueRef i = LLVMGetFirstInstruction(to);
	     i && LLVMGetInstructionOpcode(i) == LLVMPHI; i = next) {
		next = LLVMGetNextInstruction(i);
		replace_phi(unit->builder, i, from, between);
	}
	return jump;
}

/* Moves the builder to a place that runs exactly when this edge does. */
static void go_to_edge(struct insertion *in, const struct pathprof_flow_edge *edge)
{
	struct unit *u = in->unit;
	LLVMBasicBlockRef from = in->shape->pieces[edge->from].block;
	LLVMBasicBlockRef to = in->shape->pieces[edge->to].block;

	if (shape_goes_on(in->shape, edge->from))
		LLVMPositionBuilderBefore(u->builder, in->shape->pieces[edge->to].first);
	else if (shape_block_of(in->shape, from)->out_cnt == 1)
		LLVMPositionBuilderBefore(u->builder, LLVMGetBasicBlockTerminator(from));
	else if (shape_block_of(in->shape, to)->in_cnt == 1)
		LLVMPositionBuilderBefore(u->builder, shape_first_place(to));
	else
		LLVMPositionBuilderBefore(u->builder, split_edge(u, from, to));
}

static uint32_t hot_at_edge(const struct insertion *in, uint32_t edge)
{
	return in->hottest ? in->hottest->of_edge[edge] : 0;
}

/* A call ends one path and begins another. Behind one that ends its block nothing is put. */
static void put_cut_call(struct insertion *in, uint32_t edge, LLVMValueRef call)
{
	LLVMPositionBuilderBefore(in->unit->builder, call);
	if (!is_silent(in, edge))
		put_count(in, edge_step(in, edge), hot_at_edge(in, edge));
	if (LLVMGetNextInstruction(call))
		LLVMPositionBuilderBefore(in->unit->builder, LLVMGetNextInstruction(call));
	put_start(in, in->flow->edges[edge].to);
}

/* The loop that `closing` closes ends: its turns are counted, and the register is what it would be
 * if each had been. */
static void put_turns(struct insertion *in, uint32_t closing)
{
	uint32_t header = in->flow->edges[closing].to;
	struct step step = edge_step(in, closing);
	LLVMValueRef start = constant(in, in->increments->start[header]);
	LLVMValueRef before = put_sum(in, (struct step){.value = 0}), first, others, any;

	first = put_counter(in, put_sum(in, step));
	if (!step.sets)
		step.value += in->increments->start[header];
	others = put_counter(in, constant(in, step.value));
	any = turns_put_counts(in, in->turns->variable[closing], first, others);
	LLVMBuildStore(in->unit->builder,
		       LLVMBuildSelect(in->unit->builder, any, start, before, ""),
		       in->path_register);
}

/* Puts the edge's update of the register, or the count of the path that ends with it. */
static void put_step(struct insertion *in, uint32_t e)
{
	struct step step = edge_step(in, e);

	if (pathprof_function_paths_cut_at(in->paths, e)) {
		if (!is_silent(in, e))
			put_count(in, step, hot_at_edge(in, e));
		put_start(in, in->flow->edges[e].to);
	} else if (step.value || step.sets) {
		LLVMBuildStore(in->unit->builder, put_sum(in, step), in->path_register);
	}
}

static void put_edge(struct insertion *in, uint32_t e)
{
	const struct pathprof_flow_edge *edge = &in->flow->edges[e];
	LLVMValueRef call = in->shape->pieces[edge->from].cut;
	struct step step = edge_step(in, e);
	uint32_t closing = turns_of_edge(in->turns, in, e);

	if (call) {
		put_cut_call(in, e, call);
		return;
	}
	if (closing == e)
		return;
	if (!pathprof_function_paths_cut_at(in->paths, e) && !step.value && !step.sets &&
	    closing == PATHPROF_GRAPH_NONE)
		return;
	go_to_edge(in, edge);
	if (closing != PATHPROF_GRAPH_NONE)
		put_turns(in, closing);
	put_step(in, e);
}

static void put_leaving(struct insertion *in, uint32_t node)
{
	LLVMPositionBuilderBefore(in->unit->builder, in->shape->pieces[node].leaving);
	put_count(in, leave_step(in, node), in->hottest ? in->hottest->of_leaving[node] : 0);
}

static void put_register(struct insertion *in, LLVMValueRef function)
{
	LLVMBuilderRef b = in->unit->builder;
	LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));

	LLVMPositionBuilderBefore(b, i);
	in->path_register = LLVMBuildAlloca(b, in->unit->i64, "");
	while (LLVMGetInstructionOpcode(i) == LLVMAlloca)
		i = LLVMGetNextInstruction(i);
	LLVMPositionBuilderBefore(b, i);
	put_start(in, 0);
	turns_put_variables(in->turns, in);
}

/*
 * Unreachable nodes have no paths. Exits come last: code that an edge inserts at the beginning of a
 * block must precede them; code inserted before them already does.
 */
void insert_all(struct insertion *in, LLVMValueRef function)
{
	struct turns turns;

	turns_init(&turns, in);
	in->turns = &turns;
	put_register(in, function);
	for (uint32_t e = 0; e < in->flow->edge_cnt; e++)
		if (in->flow->nodes[in->flow->edges[e].from].reached)
			put_edge(in, e);
	for (uint32_t v = 0; v < in->flow->node_cnt; v++)
		if (in->flow->nodes[v].exits && in->flow->nodes[v].reached)
			put_leaving(in, v);
	turns_release(&turns);
	in->turns = NULL;
}
